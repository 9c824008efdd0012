//! `workflow`: requests whose answers feed later requests, timed as one.

use serde_json::{Value, json};

use super::super::{
    expect,
    interpreter::{Halt, Interpreter},
    world::{Answer, Call, Request},
};
use crate::{
    plan::{
        checked::CellPlan,
        fill::fill_text,
        phase::WorkflowPhase,
        workflow::{Workflow, WorkflowStep},
    },
    record::entry::{Entry, WorkflowRun},
};

/// What one request gave.
enum Step {
    Right(Value),
    Wrong(String),
}

impl Interpreter<'_> {
    pub(super) fn workflow(&mut self, plan: &CellPlan, window: &str, phase: &WorkflowPhase) -> Result<(), Halt> {
        let Some(workflow) = plan.workflows.get(&phase.run) else { return Ok(()) };
        let at = self.now();
        let mut run = WorkflowRun {
            workflow: phase.run.clone(),
            window: window.to_owned(),
            at,
            seconds: 0.0,
            steps: indexmap::IndexMap::new(),
            wrong: None,
        };
        self.late = json!({ "capture": {} });
        for step in &workflow.step {
            let begun = self.now();
            let outcome = self.workflow_step(workflow, step)?;
            run.steps.insert(step.name.clone(), self.now() - begun);
            if let Err(reason) = outcome {
                run.wrong = Some(format!("step `{}`: {reason}", step.name));
                break;
            }
        }
        run.seconds = self.now() - at;
        self.record(Entry::WorkflowRun(run))
    }

    /// One step, repeated while it polls; captures what the plan names.
    fn workflow_step(&mut self, workflow: &Workflow, step: &WorkflowStep) -> Result<Result<(), String>, Halt> {
        let limit = self.now() + step.until.as_ref().map_or(0.0, |until| until.within.as_secs_f64());
        loop {
            let answer = match self.workflow_request(workflow, step)? {
                Step::Wrong(reason) => return Ok(Err(reason)),
                Step::Right(answer) => answer,
            };
            let Some(until) = &step.until else { return Ok(self.capture(step, &answer)) };
            let found = answer.pointer(&until.pointer);
            if found.is_some_and(|found| expect::same(found, &until.equals)) {
                return Ok(self.capture(step, &answer));
            }
            if self.now() >= limit {
                let found = found.map_or_else(|| "nothing".to_owned(), Value::to_string);
                return Ok(Err(format!(
                    "{found} at {:?} after {}, expected {}",
                    until.pointer, until.within, until.equals
                )));
            }
            let next = self.now() + until.poll.as_secs_f64();
            self.pause_until(next)?;
        }
    }

    fn workflow_request(&mut self, workflow: &Workflow, step: &WorkflowStep) -> Result<Step, Halt> {
        let path = match fill_text(&step.path, &self.late) {
            Ok(path) => path,
            Err(reason) => return Ok(Step::Wrong(reason)),
        };
        let body = match step.body.as_ref().map(|body| fill_value(body, &self.late)).transpose() {
            Ok(body) => body,
            Err(reason) => return Ok(Step::Wrong(reason)),
        };
        let request = Request { connection: workflow.connection.clone(), method: step.method, path, body };
        Ok(match self.try_ask(Call::Request(request))? {
            Ok(Answer::Response { status, body, .. }) => match expect::wrong(&step.expect, status, &body) {
                Some(reason) => Step::Wrong(reason),
                None => Step::Right(serde_json::from_slice(&body).unwrap_or(Value::Null)),
            },
            Ok(_) => Step::Wrong("the world gave an answer of another kind".to_owned()),
            Err(failure) => Step::Wrong(failure.reason().to_owned()),
        })
    }

    fn capture(&mut self, step: &WorkflowStep, answer: &Value) -> Result<(), String> {
        for (name, pointer) in &step.capture {
            let value =
                answer.pointer(pointer).ok_or_else(|| format!("nothing at {pointer:?} to capture as `{name}`"))?;
            self.late["capture"][name] = value.clone();
        }
        Ok(())
    }
}

/// Fills every string of a JSON body.
fn fill_value(value: &Value, scope: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(fill_text(text, scope)?),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| fill_value(item, scope)).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, field)| Ok((name.clone(), fill_value(field, scope)?)))
                .collect::<Result<_, String>>()?,
        ),
        other => other.clone(),
    })
}
