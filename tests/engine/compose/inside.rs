//! Commands inside a container of the target: they see its environment, and what they cannot do is a gap with its reason.

use scaler::{
    plan::phase::Signal,
    run::world::{Call, TakeDown},
};
use serde_json::json;

use super::bench::{WAITING, caps, home, shared, shell, stack, unique};
use crate::world::bench::Bench;

#[test]
fn a_watch_runs_inside_its_container() {
    let _turn = shared();
    let (home, project) = (home(), unique("inside"));
    let mut web = shell(WAITING);
    web["environment"] = json!({ "ANSWER": "42" });
    web["restart"] = json!("no");
    let mut plan = stack(home.path(), &project, &json!({ "web": web }), &caps(&["web"]));
    let watch =
        |command: &[&str]| json!({ "every": "1s", "exec": { "in": "web", "command": command, "series": ["answer"] } });
    plan["watches"]["own"] = watch(&["sh", "-c", r#"echo "{\"answer\": $ANSWER}""#]);
    plan["watches"]["absent"] = watch(&["/no/such/program"]);
    plan["watches"]["failing"] = watch(&["sh", "-c", "echo it is broken >&2; exit 3"]);
    let mut bench = Bench::in_home(home, &plan);
    bench.done(Call::StartTarget { fresh: false });
    for name in ["own", "absent", "failing"] {
        bench.done(Call::StartWatch(name.to_owned()));
    }
    let read = bench.sample(|sample| sample.watch == "own" && !sample.values.is_empty());
    assert_eq!(read.values.get("answer"), Some(&42.0));
    let absent = bench.sample(|sample| sample.watch == "absent");
    assert!(absent.values.is_empty() && absent.gaps["*"].contains("/no/such/program"), "{absent:?}");
    let failing = bench.sample(|sample| sample.watch == "failing");
    assert_eq!(failing.gaps["*"], "status 3: it is broken");
    let how = TakeDown::Kill(Signal::SigKill);
    bench.call(Call::TakeDown { service: "web".to_owned(), how }).unwrap();
    let gone = bench.sample(|sample| sample.watch == "own" && sample.values.is_empty());
    assert!(gone.gaps["*"].contains("web"), "{gone:?}");
    for name in ["own", "absent", "failing"] {
        bench.done(Call::StopWatch(name.to_owned()));
    }
}
