//! Starts services of the reference target, asks them over HTTP, and speaks raw MQTT to them.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use bytes::BytesMut;
use rumqttc::mqttbytes::{
    QoS,
    v4::{ConnAck, Connect, Packet, PubAck, Publish, Subscribe},
};
use serde_json::Value;

/// How long anything may take before a test gives up.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// An address of loopback that is free now.
pub(super) fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Polls until something holds.
pub(super) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "not in time: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A running service; killed and reaped when dropped.
pub(super) struct Service {
    child: Child,
    pub(super) http: SocketAddr,
}

impl Service {
    /// Starts a service and waits until it is healthy.
    pub(super) fn start(name: &str, http_flag: &str, http: SocketAddr, args: &[&str], env: &[(&str, &str)]) -> Self {
        let service = Self::start_unready(name, http_flag, http, args, env);
        until(&format!("{name} is healthy"), || service.get("/health").is_some_and(|(status, _)| status == 200));
        service
    }

    /// Starts a service.
    pub(super) fn start_unready(
        name: &str,
        http_flag: &str,
        http: SocketAddr,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scaler"));
        command.args(["reference", name, http_flag, &http.to_string()]).args(args).envs(env.iter().copied());
        Self { child: command.stdin(Stdio::null()).spawn().unwrap(), http }
    }

    /// Asks for a path: status and body, or nothing when it cannot be reached.
    pub(super) fn get(&self, path: &str) -> Option<(u16, String)> {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build().into();
        let mut response = agent.get(format!("http://{}{path}", self.http)).call().ok()?;
        Some((response.status().as_u16(), response.body_mut().read_to_string().ok()?))
    }

    /// Posts JSON, with a token if there is one: status, and the answer if it is JSON.
    pub(super) fn post(&self, path: &str, body: &Value, token: Option<&str>) -> (u16, Value) {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build().into();
        let mut request = agent.post(format!("http://{}{path}", self.http));
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let mut response = request.send_json(body).unwrap();
        (response.status().as_u16(), response.body_mut().read_json().unwrap_or(Value::Null))
    }

    /// Asks for JSON.
    pub(super) fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path).unwrap();
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// One count of the truth, by JSON pointer.
    pub(super) fn truth(&self, pointer: &str) -> u64 {
        self.json("/truth").pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} at /truth"))
    }

    /// Kills it with SIGKILL and reaps it.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it with SIGTERM; returns whether it ended with success.
    pub(super) fn terminate(&mut self) -> bool {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().success()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A broker with its MQTT address.
pub(super) struct Broker {
    pub(super) service: Service,
    pub(super) mqtt: SocketAddr,
}

impl Broker {
    /// Starts a broker.
    pub(super) fn start(args: &[&str], env: &[(&str, &str)]) -> Self {
        let mqtt = free();
        let listen = mqtt.to_string();
        let args = [&["--listen", listen.as_str()], args].concat();
        Self { service: Service::start("broker", "--http", free(), &args, env), mqtt }
    }

    /// Runs `mosquitto_pub` or `mosquitto_sub` to its end: success, standard output.
    pub(super) fn mosquitto(&self, program: &str, args: &[&str]) -> (bool, String) {
        let port = self.mqtt.port().to_string();
        let output = Command::new(program).args(["-h", "127.0.0.1", "-p", &port]).args(args).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    }

    /// Starts a listener that subscribes to everything and writes to a store.
    pub(super) fn listener(&self, store: &str, args: &[&str]) -> Service {
        let broker = self.mqtt.to_string();
        let args = [&["--broker", broker.as_str(), "--store", store, "--subscribe", "#"], args].concat();
        Service::start("listener", "--http", free(), &args, &[])
    }
}

/// The SQLite file in a folder, as a `--store` argument.
pub(super) fn sqlite(folder: &Path) -> String {
    folder.join("history.sqlite").to_str().unwrap().to_owned()
}

/// A client that does what it is told, packet by packet.
pub(super) struct Raw {
    pub(super) stream: TcpStream,
    buffer: BytesMut,
}

impl Raw {
    /// Connects and returns the CONNACK.
    pub(super) fn connect(address: SocketAddr, connect: &Connect) -> (Self, ConnAck) {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Self { stream, buffer: BytesMut::new() };
        client.send(&Packet::Connect(connect.clone()));
        let Some(Packet::ConnAck(connack)) = client.next() else { panic!("no CONNACK") };
        (client, connack)
    }

    /// Connects with a client identifier; `kept` asks for a session that outlives the connection.
    pub(super) fn named(address: SocketAddr, id: &str, kept: bool) -> (Self, ConnAck) {
        let mut connect = Connect::new(id);
        connect.clean_session = !kept;
        Self::connect(address, &connect)
    }

    /// Sends a packet.
    pub(super) fn send(&mut self, packet: &Packet) {
        let mut bytes = BytesMut::new();
        packet.write(&mut bytes, usize::MAX).unwrap();
        self.stream.write_all(&bytes).unwrap();
    }

    /// The next packet; nothing at the end of the connection.
    pub(super) fn next(&mut self) -> Option<Packet> {
        loop {
            match Packet::read(&mut self.buffer, usize::MAX) {
                Ok(packet) => return Some(packet),
                Err(rumqttc::mqttbytes::Error::InsufficientBytes(_)) => {}
                Err(error) => panic!("{error}"),
            }
            let mut chunk = [0; 16_384];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The next packet, which has to be a PUBLISH.
    pub(super) fn publish(&mut self) -> Publish {
        match self.next() {
            Some(Packet::Publish(publish)) => publish,
            other => panic!("not a PUBLISH: {other:?}"),
        }
    }

    /// Subscribes at QoS 1 and waits for the SUBACK.
    pub(super) fn subscribe(&mut self, filter: &str) {
        let mut subscribe = Subscribe::new(filter, QoS::AtLeastOnce);
        subscribe.pkid = 1;
        self.send(&Packet::Subscribe(subscribe));
        let Some(Packet::SubAck(_)) = self.next() else { panic!("no SUBACK") };
    }

    /// Acknowledges a delivery.
    pub(super) fn ack(&mut self, packet_id: u16) {
        self.send(&Packet::PubAck(PubAck::new(packet_id)));
    }

    /// Publishes messages at QoS 1 without waiting, then waits for all their PUBACKs; `retain` applies to all.
    pub(super) fn publish_all(&mut self, messages: impl IntoIterator<Item = (String, String)>, retain: bool) -> u64 {
        let mut acked = 0;
        let messages: Vec<_> = messages.into_iter().collect();
        for window in messages.chunks(1000) {
            let mut bytes = BytesMut::new();
            for (id, (topic, payload)) in (1..).zip(window) {
                let mut publish = Publish::new(topic, QoS::AtLeastOnce, payload.as_bytes());
                (publish.pkid, publish.retain) = (id, retain);
                publish.write(&mut bytes).unwrap();
            }
            self.stream.write_all(&bytes).unwrap();
            for id in (1..).take(window.len()) {
                assert_eq!(self.next(), Some(Packet::PubAck(PubAck::new(id))));
                acked += 1;
            }
        }
        acked
    }
}

/// Readings of so many points at so many times: topic and payload, in the order of their times.
pub(super) fn readings(points: u64, times: u64) -> impl Iterator<Item = (String, String)> {
    (0..times).flat_map(move |time| (0..points).map(move |point| reading(point, time)))
}

/// One reading.
pub(super) fn reading(point: u64, time: u64) -> (String, String) {
    let (value, ts) = (point * 4 + time, 1_790_000_000_000 + time * 5_000);
    (format!("fbf/scale/s0/e0/p{point}"), format!(r#"{{"point":"p{point}","value":{value}.25,"ts":{ts}}}"#))
}
