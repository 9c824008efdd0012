//! A real Mosquitto that a test may kill, and a subscriber of the same make.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use scaler::{
    plan::{connection::Mqtt, quantity::Length},
    record::entry::Reading,
};

use super::PATIENCE;

/// A Mosquitto of the test's own; killed and reaped when it is dropped.
pub(super) struct Broker {
    folder: PathBuf,
    pub(super) port: u16,
    pub(super) process: Child,
}

impl Broker {
    /// Starts one with these lines after its `listener`.
    pub(super) fn start(folder: &Path, settings: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "listener {port} 127.0.0.1\n{settings}\nmax_inflight_messages 0\nmax_queued_messages 1000000\nuser root\nsys_interval 1\n"
        );
        fs::write(folder.join("mosquitto.conf"), config).unwrap();
        let mut broker = Self { folder: folder.to_owned(), port, process: spawn(folder) };
        broker.wait_until_it_listens();
        broker
    }

    fn wait_until_it_listens(&mut self) {
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(began.elapsed() < PATIENCE, "mosquitto does not listen");
            assert_eq!(
                self.process.try_wait().unwrap(),
                None,
                "{}",
                fs::read_to_string(self.folder.join("log")).unwrap()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        assert_eq!(self.process.wait().unwrap().signal(), Some(9));
    }

    /// Stops it by a signal: its sockets stay open, and nobody answers.
    pub(super) fn freeze(&self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
    }

    pub(super) fn start_again(&mut self) {
        self.process = spawn(&self.folder);
        self.wait_until_it_listens();
    }

    pub(super) fn mqtt(&self, scheme: &str) -> Mqtt {
        Mqtt {
            url: format!("{scheme}://127.0.0.1:{}", self.port),
            user: None,
            password: None,
            client_id: "scaler".to_owned(),
            clean_session: true,
            keep_alive: Length::seconds(30),
            ca_file: None,
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(folder: &Path) -> Child {
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut command = Command::new("/usr/sbin/mosquitto");
    command.arg("-c").arg(folder.join("mosquitto.conf")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().expect("mosquitto is installed by tests/run")
}

/// A subscriber of another make, which keeps its session over a restart of the broker.
pub(super) struct Subscriber {
    pub(super) process: Child,
    pub(super) file: PathBuf,
}

impl Subscriber {
    pub(super) fn start(port: u16, folder: &Path) -> Self {
        let file = folder.join("received");
        let mut command = Command::new("/usr/bin/mosquitto_sub");
        command.args([
            "-h",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "-t",
            "t/#",
            "-t",
            "ready",
            "-q",
            "1",
            "-i",
            "subscriber",
            "-c",
        ]);
        let process = command
            .args(["-F", "%p"])
            .stdin(Stdio::null())
            .stdout(fs::File::create(&file).unwrap())
            .stderr(Stdio::null());
        Self { process: process.spawn().expect("mosquitto-clients is installed by tests/run"), file }
    }

    pub(super) fn received(&self) -> Vec<Reading> {
        let text = fs::read_to_string(&self.file).unwrap();
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let readings = whole.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        readings
            .filter(|reading| reading["point"].is_string())
            .map(|reading| {
                let value = reading["value"].as_f64().unwrap() * 1024.0;
                assert!(value.fract().abs() < f64::EPSILON, "exact in binary");
                #[expect(clippy::cast_possible_truncation, reason = "a whole number of 20 bits")]
                let value = value as i64;
                Reading {
                    second: reading["ts"].as_i64().unwrap().div_euclid(1000),
                    topic: reading["point"].as_str().unwrap().to_owned(),
                    value,
                }
            })
            .collect()
    }

    pub(super) fn wait_for(&self, enough: impl Fn(&BTreeSet<Reading>) -> bool, what: &str) -> BTreeSet<Reading> {
        let began = Instant::now();
        loop {
            let received: BTreeSet<Reading> = self.received().into_iter().collect();
            if enough(&received) {
                return received;
            }
            assert!(began.elapsed() < PATIENCE, "never: {what}; {} received", received.len());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
