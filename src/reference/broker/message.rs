//! A message: one shared allocation that holds the topic as it stands on the wire, and the payload.

use std::rc::Rc;

use crate::reference::wire;

/// A message, cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message(Rc<[u8]>);

impl Message {
    /// Joins a topic and a payload; `scratch` is only there to be used again.
    ///
    /// A topic comes from a packet's two-byte length or from this program, so it is never longer than 65,535 bytes.
    pub(super) fn new(topic: &str, payload: &[u8], scratch: &mut Vec<u8>) -> Self {
        let length = u16::try_from(topic.len()).unwrap_or(u16::MAX);
        scratch.clear();
        scratch.extend_from_slice(&length.to_be_bytes());
        scratch.extend_from_slice(&topic.as_bytes()[..usize::from(length)]);
        scratch.extend_from_slice(payload);
        Self(Rc::from(scratch.as_slice()))
    }

    /// Appends the message as a PUBLISH; at QoS 1 with its packet identifier.
    pub(super) fn put(&self, out: &mut Vec<u8>, packet_id: Option<u16>, retain: bool, dup: bool) {
        let (topic, payload) = self.0.split_at(self.split());
        let flags = u8::from(dup) << 3 | u8::from(packet_id.is_some()) << 1 | u8::from(retain);
        wire::put_publish(out, flags, topic, packet_id, payload);
    }

    /// The topic.
    pub(super) fn topic(&self) -> &str {
        std::str::from_utf8(&self.0[2..self.split()]).unwrap_or_default()
    }

    /// The payload.
    pub(super) fn payload(&self) -> &[u8] {
        &self.0[self.split()..]
    }

    fn split(&self) -> usize {
        2 + usize::from(u16::from_be_bytes([self.0[0], self.0[1]]))
    }
}
