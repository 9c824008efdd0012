//! Rules on published ports: fixed, on loopback, and none of them live.

use std::{fmt, net::IpAddr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Findings, Rule, items, text};
use crate::plan::isolation::Isolation;

/// A port of the host that leads to a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedPort {
    /// The service.
    pub service: String,
    /// The address of the host.
    pub address: IpAddr,
    /// The first port of the host.
    pub first: u16,
    /// The last one; the same unless it is a range.
    pub last: u16,
    /// `tcp` or `udp`.
    pub protocol: String,
}

impl fmt::Display for PublishedPort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(address) => write!(out, "{address}:{}", self.first)?,
            IpAddr::V6(address) => write!(out, "[{address}]:{}", self.first)?,
        }
        if self.last != self.first {
            write!(out, "-{}", self.last)?;
        }
        write!(out, "/{}", self.protocol)
    }
}

pub(super) fn check(name: &str, service: &Value, at: &str, isolation: &Isolation, findings: &mut Findings) {
    for port in items(service, "ports") {
        let target = port.get("target").and_then(Value::as_u64).unwrap_or_default();
        let published = match port.get("published") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let address = text(port, "host_ip").unwrap_or("0.0.0.0");
        let loopback = address.parse::<IpAddr>().ok().filter(IpAddr::is_loopback);
        if loopback.is_none() {
            let what = format!("container port {target} is published on {address}, which other machines may reach");
            findings.refuse(Rule::OpenPort, at, what, "publish it on 127.0.0.1");
        }
        let Some((first, last)) = range(&published) else {
            let what = format!("container port {target} is published on a port that the engine chooses");
            findings.refuse(Rule::LoosePort, at, what, "name the port of the host");
            continue;
        };
        let live: Vec<String> = isolation
            .ports_refused
            .iter()
            .filter(|port| (first..=last).contains(port))
            .map(ToString::to_string)
            .collect();
        if !live.is_empty() {
            let what = if first == last {
                format!("port {first} is live")
            } else {
                format!("the ports {first}-{last} cover what is live: {}", live.join(", "))
            };
            findings.refuse(Rule::LivePort, at, what, "publish it on a port that is free");
        }
        if let Some(address) = loopback {
            let protocol = text(port, "protocol").unwrap_or("tcp").to_owned();
            findings.guarded.ports.push(PublishedPort { service: name.to_owned(), address, first, last, protocol });
        }
    }
}

/// Reads `21883` or `21883-21890`; none for anything that leaves a choice.
fn range(published: &str) -> Option<(u16, u16)> {
    let (first, last) = published.split_once('-').unwrap_or((published, published));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first != 0 && first <= last).then_some((first, last))
}
