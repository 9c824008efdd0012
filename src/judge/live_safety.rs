//! Live-safety: when the experiment must give way to a live system or to the host. A state machine over samples, without a clock.
//!
//! A latency is bad above both `latency_factor` times its baseline and its baseline plus `latency_floor`; a load per CPU above
//! `load_factor` times its baseline and at least `load_floor`. The factors keep a slow system from tripping on its own habits,
//! the floors keep a fast one from tripping on noise. A live system that does not answer is bad.

use crate::{measure::stats::median, plan::safety::LiveSafety};

/// One look at the live system and the host.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveLook {
    /// Latency of the live URL in seconds, or why there is none; absent when the plan names no URL.
    pub latency_s: Option<Result<f64, String>>,
    /// Load average over one minute per CPU.
    pub load_per_cpu: f64,
    /// Free bytes of the disk of the target's working folder.
    pub disk_free_bytes: u64,
}

/// What was usual before the run: the medians of a few looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// The live URL's latency in seconds, when the plan names one.
    pub latency_s: Option<f64>,
    /// Load average over one minute per CPU.
    pub load_per_cpu: f64,
}

impl Baseline {
    /// The medians of some looks.
    ///
    /// # Errors
    /// When there is no look, or the live system did not answer in one of them: then nothing says what is usual.
    pub fn of(looks: &[LiveLook]) -> Result<Self, String> {
        let mut latencies = Vec::new();
        for look in looks {
            match &look.latency_s {
                Some(Ok(latency)) => latencies.push(*latency),
                Some(Err(why)) => return Err(format!("the live system did not answer before the run: {why}")),
                None => {}
            }
        }
        let loads: Vec<f64> = looks.iter().map(|look| look.load_per_cpu).collect();
        let load_per_cpu = median(&loads).ok_or("the live system was not looked at before the run")?;
        Ok(Self { latency_s: median(&latencies), load_per_cpu })
    }
}

/// Why the experiment must stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trip {
    /// The live system or the host's CPUs suffer: how.
    Suffers(String),
    /// The disk has less room left than the floor: how much.
    DiskLow(String),
}

/// Watches for bad looks in a row.
#[derive(Clone, Debug)]
pub struct LiveGuard {
    rules: LiveSafety,
    baseline: Baseline,
    bad_in_a_row: u32,
}

impl LiveGuard {
    /// A guard that has seen nothing yet.
    #[must_use]
    pub fn new(rules: LiveSafety, baseline: Baseline) -> Self {
        Self { rules, baseline, bad_in_a_row: 0 }
    }

    /// Takes the next look; gives the cause when the experiment must stop.
    pub fn look(&mut self, look: &LiveLook) -> Option<Trip> {
        if let Some(floor) = self.rules.disk_floor.filter(|floor| look.disk_free_bytes < floor.0) {
            return Some(Trip::DiskLow(format!("{} bytes are free, less than {floor}", look.disk_free_bytes)));
        }
        let Some(bad) = self.bad_latency(look).or_else(|| self.bad_load(look)) else {
            self.bad_in_a_row = 0;
            return None;
        };
        self.bad_in_a_row += 1;
        let wanted = self.rules.bad_samples.max(1);
        (self.bad_in_a_row >= wanted).then(|| Trip::Suffers(format!("{bad}, {wanted} samples in a row")))
    }

    fn bad_latency(&self, look: &LiveLook) -> Option<String> {
        let latency = match look.latency_s.as_ref()? {
            Ok(latency) => *latency,
            Err(why) => return Some(format!("the live system did not answer: {why}")),
        };
        let Some(usual) = self.baseline.latency_s else { return Some("the live system has no baseline".to_owned()) };
        let is_slow =
            latency > self.rules.latency_factor * usual && latency >= usual + self.rules.latency_floor.as_secs_f64();
        is_slow.then(|| format!("the live system took {latency:.3} s instead of {usual:.3} s"))
    }

    fn bad_load(&self, look: &LiveLook) -> Option<String> {
        let (load, usual) = (look.load_per_cpu, self.baseline.load_per_cpu);
        let is_high = load > self.rules.load_factor * usual && load >= self.rules.load_floor;
        is_high.then(|| format!("the load per CPU was {load:.2} instead of {usual:.2}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::quantity::{Bytes, Length};

    fn rules() -> LiveSafety {
        LiveSafety {
            url: Some("http://127.0.0.1:8080/".into()),
            every: Length::seconds(5),
            bad_samples: 3,
            latency_factor: 3.0,
            latency_floor: Length::millis(500),
            load_factor: 1.5,
            load_floor: 2.0,
            disk_floor: Some(Bytes(1_000)),
        }
    }

    fn calm() -> LiveLook {
        LiveLook { latency_s: Some(Ok(0.1)), load_per_cpu: 0.5, disk_free_bytes: 10_000 }
    }

    fn slow(latency: f64) -> LiveLook {
        LiveLook { latency_s: Some(Ok(latency)), ..calm() }
    }

    fn loaded(load_per_cpu: f64) -> LiveLook {
        LiveLook { load_per_cpu, ..calm() }
    }

    fn silent() -> LiveLook {
        LiveLook { latency_s: Some(Err("refused".into())), ..calm() }
    }

    /// Whether each look trips, with these baselines.
    fn trips(latency_s: f64, load_per_cpu: f64, looks: &[LiveLook]) -> Vec<bool> {
        let mut guard = LiveGuard::new(rules(), Baseline { latency_s: Some(latency_s), load_per_cpu });
        looks.iter().map(|look| guard.look(look).is_some()).collect()
    }

    #[test]
    fn it_trips_at_the_third_bad_look_in_a_row() {
        let rows: [(&str, [LiveLook; 4], [bool; 4]); 6] = [
            ("calm", [calm(), calm(), calm(), calm()], [false; 4]),
            ("slow", [slow(0.7), slow(0.7), slow(0.7), calm()], [false, false, true, false]),
            ("a calm look starts anew", [slow(0.7), slow(0.7), calm(), slow(0.7)], [false; 4]),
            ("silent", [silent(), silent(), silent(), silent()], [false, false, true, true]),
            ("one of each", [slow(0.7), loaded(3.0), silent(), calm()], [false, false, true, false]),
            ("loaded", [loaded(2.0), loaded(2.0), loaded(2.0), calm()], [false, false, true, false]),
        ];
        for (name, looks, wanted) in rows {
            assert_eq!(trips(0.1, 0.5, &looks), wanted, "{name}");
        }
    }

    #[test]
    fn factor_and_floor_must_both_be_passed() {
        let bad =
            |latency_s, load, look: &LiveLook| trips(latency_s, load, &[look.clone(), look.clone(), look.clone()])[2];
        let rows = [
            // baseline latency, look, bad: 3 × and + 0.5 s
            (0.1, 0.5, slow(0.59), false),
            (0.1, 0.5, slow(0.61), true),
            (0.4, 0.5, slow(1.19), false),
            (0.4, 0.5, slow(1.21), true),
            // baseline load, look, bad: 1.5 × and at least 2 per CPU
            (0.1, 0.5, loaded(1.99), false),
            (0.1, 0.5, loaded(2.0), true),
            (0.1, 2.0, loaded(3.0), false),
            (0.1, 2.0, loaded(3.1), true),
        ];
        for (latency_s, load, look, wanted) in rows {
            assert_eq!(bad(latency_s, load, &look), wanted, "{latency_s} {load} {look:?}");
        }
    }

    #[test]
    fn a_full_disk_trips_at_once() {
        let full = LiveLook { disk_free_bytes: 999, ..calm() };
        assert_eq!(trips(0.1, 0.5, &[calm(), full.clone()]), [false, true]);
        let mut guard = LiveGuard::new(rules(), Baseline { latency_s: None, load_per_cpu: 0.5 });
        let wanted = Trip::DiskLow("999 bytes are free, less than 1kB".to_owned());
        assert_eq!(guard.look(&full), Some(wanted), "the disk is another cause than the live system");
    }

    #[test]
    fn only_the_host_is_watched_without_a_url() {
        let mut guard = LiveGuard::new(rules(), Baseline { latency_s: None, load_per_cpu: 0.5 });
        let look = LiveLook { latency_s: None, ..calm() };
        assert_eq!([(); 5].map(|()| guard.look(&look)), [const { None }; 5]);
    }

    #[test]
    fn the_baseline_is_the_median_and_needs_answers() {
        let looks = [slow(0.1), slow(9.0), slow(0.2)];
        assert_eq!(Baseline::of(&looks), Ok(Baseline { latency_s: Some(0.2), load_per_cpu: 0.5 }));
        assert!(Baseline::of(&[calm(), silent()]).is_err());
        assert!(Baseline::of(&[]).is_err());
    }

    #[test]
    fn the_cause_has_numbers() {
        let mut guard = LiveGuard::new(rules(), Baseline { latency_s: Some(0.1), load_per_cpu: 0.5 });
        let causes = [(); 3].map(|()| guard.look(&slow(0.9)));
        let wanted = "the live system took 0.900 s instead of 0.100 s, 3 samples in a row";
        assert_eq!(causes[2], Some(Trip::Suffers(wanted.to_owned())));
    }
}
