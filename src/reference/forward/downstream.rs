//! The side of the publishers: takes their messages into the buffer and acknowledges them.

use std::{io, rc::Rc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{Kept, Shared};
use crate::reference::{
    topic,
    wire::{self, Frame, Input, WireError, kind},
};

/// The largest packet that is taken, in bytes.
const PACKET_BYTES: usize = 1_048_576;

/// Takes connections for as long as it is polled.
pub(super) async fn accept(listener: TcpListener, shared: Rc<Shared>) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            // A failure costs only time.
            let _ = stream.set_nodelay(true);
            let shared = shared.clone();
            tokio::task::spawn_local(async move {
                // A publisher that goes away in the middle concerns nobody else.
                let _ = serve(stream, &shared).await;
            });
        } else {
            // Out of file descriptors: wait for some to come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Serves one publisher to its end.
async fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let (mut input, mut out, mut is_greeted) = (Input::default(), Vec::new(), false);
    loop {
        while shared.is_full() {
            shared.room.notified().await;
        }
        match stream.read(input.space()).await? {
            0 => return Ok(()),
            count => input.filled(count),
        }
        let mut is_over = false;
        loop {
            let split = wire::split(input.unread(), PACKET_BYTES).map_err(malformed)?;
            let Some(frame) = split else { break };
            let length = frame.bytes.len();
            match (frame.kind(), is_greeted) {
                (kind::CONNECT, false) => {
                    is_greeted = true;
                    wire::put_connack(&mut out, false, 0);
                }
                (kind::PUBLISH, true) => take(frame, &mut out, shared).map_err(malformed)?,
                (kind::PINGREQ, true) => out.extend_from_slice(&wire::PINGRESP),
                // What is not for publishers is not offered.
                _ => is_over = true,
            }
            input.consume(length);
        }
        stream.write_all(&out).await?;
        out.clear();
        if is_over {
            return Ok(());
        }
    }
}

fn take(frame: Frame<'_>, out: &mut Vec<u8>, shared: &Shared) -> Result<(), WireError> {
    let publish = wire::publish(frame)?;
    if !topic::is_topic(publish.topic) {
        return Err(WireError::Malformed);
    }
    let on_wire = frame.body().get(..2 + publish.topic.len()).ok_or(WireError::Malformed)?;
    shared.take(Kept {
        topic: on_wire.into(),
        payload: publish.payload.into(),
        retain: publish.retain,
        was_sent: false,
    });
    if publish.qos == 1 {
        wire::put_puback(out, publish.packet_id);
    }
    Ok(())
}

fn malformed(error: WireError) -> io::Error {
    io::Error::other(error.to_string())
}
