//! A command that prints a number or a JSON object of numbers.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::Value;

use crate::{
    plan::{quantity::Length, watch::ExecWatch},
    target::{command, launcher::Launcher},
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
    launcher: Arc<Launcher>,
    folder: PathBuf,
    within: Duration,
}

impl ExecReader {
    pub(super) fn new(watch: &ExecWatch, every: Length, around: &Surroundings) -> Self {
        Self {
            watch: watch.clone(),
            launcher: Arc::clone(&around.launcher),
            folder: around.ends.plan_folder().to_owned(),
            within: every.0.max(COMMAND_LIMIT),
        }
    }
}

impl Reader for ExecReader {
    fn read(&mut self) -> Reading {
        match command::run(&self.launcher, &self.watch.command, &self.folder, self.within) {
            Ok(output) if output.status == 0 => read(&output.stdout, &self.watch.series),
            Ok(output) => Reading::gap(format!("status {}: {}", output.status, output.stderr)),
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
