//! Good plans: the shipped ones pass the checker and the schema, and a checked plan gives cells, origins and estimates.

use std::{fs, path::Path};

use indexmap::IndexMap;
use scaler::{
    plan::{
        self,
        checked::{Checked, HostFacts, RunScope},
        gate::Miss,
        load::Load,
        phase::Phase,
        schema::plan_schema,
        target::Target,
    },
    problem::Problems,
};

pub(crate) fn host() -> HostFacts {
    HostFacts { cpus: 2, memory_bytes: 4_000_000_000, name: "testhost".to_owned() }
}

pub(crate) fn load(path: &str, sets: &[(&str, &str)]) -> Result<Checked, Problems> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    plan::load(path, &|path| fs::read_to_string(root.join(path)), &sets, &host())
}

fn quickstart() -> Checked {
    load("plans/quickstart.toml", &[]).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

fn run() -> RunScope {
    let secrets = IndexMap::from([("SCALEGEN_PASSWORD".to_owned(), "planted-secret".to_owned())]);
    RunScope { scaler: "/bin/scaler".into(), folder: "/tmp/run".into(), id: "r1".into(), secrets }
}

#[test]
fn every_shipped_plan_passes_the_checker_and_the_schema() {
    let validator = jsonschema::validator_for(&plan_schema()).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans");
    let mut checked = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("#:schema ../schema/plan.schema.json\n"), "{}", path.display());
        let value: serde_json::Value = toml::from_str(&text).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", path.display());
        let name = format!("plans/{}", path.file_name().unwrap().to_string_lossy());
        if let Err(problems) = load(&name, &[]) {
            panic!("{}", problems.render(false));
        }
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn a_cell_is_filled_for_its_step() {
    let checked = quickstart();
    assert_eq!(checked.header.steps, [Some(1_000), Some(5_000), Some(50_000)]);
    let cell = checked.cell(Some(2_500), None).unwrap();
    assert_eq!(cell.fleet.unwrap().points.0, 2_500);
    let Phase::Publish(publish) = &cell.phases[0].phase else { panic!("{:?}", cell.phases[0]) };
    assert_eq!(publish.until.as_ref().unwrap().at_least.0, 2_500);
    let Load::MqttPublish(load) = &cell.loads["readings"] else { panic!() };
    assert_eq!(load.topic, "fbf/scale/s{{ site }}/e{{ equip }}/{{ label }}");
}

#[test]
fn run_and_secrets_wait_for_the_cell() {
    let checked = quickstart();
    let command = |run: Option<&RunScope>| match checked.cell(Some(1_000), run).unwrap().target {
        Target::Processes(processes) => {
            (processes.services["broker"].command[0].clone(), processes.services["broker"].env.clone())
        }
        Target::Compose(_) | Target::External(_) => panic!(),
    };
    assert_eq!(command(None).0, "{{ run.scaler }}");
    let (program, env) = command(Some(&run()));
    assert_eq!(program, "/bin/scaler");
    assert_eq!(env["SCALER_BROKER_ACCOUNTS"], "scalegen:planted-secret");
    let without = RunScope { secrets: IndexMap::new(), ..run() };
    let problems = checked.cell(Some(1_000), Some(&without)).unwrap_err();
    assert!(problems.render(false).contains("SCALEGEN_PASSWORD"), "{}", problems.render(false));
    assert!(!format!("{:?}", run()).contains("planted"), "{:?}", run());
}

#[test]
fn gates_that_nobody_writes_come_last() {
    let checked = quickstart();
    let cell = checked.cell(Some(1_000), None).unwrap();
    let names: Vec<&str> = cell.gates.iter().map(|gate| gate.name.as_str()).collect();
    assert_eq!(names[0], "store at rest");
    assert_eq!(&names[names.len() - 2..], ["status answers right", "status within budget"]);
    let unexpected = cell.gates.iter().filter(|gate| gate.metric == "target.unexpected_exits");
    assert_eq!(unexpected.count(), 1, "the plan's own gate stands, no second one is made: {names:?}");
    let bar = cell.gates.iter().find(|gate| gate.name == "list-points within budget").unwrap();
    assert!((bar.bound - 0.03).abs() < 1e-12 && bar.miss == Miss::Fail && bar.bound_text == "30ms", "{bar:?}");
}

#[test]
fn the_hash_of_the_gates_is_of_the_bars_alone() {
    let hash = |sets: &[(&str, &str)]| load("plans/quickstart.toml", sets).unwrap().header.gates_sha256;
    let base = hash(&[]);
    assert_eq!(base.len(), 64);
    assert_eq!(base, hash(&[("soak", "20s")]), "a longer soak moves no bar");
    assert_ne!(base, hash(&[("list_budget", "31ms")]), "a budget is a bar");
    assert_eq!(base, hash(&[("list_budget", "0.03s")]), "spelling moves no bar");
}

#[test]
fn set_values_are_in_the_header_and_have_an_origin() {
    let checked = load("plans/quickstart.toml", &[("soak", "20s")]).unwrap();
    assert_eq!(checked.header.vars["soak"], "20s");
    assert_eq!(checked.origin("/vars/soak"), Some(("--set".to_owned(), 1)));
    let (file, line) = checked.origin("/gate/0/metric").unwrap();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).unwrap();
    assert_eq!(text.lines().nth(line - 1).unwrap(), "metric = \"drain.settled\"");
}

#[test]
fn estimates_follow_from_the_plan() {
    let estimates = quickstart().estimates;
    assert_eq!(estimates.len(), 3);
    let first = &estimates[0];
    // 1000 points every 5 s for 3 s + 15 s and the probes' budgets, and a canary every 500 ms.
    assert!((3_600..8_000).contains(&first.rows), "{first:?}");
    // Tags: one message for each of 100 equips and 1000 points.
    assert_eq!(first.messages - first.rows, 1_100);
    assert_eq!(first.disk_bytes, Some(first.rows * 140));
    assert_eq!(first.memory_bytes, Some(1_000_000));
    assert!(first.seconds > 18.0 && first.seconds_at_most > first.seconds, "{first:?}");
}

#[test]
fn a_small_host_begins_lower() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("plans/quickstart.toml")).unwrap();
    let text = text.replace(
        "steps = [\"1k\", \"5k\", \"50k\"]",
        "steps = [\"1k\", \"5k\"]\nsmall_host = { when = \"host.cpus < 4\", first = [100, \"500\"] }",
    );
    let steps = |cpus| {
        let checked = plan::load("p.toml", &|_| Ok(text.clone()), &[], &HostFacts { cpus, ..host() });
        checked.unwrap_or_else(|problems| panic!("{}", problems.render(false))).header.steps
    };
    assert_eq!(steps(2), [Some(100), Some(500), Some(1_000), Some(5_000)]);
    assert_eq!(steps(4), [Some(1_000), Some(5_000)]);
}

#[test]
fn a_plan_that_extends_another_is_whole() {
    let base = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("plans/quickstart.toml")).unwrap();
    let plan = "format = 1\nname = \"short\"\nextends = \"quickstart.toml\"\nvars.soak = \"12s\"\n\
                [[gate]]\nmetric = \"lag.p95_s\"\nat_most = \"3s\"\n";
    let read = |path: &str| Ok(if path == "plans/short.toml" { plan.to_owned() } else { base.clone() });
    let checked = plan::load("plans/short.toml", &read, &[], &host()).unwrap_or_else(|p| panic!("{}", p.render(false)));
    assert_eq!(checked.bases.keys().collect::<Vec<_>>(), ["plans/quickstart.toml"]);
    assert_eq!((checked.header.name.as_str(), &checked.header.vars["soak"]), ("short", &serde_json::json!("12s")));
    let cell = checked.cell(Some(1_000), None).unwrap();
    let bars: Vec<&str> =
        cell.gates.iter().filter(|gate| gate.metric == "lag.p95_s").map(|gate| gate.bound_text.as_str()).collect();
    assert_eq!(bars, ["3s"]);
    assert_eq!(checked.origin("/vars/soak").unwrap(), ("plans/short.toml".to_owned(), 4));
}
