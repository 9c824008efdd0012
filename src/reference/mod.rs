//! The reference target: a small, honest telemetry pipeline of child processes on loopback, with faults that can be switched on.
//!
//! ```text
//! publisher ──MQTT──▶ broker ──QoS 1, kept session──▶ listener ──durable batches──▶ store (SQLite or PostgreSQL) ──▶ api ──HTTP──▶ reader
//! ```
//!
//! scaler measures it in the quickstart and is calibrated against it: whatever a part does wrong on purpose it counts exactly and tells at
//! `/truth`, so a test can demand that scaler reports exactly that. Every part also answers `/health` and `/metrics`, and ends in order on
//! SIGTERM. The sink is not part of the pipeline: it takes messages as fast as it can, for measuring the generator alone.
//!
//! To add a fault: one variant in [`fault`], and the place in the service that acts on it.

use clap::Subcommand;

use crate::problem::Problems;

pub mod api;
pub mod broker;
pub mod fault;
pub mod health;
mod http;
pub mod listener;
mod metrics;
mod reading;
mod service;
pub mod sink;
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
    /// Accepts and counts MQTT publishes, and does nothing else
    Sink(sink::SinkArgs),
    /// Asks a service whether it is healthy; for the health checks of containers
    Health(health::HealthArgs),
}

/// Runs a service until it is told to end by SIGTERM or SIGINT.
///
/// # Errors
/// When an address cannot be bound, the store cannot be opened, or the broker refuses the credentials.
pub fn run(command: ReferenceCommand) -> Result<(), Problems> {
    match command {
        ReferenceCommand::Broker(args) => broker::run(&args),
        ReferenceCommand::Listener(args) => listener::run(args),
        ReferenceCommand::Api(args) => api::run(args),
        ReferenceCommand::Sink(args) => sink::run(&args),
        ReferenceCommand::Health(args) => health::run(&args),
    }
}
