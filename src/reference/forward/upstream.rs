//! The side of the broker: forwards the buffer in order at QoS 1, and forgets a message once the broker has acknowledged it.

use std::{convert::Infallible, io, rc::Rc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep, sleep_until},
};

use super::Shared;
use crate::reference::wire::{self, Input, kind};

/// How many messages may be on their way.
const WINDOW: usize = 1_000;
/// The keep-alive that is promised, in seconds; a ping is due twice in each.
const KEEP_ALIVE_S: u16 = 30;
/// The largest packet that is taken, in bytes.
const PACKET_BYTES: usize = 64 * 1024;
/// QoS 1 in the flags of a PUBLISH.
const QOS_ONE: u8 = 1 << 1;
/// The flag of a message that may have been sent before.
const DUP: u8 = 1 << 3;

/// Forwards for as long as it is polled; tries again at the stated interval, and at no other time.
pub(super) async fn forward(shared: Rc<Shared>) {
    loop {
        let Err(_) = connection(&shared).await;
        {
            let mut stage = shared.stage.borrow_mut();
            stage.in_flight = 0;
            stage.tries_failed += 1;
        }
        sleep(Duration::from_millis(shared.args.retry_ms)).await;
    }
}

/// Packet identifiers in order, without 0.
fn after(id: u16) -> u16 {
    id.checked_add(1).unwrap_or(1)
}

/// One connection to its end, which is always an error.
async fn connection(shared: &Shared) -> io::Result<Infallible> {
    if shared.is_away() {
        return Err(io::ErrorKind::NetworkUnreachable.into());
    }
    let mut stream = TcpStream::connect(shared.args.upstream).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&shared.args.login.connect("forward", false, KEEP_ALIVE_S).map_err(io::Error::other)?).await?;
    let (mut input, mut out) = (Input::default(), Vec::new());
    let (mut is_connected, mut next, mut oldest) = (false, 1, 1);
    let ping_every = Duration::from_secs(u64::from(KEEP_ALIVE_S) / 2);
    let mut pinged = Instant::now();
    loop {
        if shared.is_away() {
            return Err(io::ErrorKind::NetworkUnreachable.into());
        }
        if is_connected {
            next = fill(shared, &mut out, next);
        }
        if !out.is_empty() {
            stream.write_all(&out).await?;
            out.clear();
        }
        tokio::select! {
            () = shared.work.notified() => {}
            () = sleep_until(pinged + ping_every) => {
                pinged = Instant::now();
                out.extend_from_slice(&wire::PINGREQ);
            }
            count = stream.read(input.space()) => match count? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => input.filled(count),
            },
        }
        loop {
            let split =
                wire::split(input.unread(), PACKET_BYTES).map_err(|error| io::Error::other(error.to_string()))?;
            let Some(frame) = split else { break };
            let length = frame.bytes.len();
            match frame.kind() {
                kind::CONNACK if frame.body() == [0, 0] => {
                    is_connected = true;
                    shared.stage.borrow_mut().connects += 1;
                }
                kind::PUBACK if frame.packet_id().ok() == Some(oldest) => {
                    oldest = after(oldest);
                    forget_oldest(shared);
                }
                kind::PINGRESP => {}
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
            input.consume(length);
        }
    }
}

/// Writes what the window has room for; gives the next packet identifier.
fn fill(shared: &Shared, out: &mut Vec<u8>, mut next: u16) -> u16 {
    let mut stage = shared.stage.borrow_mut();
    while stage.in_flight < WINDOW.min(stage.buffer.len()) {
        let at = stage.in_flight;
        let kept = &mut stage.buffer[at];
        let again = std::mem::replace(&mut kept.was_sent, true);
        let flags = QOS_ONE | u8::from(kept.retain) | if again { DUP } else { 0 };
        wire::put_publish(out, flags, &kept.topic, Some(next), &kept.payload);
        stage.resent += u64::from(again);
        stage.in_flight += 1;
        next = after(next);
    }
    next
}

fn forget_oldest(shared: &Shared) {
    let mut stage = shared.stage.borrow_mut();
    if stage.in_flight > 0 && stage.buffer.pop_front().is_some() {
        stage.in_flight -= 1;
        stage.forwarded += 1;
        shared.room.notify_waiters();
    }
}
