//! `fault`: take a process of the target down, bring it back, and prove both.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{
    super::{
        interpreter::{Halt, Interpreter},
        world::{Answer, Call, TakeDown},
    },
    recovery::Recovery,
};
use crate::{
    plan::phase::{Fault, RandomWait, Sender},
    record::entry::{Entry, Outage},
};

impl Interpreter<'_> {
    pub(super) fn fault(&mut self, window: &str, fault: &Fault) -> Result<(), Halt> {
        for wait_s in waits_s(fault.after.as_ref(), fault.times) {
            let until = self.now() + wait_s;
            self.pause_until(until)?;
            let outage = self.outage(window, fault)?;
            let back = outage.ready_at.is_some();
            self.record(Entry::Outage(outage))?;
            if !back {
                let reason = format!("`{}` was not ready again within {}", fault.service, fault.ready_within);
                return Err(Halt::PhaseFailed(reason));
            }
        }
        Ok(())
    }

    /// One outage: down, wait, up, ready. What is down is remembered, so that it comes back whatever happens in between.
    fn outage(&mut self, window: &str, fault: &Fault) -> Result<Outage, Halt> {
        let how = how(fault);
        let retained = self.retained_before(fault)?;
        self.standing.down.push(fault.service.clone());
        let Answer::Down { at: down_at, pid, ended, proven } =
            self.ask(Call::TakeDown { service: fault.service.clone(), how })?
        else {
            return Err(Halt::PhaseFailed("the world gave an answer of another kind".to_owned()));
        };
        self.pause_until(down_at + fault.down.as_secs_f64())?;
        let (up_at, ready_at, pid_after) = self.bring_back(&fault.service, fault.ready_within.0)?;
        let replaced = how.keeps_process() == (pid_after == pid);
        let recovery = match ready_at {
            Some(_) => self.recovery(fault, how, (down_at, up_at), retained.as_ref())?,
            None => Recovery::of_none_that_was_ready(),
        };
        Ok(Outage {
            window: window.to_owned(),
            service: fault.service.clone(),
            action: how.words(),
            down_at,
            up_at,
            ready_at,
            pid_before: Some(pid),
            pid_after: Some(pid_after),
            ended,
            proven: proven && replaced,
            first_query: recovery.first_query,
            wal_replay: recovery.wal_replay,
            retained_replay: recovery.retained_replay,
        })
    }

    /// Brings a process back: when it was started, when it was ready, its identifier.
    pub(in crate::run) fn bring_back(
        &mut self,
        service: &str,
        within: Duration,
    ) -> Result<(f64, Option<f64>, u32), Halt> {
        match self.ask(Call::BringBack { service: service.to_owned(), within })? {
            Answer::Up { at, ready_at, pid } => {
                self.standing.down.retain(|down| down != service);
                Ok((at, ready_at, pid))
            }
            _ => Err(Halt::PhaseFailed("the world gave an answer of another kind".to_owned())),
        }
    }
}

fn how(fault: &Fault) -> TakeDown {
    match fault.kill {
        Some(signal) if fault.by == Some(Sender::HostPid) => TakeDown::KillByHost(signal),
        Some(signal) => TakeDown::Kill(signal),
        None if fault.disconnect => TakeDown::Disconnect,
        None if fault.pause => TakeDown::Pause,
        None => TakeDown::Stop,
    }
}

/// The seconds to wait before each outage, drawn evenly from the plan's range under its seed.
fn waits_s(after: Option<&RandomWait>, times: u32) -> Vec<f64> {
    let Some(wait) = after else { return vec![0.0; times as usize] };
    let mut chance = ChaCha8Rng::seed_from_u64(wait.seed);
    let (low, high) = (wait.at_least.as_secs_f64(), wait.at_most.as_secs_f64());
    (0..times).map(|_| low + (high - low) * chance.random::<f64>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::quantity::Length;

    #[test]
    fn the_same_seed_gives_the_same_waits_within_the_range() {
        let wait = RandomWait { at_least: Length::seconds(2), at_most: Length::seconds(5), seed: 7 };
        let first = waits_s(Some(&wait), 20);
        assert_eq!(first, waits_s(Some(&wait), 20));
        assert!(first.iter().all(|wait| (2.0..=5.0).contains(wait)));
        let other = RandomWait { seed: 8, ..wait };
        assert_ne!(first, waits_s(Some(&other), 20));
        assert_eq!(waits_s(None, 2), [0.0, 0.0]);
    }
}
