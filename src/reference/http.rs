//! A small HTTP server for facts: GET, and POST where something is begun; answers made by one function.

use std::{borrow::Cow, convert::Infallible, future::Future, time::Duration};

use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;

use super::metrics::Metrics;

/// The most bytes of a request's body.
const BODY_BYTES: usize = 1024 * 1024;

/// A request: the path, the query's pairs with `%` escapes undone, and what was posted.
#[derive(Debug)]
pub(super) struct Ask {
    /// The path.
    pub(super) path: String,
    /// The path and the query as they came.
    pub(super) target: String,
    /// The body of a POST; none for a GET.
    pub(super) posted: Option<Bytes>,
    /// The token of `Authorization: Bearer TOKEN`.
    pub(super) token: Option<String>,
    query: Vec<(String, String)>,
}

impl Ask {
    /// What was posted, as JSON.
    pub(super) fn json(&self) -> Result<Value, String> {
        let body = self.posted.as_ref().ok_or("nothing was posted\n")?;
        serde_json::from_slice(body).map_err(|error| format!("no JSON: {error}\n"))
    }

    /// A value of the query.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn new(path: &str, query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(key, value)| (unescape(key), unescape(value)));
        let target = path.to_owned();
        Self { path: path.to_owned(), target, posted: None, token: None, query: query.collect() }
    }

    /// Reads a request to its end; the reason when that cannot be done.
    async fn read(request: Request<Incoming>) -> Result<Self, Reply> {
        let mut ask = Self::new(request.uri().path(), request.uri().query().unwrap_or_default());
        ask.target = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
        let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        ask.token = authorization.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
        if request.method() == Method::POST {
            let body = Limited::new(request.into_body(), BODY_BYTES).collect().await;
            let too_large = |_| Reply::text(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large or was cut off\n");
            ask.posted = Some(body.map_err(too_large)?.to_bytes());
        }
        Ok(ask)
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    status: StatusCode,
    content_type: &'static str,
    body: Bytes,
}

impl Reply {
    /// 200 with JSON.
    pub(super) fn json(value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self::raw_json(StatusCode::OK, body),
            Err(error) => Self::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }

    /// 201 with JSON.
    pub(super) fn created(value: &impl Serialize) -> Self {
        Self { status: StatusCode::CREATED, ..Self::json(value) }
    }

    /// A status with JSON that is written already.
    pub(super) fn raw_json(status: StatusCode, body: Vec<u8>) -> Self {
        Self::new(status, "application/json", body)
    }

    /// A status with words.
    pub(super) fn text(status: StatusCode, words: impl Into<Cow<'static, str>>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", words.into().into_owned().into_bytes())
    }

    /// 200 with metrics.
    pub(super) fn metrics(metrics: Metrics) -> Self {
        Self::new(StatusCode::OK, Metrics::CONTENT_TYPE, metrics.into_text().into_bytes())
    }

    /// 200 when all is well, else 503 with the reason.
    pub(super) fn health(state: Result<(), String>) -> Self {
        match state {
            Ok(()) => Self::text(StatusCode::OK, "ok\n"),
            Err(reason) => Self::text(StatusCode::SERVICE_UNAVAILABLE, reason),
        }
    }

    /// 404.
    pub(super) fn not_found() -> Self {
        Self::text(StatusCode::NOT_FOUND, "no such path\n")
    }

    fn new(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status, content_type, body: body.into() }
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(self.content_type));
        response
    }
}

/// Which methods a path takes.
pub(super) type Takes = fn(&Method, &str) -> bool;

/// Every path takes GET and nothing else.
pub(super) fn only_get(method: &Method, _path: &str) -> bool {
    method == Method::GET
}

/// Answers requests for as long as it is polled. Runs on this thread, so the answering function may share the service's state.
pub(super) async fn serve<H, F>(listener: TcpListener, takes: Takes, answer: H)
where
    H: Fn(Ask) -> F + Clone + 'static,
    F: Future<Output = Reply> + 'static,
{
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors: wait for some to come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Without this, small answers wait for the reader's delayed acknowledgement; a failure costs only time.
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = answer.clone();
            async move {
                let reply = if takes(request.method(), request.uri().path()) {
                    match Ask::read(request).await {
                        Ok(ask) => answer(ask).await,
                        Err(refused) => refused,
                    }
                } else {
                    Reply::text(StatusCode::METHOD_NOT_ALLOWED, "another method is needed here\n")
                };
                Ok::<_, Infallible>(reply.into_response())
            }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(Duration::from_mins(1)).max_buf_size(64 * 1024);
        tokio::task::spawn_local(async move {
            // A reader that goes away in the middle concerns nobody else.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Undoes `%XX` and `+`; what is not a valid escape stays as it is.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let hex = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (bytes[index], hex(index + 1), hex(index + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                index += 2;
            }
            (b'+', ..) => out.push(b' '),
            (byte, ..) => out.push(byte),
        }
        index += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::{damaged, for_a_while};

    #[test]
    fn any_query_is_read() {
        let text = "points=1000&from=1700000000&to=%2B1&topic=fbf%2Fscale%2F%ff&&a=b=c&points=-1";
        for_a_while("queries", |chance| {
            let ask = Ask::new("/history", &damaged(text, chance));
            assert!(ask.get("no such key at all").is_none());
        });
    }

    #[test]
    fn queries_are_unescaped() {
        let ask = Ask::new("/history", "topic=fbf%2Fs1/e+%zz%4&limit=5&flag");
        assert_eq!(ask.get("topic"), Some("fbf/s1/e %zz%4"));
        assert_eq!((ask.get("limit"), ask.get("flag"), ask.get("none")), (Some("5"), Some(""), None));
    }
}
