//! The sign that a process serves.

use std::{
    net::{TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use crate::{plan::target::Ready, web};

/// How often a process that starts is asked.
const POLL: Duration = Duration::from_millis(20);
/// How long one try may take.
const TRY: Duration = Duration::from_secs(1);

/// What became of waiting.
#[derive(Debug, PartialEq, Eq)]
pub enum Waited {
    /// It serves.
    Ready,
    /// Time is up; why the last try failed.
    TimedOut(String),
    /// It was given up, because `give_up` said so.
    GivenUp,
}

/// Waits until the sign is seen, at most `within`.
pub fn wait_until_ready(ready: &Ready, within: Duration, give_up: &dyn Fn() -> bool) -> Waited {
    let agent = web::agent(TRY);
    let deadline = Instant::now() + within;
    loop {
        if give_up() {
            return Waited::GivenUp;
        }
        let tried = match (&ready.tcp, &ready.http) {
            (Some(address), _) => connect(address),
            (None, Some(url)) => get(&agent, url),
            (None, None) => Ok(()),
        };
        match tried {
            // It may have been another process that answered while this one had already ended.
            Ok(()) if give_up() => return Waited::GivenUp,
            Ok(()) => return Waited::Ready,
            Err(why) if Instant::now() >= deadline => return Waited::TimedOut(why),
            Err(_) => std::thread::sleep(POLL),
        }
    }
}

fn connect(address: &str) -> Result<(), String> {
    let addresses = address.to_socket_addrs().map_err(|error| format!("{address}: {error}"))?;
    let mut why = format!("{address} has no address");
    for one in addresses {
        match TcpStream::connect_timeout(&one, TRY) {
            Ok(_) => return Ok(()),
            Err(error) => why = format!("{address}: {error}"),
        }
    }
    Err(why)
}

fn get(agent: &ureq::Agent, url: &str) -> Result<(), String> {
    match agent.get(url).call() {
        Ok(answer) if answer.status() == 200 => Ok(()),
        Ok(answer) => Err(format!("{url}: status {}", answer.status().as_u16())),
        Err(error) => Err(format!("{url}: {error}")),
    }
}
