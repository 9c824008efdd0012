//! A second stack on the same engine that is live as far as the tests go: it is untouched while ours is killed, capped and removed, and when it
//! slows down ours gives way.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use super::bench::{Pipeline, assert_nothing_is_left, container, ended, subjects};
use crate::{
    compose::bench::docker,
    ran::{assert_no_ceiling, cause, standing, stderr},
};

/// Where the live stack's page is.
const PAGE: &str = "127.0.0.1:24080";

/// The project of the live stack.
const LIVE: &str = "live";

/// The live stack; it is gone when this is dropped.
struct LiveStack(String);

impl LiveStack {
    fn start(home: &Path) -> Self {
        let stack = Self(home.join("live.yml").display().to_string());
        let up = stack.compose(&["up", "--detach"]);
        assert!(up, "the live stack does not start");
        let deadline = Instant::now() + Duration::from_mins(2);
        while !Self::answers() {
            assert!(Instant::now() < deadline, "the live stack does not answer");
            sleep(Duration::from_millis(100));
        }
        stack
    }

    /// Whether its page is there: the engine's proxy takes connections before the server behind it does.
    fn answers() -> bool {
        let mut answer = String::new();
        let asked = TcpStream::connect(PAGE).and_then(|mut stream| {
            stream.write_all(b"GET / HTTP/1.0\r\nHost: live\r\n\r\n")?;
            stream.read_to_string(&mut answer)
        });
        asked.is_ok() && answer.starts_with("HTTP/1.")
    }

    fn compose(&self, arguments: &[&str]) -> bool {
        let command = ["compose", "--project-name", LIVE, "--file", &self.0];
        Command::new("docker").args(command).args(arguments).output().unwrap().status.success()
    }

    /// Everything that the engine knows of it: containers with their starts, restarts and networks; networks; volumes.
    fn facts() -> String {
        let filter = format!("label=com.docker.compose.project={LIVE}");
        let list = |what: &[&str]| docker(&[what, &["--filter", &filter, "--quiet", "--no-trunc"]].concat());
        let ids = docker(&["ps", "--all", "--filter", &filter, "--quiet"]);
        let format = "{{.Id}} {{.State.StartedAt}} {{.State.Pid}} {{.RestartCount}} {{.HostConfig.NanoCpus}} \
            {{.HostConfig.Memory}} {{json .NetworkSettings.Networks}}{{range .Mounts}}\n{{json .}}{{end}}";
        let volume = docker(&["volume", "inspect", "--format", "{{.Driver}} {{.Mountpoint}}", "live_content"]);
        let inspected = docker(&["inspect", "--format", format, &ids]);
        // The engine lists mounts in no order.
        let mut inspected: Vec<&str> = inspected.lines().collect();
        inspected.sort_unstable();
        [inspected.join("\n"), list(&["network", "ls"]), volume].join("\n")
    }
}

impl Drop for LiveStack {
    fn drop(&mut self) {
        self.compose(&["down", "--volumes", "--timeout", "1"]);
    }
}

#[test]
fn ours_gives_way_to_a_live_stack_that_slows_down_and_leaves_it_untouched() {
    let pipeline = Pipeline::new(200_000);
    let _live = LiveStack::start(pipeline.home.path());
    let before = LiveStack::facts();
    let mut run = pipeline.start("live.toml", &["soak=120s"]);
    run.until_phase("soak");
    run.until("slice", "readings");
    let caps = ["inspect", "--format", "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}}", &container("worker")];
    assert_eq!(docker(&caps), "500000000 33554432", "ours is capped");
    docker(&["exec", "live-web-1", "touch", "/volume/slow"]);
    let run = run.end();

    assert_no_ceiling(&run);
    assert_eq!(ended(&run).1, ["inconclusive"]);
    assert!(cause(&run, 0).starts_with("live-safety: the live system took 1."), "{}", cause(&run, 0));
    assert!(cause(&run, 0).ends_with("3 samples in a row"), "{}", cause(&run, 0));
    assert_eq!(run.broken(0), ["live-safety did not trip"]);
    assert_eq!(standing(&run, 0, "nothing else on the engine was touched"), "held");
    // The load stopped at once, and nothing came after the soak of two minutes that ended early.
    let windows = run.cell(0)["windows"].as_array().unwrap();
    assert_eq!(windows.last().unwrap()["name"], "soak");
    let all = run.cell(0)["events"].as_array().unwrap();
    let tripped = all.iter().find(|event| event["kind"] == "live_safety").unwrap()["at"].as_f64().unwrap();
    let slices = run.cell(0)["slices"].as_array().unwrap();
    assert!(slices.iter().all(|slice| slice["from"].as_f64().unwrap() < tripped + 5.0), "{tripped}: {slices:?}");

    // Ours was killed, capped and removed; the live stack is what it was, by the engine's own words and by scaler's.
    assert_eq!(subjects(&run, 0, "other_changed"), Vec::<&str>::new());
    let compared = run.result["neighbours"].as_array().unwrap();
    assert!(!compared.is_empty() && compared.iter().all(|one| one["things"].as_u64().unwrap() > 0), "{compared:?}");
    assert!(compared.iter().all(|one| one["sha256_before"] == one["sha256_after"]), "{compared:?}");
    let killed = fs::read_to_string(run.line["result"].as_str().unwrap()).unwrap();
    assert!(killed.contains("SIGKILL") && killed.contains("exit 137"), "{}", stderr(&run));
    assert_nothing_is_left();
    assert_eq!(LiveStack::facts(), before);
}
