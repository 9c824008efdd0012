//! Watches: every series or the reason why it is missing.

use scaler::{
    plan::{
        metric::{HOST_SERIES, PROCESS_SERIES},
        phase::Signal,
    },
    record::entry::{Entry, Sample},
    run::world::{Call, TakeDown},
};
use serde_json::json;

use super::{
    bench::{Bench, services},
    web::serve,
};

fn start(name: &str) -> Call {
    Call::StartWatch(name.to_owned())
}

#[test]
fn a_process_is_measured_a_dead_one_is_a_gap_and_a_restart_is_counted() {
    let mut plan = services(&json!({ "it": { "command": ["sh", "-c", "while :; do :; done"] } }));
    plan["watches"] = json!({ "server": { "every": "50ms", "process": {} } });
    let mut bench = Bench::new(&plan);
    bench.done(Call::StartTarget { fresh: false });
    bench.done(start("server"));
    let sample = bench.sample(|sample| sample.values.get("it.cpu_pct").is_some_and(|cpu| *cpu > 0.0));
    for (series, _) in PROCESS_SERIES {
        assert!(sample.values.contains_key(&format!("it.{series}")), "{series}: {sample:?}");
    }
    let memory = |series: &str| sample.values[&format!("it.{series}")];
    assert!((memory("rss_bytes") - memory("anon_bytes") - memory("file_bytes")).abs() < 1.0, "{sample:?}");
    assert!(memory("peak_rss_bytes") >= memory("rss_bytes"));

    let kill = TakeDown::Kill(Signal::SigKill);
    bench.call(Call::TakeDown { service: "it".to_owned(), how: kill }).unwrap();
    let dead = bench.sample(|sample| sample.gaps.contains_key("it.rss_bytes"));
    for (series, _) in PROCESS_SERIES.iter().filter(|(series, _)| *series != "restarts") {
        assert_eq!(dead.gaps[&format!("it.{series}")], "the process does not run");
    }
    assert_eq!(dead.values.get("it.restarts"), Some(&0.0));

    bench.call(Call::BringBack { service: "it".to_owned(), within: super::bench::LIMIT }).unwrap();
    let back = bench.sample(|sample| sample.values.contains_key("it.cpu_pct"));
    assert_eq!(back.values["it.restarts"], 1.0);
    bench.done(Call::StopWatch("server".to_owned()));
}

#[test]
fn the_host_is_measured() {
    let mut bench = Bench::new(&json!({ "watches": { "host": { "every": "100ms", "host": {} } } }));
    bench.done(start("host"));
    let sample = bench.sample(|sample| sample.values.contains_key("cpu_pct"));
    for (series, _) in HOST_SERIES {
        let known = sample.values.contains_key(*series) != sample.gaps.contains_key(*series);
        assert!(known, "{series}: {sample:?}");
    }
    assert!(bench.failed(start("host")).contains("runs already"));
    bench.done(Call::StopWatch("host".to_owned()));
    let stopped = bench.entries.len();
    // Another call's answer comes after whatever was sent before it.
    bench.done(Call::StopTarget);
    assert_eq!(bench.entries.len(), stopped, "a stopped watch still spoke");
    assert!(bench.failed(Call::StopWatch("host".to_owned())).contains("does not run"));
}

#[test]
fn answers_of_servers_become_series_and_their_failures_gaps() {
    let metrics = "# TYPE q gauge\nq{session=\"a\"} 2\nq{session=\"b\"} 3\n";
    let (url, _) = serve(&[("/metrics", 200, metrics), ("/json", 200, r#"{"n":4}"#), ("/sick", 500, "")]);
    let http_json = |path: &str| json!({ "every": "50ms", "http_json": { "connection": "api", "path": path, "series": { "n": "/n", "gone": "/x" } } });
    let series =
        json!({ "all": { "name": "q" }, "b": { "name": "q", "labels": { "session": "b" } }, "c": { "name": "c" } });
    let mut bench = Bench::new(&json!({
        "connections": { "api": { "http": { "url": url } } },
        "watches": {
            "scrape": { "every": "50ms", "prometheus": { "connection": "api", "series": series } },
            "json": http_json("/json"),
            "sick": http_json("/sick"),
        },
    }));
    for watch in ["scrape", "json", "sick"] {
        bench.done(start(watch));
    }
    let scrape = find(&mut bench, "scrape");
    assert_eq!((scrape.values["all"], scrape.values["b"]), (5.0, 3.0));
    assert_eq!(scrape.gaps["c"], "no sample c{}");
    let json = find(&mut bench, "json");
    assert_eq!((json.values["n"], json.gaps["gone"].as_str()), (4.0, "nothing at `/x`"));
    let sick = find(&mut bench, "sick");
    assert!(sick.values.is_empty());
    assert_eq!(sick.gaps["*"], "GET /sick: status 500");
}

/// A sample of a watch, among those that came or the next. On a busy machine an answer may take longer than these short periods; the
/// gaps that say so are passed over.
fn find(bench: &mut Bench, watch: &str) -> Sample {
    let late = |sample: &Sample| sample.gaps.get("*").is_some_and(|why| why.starts_with("no answer for"));
    let fits = |sample: &Sample| sample.watch == watch && !late(sample);
    let known = bench.entries.iter().find_map(|entry| match entry {
        Entry::Sample(sample) if fits(sample) => Some(sample.clone()),
        _ => None,
    });
    known.unwrap_or_else(|| bench.sample(fits))
}

#[test]
fn a_command_gives_numbers_or_reasons() {
    let watch =
        |script: &str| json!({ "every": "50ms", "exec": { "command": ["sh", "-c", script], "series": ["value"] } });
    let mut bench =
        Bench::new(&json!({ "watches": { "good": watch("echo 12.5"), "bad": watch("echo no luck >&2; exit 4") } }));
    bench.done(start("good"));
    assert_eq!(find(&mut bench, "good").values["value"], 12.5);
    bench.done(start("bad"));
    assert_eq!(find(&mut bench, "bad").gaps["*"], "status 4: no luck");
}
