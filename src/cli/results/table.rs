//! `scaler results table RUN…`: results as the Markdown tables in which the experiments are written up.

use super::{Exit, Failure, Outcome, Place, screen};
use crate::{
    judge::result::RunResult,
    record::{folder::read_json, folder_error::FolderError},
    report::table::{Kind, table},
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Machine, durability and bars stand in every row, and what differs between the runs is said under the table. A figure that was not measured
is written as `unmeasured`. The plan's [known_as] gives a metric the name under which its readers know it; [growth] and [durability] say
what the disk table and the column Durable are made of.

Examples:
  scaler results table 20261130T180000Z 20261201T090000Z >> RESULTS.md
  scaler results table 20261130T180000Z --add broker_sys.dropped.delta --add lag.lost
  scaler results table --as before-after 20261130T180000Z 20261201T090000Z
  scaler results table --as crash results/*-crash.json
  scaler results table --as host results/*-nash-srv.json
  scaler results table --as disk results/*-nash-srv.json
  scaler results table --as versus 20261130T180000Z-nash-srv 20261201T090000Z-haxall")]
pub(in crate::cli) struct Args {
    /// Paths, runs' identifiers, or enough of their beginnings.
    #[arg(required = true)]
    runs: Vec<String>,
    /// Which table.
    #[arg(long = "as", value_name = "TABLE", value_enum, default_value_t)]
    kind: Kind,
    /// A column for this metric as well, such as `custody.stored_ratio`; `results show --figures` lists them. May be repeated.
    #[arg(long, value_name = "METRIC")]
    add: Vec<String>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args) -> Outcome {
    let folder = args.place.folder();
    let read = |run: &String| -> Result<RunResult, FolderError> { read_json(&folder.find_result(run)?) };
    let results = args.runs.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(Failure::from)?;
    for metric in &args.add {
        let is_known = |result: &RunResult| result.cells.iter().any(|cell| cell.metrics.contains_key(metric));
        if !results.iter().any(is_known) {
            let title = format!("none of these results has a metric `{metric}`");
            return Err(Failure::arguments(title, "`scaler results show RUN --figures` lists them"));
        }
    }
    screen::print(&table(args.kind, &results.iter().collect::<Vec<_>>(), &args.add));
    Ok(Exit::Pass)
}
