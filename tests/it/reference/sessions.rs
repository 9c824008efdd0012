//! Sessions: kept, resumed, bounded, taken over, lost by silence.

use std::time::Duration;

use rumqttc::mqttbytes::{
    QoS,
    v4::{Connect, LastWill, Packet},
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
