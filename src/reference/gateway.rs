//! The gateway: gives a token to those who log in, and passes on the requests of those who have one.

use std::{collections::HashSet, net::SocketAddr, rc::Rc, time::Duration};

use clap::Args;
use hyper::{Method, StatusCode};
use rand::RngExt;
use serde::Deserialize;
use serde_json::json;
use ureq::Agent;

use super::{
    http::{self, Ask, Reply},
    login::Password,
    metrics::Metrics,
    service,
};
use crate::problem::{Problem, Problems};

/// How long the API may take to answer.
const PATIENCE: Duration = Duration::from_mins(5);
/// The most bytes of an answer.
const ANSWER_BYTES: u64 = 1 << 30;
/// The most tokens that are good at a time; then all must log in again.
const TOKENS: usize = 1_000;

/// Options of `scaler reference gateway`.
#[derive(Clone, Debug, Args)]
pub struct GatewayArgs {
    /// Where requests are answered
    #[arg(long, default_value = "127.0.0.1:28080")]
    pub listen: SocketAddr,
    /// The host and port of the read API
    #[arg(long, default_value = "127.0.0.1:21882", value_name = "HOST:PORT")]
    pub api: String,
    /// The one user
    #[arg(long, default_value = "admin@scale.test")]
    pub user: String,
    /// The user's password: from the environment only
    #[arg(skip = std::env::var("SCALER_GATEWAY_PASSWORD").ok().map(Password))]
    pub password: Option<Password>,
}

/// What is posted to log in.
#[derive(Deserialize)]
struct Credentials {
    username: String,
    password: String,
}

struct Gateway {
    args: GatewayArgs,
    agent: Agent,
    tokens: std::cell::RefCell<HashSet<String>>,
    passed: std::cell::Cell<u64>,
    refused: std::cell::Cell<u64>,
}

/// Runs the gateway until SIGTERM.
pub(super) fn run(args: GatewayArgs) -> Result<(), Problems> {
    if args.password.is_none() {
        let problem = Problem::error("the gateway has no password to ask for");
        return Err(problem.help("set SCALER_GATEWAY_PASSWORD in its environment").into());
    }
    service::block_on(async {
        let listener = service::listen(args.listen).await?;
        let config = Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false);
        let agent = config.proxy(None).no_delay(true).build().new_agent();
        let (tokens, passed, refused) = Default::default();
        let gateway = Rc::new(Gateway { args, agent, tokens, passed, refused });
        tokio::task::spawn_local(http::serve(listener, takes, move |ask| answer(gateway.clone(), ask)));
        service::told_to_end().await
    })
}

/// What the API refuses, it refuses itself.
fn takes(method: &Method, path: &str) -> bool {
    if path == "/auth/login" { method == Method::POST } else { method == Method::GET || method == Method::POST }
}

async fn answer(gateway: Rc<Gateway>, ask: Ask) -> Reply {
    match ask.path.as_str() {
        "/auth/login" => return gateway.log_in(&ask),
        "/truth" => {
            return Reply::json(&json!({ "passed": gateway.passed.get(), "refused": gateway.refused.get() }));
        }
        "/metrics" => return gateway.metrics(),
        // Healthy is what stands behind it.
        "/health" => {}
        _ if ask.token.as_ref().is_some_and(|token| gateway.tokens.borrow().contains(token)) => {
            gateway.passed.set(gateway.passed.get() + 1);
        }
        _ => {
            gateway.refused.set(gateway.refused.get() + 1);
            return Reply::text(StatusCode::UNAUTHORIZED, "log in at /auth/login first\n");
        }
    }
    let (agent, url) = (gateway.agent.clone(), format!("http://{}{}", gateway.args.api, ask.target));
    let passing = tokio::task::spawn_blocking(move || pass(&agent, &url, &ask));
    match passing.await {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => Reply::text(StatusCode::BAD_GATEWAY, format!("the API does not answer: {error}\n")),
        Err(error) => Reply::text(StatusCode::BAD_GATEWAY, error.to_string()),
    }
}

/// Asks the API the same, and gives its status and body.
fn pass(agent: &Agent, url: &str, ask: &Ask) -> Result<Reply, ureq::Error> {
    let mut answer = match &ask.posted {
        Some(body) => agent.post(url).content_type("application/json").send(&body[..])?,
        None => agent.get(url).call()?,
    };
    let body = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec()?;
    Ok(Reply::raw_json(answer.status(), body))
}

impl Gateway {
    fn log_in(&self, ask: &Ask) -> Reply {
        let posted = ask.json().and_then(|posted| serde_json::from_value(posted).map_err(|error| error.to_string()));
        let Credentials { username, password } = match posted {
            Ok(credentials) => credentials,
            Err(reason) => return Reply::text(StatusCode::BAD_REQUEST, reason),
        };
        if username != self.args.user || Some(Password(password)) != self.args.password {
            self.refused.set(self.refused.get() + 1);
            return Reply::text(StatusCode::UNAUTHORIZED, "wrong user or password\n");
        }
        let token = format!("{:032x}", rand::rng().random::<u128>());
        let mut tokens = self.tokens.borrow_mut();
        if tokens.len() >= TOKENS {
            tokens.clear();
        }
        tokens.insert(token.clone());
        Reply::json(&json!({ "token": token }))
    }

    fn metrics(&self) -> Reply {
        let mut metrics = Metrics::default();
        metrics.counter("scaler_gateway_passed_total", "Requests passed on.", &[], self.passed.get());
        metrics.counter("scaler_gateway_refused_total", "Requests refused.", &[], self.refused.get());
        Reply::metrics(metrics)
    }
}
