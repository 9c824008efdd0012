//! Sessions: kept, resumed, bounded, taken over, lost by silence.

use std::time::Duration;

use rumqttc::mqttbytes::{
    QoS,
    v4::{Connect, LastWill, Packet, Subscribe},
};

use super::services::{Broker, Raw, until};

fn numbered(count: u64) -> impl Iterator<Item = (String, String)> {
    (0..count).map(|number| ("n".to_owned(), number.to_string()))
}

#[test]
fn a_kept_session_is_resumed_with_the_oldest_and_exact_drops() {
    let broker = Broker::start(&["--queue", "100"], &[]);
    let (mut keeper, connack) = Raw::named(broker.mqtt, "keeper", true);
    assert!(!connack.session_present);
    keeper.subscribe("n");
    keeper.send(&Packet::Disconnect);
    assert_eq!(keeper.next(), None);

    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    assert_eq!(publisher.publish_all(numbered(150), false), 150);
    let truth = broker.service.json("/truth?names=1");
    assert_eq!(truth["dropped_queue_full"], 50);
    assert_eq!(truth["dropped_by_session"]["keeper"], 50);
    assert_eq!(truth["queued_by_session"]["keeper"], 100);
    assert_eq!(truth["names"]["dropped_queue_full"][0]["payload"], "100");
    assert!(
        broker.service.get("/metrics").unwrap().1.contains("scaler_broker_queue_messages{session=\"keeper\"} 100\n")
    );

    let (mut keeper, connack) = Raw::named(broker.mqtt, "keeper", true);
    assert!(connack.session_present);
    for number in 0..100 {
        let publish = keeper.publish();
        assert_eq!(publish.payload, number.to_string());
        assert!(!publish.dup);
        if number < 60 {
            keeper.ack(publish.pkid);
        }
    }
    until("the acknowledgements are counted", || broker.service.truth("/acked_by_session/keeper") == 60);
    assert_eq!(broker.service.truth("/inflight_by_session/keeper"), 40);
    drop(keeper);

    let (mut keeper, connack) = Raw::named(broker.mqtt, "keeper", true);
    assert!(connack.session_present);
    for number in 60..100 {
        let publish = keeper.publish();
        assert_eq!((publish.payload.as_ref(), publish.dup), (number.to_string().as_bytes(), true));
        keeper.ack(publish.pkid);
    }
    until("all is acknowledged", || broker.service.truth("/acked_by_session/keeper") == 100);

    // A clean session ends the kept one.
    let (clean, connack) = Raw::named(broker.mqtt, "keeper", false);
    assert!(!connack.session_present);
    drop(clean);
    let (_, connack) = Raw::named(broker.mqtt, "keeper", true);
    assert!(!connack.session_present);
}

#[test]
fn a_stalled_subscriber_holds_nobody_up_and_every_message_is_accounted_for() {
    let broker = Broker::start(&["--queue", "100", "--inflight", "50"], &[]);
    let (mut acking, _) = Raw::named(broker.mqtt, "acking", false);
    acking.subscribe("n");
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    assert_eq!(publisher.publish_all(numbered(2_000), false), 2_000);
    assert_eq!(
        broker.service.truth("/dropped_by_session/acking"),
        2_000 - 150,
        "50 in flight and 100 waiting are kept"
    );
    for number in 0..150 {
        let publish = acking.publish();
        assert_eq!(publish.payload, number.to_string());
        acking.ack(publish.pkid);
    }

    // At QoS 0 the socket's buffers take some more; what they do not take waits or is dropped and counted.
    let (mut lazy, _) = Raw::named(broker.mqtt, "lazy", false);
    let mut subscribe = Subscribe::new("big", QoS::AtMostOnce);
    subscribe.pkid = 1;
    lazy.send(&Packet::Subscribe(subscribe));
    assert!(matches!(lazy.next(), Some(Packet::SubAck(_))));
    let big = (0..20_000).map(|number| ("big".to_owned(), format!("{number:01000}")));
    assert_eq!(publisher.publish_all(big, false), 20_000);
    let dropped = broker.service.truth("/dropped_by_session/lazy");
    assert!(dropped > 0, "20 MB do not fit into the buffers");
    let mut received = 0;
    while received < 20_000 - dropped {
        let publish = lazy.publish();
        assert_eq!((publish.qos, publish.payload.len()), (QoS::AtMostOnce, 1_000));
        received += 1;
    }
    assert_eq!(publisher.publish_all([("big".to_owned(), "last".to_owned())], false), 1);
    assert_eq!(lazy.publish().payload, "last", "and there were no more");
}

#[test]
fn mosquitto_sub_resumes_its_session() {
    let broker = Broker::start(&[], &[]);
    let args = ["-i", "kept", "-c", "-q", "1", "-t", "n"];
    assert!(broker.mosquitto("mosquitto_sub", &[&args[..], &["-E"]].concat()).0);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    publisher.publish_all(numbered(300), false);
    let (_, output) = broker.mosquitto("mosquitto_sub", &[&args[..], &["-C", "300", "-W", "30"]].concat());
    assert!(output.lines().map(|line| line.parse::<u64>().unwrap()).eq(0..300));
}

#[test]
fn a_client_identifier_is_taken_over() {
    let broker = Broker::start(&[], &[]);
    let (mut first, _) = Raw::named(broker.mqtt, "same", true);
    first.subscribe("n");
    let (mut second, connack) = Raw::named(broker.mqtt, "same", true);
    assert!(connack.session_present);
    assert_eq!(first.next(), None, "the first connection is closed");
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    publisher.publish_all(numbered(1), false);
    assert_eq!(second.publish().payload, "0");
}

#[test]
fn a_silent_client_is_ended_and_its_will_is_published() {
    let broker = Broker::start(&[], &[]);
    let (mut heir, _) = Raw::named(broker.mqtt, "heir", false);
    heir.subscribe("wills/#");
    let mut connect = Connect::new("silent");
    connect.keep_alive = 1;
    connect.last_will = Some(LastWill::new("wills/silent", "gone", QoS::AtLeastOnce, false));
    let (mut silent, _) = Raw::connect(broker.mqtt, &connect);
    assert_eq!(heir.publish().payload, "gone");
    assert_eq!(silent.next(), None);
    assert_eq!(broker.service.truth("/keep_alive_lost"), 1);

    // Pings keep a client alive for longer than its keep-alive, and a goodbye has no will.
    connect.last_will = Some(LastWill::new("wills/polite", "gone", QoS::AtLeastOnce, false));
    let (mut polite, _) = Raw::connect(broker.mqtt, &connect);
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(500));
        polite.send(&Packet::PingReq);
        assert_eq!(polite.next(), Some(Packet::PingResp));
    }
    polite.send(&Packet::Disconnect);
    assert_eq!(polite.next(), None);
    connect.last_will = Some(LastWill::new("wills/cut", "gone", QoS::AtLeastOnce, false));
    drop(Raw::connect(broker.mqtt, &connect));
    assert_eq!(heir.publish().topic, "wills/cut", "and not that of the polite one");
    assert_eq!(broker.service.truth("/keep_alive_lost"), 1);
}
