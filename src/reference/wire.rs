//! MQTT 3.1.1 on the wire: frames are split and the hot packets (PUBLISH, PUBACK) read and written by hand, without allocation and with hard
//! limits; rare packets are left to `rumqttc`'s codec types by those who need them. Nothing here panics, whatever the bytes are.
//!
//! Source: OASIS MQTT 3.1.1, sections 2.2 (fixed header), 3.3 (PUBLISH), 3.4 (PUBACK).

use std::fmt;

/// Packet types: the high four bits of the first byte.
pub(super) mod kind {
    pub(in crate::reference) const CONNECT: u8 = 1;
    pub(in crate::reference) const CONNACK: u8 = 2;
    pub(in crate::reference) const PUBLISH: u8 = 3;
    pub(in crate::reference) const PUBACK: u8 = 4;
    pub(in crate::reference) const SUBSCRIBE: u8 = 8;
    pub(in crate::reference) const SUBACK: u8 = 9;
    pub(in crate::reference) const UNSUBSCRIBE: u8 = 10;
    pub(in crate::reference) const PINGREQ: u8 = 12;
    pub(in crate::reference) const PINGRESP: u8 = 13;
    pub(in crate::reference) const DISCONNECT: u8 = 14;
}

/// PINGREQ, whole.
pub(super) const PINGREQ: [u8; 2] = [0xC0, 0];
/// PINGRESP, whole.
pub(super) const PINGRESP: [u8; 2] = [0xD0, 0];

/// Why bytes are not MQTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireError {
    /// The length takes more than four bytes.
    Length,
    /// The packet is larger than the limit.
    TooLarge,
    /// The packet ends before its fields do, or a field has a value that is not allowed.
    Malformed,
    /// Quality of service 2, which the reference target does not offer.
    QosTwo,
}

impl fmt::Display for WireError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Length => "the packet's length takes more than four bytes",
            Self::TooLarge => "the packet is larger than the limit",
            Self::Malformed => "malformed packet",
            Self::QosTwo => "quality of service 2 is not offered",
        })
    }
}

/// One whole packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    /// The whole packet with its fixed header.
    pub(super) bytes: &'a [u8],
    /// How many of the bytes are the fixed header.
    pub(super) header: usize,
}

impl<'a> Frame<'a> {
    /// The packet type.
    pub(super) fn kind(self) -> u8 {
        self.bytes[0] >> 4
    }

    /// What follows the fixed header.
    pub(super) fn body(self) -> &'a [u8] {
        &self.bytes[self.header..]
    }

    /// The packet identifier of a packet that begins with one.
    pub(super) fn packet_id(self) -> Result<u16, WireError> {
        match self.body() {
            [high, low, ..] => Ok(u16::from_be_bytes([*high, *low])),
            _ => Err(WireError::Malformed),
        }
    }
}

/// Splits the first packet off; `None` until it is whole. `limit` bounds the bytes after the fixed header.
pub(super) fn split(buffer: &[u8], limit: usize) -> Result<Option<Frame<'_>>, WireError> {
    let mut length = 0_usize;
    for (index, byte) in buffer.iter().skip(1).enumerate() {
        if index == 4 {
            return Err(WireError::Length);
        }
        length |= usize::from(byte & 0x7F) << (7 * index);
        if byte & 0x80 == 0 {
            if length > limit {
                return Err(WireError::TooLarge);
            }
            let header = index + 2;
            return Ok(buffer.get(..header + length).map(|bytes| Frame { bytes, header }));
        }
    }
    // Four length bytes that all promise another one can never become a packet.
    if buffer.len() > 4 { Err(WireError::Length) } else { Ok(None) }
}

/// A PUBLISH, borrowed from its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Publish<'a> {
    /// 0 or 1.
    pub(super) qos: u8,
    /// Whether the broker is asked to keep it, or kept it.
    pub(super) retain: bool,
    /// Whether it may have been sent before.
    pub(super) dup: bool,
    /// The topic.
    pub(super) topic: &'a str,
    /// The packet identifier; 0 at QoS 0.
    pub(super) packet_id: u16,
    /// The payload.
    pub(super) payload: &'a [u8],
}

/// Reads a PUBLISH.
pub(super) fn publish(frame: Frame<'_>) -> Result<Publish<'_>, WireError> {
    let flags = frame.bytes[0];
    let qos = (flags >> 1) & 3;
    if qos > 1 {
        return Err(WireError::QosTwo);
    }
    let (length, rest) = frame.body().split_at_checked(2).ok_or(WireError::Malformed)?;
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    let (topic, rest) = rest.split_at_checked(length).ok_or(WireError::Malformed)?;
    let topic = std::str::from_utf8(topic).map_err(|_| WireError::Malformed)?;
    let (packet_id, payload) = if qos == 0 {
        (0, rest)
    } else {
        let (id, payload) = rest.split_at_checked(2).ok_or(WireError::Malformed)?;
        (u16::from_be_bytes([id[0], id[1]]), payload)
    };
    if qos == 1 && packet_id == 0 {
        return Err(WireError::Malformed);
    }
    Ok(Publish { qos, retain: flags & 1 == 1, dup: flags & 8 == 8, topic, packet_id, payload })
}

/// Appends a PUBLISH; `topic` carries its two length bytes already, as it stands on the wire.
pub(super) fn put_publish(out: &mut Vec<u8>, flags: u8, topic: &[u8], packet_id: Option<u16>, payload: &[u8]) {
    let id_length = if packet_id.is_some() { 2 } else { 0 };
    out.push(kind::PUBLISH << 4 | flags);
    put_length(out, topic.len() + id_length + payload.len());
    out.extend_from_slice(topic);
    if let Some(id) = packet_id {
        out.extend_from_slice(&id.to_be_bytes());
    }
    out.extend_from_slice(payload);
}

/// Appends a PUBACK.
pub(super) fn put_puback(out: &mut Vec<u8>, packet_id: u16) {
    let [high, low] = packet_id.to_be_bytes();
    out.extend_from_slice(&[kind::PUBACK << 4, 2, high, low]);
}

/// Appends a CONNACK.
pub(super) fn put_connack(out: &mut Vec<u8>, session_present: bool, code: u8) {
    out.extend_from_slice(&[kind::CONNACK << 4, 2, u8::from(session_present), code]);
}

/// Appends the "remaining length" of the fixed header.
pub(super) fn put_length(out: &mut Vec<u8>, mut length: usize) {
    loop {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits fit a byte")]
        let byte = (length & 0x7F) as u8;
        length >>= 7;
        if length == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

/// Bytes read from a socket and not yet consumed.
///
/// The room grows with what comes: thousands of quiet connections cost little, and a busy one reads much at a time.
#[derive(Debug)]
pub(super) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    room: usize,
}

impl Default for Input {
    fn default() -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0, room: 2 * 1024 }
    }
}

impl Input {
    /// Room for one read.
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 && self.bytes.len() - self.end < self.room {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.bytes.len() - self.end < self.room / 2 {
            self.bytes.resize(self.end + self.room, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Notes that so many bytes of the space were filled.
    pub(super) fn filled(&mut self, count: usize) {
        const MOST: usize = 128 * 1024;
        self.end = (self.end + count).min(self.bytes.len());
        if self.end == self.bytes.len() {
            self.room = (self.room * 2).min(MOST);
        }
    }

    /// What has not been consumed.
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Notes that so many bytes are done with.
    pub(super) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use proptest::prelude::*;
    use rand::RngExt;
    use rumqttc::mqttbytes::{QoS, v4};

    use super::*;
    use crate::fuzz::for_a_while;

    #[test]
    fn hostile_bytes_never_panic() {
        for_a_while("packets of a client", |chance| {
            let length = chance.random_range(0..64);
            let bytes: Vec<u8> = (0..length).map(|_| chance.random()).collect();
            if let Ok(Some(frame)) = split(&bytes, 32) {
                assert!(frame.body().len() <= 32);
                let _ = publish(frame);
                let _ = frame.packet_id();
            }
        });
    }

    #[test]
    fn a_frame_is_whole_or_not_there() {
        let ping = [0xC0, 0, 0x40];
        assert_eq!(split(&ping[..1], 10), Ok(None));
        assert_eq!(split(&ping, 10).unwrap().map(|frame| frame.bytes.len()), Some(2));
        assert_eq!(split(&[0x30, 0xFF, 0xFF, 0xFF, 0xFF], 10), Err(WireError::Length));
        assert_eq!(split(&[0x30, 0xFF, 0xFF, 0xFF, 0xFF, 1], 10), Err(WireError::Length));
        assert_eq!(split(&[0x30, 11], 10), Err(WireError::TooLarge));
    }

    proptest! {
        #[test]
        fn rumqttc_reads_what_is_written_and_so_do_we(
            topic in "[a-z/]{1,200}",
            payload in prop::collection::vec(any::<u8>(), 0..40_000),
            id in prop::option::of(1_u16..),
            retain: bool,
        ) {
            let mut written = Vec::new();
            let mut on_wire = u16::try_from(topic.len()).unwrap().to_be_bytes().to_vec();
            on_wire.extend_from_slice(topic.as_bytes());
            let qos = u8::from(id.is_some());
            put_publish(&mut written, qos << 1 | u8::from(retain), &on_wire, id, &payload);
            let frame = split(&written, 1 << 20).unwrap().unwrap();
            prop_assert_eq!(frame.bytes.len(), written.len());
            let expected = Publish { qos, retain, dup: false, topic: &topic, packet_id: id.unwrap_or(0), payload: &payload };
            prop_assert_eq!(publish(frame).unwrap(), expected);
            let theirs = v4::Packet::read(&mut BytesMut::from(&written[..]), 1 << 20).unwrap();
            let v4::Packet::Publish(theirs) = theirs else { panic!("not a PUBLISH: {theirs:?}") };
            prop_assert_eq!(theirs.topic, topic);
            prop_assert_eq!(&theirs.payload[..], &payload[..]);
            prop_assert_eq!(theirs.pkid, id.unwrap_or(0));
            prop_assert_eq!(theirs.qos == QoS::AtLeastOnce, id.is_some());
        }

        #[test]
        fn input_gives_back_the_bytes_in_order(chunks in prop::collection::vec((1_usize..200_000, 0_usize..200_000), 1..20)) {
            let (mut input, mut next, mut seen) = (Input::default(), 0_u8, 0_u8);
            for (fill, take) in chunks {
                let space = input.space();
                let fill = fill.min(space.len());
                for byte in &mut space[..fill] {
                    *byte = next;
                    next = next.wrapping_add(1);
                }
                input.filled(fill);
                let take = take.min(input.unread().len());
                for byte in &input.unread()[..take] {
                    prop_assert_eq!(*byte, seen);
                    seen = seen.wrapping_add(1);
                }
                input.consume(take);
            }
        }
    }
}
