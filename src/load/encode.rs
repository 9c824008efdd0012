//! MQTT 3.1.1 on the wire: PUBLISH written by hand, PUBACK read by hand, everything else through rumqttc's codec types.
//!
//! By hand, because these two are all that a generator does millions of times; a test holds both against rumqttc's codec. Pure.

use bytes::BytesMut;
use rumqttc::mqttbytes::{
    QoS,
    v4::{
        ConnAck, Connect, ConnectReturnCode, Disconnect, Packet, PingReq, Publish, SubAck, Subscribe, SubscribeFilter,
    },
};

/// The largest packet that a broker may send us, bytes. Only `$SYS` values and acknowledgements are ever expected.
pub const LARGEST_INCOMING: usize = 1 << 20;

/// The largest remaining length that MQTT can write.
const LARGEST_REMAINING: usize = 268_435_455;

/// The fixed part of a PUBLISH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The packet identifier, for quality of service 1; none means 0.
    pub id: Option<u16>,
    /// Whether the broker keeps it.
    pub retain: bool,
    /// Whether it was sent before.
    pub dup: bool,
}

/// Writes a PUBLISH behind what is in `out`: `topic` writes the topic, `payload` the payload (it gets the place of the topic in `out`).
///
/// Topic and payload must fit their length fields: 65 535 bytes and 256 MiB; templates are checked for that when they are compiled.
#[inline]
pub fn publish(
    out: &mut Vec<u8>,
    head: Head,
    topic: impl FnOnce(&mut Vec<u8>),
    payload: impl FnOnce(&mut Vec<u8>, std::ops::Range<usize>),
) {
    let start = out.len();
    let flags = 0x30 | u8::from(head.retain) | (u8::from(head.id.is_some()) << 1) | (u8::from(head.dup) << 3);
    // Most packets have a remaining length of two bytes; others are shifted below.
    out.extend_from_slice(&[flags, 0, 0, 0, 0]);
    let topic_start = out.len();
    topic(out);
    let topic_end = out.len();
    let length = u16::try_from(topic_end - topic_start).unwrap_or(u16::MAX);
    out[topic_start - 2..topic_start].copy_from_slice(&length.to_be_bytes());
    if let Some(id) = head.id {
        out.extend_from_slice(&id.to_be_bytes());
    }
    payload(out, topic_start..topic_end);
    let remaining = out.len() - start - 3;
    if (128..16_384).contains(&remaining) {
        out[start + 1..start + 3].copy_from_slice(&[low_bits(remaining) | 0x80, low_bits(remaining >> 7)]);
    } else {
        out.splice(start + 1..start + 3, remaining_length(remaining));
    }
}

#[expect(clippy::cast_possible_truncation, reason = "seven bits")]
fn low_bits(number: usize) -> u8 {
    (number & 0x7f) as u8
}

/// The variable-length integer of MQTT: seven bits a byte, the lowest first, the top bit says that more follow.
fn remaining_length(length: usize) -> Vec<u8> {
    let mut rest = length.min(LARGEST_REMAINING);
    let mut bytes = Vec::with_capacity(4);
    loop {
        let byte = low_bits(rest);
        rest >>= 7;
        bytes.push(if rest > 0 { byte | 0x80 } else { byte });
        if rest == 0 {
            return bytes;
        }
    }
}

/// Writes a CONNECT.
pub fn connect(out: &mut Vec<u8>, connect: &Connect) -> Result<(), String> {
    control(out, |buffer| connect.write(buffer))
}

/// Writes a PINGREQ.
pub fn ping(out: &mut Vec<u8>) -> Result<(), String> {
    control(out, |buffer| PingReq.write(buffer))
}

/// Writes a DISCONNECT.
pub fn disconnect(out: &mut Vec<u8>) -> Result<(), String> {
    control(out, |buffer| Disconnect.write(buffer))
}

/// Writes a SUBSCRIBE for these filters with quality of service 0.
pub fn subscribe(out: &mut Vec<u8>, id: u16, filters: &[String]) -> Result<(), String> {
    let mut packet =
        Subscribe::new_many(filters.iter().map(|filter| SubscribeFilter::new(filter.clone(), QoS::AtMostOnce)));
    packet.pkid = id;
    control(out, |buffer| packet.write(buffer))
}

fn control(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut BytesMut) -> Result<usize, rumqttc::mqttbytes::Error>,
) -> Result<(), String> {
    let mut buffer = BytesMut::new();
    write(&mut buffer).map_err(|error| error.to_string())?;
    out.extend_from_slice(&buffer);
    Ok(())
}

/// What a broker can say to a client that publishes and subscribes.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// A PUBACK with its packet identifier.
    Ack(u16),
    /// A PINGRESP.
    Pong,
    /// A CONNACK.
    Connected(ConnAck),
    /// A SUBACK.
    Subscribed(SubAck),
    /// A message of a subscription.
    Message(Publish),
}

/// Bytes from a broker, cut into packets. Holds at most one incomplete packet of at most [`LARGEST_INCOMING`] bytes.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    read: usize,
}

impl Inbox {
    /// Takes bytes in.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.read == self.bytes.len() {
            self.bytes.clear();
            self.read = 0;
        } else if self.read > 64 * 1024 {
            self.bytes.drain(..self.read);
            self.read = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Forgets everything, for a new connection.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The next packet, or none until more bytes come.
    ///
    /// # Errors
    /// The bytes are no packet that a client may get; the connection cannot be used any further.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<Incoming>, String> {
        let unread = &self.bytes[self.read..];
        if let [0x40, 2, high, low, ..] = *unread {
            self.read += 4;
            return Ok(Some(Incoming::Ack(u16::from_be_bytes([high, low]))));
        }
        self.next_rare()
    }

    fn next_rare(&mut self) -> Result<Option<Incoming>, String> {
        let unread = &self.bytes[self.read..];
        let Some(length) = frame_length(unread)? else { return Ok(None) };
        if unread.len() < length {
            return Ok(None);
        }
        let mut frame = BytesMut::from(&unread[..length]);
        self.read += length;
        let packet = Packet::read(&mut frame, LARGEST_INCOMING).map_err(|error| error.to_string())?;
        Ok(Some(match packet {
            Packet::PubAck(ack) => Incoming::Ack(ack.pkid),
            Packet::PingResp => Incoming::Pong,
            Packet::ConnAck(ack) => Incoming::Connected(ack),
            Packet::SubAck(ack) => Incoming::Subscribed(ack),
            Packet::Publish(message) => Incoming::Message(message),
            other => return Err(format!("a client never gets {other:?}")),
        }))
    }
}

/// The length of the packet that starts here, or none until its header is complete.
fn frame_length(bytes: &[u8]) -> Result<Option<usize>, String> {
    let Some(first) = bytes.first() else { return Ok(None) };
    // CONNACK, PUBLISH, PUBACK, SUBACK, PINGRESP, with the least remaining length that each can have.
    let least = match first >> 4 {
        2 | 4 => 2,
        3 | 9 => 3,
        13 => 0,
        kind => return Err(format!("packet type {kind} is not meant for a client")),
    };
    let mut remaining = 0;
    for (position, byte) in bytes[1..].iter().take(4).enumerate() {
        remaining |= usize::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            if remaining < least || remaining > LARGEST_INCOMING {
                return Err(format!("a packet of {remaining} bytes"));
            }
            return Ok(Some(1 + position + 1 + remaining));
        }
        if position == 3 {
            return Err("a length of more than four bytes".to_owned());
        }
    }
    Ok(None)
}

/// Why a broker refused a connection, in words.
#[must_use]
pub fn refusal(code: ConnectReturnCode) -> &'static str {
    match code {
        ConnectReturnCode::Success => "accepted",
        ConnectReturnCode::RefusedProtocolVersion => "the broker does not speak MQTT 3.1.1",
        ConnectReturnCode::BadClientId => "the broker refuses the client identifier",
        ConnectReturnCode::ServiceUnavailable => "the broker is not available",
        ConnectReturnCode::BadUserNamePassword => "wrong user name or password",
        ConnectReturnCode::NotAuthorized => {
            "not authorized: wrong user name or password, or the account may not connect"
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(head: Head, topic: &str, payload: &[u8]) -> Vec<u8> {
        let mut out = vec![1, 2, 3];
        publish(
            &mut out,
            head,
            |out| out.extend_from_slice(topic.as_bytes()),
            |out, place| {
                assert_eq!(&out[place], topic.as_bytes());
                out.extend_from_slice(payload);
            },
        );
        out.split_off(3)
    }

    #[test]
    fn remaining_lengths_of_every_size() {
        for size in [0, 1, 100, 121, 122, 123, 124, 16_370, 16_377, 16_378, 16_379, 16_380, 70_000, 2_097_152] {
            let bytes = encoded(Head { id: Some(9), retain: true, dup: false }, "a/b", &vec![7; size]);
            let mut stream = BytesMut::from(&bytes[..]);
            let Ok(Packet::Publish(read)) = Packet::read(&mut stream, usize::MAX) else {
                panic!("{size} bytes were not read")
            };
            assert_eq!((read.payload.len(), stream.len()), (size, 0));
        }
    }

    #[test]
    fn a_packet_may_come_byte_by_byte() {
        let mut inbox = Inbox::default();
        let mut heard = Vec::new();
        for byte in [0x20, 2, 1, 0, 0x40, 2, 0x12, 0x34, 0xd0, 0] {
            inbox.push(&[byte]);
            heard.extend(inbox.next_packet().unwrap());
        }
        let connected = Incoming::Connected(ConnAck::new(ConnectReturnCode::Success, true));
        assert_eq!(heard, [connected, Incoming::Ack(0x1234), Incoming::Pong]);
    }

    #[test]
    fn what_no_client_gets_is_refused() {
        let rows: [&[u8]; 6] = [
            &[0x10, 2, 0, 0],
            &[0x30, 0xff, 0xff, 0xff, 0x7f],
            &[0x40, 1, 1],
            &[0x30, 0x80, 0x80, 0x80, 0x80],
            &[0xe0, 0],
            &[0x36, 3, 0, 9, 9],
        ];
        for bytes in rows {
            let mut inbox = Inbox::default();
            inbox.push(bytes);
            assert!(inbox.next_packet().is_err(), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn rumqttc_reads_what_is_written(id in prop::option::of(1..=u16::MAX), retain: bool, dup: bool, topic in "[^+#\0]{1,60}", payload in prop::collection::vec(any::<u8>(), 0..400)) {
            let dup = dup && id.is_some();
            let bytes = encoded(Head { id, retain, dup }, &topic, &payload);
            let mut stream = BytesMut::from(&bytes[..]);
            let Ok(Packet::Publish(read)) = Packet::read(&mut stream, usize::MAX) else { panic!("not read") };
            prop_assert_eq!((read.topic, &read.payload[..], read.retain, read.dup), (topic, &payload[..], retain, dup));
            prop_assert_eq!((read.qos == QoS::AtLeastOnce, read.pkid), (id.is_some(), id.unwrap_or(0)));
            prop_assert!(stream.is_empty());
        }

        #[test]
        fn hostile_bytes_never_panic_and_never_pile_up(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..20)) {
            let mut inbox = Inbox::default();
            for chunk in chunks {
                inbox.push(&chunk);
                while let Ok(Some(_)) = inbox.next_packet() {}
            }
        }

        #[test]
        fn plausible_bytes_never_panic(first in prop::sample::select(vec![0x20_u8, 0x30, 0x32, 0x3d, 0x40, 0x4f, 0x90, 0xd0]), body in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut inbox = Inbox::default();
            inbox.push(&[first]);
            inbox.push(&remaining_length(body.len()));
            inbox.push(&body);
            let heard = inbox.next_packet();
            prop_assert!(!matches!(heard, Ok(None)), "the packet is complete: it is read or refused");
        }
    }
}
