//! What every service of the reference target needs: a runtime, an address to listen on, and the word that it is time to end.

use std::{future::Future, io, net::SocketAddr};

use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    task::LocalSet,
};

use crate::problem::{Problem, Problems};

/// Runs a service to its end on this thread alone: its state needs no locks, and its CPU is one core's.
pub(super) fn block_on<T>(future: impl Future<Output = Result<T, Problems>>) -> Result<T, Problems> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::error(format!("cannot start the service: {error}")))?;
    let result = LocalSet::new().block_on(&runtime, future);
    // A read that is still under way concerns nobody any more.
    runtime.shutdown_background();
    result
}

/// Binds an address.
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, Problems> {
    TcpListener::bind(address).await.map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::AddrInUse => "something else listens there: stop it, or choose another port",
            io::ErrorKind::PermissionDenied => "choose a port above 1023",
            _ => "choose an address of this host",
        };
        Problem::error(format!("cannot listen on {address}: {error}")).help(help).into()
    })
}

/// Returns once SIGTERM or SIGINT has come.
pub(super) async fn told_to_end() -> Result<(), Problems> {
    let refused = |error: io::Error| Problem::error(format!("cannot wait for signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(refused)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(refused)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
