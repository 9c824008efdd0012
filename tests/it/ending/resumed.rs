//! `plan run --resume`: an interrupted run goes on behind its last whole cell, with the verdict of one that never stopped.

use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Going, expect, files, result};
use crate::end_to_end::{Bench, Run};

const PLAN: &str = "tests/plans/ending.toml";

fn resume(bench: &Bench, run: &str, sets: &[&str]) -> std::process::Output {
    bench.command(PLAN, sets).args(["--resume", run]).output().expect("scaler starts")
}

/// What an answer is, without its path.
fn answer(line: &Value) -> Value {
    json!([line["verdict"], line["highest_pass"], line["stopped_by"]])
}

#[test]
fn an_interrupted_run_goes_on_behind_its_last_whole_cell() {
    let bench = Bench::new();
    let folder = bench.results.path();
    let first = Going::of(&bench, PLAN);
    first.wait_until("\"points=200\"");
    first.signal(Signal::KILL);
    first.end();
    let old = files(folder, "journal").pop().expect("a journal");
    let old_bytes = std::fs::read(&old).expect("the journal");
    let id = old.file_name().expect("a name").to_string_lossy()[..16].to_owned();

    let differs = resume(&bench, &id, &["soak=3s"]);
    expect(&differs, 3, &["cannot be resumed: not all is as it was", "the variable soak was \"2s\" and is \"3s\""]);
    let another = bench.results.path().join("scaler");
    std::fs::copy(env!("CARGO_BIN_EXE_scaler"), &another).expect("a copy of the program, written now");
    let as_it_is = bench.command(PLAN, &[]);
    let mut of_another = Command::new(&another);
    of_another.args(as_it_is.get_args()).args(["--resume", &id]).current_dir(env!("CARGO_MANIFEST_DIR"));
    of_another.envs(as_it_is.get_envs().filter_map(|(name, value)| Some((name, value?))));
    expect(
        &of_another.output().expect("it starts"),
        3,
        &["not all is as it was: the build of scaler was ", " bytes of "],
    );
    assert_eq!(files(folder, "journal").len(), 1, "nothing was started");

    let resumed = Run::of(resume(&bench, &id, &[]));
    assert_eq!(resumed.output.status.code(), Some(0));
    let whole = result(std::path::Path::new(resumed.line["result"].as_str().expect("a path")));
    assert_eq!((&whole["interrupted"], whole["cells"].as_array().expect("cells").len()), (&false.into(), 2));
    let note = &whole["resumed"][0];
    assert_eq!((&note["run_id"], &note["cells"]), (&id.as_str().into(), &1.into()));
    let times = [&whole["cells"][0]["until"], &note["stopped_at"], &note["at"], &whole["cells"][1]["from"]];
    let times: Vec<f64> = times.iter().map(|time| time.as_f64().expect("a time")).collect();
    assert!(times.is_sorted(), "cell, stop, resumption, cell: {times:?}");
    assert_eq!(std::fs::read(&old).expect("the journal"), old_bytes, "the old journal is evidence and stays as it is");
    let missing = |cell: usize| resumed.metric(cell, "custody.missing").to_string();
    assert_eq!([missing(0), missing(1)], ["0", "0"]);

    let uninterrupted = bench.run(PLAN, &[]);
    assert_eq!(answer(&resumed.line), answer(&uninterrupted.line));
    assert_eq!(resumed.broken(0), uninterrupted.broken(0));
    let ended = uninterrupted.line["result"].as_str().expect("a path").replace(".json", ".journal");
    expect(&resume(&bench, &ended, &[]), 3, &["it reached its own end", "run the plan without `--resume`"]);
    expect(&resume(&bench, "19700101", &[]), 3, &["no run \"19700101\""]);
}
