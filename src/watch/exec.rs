//! A command that prints a number or a JSON object of numbers, on this host or inside a container of the target.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::Value;

use crate::{
    engine::Executed,
    plan::{quantity::Length, watch::ExecWatch},
    target::{command, compose::Project, launcher::Launcher, log::last_lines},
    watch::{
        Surroundings,
        sampler::{Reader, Reading},
    },
};

/// A command that takes longer than this, or than its period if that is longer, is killed.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// Runs a command for each reading.
pub(super) struct ExecReader {
    watch: ExecWatch,
    place: Place,
    within: Duration,
}

/// Where the command runs.
enum Place {
    /// On this host, in the plan's folder.
    Host(Arc<Launcher>, PathBuf),
    /// Inside the container of a service.
    Container(Arc<Project>, String),
}

impl ExecReader {
    pub(super) fn new(watch: &ExecWatch, every: Length, around: &Surroundings) -> Result<Self, String> {
        let place = match &watch.service {
            None => Place::Host(Arc::clone(&around.launcher), around.ends.plan_folder().to_owned()),
            Some(service) => {
                let project = around.project.as_ref().ok_or("the target has no containers")?;
                Place::Container(Arc::clone(project), service.clone())
            }
        };
        Ok(Self { watch: watch.clone(), place, within: every.0.max(COMMAND_LIMIT) })
    }

    /// Exit status, standard output and standard error.
    fn run(&self) -> Result<(i64, String, String), String> {
        let command = &self.watch.command;
        match &self.place {
            Place::Host(launcher, folder) => {
                let output = command::run(launcher, command, folder, self.within)?;
                Ok((i64::from(output.status), output.stdout, output.stderr))
            }
            Place::Container(project, service) => {
                let Executed { code, stdout, stderr } = project.exec(service, command, self.within)?;
                // A program that is not there is told on standard output, by the engine.
                let said = if stderr.is_empty() && code != 0 { stdout.clone() } else { stderr };
                Ok((code, stdout, last_lines(&said)))
            }
        }
    }
}

impl Reader for ExecReader {
    fn read(&mut self) -> Reading {
        match self.run() {
            Ok((0, stdout, _)) => read(&stdout, &self.watch.series),
            Ok((status, _, said)) => Reading::gap(format!("status {status}: {said}")),
            Err(why) => Reading::gap(why),
        }
    }
}

/// A bare number is the series `value`; a JSON object gives one series for each key.
fn read(printed: &str, series: &[String]) -> Reading {
    let json: Value = match serde_json::from_str(printed.trim()) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(Value::Number(number)) => serde_json::json!({ "value": number }),
        _ => return Reading::gap("it printed neither a number nor a JSON object"),
    };
    let mut reading = Reading::default();
    for name in series {
        let value = json.get(name).ok_or_else(|| format!("no `{name}` was printed"));
        reading.put(name, value.and_then(|value| value.as_f64().ok_or_else(|| format!("{value} is no number"))));
    }
    reading
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_may_print() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(read(" 12.5\n", &names(&["value"])).values["value"], 12.5);
        let reading = read(r#"{"a": 1, "b": "x"}"#, &names(&["a", "b", "c"]));
        assert_eq!(reading.values["a"], 1.0);
        assert_eq!(reading.gaps["b"], "\"x\" is no number");
        assert_eq!(reading.gaps["c"], "no `c` was printed");
        assert!(read("nothing", &names(&["value"])).gaps.contains_key("*"));
    }
}
