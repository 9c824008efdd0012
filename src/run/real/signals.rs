//! The user's wish to stop: SIGINT, SIGTERM and SIGHUP, counted.

use std::{io, sync::mpsc::Sender};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

use crate::run::world::Happening;

/// Reports each such signal from now on. The runtime must be kept for as long as they are wanted.
///
/// # Errors
/// When the runtime or a handler cannot be set up.
pub(super) fn listen(out: Sender<Happening>) -> io::Result<Runtime> {
    let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("signals").enable_all().build()?;
    let (mut interrupt, mut terminate, mut hang_up) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?)
    };
    runtime.spawn(async move {
        let mut times = 0;
        loop {
            tokio::select! {
                Some(()) = interrupt.recv() => {}
                Some(()) = terminate.recv() => {}
                Some(()) = hang_up.recv() => {}
                else => return,
            }
            times += 1;
            if out.send(Happening::Interrupted(times)).is_err() {
                return;
            }
        }
    });
    Ok(runtime)
}
