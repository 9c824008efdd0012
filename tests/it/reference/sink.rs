//! The null sink.

use rumqttc::mqttbytes::v4::Packet;
use scaler::reference::sink;

use super::services::{Raw, Service, free, readings, until};

#[test]
fn it_acknowledges_and_counts() {
    let mqtt = free();
    let mut sink = Service::start("sink", "--http", free(), &["--listen", &mqtt.to_string()], &[]);
    let (mut publisher, _) = Raw::named(mqtt, "publisher", false);
    assert_eq!(publisher.publish_all(readings(100, 50), true), 5_000);
    publisher.send(&Packet::PingReq);
    assert_eq!(publisher.next(), Some(Packet::PingResp));
    publisher.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!((sink.truth("/received"), sink.truth("/acknowledged")), (5_000, 5_000));
    assert!(sink.terminate());
}

#[test]
fn it_runs_within_a_process_and_closes_when_dropped() {
    let sink = sink::spawn().unwrap();
    let (mut one, _) = Raw::named(sink.addr(), "one", false);
    let (mut two, _) = Raw::named(sink.addr(), "two", false);
    one.publish_all(readings(10, 10), true);
    two.publish_all(readings(10, 10), true);
    until("all is counted", || sink.received() == 200);
    assert_eq!(sink.acknowledged(), 200);
    drop(sink);
    assert_eq!((one.next(), two.next()), (None, None));
}
