//! The limits of this machine that a plan's connections would run into: file descriptors, and local ports.
//!
//! A run that meets them halfway looks like a broker that refuses clients. So they are compared before anything is started. The soft limit of
//! descriptors is raised as far as the hard one allows; the processes of the target inherit it.

use std::{collections::BTreeMap, fs};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Failure;
use crate::plan::{checked::Checked, load::Load};

/// Descriptors for everything but the loads' connections: the journal, stores, watches, probes, logs and pipes of the target.
const FOR_THE_REST: u64 = 100;

/// What the greediest step of a plan needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Connections of all loads.
    connections: u64,
    /// The connections to one broker, and its URL: each takes a local port.
    ports: (u64, String),
}

impl Needs {
    /// Adds up the connections of each step's loads.
    pub(super) fn of(checked: &Checked) -> Result<Self, Failure> {
        let mut needs = Self::default();
        for step in &checked.header.steps {
            let cell = checked.cell(*step, None)?;
            let points = cell.fleet.as_ref().map_or(u64::MAX, |fleet| fleet.points.0);
            let mut of_broker: BTreeMap<&str, u64> = BTreeMap::new();
            for load in cell.loads.values() {
                if let Load::MqttPublish(publish) = load {
                    *of_broker.entry(&publish.connection).or_default() += u64::from(publish.connections).min(points);
                }
            }
            needs.connections = needs.connections.max(of_broker.values().sum());
            if let Some((name, most)) = of_broker.into_iter().max_by_key(|(_, connections)| *connections)
                && most > needs.ports.0
            {
                needs.ports = (most, name.to_owned());
            }
        }
        Ok(needs)
    }

    fn descriptors(&self) -> u64 {
        self.connections + FOR_THE_REST
    }
}

/// Raises the soft limit of descriptors if that is needed, and refuses what this machine does not allow.
pub(super) fn make_room(needs: &Needs) -> Result<(), Failure> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = needs.descriptors();
    if let Some(refusal) = too_few_descriptors(needs, limit.maximum).or_else(|| too_few_ports(needs, local_ports())) {
        return Err(refusal);
    }
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        setrlimit(Resource::Nofile, raised).map_err(|error| {
            Failure::refused(format!("the limit of file descriptors could not be raised to {wanted}: {error}"))
        })?;
    }
    Ok(())
}

fn too_few_descriptors(needs: &Needs, hard: Option<u64>) -> Option<Failure> {
    let (wanted, hard) = (needs.descriptors(), hard?);
    (hard < wanted).then(|| {
        let connections = needs.connections;
        let title = format!(
            "{connections} connections need {wanted} file descriptors ({connections} and {FOR_THE_REST} for the rest), and the limit is {hard}"
        );
        let help = format!("raise it (`ulimit -n {wanted}`, or LimitNOFILE of the service), or plan fewer connections");
        Failure::refused_with(title, help)
    })
}

fn too_few_ports(needs: &Needs, ports: Option<u64>) -> Option<Failure> {
    let ((wanted, connection), ports) = (&needs.ports, ports?);
    (ports < *wanted).then(|| {
        let title =
            format!("{wanted} connections to `{connection}` need as many local ports, and this host has {ports}");
        let help = "widen net.ipv4.ip_local_port_range, or plan fewer connections";
        Failure::refused_with(title, help)
    })
}

/// How many local ports there are for connections to one address; unknown when the kernel does not say.
fn local_ports() -> Option<u64> {
    parse_ports(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

fn parse_ports(text: &str) -> Option<u64> {
    let mut ends = text.split_whitespace().map(|word| word.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    (last + 1).checked_sub(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(connections: u64) -> Needs {
        Needs { connections, ports: (connections, "broker".to_owned()) }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures() {
        assert!(too_few_descriptors(&needs(28), Some(128)).is_none());
        assert!(too_few_descriptors(&needs(1_000_000), None).is_none(), "no limit");
        let refusal = too_few_descriptors(&needs(200), Some(128)).unwrap();
        let text = refusal.problems.render(false);
        assert!(
            text.contains("200 connections need 300 file descriptors") && text.contains("the limit is 128"),
            "{text}"
        );
        assert!(text.contains("ulimit -n 300"), "{text}");
    }

    #[test]
    fn local_ports_are_counted() {
        assert_eq!(parse_ports("32768\t60999\n"), Some(28_232));
        assert_eq!(parse_ports("nonsense"), None);
        assert!(too_few_ports(&needs(28_232), Some(28_232)).is_none());
        let text = too_few_ports(&needs(30_000), Some(28_232)).unwrap().problems.render(false);
        assert!(text.contains("30000 connections to `broker`") && text.contains("28232"), "{text}");
    }
}
