//! The reference broker: MQTT 3.1.1 at QoS 0 and 1, on one thread, in memory.
//!
//! It offers retained messages, wildcards, kept sessions with bounded queues, redelivery, keep-alive, wills, takeover, accounts, an ACL that
//! acknowledges what it denies (as Mosquitto's does), and `$SYS` counters under Mosquitto's names. A `kill -9` loses sessions and retained
//! messages: nothing is written to disk.
//!
//! What clients can make it hold is bounded: the packet by `--packet-bytes`, a queue by `--queue`, a window by `--inflight`, topics to 64 levels, client
//! identifiers to 1,024 bytes, and the numbers of sessions, subscriptions of one, and retained messages by constants beside them.
//!
//! One thread runs everything, so state is shared by `Rc<RefCell>` and no lock is ever waited for. A connection reads what has come, answers
//! it, and writes everything that is due with one call per wake; a message is one allocation that retained store, queues and windows share.

use std::{cell::RefCell, future, net::SocketAddr, rc::Rc, time::Duration};

use clap::Args;
use tokio::net::TcpListener;

use self::{accounts::Accounts, state::Broker};
use super::{
    fault::{BrokerFault, Faults},
    http::{self, Ask, Reply},
    service,
    spare::Spare,
};
use crate::problem::{Problem, Problems};

mod accounts;
mod connection;
mod message;
mod session;
mod state;
mod subscriptions;
mod sys;
mod topics;
mod truth;
mod window;

/// Options of `scaler reference broker`.
#[derive(Clone, Debug, Args)]
pub struct BrokerArgs {
    /// Where MQTT clients connect
    #[arg(long, default_value = "127.0.0.1:21883")]
    pub listen: SocketAddr,
    /// Where `/health`, `/truth` and `/metrics` are served
    #[arg(long, default_value = "127.0.0.1:21880")]
    pub http: SocketAddr,
    /// How many messages wait for one session, beside those in flight; newer ones are dropped and counted
    #[arg(long, default_value_t = 1_000, value_name = "MESSAGES")]
    pub queue: usize,
    /// How many QoS 1 messages may be in flight to one session
    #[arg(long, default_value_t = 10_000, value_name = "MESSAGES", value_parser = clap::value_parser!(u16).range(1..=32_000))]
    pub inflight: u16,
    /// The largest packet, in bytes; a larger one ends its connection
    #[arg(long, default_value_t = 1_048_576, value_name = "BYTES")]
    pub packet_bytes: usize,
    /// Acknowledge and drop what is published under this prefix; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub acl_deny: Vec<String>,
    /// A fault, or several joined by `+`: `none`, `drop_after_ack=N`, `small_queue=SESSION:N`, `mute_metrics=N`, `missing_sys=TOPIC`,
    /// `reset_counter=N`
    #[arg(long, default_value = "none")]
    pub fault: Faults<BrokerFault>,
    /// What faults spare
    #[command(flatten)]
    pub spare: Spare,
    /// Who may connect, as `user:password[,user:password]`; everyone when absent
    #[arg(long, env = "SCALER_BROKER_ACCOUNTS", hide_env_values = true, hide = true)]
    pub accounts: Option<Accounts>,
}

/// The broker as its connections share it.
type Shared = Rc<RefCell<Broker>>;

/// Runs the broker until SIGTERM.
pub(super) fn run(args: &BrokerArgs) -> Result<(), Problems> {
    if args.packet_bytes == 0 || args.packet_bytes > 256 * 1024 * 1024 {
        return Err(Problem::error("--packet-bytes must be between 1 and 268435456, the largest MQTT packet").into());
    }
    service::block_on(async {
        let http = service::listen(args.http).await?;
        let mqtt = service::listen(args.listen).await?;
        let broker = Rc::new(RefCell::new(Broker::new(args)));
        tokio::task::spawn_local(sys::publish(broker.clone()));
        let shared = broker.clone();
        tokio::task::spawn_local(http::serve(http, http::only_get, move |ask| answer(shared.clone(), ask)));
        tokio::task::spawn_local(accept(mqtt, broker));
        service::told_to_end().await
    })
}

async fn accept(listener: TcpListener, broker: Shared) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            // A failure costs only time.
            let _ = stream.set_nodelay(true);
            tokio::task::spawn_local(connection::serve(stream, broker.clone()));
        } else {
            // Out of file descriptors: wait for some to come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn answer(broker: Shared, ask: Ask) -> Reply {
    match ask.path.as_str() {
        "/health" => Reply::health(Ok(())),
        "/truth" => Reply::json(&truth::truth(&broker.borrow(), ask.get("names").is_some_and(|names| names != "0"))),
        "/metrics" => {
            let answers = broker.borrow_mut().answers_metrics();
            if !answers {
                future::pending::<()>().await;
            }
            Reply::metrics(truth::metrics(&broker.borrow()))
        }
        _ => Reply::not_found(),
    }
}
