//! The HTTP client: requests on a connection of the plan, timed from their start to the last byte of the answer.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use ureq::{
    Agent,
    http::{self, Request},
};

use crate::plan::{
    connection::{Http, Login},
    probe::Method,
};

/// The most that is read of an answer, in bytes; a longer one is an error.
pub const BODY_LIMIT: u64 = 256 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetched {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    /// Seconds from the start of the request to the last byte of the body.
    pub seconds: f64,
}

/// An HTTP server of the plan. Connections are kept and used again; redirects are answers, not followed.
pub struct Web {
    plan: Http,
    agent: Agent,
    token: Mutex<Option<String>>,
}

impl Web {
    /// A client; nothing is sent before the first request.
    #[must_use]
    pub fn new(plan: &Http) -> Self {
        Self { plan: plan.clone(), agent: agent(plan.timeout.0), token: Mutex::default() }
    }

    /// Makes a request, after the login if the connection has one. A status 401 is answered by one new login.
    ///
    /// # Errors
    /// When there is no answer, in words that name the method and the path, and neither header nor body.
    pub fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Fetched, String> {
        let Some(login) = &self.plan.login else { return self.send(method, path, body, None) };
        let fetched = self.send(method, path, body, Some((login, &self.token(login, None)?)))?;
        if fetched.status != 401 {
            return Ok(fetched);
        }
        let used = self.known_token().clone();
        self.send(method, path, body, Some((login, &self.token(login, used.as_deref())?)))
    }

    /// Reads JSON by a GET that must answer with a status of 200 to 299.
    ///
    /// # Errors
    /// When it does not, or the body is no JSON.
    pub fn json(&self, path: &str) -> Result<Value, String> {
        self.timed_json(path).map(|(json, _)| json)
    }

    /// The same, with the seconds from the start of the request to the last byte of the answer.
    ///
    /// # Errors
    /// When it does not, or the body is no JSON.
    pub fn timed_json(&self, path: &str) -> Result<(Value, f64), String> {
        let fetched = self.good(path)?;
        let json = serde_json::from_slice(&fetched.body).map_err(|error| format!("GET {path}: no JSON: {error}"))?;
        Ok((json, fetched.seconds))
    }

    /// Reads a text by a GET that must answer with a status of 200 to 299.
    ///
    /// # Errors
    /// When it does not.
    pub fn text(&self, path: &str) -> Result<String, String> {
        Ok(String::from_utf8_lossy(&self.good(path)?.body).into_owned())
    }

    fn good(&self, path: &str) -> Result<Fetched, String> {
        let fetched = self.request(Method::Get, path, None)?;
        if (200..300).contains(&fetched.status) {
            return Ok(fetched);
        }
        Err(format!("GET {path}: status {}", fetched.status))
    }

    fn known_token(&self) -> MutexGuard<'_, Option<String>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token, by a login when there is none yet or when the known one is `refused`.
    fn token(&self, login: &Login, refused: Option<&str>) -> Result<String, String> {
        let mut known = self.known_token();
        if let Some(token) = known.as_ref().filter(|token| Some(token.as_str()) != refused) {
            return Ok(token.clone());
        }
        let body = serde_json::to_value(&login.body).map_err(|error| error.to_string())?;
        let fetched = self.send(Method::Post, &login.path, Some(&body), None)?;
        if !(200..300).contains(&fetched.status) {
            return Err(format!("the login at {} was answered with status {}", login.path, fetched.status));
        }
        let answer: Value = serde_json::from_slice(&fetched.body)
            .map_err(|error| format!("the login at {} was answered with no JSON: {error}", login.path))?;
        let token = answer.pointer(&login.token).and_then(Value::as_str);
        let token = token.ok_or_else(|| format!("the login at {} gave no text at {}", login.path, login.token))?;
        *known = Some(token.to_owned());
        Ok(token.to_owned())
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        token: Option<(&Login, &str)>,
    ) -> Result<Fetched, String> {
        let method = verb(method);
        let trouble = |error: &dyn std::fmt::Display| format!("{method} {path}: {error}");
        let mut request = Request::builder().method(&method).uri(format!("{}{path}", self.plan.url));
        for (name, value) in &self.plan.headers {
            request = request.header(name, value);
        }
        if let Some((login, token)) = token {
            request = request.header(&login.header, format!("{}{token}", login.prefix));
        }
        let payload = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let begun = Instant::now();
        let answer = if body.is_some() || method != http::Method::GET && method != http::Method::DELETE {
            self.agent.run(request.body(payload).map_err(|error| trouble(&error))?)
        } else {
            self.agent.run(request.body(()).map_err(|error| trouble(&error))?)
        };
        let mut answer = answer.map_err(|error| trouble(&error))?;
        let body = answer.body_mut().with_config().limit(BODY_LIMIT).read_to_vec().map_err(|error| trouble(&error))?;
        Ok(Fetched { status: answer.status().as_u16(), body, seconds: begun.elapsed().as_secs_f64() })
    }
}

/// A client that gives every status as an answer, follows no redirect, uses no proxy and waits no longer than `limit`.
#[must_use]
pub fn agent(limit: Duration) -> Agent {
    Agent::config_builder()
        .timeout_global(Some(limit))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .no_delay(true)
        .user_agent("scaler")
        .allow_non_standard_methods(true)
        .build()
        .new_agent()
}

fn verb(method: Method) -> http::Method {
    match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
    }
}
