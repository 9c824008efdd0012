//! The PostgreSQL store, with a private cluster that is killed and started again under load.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use postgres::{Client, NoTls};

use super::{
    listener::expected,
    services::{Broker, Raw, Service, free, readings, until},
};

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// A cluster of our own, stopped when dropped.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    pub(crate) port: u16,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        assert!(Command::new("chown").arg("postgres").arg(folder.path()).status().unwrap().success());
        let cluster = Self { folder, port: free().port() };
        let data = cluster.data();
        assert!(run("initdb", &["-D", path(&data), "-A", "trust", "-U", "postgres", "-N"]));
        cluster.up();
        cluster
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn up(&self) {
        let options = format!("-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories=", self.port);
        let log = self.folder.path().join("log");
        assert!(run("pg_ctl", &["-D", path(&self.data()), "-o", &options, "-l", path(&log), "-w", "start"]));
    }

    pub(crate) fn down(&self) -> bool {
        run("pg_ctl", &["-D", path(&self.data()), "-m", "immediate", "-w", "stop"])
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn execute(&self, statements: &str) {
        Client::connect(&self.url(), NoTls).unwrap().batch_execute(statements).unwrap();
    }

    pub(crate) fn count(&self, statement: &str) -> i64 {
        let connect = || Client::connect(&self.url(), NoTls).ok();
        let Some(mut client) = connect() else { return -1 };
        client.query_one(statement, &[]).map_or(-1, |row| row.get(0))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.down();
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// PostgreSQL refuses to run as root.
fn run(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--", &format!("{PROGRAMS}/{program}")]).args(args).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn a_restarted_database_loses_no_acknowledged_reading() {
    let cluster = Cluster::start();
    let broker = Broker::start(&["--queue", "200000"], &[]);
    let listener = broker.listener(&cluster.url(), &[]);
    let mqtt = broker.mqtt;
    let publishing = thread::spawn(move || {
        let (mut publisher, _) = Raw::named(mqtt, "publisher", false);
        let tags = (0..500)
            .map(|point| (format!("fbf/scale/s0/e0/p{point}/tags"), r#"{"tags":"{\"point\":true}"}"#.to_owned()));
        publisher.publish_all(tags, true) + publisher.publish_all(readings(500, 80), true)
    });
    until("rows arrive", || cluster.count("SELECT count(*) FROM point_history") > 0);
    assert!(cluster.down());
    until("the listener notices", || listener.truth("/store_failures") > 0);
    assert_eq!(listener.get("/health").unwrap().0, 503);
    assert_eq!(publishing.join().unwrap(), 40_500, "the broker goes on without the store");
    cluster.up();
    until("the rest is stored", || broker.service.truth("/acked_by_session/listener") == 40_500);
    assert_eq!(listener.get("/health").unwrap().0, 200);

    let mut client = Client::connect(&cluster.url(), NoTls).unwrap();
    let rows = client.query("SELECT point_uri, (extract(epoch FROM ts) * 1000)::bigint, value FROM point_history ORDER BY point_uri, ts", &[]).unwrap();
    let rows: Vec<(String, i64, f64)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    assert_eq!(rows, expected(500, 80));
    assert_eq!(cluster.count("SELECT count(*) FROM point_tags"), 500);
    assert_eq!(listener.truth("/conflicts"), 0);
    let (mut publisher, _) = Raw::named(mqtt, "publisher", false);
    publisher.publish_all(readings(10, 1).map(|(topic, payload)| (topic, payload.replace(".25", ".5"))), false);
    until("the conflicts are acknowledged", || broker.service.truth("/acked_by_session/listener") == 40_510);
    assert_eq!(listener.truth("/conflicts"), 10);

    let api = Service::start("api", "--listen", free(), &[], &[("SCALER_STORE_URL", &cluster.url())]);
    assert_eq!(api.json("/points").as_array().unwrap().len(), 500);
    assert_eq!(api.json("/values").as_array().unwrap().len(), 500);
    assert!(cluster.down());
    assert_eq!(api.get("/status").unwrap().0, 503);
    cluster.up();
    assert_eq!(api.json("/status")["rows"], 40_000);
    let history = api.json("/history?points=2&limit=3");
    assert_eq!(history[1]["topic"], expected(500, 80)[80].0);
    assert_eq!(history[1]["readings"].as_array().unwrap().len(), 3);
}

#[test]
fn a_daemon_beats_in_a_table_and_goes_on_without_it() {
    let cluster = Cluster::start();
    let broker = Broker::start(&[], &[]);
    let mqtt = broker.mqtt.to_string();
    let args = ["--broker", mqtt.as_str(), "--client-id", "fault_detector", "--beat-ms", "20"];
    let url = cluster.url();
    let daemon = Service::start("daemon", "--http", free(), &args, &[("SCALER_HEARTBEATS_URL", &url)]);
    let beats = || cluster.count("SELECT count(*) FROM service_heartbeats WHERE service = 'fault_detector'");
    until("it beats", || beats() > 3);
    assert!(cluster.down());
    until("beats are lost", || daemon.truth("/beats_failed") > 3);
    let before = daemon.truth("/beats");
    until("its heart goes on", || daemon.truth("/beats") > before);
    cluster.up();
    let kept = beats();
    until("it beats again", || beats() > kept);
}

#[test]
fn history_is_folded_by_point_and_time() {
    let cluster = Cluster::start();
    let broker = Broker::start(&[], &[]);
    let _listener = broker.listener(&cluster.url(), &[]);
    let api = Service::start_unready("api", "--listen", free(), &[], &[("SCALER_STORE_URL", &cluster.url())]);
    super::api::folds_what_was_published_just_now(&broker, &api);
}
