//! A small HTTP server for facts: GET, and POST where something is begun; answers made by one function.

use std::{borrow::Cow, convert::Infallible, future::Future, time::Duration};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::net::TcpListener;

use super::metrics::Metrics;

/// A request: the path, and the query's pairs with `%` escapes undone.
#[derive(Debug)]
pub(super) struct Ask {
    /// The path.
    pub(super) path: String,
    query: Vec<(String, String)>,
}

impl Ask {
    /// A value of the query.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn new(path: &str, query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(key, value)| (unescape(key), unescape(value)));
        Self { path: path.to_owned(), query: query.collect() }
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
            Ok(body) => Self::new(StatusCode::OK, "application/json", body),
            Err(error) => Self::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
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

/// Answers requests for as long as it is polled: POST on the paths in `posts`, GET on all others. Runs on this thread, so the answering function may share the service's state.
pub(super) async fn serve<H, F>(listener: TcpListener, posts: &'static [&'static str], answer: H)
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
            let method = if posts.contains(&request.uri().path()) { Method::POST } else { Method::GET };
            let asked = (request.method() == method)
                .then(|| Ask::new(request.uri().path(), request.uri().query().unwrap_or_default()))
                .map(&answer);
            async move {
                let reply = match asked {
                    Some(answering) => answering.await,
                    None => Reply::text(StatusCode::METHOD_NOT_ALLOWED, "another method is needed here\n"),
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
