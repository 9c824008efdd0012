//! The user's wish to stop: SIGINT, SIGTERM and SIGHUP, counted. A run that was started to outlive its terminal (`nohup`) goes on.

use std::{io, sync::mpsc::Sender};

use procfs::process::Process;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
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
        let hang_up = if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) };
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, hang_up)
    };
    runtime.spawn(async move {
        let mut times = 0;
        loop {
            tokio::select! {
                Some(()) = interrupt.recv() => {}
                Some(()) = terminate.recv() => {}
                Some(()) = received(&mut hang_up) => {}
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

/// Whether whoever started this process wants it to outlive the terminal: the mask of ignored signals, `proc_pid_status(5)`.
fn ignores_hang_up() -> bool {
    let status = Process::myself().and_then(|process| process.status());
    status.is_ok_and(|status| status.sigign & (1 << (SignalKind::hangup().as_raw_value() - 1)) != 0)
}

async fn received(signal: &mut Option<Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}
