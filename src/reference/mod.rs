//! The reference target: a small, honest telemetry pipeline of child processes on loopback, with faults that can be switched on.
//!
//! ```text
//! publisher ──MQTT──▶ broker ──QoS 1, kept session──▶ listener ──durable batches──▶ store (SQLite or PostgreSQL) ──▶ api ──▶ gateway ──HTTP──▶ reader
//!       └──▶ forward ──▶┘ └──QoS 0, bounded queue──▶ daemon  └────────tags────────▶ graph (SPARQL) ──────────────────┘ └──▶ jobs
//! ```
//!
//! Forward, daemon, graph and gateway are there when a plan wants them; without a graph the store holds the tags.
//!
//! scaler measures it in the quickstart and is calibrated against it: whatever a part does wrong on purpose it counts exactly and tells at
//! `/truth`, so a test can demand that scaler reports exactly that. Every part also answers `/health` and `/metrics`, and ends in order on
//! SIGTERM. The sink is not part of the pipeline: it takes messages as fast as it can, for measuring the generator alone. Nor is
//! the proxy: a plan puts it between any two ends to make the path between them slow or lossy.
//!
//! To add a fault: one variant in [`fault`], and the place in the service that acts on it.

use clap::Subcommand;

use crate::problem::Problems;

pub mod api;
pub mod broker;
pub mod daemon;
pub mod durability;
pub mod fault;
pub mod forward;
pub mod gateway;
mod graph;
pub mod health;
mod http;
pub mod listener;
pub mod login;
mod metrics;
pub mod proxy;
mod reading;
mod service;
pub mod sink;
pub mod spare;
mod store;
mod topic;
mod wire;

/// One service of the reference target.
#[derive(Clone, Debug, Subcommand)]
pub enum ReferenceCommand {
    /// An MQTT 3.1.1 broker, in memory: a killed broker loses its sessions and retained messages
    Broker(broker::BrokerArgs),
    /// Subscribes to the broker and commits readings to the store before it acknowledges them
    Listener(listener::ListenerArgs),
    /// Answers reads from the store as JSON
    Api(api::ApiArgs),
    /// Stands before the read API: passes on the requests of those who have logged in
    Gateway(gateway::GatewayArgs),
    /// Passes a connection on over a path that is slow, stalls, is cut or refused
    Proxy(proxy::ProxyArgs),
    /// Subscribes at QoS 0, takes its time over each message, and shows a heartbeat
    Daemon(daemon::DaemonArgs),
    /// Takes readings for the broker, keeps them while it is away, and forwards them in order
    Forward(forward::ForwardArgs),
    /// Accepts and counts MQTT publishes, and does nothing else
    Sink(sink::SinkArgs),
    /// Asks a service whether it is healthy; for the health checks of containers
    Health(health::HealthArgs),
    /// Prints the durability settings of a connection to the store, 1 for on; for an `exec` watch `in` the listener's container
    Durability(durability::DurabilityArgs),
}

/// Runs a service until it is told to end by SIGTERM or SIGINT. Gives what a verb that ends by itself has to print.
///
/// # Errors
/// When an address cannot be bound, the store cannot be opened, or the broker refuses the credentials.
pub fn run(command: ReferenceCommand) -> Result<Option<String>, Problems> {
    match command {
        ReferenceCommand::Durability(args) => return durability::run(&args).map(Some),
        ReferenceCommand::Broker(args) => broker::run(&args),
        ReferenceCommand::Listener(args) => listener::run(args),
        ReferenceCommand::Api(args) => api::run(args),
        ReferenceCommand::Gateway(args) => gateway::run(args),
        ReferenceCommand::Proxy(args) => proxy::run(args),
        ReferenceCommand::Daemon(args) => daemon::run(args),
        ReferenceCommand::Forward(args) => forward::run(args),
        ReferenceCommand::Sink(args) => sink::run(&args),
        ReferenceCommand::Health(args) => health::run(&args),
    }?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: ReferenceCommand,
    }

    /// The command lines of the quickstart's services, with its placeholders filled.
    fn quickstart(fault: &str) -> Vec<ReferenceCommand> {
        let plan: toml::Table = include_str!("../../plans/quickstart.toml").parse().unwrap();
        let services = plan["target"]["processes"]["services"].as_table().unwrap();
        let command = |service: &toml::Value| {
            let words = service["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            let filled = words.map(|word| match word {
                _ if word.contains("vars.") => fault.to_owned(),
                _ => word.replace("{{ run.folder }}", "/run"),
            });
            Line::parse_from(filled.skip(1)).command
        };
        services.values().map(command).collect()
    }

    #[test]
    fn the_quickstart_starts_these_services() {
        let commands = quickstart("none");
        let [ReferenceCommand::Api(api), ReferenceCommand::Broker(broker), ReferenceCommand::Listener(listener)] =
            &commands[..]
        else {
            panic!("other services: {commands:?}")
        };
        assert_eq!(broker.queue, 200_000);
        assert_eq!(listener.broker, broker.listen.to_string());
        assert_eq!(listener.subscribe, ["fbf/#"]);
        assert_eq!((listener.client_id.as_str(), &listener.store), ("listener", &api.store));
        assert!(broker.fault.0.is_empty() && listener.fault.0.is_empty() && api.fault.0.is_empty());
    }

    #[test]
    fn the_quickstart_names_faults_that_exist() {
        let plan = include_str!("../../plans/quickstart.toml");
        let named = |variable: &str| {
            let line = plan.lines().find(|line| line.starts_with(variable)).unwrap();
            let comment = line.split_once("# or \"").unwrap().1;
            comment.split_once('"').unwrap().0.to_owned()
        };
        assert!(matches!(
            named("broker_fault").parse::<fault::Faults<fault::BrokerFault>>().unwrap().0[..],
            [fault::BrokerFault::DropAfterAck { one_in }] if one_in.get() == 1000
        ));
        assert!(named("listener_fault").parse::<fault::Faults<fault::ListenerFault>>().is_ok());
        let per_row = Duration::from_micros(20);
        assert_eq!(named("api_fault").parse(), Ok(fault::Faults(vec![fault::ApiFault::SlowReads { per_row }])));
    }
}
