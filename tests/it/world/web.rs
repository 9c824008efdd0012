//! HTTP against a small server of the test's own.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use scaler::{
    plan::probe::Method,
    run::world::{Answer, Call, Request},
};
use serde_json::{Value, json};

use super::bench::Bench;

/// What the server remembers.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) connections: u32,
    pub(super) logins: u32,
    pub(super) requests: Vec<(String, HashMap<String, String>, String)>,
}

/// Serves `answers` (path to status and body) on a port of its own; `/login` gives the tokens `token-1`, `token-2`, ….
pub(super) fn serve(answers: &[(&str, u16, &str)]) -> (String, Arc<Mutex<Seen>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Seen::default()));
    let answers: HashMap<String, (u16, String)> =
        answers.iter().map(|(path, status, body)| ((*path).to_owned(), (*status, (*body).to_owned()))).collect();
    let (answers, shared) = (Arc::new(answers), Arc::clone(&seen));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            shared.lock().unwrap().connections += 1;
            let (answers, seen) = (Arc::clone(&answers), Arc::clone(&shared));
            thread::spawn(move || converse(stream, &answers, &seen));
        }
    });
    (url, seen)
}

fn converse(mut stream: TcpStream, answers: &HashMap<String, (u16, String)>, seen: &Mutex<Seen>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let request = line.trim().trim_end_matches(" HTTP/1.1").to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(':') else { break };
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let path = request.split(' ').nth(1).unwrap().to_owned();
        let mut seen = seen.lock().unwrap();
        let (status, answer) = match path.as_str() {
            "/login" => {
                seen.logins += 1;
                (200, json!({ "token": format!("token-{}", seen.logins) }).to_string())
            }
            // Only the second token is good: the first one has expired.
            "/private" if headers.get("x-token").is_some_and(|token| token == "key token-2") => (200, "in".to_owned()),
            "/private" => (401, "out".to_owned()),
            path => answers.get(path).cloned().unwrap_or((404, "nothing".to_owned())),
        };
        seen.requests.push((request, headers, String::from_utf8(body).unwrap()));
        write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).unwrap();
    }
}

fn request(bench: &mut Bench, method: Method, path: &str, body: Option<Value>) -> (u16, String) {
    let request = Request { connection: "api".to_owned(), method, path: path.to_owned(), body };
    match bench.call(Call::Request(request)).unwrap() {
        Answer::Response { status, body, seconds } => {
            assert!(seconds > 0.0);
            (status, String::from_utf8(body).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_carry_headers_and_bodies_over_one_connection() {
    let (url, seen) = serve(&[("/points", 200, "[1,2]"), ("/moved", 302, "")]);
    let api = json!({ "http": { "url": url, "headers": { "x-own": "1" } } });
    let mut bench = Bench::new(&json!({ "connections": { "api": api } }));
    assert_eq!(request(&mut bench, Method::Get, "/points", None), (200, "[1,2]".to_owned()));
    assert_eq!(request(&mut bench, Method::Post, "/gone", Some(json!({ "a": 1 }))), (404, "nothing".to_owned()));
    assert_eq!(request(&mut bench, Method::Get, "/moved", None).0, 302, "redirects are answers");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.connections, 1, "connections are kept");
    let posted = &seen.requests[1];
    assert_eq!((posted.0.as_str(), posted.2.as_str()), ("POST /gone", "{\"a\":1}"));
    assert_eq!((posted.1["x-own"].as_str(), posted.1["content-type"].as_str()), ("1", "application/json"));
}

#[test]
fn a_login_happens_once_and_again_when_its_token_is_refused() {
    let (url, seen) = serve(&[("/open", 200, "yes")]);
    let login = json!({ "path": "/login", "body": { "user": "u", "password": "hunter2" }, "token": "/token", "header": "x-token", "prefix": "key " });
    let mut bench = Bench::new(&json!({ "connections": { "api": { "http": { "url": url, "login": login } } } }));
    assert_eq!(request(&mut bench, Method::Get, "/open", None), (200, "yes".to_owned()));
    assert_eq!(request(&mut bench, Method::Get, "/open", None), (200, "yes".to_owned()));
    assert_eq!(seen.lock().unwrap().logins, 1);
    assert_eq!(request(&mut bench, Method::Get, "/private", None), (200, "in".to_owned()));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.logins, 2);
    assert_eq!(seen.requests[1].1["x-token"], "key token-1");
    assert!(seen.requests[0].2.contains("hunter2"));
}

#[test]
fn a_login_that_fails_gives_no_secret_away() {
    let (url, _) = serve(&[("/in", 403, "hunter2 is wrong")]);
    let login = json!({ "path": "/in", "body": { "password": "hunter2" }, "token": "/token" });
    let mut bench = Bench::new(&json!({ "connections": { "api": { "http": { "url": url, "login": login } } } }));
    let open = Request { connection: "api".to_owned(), method: Method::Get, path: "/open".to_owned(), body: None };
    let why = bench.failed(Call::Request(open));
    assert_eq!(why, "the login at /in was answered with status 403");
}

#[test]
fn queries_read_numbers_and_count_arrays() {
    let (url, _) = serve(&[("/points", 200, r#"{"rows":[1,2,3],"n":7.5}"#), ("/broken", 500, "{}")]);
    let query =
        |path: &str, pointer: &str| json!({ "http_json": { "connection": "api", "path": path, "pointer": pointer } });
    let queries = json!({ "rows": query("/points", "/rows"), "n": query("/points", "/n"), "gone": query("/points", "/x"), "broken": query("/broken", "/n") });
    let mut bench = Bench::new(&json!({ "connections": { "api": { "http": { "url": url } } }, "queries": queries }));
    assert_eq!((bench.number("rows"), bench.number("n")), (3.0, 7.5));
    assert_eq!(bench.failed(Call::Query("gone".to_owned())), "GET /points: nothing at `/x`");
    assert_eq!(bench.failed(Call::Query("broken".to_owned())), "GET /broken: status 500");
}

#[test]
fn live_safety_sees_the_url_and_the_host() {
    let (url, _) = serve(&[("/ui", 200, "fine"), ("/sick", 503, "")]);
    let look = |path: &str| {
        let mut bench = Bench::new(&json!({ "live_safety": { "url": format!("{url}{path}") } }));
        match bench.call(Call::SampleLive).unwrap() {
            Answer::Live(sample) => sample,
            other => panic!("{other:?}"),
        }
    };
    let sample = look("/ui");
    assert!(sample.latency_s.unwrap().unwrap() > 0.0);
    assert!(sample.disk_free_bytes > 0 && sample.load_per_cpu >= 0.0);
    assert!(look("/sick").latency_s.unwrap().unwrap_err().contains("status 503"));
}
