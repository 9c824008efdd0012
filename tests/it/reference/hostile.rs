//! Hostile bytes: a connection may end, the broker may not.

use std::{io::Write, net::TcpStream, time::Duration};

use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use rumqttc::mqttbytes::{
    QoS,
    v4::{Packet, SubAck, SubscribeReasonCode},
};

use super::services::{Broker, Raw, readings, until};

#[test]
fn random_bytes_never_stop_the_broker() {
    let broker = Broker::start(&["--packet-bytes", "4096"], &[]);
    let (mut neighbour, _) = Raw::named(broker.mqtt, "neighbour", false);
    neighbour.subscribe("fbf/#");
    // Whole packets with random bodies reach deeper than plain noise.
    let packet = (any::<u8>(), prop::collection::vec(any::<u8>(), 0..120)).prop_map(|(first, body)| {
        let length = u8::try_from(body.len()).unwrap();
        [&[first, length], &body[..]].concat()
    });
    let noise = prop_oneof![packet, prop::collection::vec(any::<u8>(), 0..200)];
    let strategy = (any::<bool>(), prop::collection::vec(noise, 1..8));
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(400) });
    runner
        .run(&strategy, |(greets, chunks)| {
            let mut stream = if greets {
                Raw::named(broker.mqtt, "hostile", true).0.stream
            } else {
                TcpStream::connect(broker.mqtt).unwrap()
            };
            for chunk in chunks {
                // The broker may have closed already.
                let _ = stream.write_all(&chunk);
            }
            let _ = stream.shutdown(std::net::Shutdown::Write);
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let ended = std::io::copy(&mut stream, &mut std::io::sink());
            let timed_out = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
            prop_assert!(!timed_out, "the broker does not hang on to it");
            Ok(())
        })
        .unwrap();
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    publisher.publish_all(readings(10, 1), false);
    assert!((0..10).all(|_| neighbour.publish().topic.starts_with("fbf/")), "others are served as before");
}

#[test]
fn limits_hold() {
    let broker = Broker::start(&["--packet-bytes", "1000"], &[]);
    let refused = |bytes: &[u8]| {
        let (mut client, _) = Raw::named(broker.mqtt, "c", false);
        client.stream.write_all(bytes).unwrap();
        assert_eq!(client.next(), None);
    };
    refused(&[0x30, 0xE9, 7]);
    refused(&[0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    refused(&[0x34, 5, 0, 1, b'a', 0, 1]);
    refused(&[0x30, 3, 0, 1, b'#']);
    refused(&[0x10, 0]);
    until("they are counted", || broker.service.truth("/malformed") == 5);

    let (mut client, _) = Raw::named(broker.mqtt, "c", false);
    client.send(&Packet::PingReq);
    assert_eq!(client.next(), Some(Packet::PingResp));
    // A filter with a misplaced wildcard is refused alone.
    client.stream.write_all(&[0x82, 11, 0, 7, 0, 2, b'a', b'#', 1, 0, 1, b'a', 1]).unwrap();
    let codes = vec![SubscribeReasonCode::Failure, SubscribeReasonCode::Success(QoS::AtLeastOnce)];
    assert_eq!(client.next(), Some(Packet::SubAck(SubAck::new(7, codes))));
}
