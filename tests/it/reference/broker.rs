//! What every broker does, asked by Mosquitto's clients, by rumqttc, and packet by packet.

use std::{collections::BTreeSet, time::Duration};

use rumqttc::{AsyncClient, Event, MqttOptions, Packet as Rumqttc, QoS, mqttbytes::v4};

use super::services::{Broker, Raw, readings, until};

#[test]
fn a_late_wildcard_subscriber_gets_every_retained_message() {
    let broker = Broker::start(&["--queue", "10"], &[]);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    assert_eq!(publisher.publish_all(readings(5_000, 1), true), 5_000);

    let args = ["-t", "fbf/#", "-q", "1", "-C", "5000", "-W", "60", "-F", "%r %t"];
    let (_, output) = broker.mosquitto("mosquitto_sub", &args);
    let lines: BTreeSet<&str> = output.lines().collect();
    assert_eq!(lines.len(), 5_000);
    assert!(lines.iter().all(|line| line.starts_with("1 fbf/scale/s0/e0/p")));
    assert_eq!(broker.service.truth("/dropped_queue_full"), 0, "retained messages are not the queue's");

    // An empty payload deletes; a plain topic gets its own message only.
    publisher.publish_all([("fbf/scale/s0/e0/p0".to_owned(), String::new())], true);
    let (mut late, _) = Raw::named(broker.mqtt, "late", false);
    late.subscribe("fbf/scale/s0/e0/p0");
    late.subscribe("fbf/scale/s0/e0/p1");
    assert_eq!(late.publish().topic, "fbf/scale/s0/e0/p1");
}

#[tokio::test]
async fn rumqttc_publishes_and_subscribes() {
    let broker = Broker::start(&[], &[("SCALER_BROKER_ACCOUNTS", "a:b")]);
    let mut options = MqttOptions::new("both", "127.0.0.1", broker.mqtt.port());
    options.set_credentials("a", "b").set_keep_alive(Duration::from_secs(5));
    let (client, mut events) = AsyncClient::new(options, 100);
    client.subscribe("x/+/z", QoS::AtLeastOnce).await.unwrap();
    let publishing = tokio::spawn(async move {
        for number in 0..2_000_u32 {
            client.publish("x/y/z", QoS::AtLeastOnce, false, number.to_string()).await.unwrap();
        }
        client
    });
    let (mut received, mut acked) = (0_u32, 0);
    while received < 2_000 || acked < 2_000 {
        match events.poll().await.unwrap() {
            Event::Incoming(Rumqttc::Publish(publish)) => {
                assert_eq!(publish.payload, received.to_string(), "in order");
                received += 1;
            }
            Event::Incoming(Rumqttc::PubAck(_)) => acked += 1,
            _ => {}
        }
    }
    publishing.await.unwrap();
    assert_eq!(broker.service.truth("/received"), 2_000);
    assert_eq!(broker.service.truth("/acknowledged"), 2_000);
}

#[test]
fn credentials_are_checked_and_the_refusal_has_its_code() {
    let broker = Broker::start(&[], &[("SCALER_BROKER_ACCOUNTS", "scalegen:right,other:too")]);
    let mut connect = v4::Connect::new("c");
    let code = |connect: &v4::Connect| Raw::connect(broker.mqtt, connect).1.code;
    assert_eq!(code(&connect), v4::ConnectReturnCode::NotAuthorized);
    connect.set_login("scalegen", "wrong");
    assert_eq!(code(&connect), v4::ConnectReturnCode::BadUserNamePassword);
    connect.set_login("scalegen", "right");
    assert_eq!(code(&connect), v4::ConnectReturnCode::Success);
    let publish = |password| {
        broker.mosquitto("mosquitto_pub", &["-u", "other", "-P", password, "-t", "a", "-m", "b", "-q", "1"]).0
    };
    assert!(publish("too"));
    assert!(!publish("right"));
    assert_eq!(broker.service.truth("/refused"), 3);
}

#[test]
fn other_versions_of_mqtt_are_told_so() {
    let broker = Broker::start(&[], &[]);
    let publish = |version| broker.mosquitto("mosquitto_pub", &["-V", version, "-t", "a", "-m", "b", "-q", "1"]).0;
    assert!(publish("311"));
    assert!(!publish("31"));
    assert!(!publish("5"));
    assert_eq!(broker.service.truth("/received"), 1);
}

#[test]
fn the_acl_acknowledges_what_it_denies_and_drops_it() {
    let broker = Broker::start(&["--acl-deny", "secret/", "--acl-deny", "other/"], &[]);
    let (mut subscriber, _) = Raw::named(broker.mqtt, "subscriber", false);
    subscriber.subscribe("#");
    for topic in ["secret/a", "other/b", "$SYS/broker/uptime", "open/c"] {
        assert!(
            broker.mosquitto("mosquitto_pub", &["-t", topic, "-m", topic, "-q", "1", "-r"]).0,
            "{topic} is acknowledged"
        );
    }
    assert_eq!(subscriber.publish().topic, "open/c");
    let truth = broker.service.json("/truth?names=1");
    assert_eq!(truth["denied_by_acl"], 3);
    assert_eq!(truth["acknowledged"], 4);
    assert_eq!(truth["names"]["denied_by_acl"][0]["topic"], "secret/a");
}

#[test]
fn its_counters_are_published_as_mosquitto_names_them() {
    let broker = Broker::start(&["--queue", "2"], &[]);
    let (mut kept, _) = Raw::named(broker.mqtt, "kept", true);
    kept.subscribe("a/#");
    kept.send(&v4::Packet::Disconnect);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    publisher.publish_all((0..5).map(|number| (format!("a/{number}"), "x".to_owned())), true);
    let sys = |name: &str| {
        let (_, output) =
            broker.mosquitto("mosquitto_sub", &["-t", &format!("$SYS/broker/{name}"), "-C", "1", "-W", "30"]);
        output.trim().to_owned()
    };
    until("the counters are published", || sys("publish/messages/dropped") == "3");
    assert_eq!(sys("publish/messages/received"), "5");
    assert_eq!(sys("subscriptions/count"), "1");
    assert!(sys("version").starts_with("scaler reference "));
    assert!(sys("uptime").ends_with(" seconds"));
    for name in ["publish/messages/sent", "messages/received", "messages/sent", "messages/stored", "clients/connected"]
    {
        assert!(sys(name).parse::<u64>().is_ok(), "{name}");
    }
    let retained: u64 = sys("retained messages/count").parse().unwrap();
    assert!(retained > 5, "five and the counters themselves");
    let stored: u64 = sys("store/messages/count").parse().unwrap();
    assert!(stored >= 7, "five retained and two queued");
}
