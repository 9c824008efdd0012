//! `probe`: timed reads, each held against its right answer.

use std::time::Duration;

use super::super::{
    expect,
    interpreter::{Halt, Interpreter},
    world::{Answer, Call, Request},
};
use crate::{
    plan::{checked::CellPlan, phase::ProbePhase, probe::Probe},
    record::entry::{Entry, ProbeRun},
};

/// What one run gave: seconds, bytes, and what was wrong.
struct Timed {
    seconds: f64,
    bytes: u64,
    wrong: Option<String>,
}

impl Interpreter<'_> {
    pub(super) fn probe(&mut self, plan: &CellPlan, window: &str, phase: &ProbePhase) -> Result<(), Halt> {
        for name in &phase.probes {
            let Some(checked) = plan.probes.get(name) else { continue };
            for run in 0..checked.cold + checked.warm {
                let at = self.now();
                let timed = self.time_probe(&checked.probe)?;
                self.record(Entry::ProbeRun(ProbeRun {
                    probe: name.clone(),
                    window: window.to_owned(),
                    at,
                    cold: run < checked.cold,
                    seconds: timed.seconds,
                    wrong: timed.wrong,
                    bytes: timed.bytes,
                }))?;
            }
        }
        Ok(())
    }

    fn time_probe(&mut self, probe: &Probe) -> Result<Timed, Halt> {
        let begun = self.now();
        let answer = self.try_ask(call_of(probe))?;
        let elapsed = self.now() - begun;
        Ok(match answer {
            Ok(answer) => judge_answer(probe, &answer),
            Err(failure) => Timed { seconds: elapsed, bytes: 0, wrong: Some(failure.reason().to_owned()) },
        })
    }
}

fn call_of(probe: &Probe) -> Call {
    match probe {
        Probe::Http(http) => Call::Request(Request {
            connection: http.connection.clone(),
            method: http.method,
            path: http.path.clone(),
            body: http.body.clone(),
        }),
        Probe::Sql(sql) => Call::Rows { connection: sql.connection.clone(), statement: sql.statement.clone() },
        Probe::Exec(exec) => {
            Call::Command { command: exec.command.clone(), within: Duration::from_secs_f64(exec.within.as_secs_f64()) }
        }
    }
}

fn judge_answer(probe: &Probe, answer: &Answer) -> Timed {
    match (probe, answer) {
        (Probe::Http(http), Answer::Response { status, body, seconds }) => {
            Timed { seconds: *seconds, bytes: body.len() as u64, wrong: expect::wrong(&http.expect, *status, body) }
        }
        (Probe::Sql(sql), Answer::Rows { rows, seconds }) => {
            let short = (rows.len() as u64) < sql.rows_at_least;
            let wrong = short.then(|| format!("{} rows, expected at least {}", rows.len(), sql.rows_at_least));
            Timed { seconds: *seconds, bytes: 0, wrong }
        }
        (Probe::Exec(_), Answer::Output { status, stdout, stderr, seconds }) => {
            let wrong = (*status != 0).then(|| format!("exit status {status}: {}", stderr.trim()));
            Timed { seconds: *seconds, bytes: stdout.len() as u64, wrong }
        }
        _ => Timed { seconds: 0.0, bytes: 0, wrong: Some("the world gave an answer of another kind".to_owned()) },
    }
}
