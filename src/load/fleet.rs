//! The fleet in numbers: which site, equip and label a point has, and what a message is sent for. Pure.

use std::collections::HashSet;

use crate::plan::fleet::{Each, Fleet};

/// The fleet with its labels spelled out; the size depends on the points of one equip, never on the number of points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    points: u64,
    points_per_equip: u64,
    equips_per_site: u64,
    labels: Vec<String>,
}

/// A thing that a message is sent for: the numbers that its topic and payload may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thing {
    /// The site.
    pub site: Option<u64>,
    /// The equip.
    pub equip: Option<u64>,
    /// The point.
    pub point: Option<u64>,
}

impl Layout {
    /// Spells the labels out.
    ///
    /// # Errors
    /// When an equip or a site would be empty, or two points of one equip would have the same label, and so the same topic.
    pub fn new(fleet: &Fleet) -> Result<Self, String> {
        if fleet.points_per_equip == 0 || fleet.equips_per_site == 0 {
            return Err("points_per_equip and equips_per_site must be at least 1".to_owned());
        }
        let labels: Vec<String> =
            (0..fleet.points_per_equip as usize).map(|index| label(&fleet.labels, index)).collect();
        let mut seen = HashSet::new();
        if let Some(twice) = labels.iter().find(|label| !seen.insert(label.as_str())) {
            return Err(format!("two points of one equip would have the label `{twice}`"));
        }
        Ok(Self {
            points: fleet.points.0,
            points_per_equip: fleet.points_per_equip.into(),
            equips_per_site: fleet.equips_per_site.into(),
            labels,
        })
    }

    /// The number of points.
    #[must_use]
    pub fn points(&self) -> u64 {
        self.points
    }

    /// The labels of a full equip, in the order of its points.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The equip of a point.
    #[must_use]
    pub fn equip(&self, point: u64) -> u64 {
        point / self.points_per_equip
    }

    /// The site of an equip.
    #[must_use]
    pub fn site(&self, equip: u64) -> u64 {
        equip / self.equips_per_site
    }

    /// Which label of its equip a point has.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "below points_per_equip, a u32")]
    pub fn label_index(&self, point: u64) -> usize {
        (point % self.points_per_equip) as usize
    }

    /// The labels of one equip; the last equip may have fewer points than the others.
    #[must_use]
    pub fn labels_of(&self, equip: u64) -> &[String] {
        let left = self.points.saturating_sub(equip * self.points_per_equip).min(self.points_per_equip);
        &self.labels[..usize::try_from(left).unwrap_or(self.labels.len())]
    }

    /// How many things there are.
    #[must_use]
    pub fn count(&self, each: Each) -> u64 {
        let equips = self.points.div_ceil(self.points_per_equip);
        match each {
            Each::Fleet => 1,
            Each::Site => equips.div_ceil(self.equips_per_site),
            Each::Equip => equips,
            Each::Point => self.points,
        }
    }

    /// The thing with a number below [`Layout::count`].
    #[must_use]
    pub fn thing(&self, each: Each, number: u64) -> Thing {
        match each {
            Each::Fleet => Thing::default(),
            Each::Site => Thing { site: Some(number), ..Thing::default() },
            Each::Equip => Thing { site: Some(self.site(number)), equip: Some(number), point: None },
            Each::Point => {
                let equip = self.equip(number);
                Thing { site: Some(self.site(equip)), equip: Some(equip), point: Some(number) }
            }
        }
    }
}

/// `p0`, `p1`, … without names; otherwise the names, then the names with `_2` behind, then with `_3`, ….
fn label(names: &[String], index: usize) -> String {
    if names.is_empty() {
        return format!("p{index}");
    }
    let name = &names[index % names.len()];
    match index / names.len() {
        0 => name.clone(),
        round => format!("{name}_{}", round + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::quantity::Count;

    fn fleet(points: u64, labels: &[&str]) -> Fleet {
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        Fleet { points: Count(points), points_per_equip: 3, equips_per_site: 2, labels }
    }

    #[test]
    fn points_belong_to_equips_and_equips_to_sites() {
        let layout = Layout::new(&fleet(14, &[])).unwrap();
        assert_eq!(layout.labels(), ["p0", "p1", "p2"]);
        let counts = [Each::Fleet, Each::Site, Each::Equip, Each::Point].map(|each| layout.count(each));
        assert_eq!(counts, [1, 3, 5, 14]);
        assert_eq!(layout.thing(Each::Point, 13), Thing { site: Some(2), equip: Some(4), point: Some(13) });
        assert_eq!(layout.thing(Each::Equip, 3), Thing { site: Some(1), equip: Some(3), point: None });
        assert_eq!(layout.label_index(13), 1);
        assert_eq!(layout.labels_of(4), ["p0", "p1"], "the last equip has two points only");
        assert_eq!(layout.labels_of(3), ["p0", "p1", "p2"]);
    }

    #[test]
    fn labels_repeat_with_a_number_behind() {
        let layout = Layout::new(&fleet(3, &["flow"])).unwrap();
        assert_eq!(layout.labels(), ["flow", "flow_2", "flow_3"]);
    }

    #[test]
    fn two_points_never_share_a_topic() {
        let refusal = Layout::new(&fleet(3, &["flow", "flow_2"])).unwrap_err();
        assert!(refusal.contains("`flow_2`"), "the third would be flow again, with _2 behind: {refusal}");
        let refusal = Layout::new(&fleet(3, &["a", "a"])).unwrap_err();
        assert!(refusal.contains("`a`"), "{refusal}");
    }
}
