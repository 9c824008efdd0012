//! `scaler calibrate`: what the generator itself reaches on this host, kept beside the results. A ladder says when a step comes
//! near it, because a ceiling of the generator must not be taken for one of the system.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Exit, Failure, Outcome, screen};
use crate::{
    host,
    load::ceiling::{Calibration, Reached, calibrate},
    plan::quantity::Length,
    record::folder::{Folder, write_json},
    reference::sink,
};

/// The name of the file in the results folder.
const FILE: &str = "calibration.json";

/// Less than this measures the start of a load.
const SHORTEST: Length = Length::seconds(1);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler calibrate
  scaler calibrate --for 30s --results results

Runs the generator against a sink that acknowledges and does nothing else, twice for the given time: as fast as it can, and at
200,000 readings per second of a million points. Do it on a quiet host, and again when the host changes.")]
pub(super) struct Args {
    /// How long each of the two parts is measured.
    #[arg(long = "for", value_name = "LENGTH", default_value = "5s")]
    length: Length,
    /// The results folder, where the figures are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

/// A calibration and the host that it belongs to.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    host: String,
    cpus: u64,
    calibration: Calibration,
}

pub(super) fn run(args: &Args) -> Outcome {
    let facts = host::facts().map_err(|error| Failure::file("read the facts of this host from", "/proc", &error))?;
    if args.length < SHORTEST {
        let title = format!("{} is too short to measure in", args.length);
        return Err(Failure::arguments(title, format!("give `--for` at least {SHORTEST}")));
    }
    let folder = Folder::create(&args.results)?;
    let sink = sink::spawn().map_err(|error| Failure::refused(format!("cannot start the sink: {error}")))?;
    let calibration = calibrate(&format!("mqtt://{}", sink.addr()), args.length.0).map_err(Failure::refused)?;
    screen::print(&table(&calibration));
    let path = folder.path().join(FILE);
    let kept = Kept { host: facts.name, cpus: facts.cpus, calibration };
    let value = serde_json::to_value(&kept).map_err(|error| Failure::internal(error.to_string()))?;
    write_json(&path, &value)?;
    screen::remark(&format!("kept in {}; `scaler plan run` uses it from now on", path.display()));
    Ok(Exit::Pass)
}

fn table(calibration: &Calibration) -> String {
    let line = |name: &str, reached: &Reached| {
        format!(
            "{name:<20} {:>10.0}/s acknowledged, offered {:.2}%, {:.3} CPU s per million, {:.1}% of a core, schedule lag p50 {:.2} ms, p99 {:.2} ms\n",
            reached.acked_per_s,
            reached.offered_ratio * 100.0,
            reached.cpu_s_per_million,
            reached.cpu_pct,
            reached.schedule_lag_p50_ms,
            reached.schedule_lag_p99_ms,
        )
    };
    format!("{}{}", line("as fast as possible", &calibration.unbounded), line("at 200,000/s", &calibration.paced))
}

/// The generator's ceiling in messages per second, if this host was calibrated.
///
/// # Errors
/// When the file is there and cannot be read.
pub(super) fn ceiling(results: &Path) -> io::Result<Option<f64>> {
    let text = match fs::read_to_string(results.join(FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let kept: Kept = serde_json::from_str(&text)?;
    let facts = host::facts()?;
    let same = kept.host == facts.name && kept.cpus == facts.cpus;
    Ok(same.then_some(kept.calibration.unbounded.acked_per_s))
}
