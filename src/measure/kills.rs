//! What a crash experiment shows: how many kills a load lived through, and how rare a loss may still be when none was seen.
//!
//! With no loss in k independent kills, the share p of kills that lose something has (1 − p)^k ≥ 0.05 at 95% confidence, so
//! p ≤ 1 − 0.05^(1/k); for many kills that is about 3/k, the rule of three (Hanley and Lippman-Hand, JAMA 249, 1983, 1743–1745).

use super::stats::count_u64;
use crate::record::{
    cell::CellRecord,
    entry::{Custody, Outage},
};

/// The end of the reason why there is no bound: nothing was killed, so nothing was tried.
pub const NO_KILL: &str = "no process was killed while the load ran";

/// With fewer kills than this, a loss in one of ten kills would probably have been missed: the bound is above 10%.
const FEW: u64 = 29;

/// The proven kills while the load of a comparison ran, in order. What was stopped, frozen or cut off was not killed.
#[must_use]
pub fn kills<'a>(cell: &'a CellRecord, custody: &Custody) -> Vec<&'a Outage> {
    let slices = || cell.slices.iter().filter(|slice| slice.load == custody.load);
    let from = slices().map(|slice| slice.from).fold(f64::INFINITY, f64::min);
    let to = slices().map(|slice| slice.to).fold(f64::NEG_INFINITY, f64::max);
    let lived_through =
        |outage: &&Outage| outage.proven && outage.action.starts_with("kill") && (from..=to).contains(&outage.down_at);
    cell.outages.iter().filter(lived_through).collect()
}

/// The upper 95% bound of the share of kills that lose something, when none of `kills` did; none for no kill.
#[must_use]
pub fn loss_chance_upper(kills: u64) -> Option<f64> {
    (kills > 0).then(|| 1.0 - 0.05_f64.powf(1.0 / count_u64(kills)))
}

/// What no loss in so many kills says, and how little when they are few; none for no kill.
#[must_use]
pub fn in_words(kills: u64) -> Option<String> {
    let bound = 100.0 * loss_chance_upper(kills)?;
    let few =
        if kills < FEW { format!("; so few say little: {FEW} or more bound it below 10%") } else { String::new() };
    let noun = if kills == 1 { "kill" } else { "kills" };
    Some(format!(
        "0 lost in {kills} {noun}: at 95% confidence at most {bound:.1}% of kills lose a reading (1 - 0.05^(1/k), about 3/k){few}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_exact_and_near_the_rule_of_three_for_many() {
        let bound = |kills| loss_chance_upper(kills).unwrap();
        assert_eq!(loss_chance_upper(0), None);
        assert_eq!(in_words(0), None);
        assert!((bound(1) - 0.95).abs() < 1e-12);
        assert!((bound(2) - (1.0 - 0.05_f64.sqrt())).abs() < 1e-12);
        assert!((bound(300) - 0.01).abs() < 1e-4, "{}", bound(300));
        assert!(bound(FEW) < 0.1 && bound(FEW - 1) > 0.1);
        let words = in_words(4).unwrap();
        assert!(words.starts_with("0 lost in 4 kills: at 95% confidence at most 52.7% of kills"), "{words}");
        assert!(words.ends_with("so few say little: 29 or more bound it below 10%"), "{words}");
        assert!(in_words(FEW).unwrap().ends_with("about 3/k)"));
    }
}
