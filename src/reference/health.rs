//! The health check of a service, for a container that has no other program than this one.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use clap::Args;

use crate::problem::{Problem, Problems};

/// How long a healthy service may take.
const LIMIT: Duration = Duration::from_secs(2);

/// Options of `scaler reference health`.
#[derive(Clone, Debug, Args)]
pub struct HealthArgs {
    /// Where the service serves `/health`
    pub address: SocketAddr,
}

/// Asks a service for `/health` once.
pub(super) fn run(args: &HealthArgs) -> Result<(), Problems> {
    let status = status_line(args.address)
        .map_err(|error| Problem::error(format!("{} does not answer: {error}", args.address)))?;
    if status.split(' ').nth(1) == Some("200") {
        return Ok(());
    }
    Err(Problem::error(format!("{} is not healthy: {status}", args.address)).into())
}

fn status_line(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.write_all(format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    fn asked_of(answer: &'static str) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut asked = [0; 256];
            let read = stream.read(&mut asked).expect("a request");
            stream.write_all(answer.as_bytes()).expect("an answer");
            String::from_utf8_lossy(&asked[..read]).into_owned()
        });
        let healthy = run(&HealthArgs { address }).is_ok();
        assert!(served.join().expect("no panic").starts_with("GET /health HTTP/1.1\r\n"));
        healthy
    }

    #[test]
    fn only_status_200_is_healthy() {
        assert!(asked_of("HTTP/1.1 200 OK\r\n\r\n{}"));
        assert!(!asked_of("HTTP/1.1 503 Service Unavailable\r\n\r\n200"));
        assert!(!asked_of(""));
    }
}
