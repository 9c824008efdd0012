//! Whether a loopback port is free, and who holds it when it is not.

use std::net::{Ipv4Addr, TcpListener};

use procfs::{
    net::{TcpState, tcp, tcp6},
    process::{FDTarget, Process, all_processes},
};

/// Makes sure that nothing listens on a port of 127.0.0.1.
///
/// # Errors
/// When something does, with the port and, as far as it can be seen, the process.
pub fn require_free(port: u16) -> Result<(), String> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) => Err(match holder(port) {
            Some(holder) => format!("port {port} is held by {holder}"),
            None => format!("port {port} cannot be used: {error}"),
        }),
    }
}

/// The program of a process and its first words that are no options: the rest of another's command line may hold its secrets.
fn program(process: &Process) -> String {
    let command = process.cmdline().unwrap_or_default();
    let words = command.iter().take_while(|word| !word.starts_with('-')).take(3);
    let words: Vec<String> = words.map(|word| word.escape_debug().take(80).collect()).collect();
    words.join(" ")
}

/// The process that listens on a port: its identifier and command, or only that there is one.
fn holder(port: u16) -> Option<String> {
    let sockets = tcp().into_iter().chain(tcp6()).flatten();
    let inode = sockets
        .filter(|socket| socket.state == TcpState::Listen && socket.local_address.port() == port)
        .map(|socket| socket.inode)
        .next()?;
    for process in all_processes().ok()?.flatten() {
        let Ok(descriptors) = process.fd() else { continue };
        if descriptors.flatten().any(|descriptor| descriptor.target == FDTarget::Socket(inode)) {
            return Some(format!("process {} ({})", process.pid(), program(&process)));
        }
    }
    Some("a process that this user may not see".to_owned())
}
