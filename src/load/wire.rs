//! One TCP connection that never blocks, plain or TLS: bytes in, bytes out, what the socket did not take is kept.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::Arc,
};

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

/// How many bytes one turn reads at most, so that one connection cannot starve the others.
const READ_PER_TURN: usize = 1 << 20;

/// Where a broker is and how it is spoken to.
#[derive(Clone, Debug)]
pub struct Endpoint {
    addresses: Vec<SocketAddr>,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Endpoint {
    /// Reads `mqtt://HOST:PORT` or `mqtts://HOST:PORT` (default ports 1883 and 8883) and resolves the host once, so that no turn of the
    /// generator ever waits for a name server.
    ///
    /// # Errors
    /// A URL of another form, a host that does not resolve, or a certificate authority that cannot be read.
    pub fn new(url: &str, ca_pem: Option<&str>) -> Result<Self, String> {
        let (secure, host, port) = split(url)?;
        let resolved = (host.as_str(), port).to_socket_addrs().map_err(|error| format!("{url}: {error}"))?;
        let mut addresses: Vec<SocketAddr> = resolved.collect();
        addresses.sort_by_key(SocketAddr::is_ipv6); // IPv4 first: brokers that listen on one family only mostly listen on it
        let tls = if secure {
            let name = ServerName::try_from(host).map_err(|error| format!("{url}: {error}"))?;
            Some((client_config(ca_pem)?, name))
        } else {
            None
        };
        Ok(Self { addresses, tls })
    }

    /// The address for an attempt; each attempt takes the next one.
    fn address(&self, attempt: u32) -> io::Result<SocketAddr> {
        let index = attempt as usize % self.addresses.len().max(1);
        self.addresses.get(index).copied().ok_or_else(|| io::Error::other("the host has no address"))
    }
}

fn split(url: &str) -> Result<(bool, String, u16), String> {
    let wrong = || format!("{url}: expected mqtt://HOST:PORT or mqtts://HOST:PORT");
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    let (secure, default_port) = match scheme {
        "mqtt" => (false, 1883),
        "mqtts" => (true, 8883),
        _ => return Err(wrong()),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['/', '@', '?', '#']) {
        return Err(wrong());
    }
    let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => rest.rsplit_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Ok(default_port), str::parse).map_err(|_| wrong())?;
    if host.is_empty() { Err(wrong()) } else { Ok((secure, host.to_owned(), port)) }
}

fn client_config(ca_pem: Option<&str>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    match ca_pem {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(|error| format!("ca_file: {error:?}"))?;
                roots.add(certificate).map_err(|error| format!("ca_file: {error}"))?;
            }
            if roots.is_empty() {
                return Err("ca_file: no certificate in it".to_owned());
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("TLS: {error}"))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// One connection.
pub struct Wire {
    stream: TcpStream,
    tls: Option<Box<ClientConnection>>,
    out: Vec<u8>,
    written: usize,
}

impl Wire {
    /// Begins to connect.
    ///
    /// # Errors
    /// When the system refuses a socket or the connection at once.
    pub fn open(endpoint: &Endpoint, attempt: u32) -> io::Result<Self> {
        let address = endpoint.address(attempt)?;
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        let tls = match &endpoint.tls {
            None => None,
            Some((config, name)) => {
                let mut tls = ClientConnection::new(Arc::clone(config), name.clone()).map_err(io::Error::other)?;
                tls.set_buffer_limit(None);
                Some(Box::new(tls))
            }
        };
        Ok(Self { stream, tls, out: Vec::new(), written: 0 })
    }

    /// Whether the connection is made.
    ///
    /// # Errors
    /// Why it could not be made.
    pub fn is_connected(&self) -> io::Result<bool> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        match self.stream.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Where bytes to be sent are put.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Whether nothing waits to be sent.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.out.is_empty() && self.tls.as_ref().is_none_or(|tls| !tls.wants_write())
    }

    /// Sends what the socket takes; says whether that was everything.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn flush(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else {
            while self.written < self.out.len() {
                match self.stream.write(&self.out[self.written..]) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(count) => self.written += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            self.out.clear();
            self.written = 0;
            return Ok(true);
        };
        tls.writer().write_all(&self.out)?;
        self.out.clear();
        while tls.wants_write() {
            match tls.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(!tls.is_handshaking())
    }

    /// Hands what has arrived to `take`, through `scratch`; says how many bytes.
    ///
    /// # Errors
    /// The connection is lost; a closed one is `UnexpectedEof`.
    pub fn receive(&mut self, scratch: &mut [u8], mut take: impl FnMut(&[u8])) -> io::Result<usize> {
        let mut total = 0;
        while total < READ_PER_TURN {
            let read = match &mut self.tls {
                None => self.stream.read(scratch),
                Some(tls) => read_tls(tls, &mut self.stream, scratch),
            };
            match read {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the broker closed the connection")),
                Ok(count) => {
                    take(&scratch[..count]);
                    total += count;
                    if count < scratch.len() && self.tls.is_none() {
                        break; // the socket is empty; asking again would cost a system call
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }
}

fn read_tls(tls: &mut ClientConnection, stream: &mut TcpStream, scratch: &mut [u8]) -> io::Result<usize> {
    loop {
        match tls.reader().read(scratch) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
            other => return other,
        }
        if tls.read_tls(stream)? == 0 {
            return Ok(0);
        }
        tls.process_new_packets()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("TLS: {error}")))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let rows = [
            ("mqtt://127.0.0.1:21883", (false, "127.0.0.1", 21_883)),
            ("mqtts://broker.example", (true, "broker.example", 8883)),
            ("mqtt://[::1]:9/", (false, "::1", 9)),
            ("mqtt://[::1]", (false, "::1", 1883)),
        ];
        for (url, (secure, host, port)) in rows {
            assert_eq!(split(url), Ok((secure, host.to_owned(), port)));
        }
        for url in ["127.0.0.1:1883", "tcp://h:1", "mqtt://u:p@h:1", "mqtt://h:port", "mqtt://:1", "mqtt://h:1/path"] {
            assert!(split(url).unwrap_err().contains("expected mqtt://HOST:PORT"), "{url}");
        }
    }

    #[test]
    fn a_ca_file_without_a_certificate_is_refused() {
        let error = Endpoint::new("mqtts://localhost:1", Some("no certificate")).unwrap_err();
        assert!(error.contains("no certificate"), "{error}");
    }
}
