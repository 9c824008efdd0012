//! The gateway: nothing passes without a token, and what passes is what the API said.

use serde_json::json;

use super::services::{PATIENCE, Service, free, sqlite};

const PASSWORD: (&str, &str) = ("SCALER_GATEWAY_PASSWORD", "open sesame");

/// Asks with a token: status and body.
fn get(service: &Service, path: &str, token: &str) -> (u16, String) {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build().into();
    let request =
        agent.get(format!("http://{}{path}", service.http)).header("Authorization", format!("Bearer {token}"));
    let mut response = request.call().unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

#[test]
fn only_who_has_logged_in_is_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE point_history (topic TEXT, ts INTEGER, value REAL)").unwrap();
    let mut api = Service::start("api", "--listen", free(), &["--store", &path], &[]);
    let address = api.http.to_string();
    let gateway = Service::start("gateway", "--listen", free(), &["--api", &address], &[PASSWORD]);

    assert_eq!(gateway.get("/ops/status").unwrap().0, 401);
    assert_eq!(get(&gateway, "/ops/status", "a guess").0, 401);
    assert_eq!(gateway.post("/api/scale/rules", &json!({ "name": "a" }), None).0, 401);
    let log_in = |password: &str| {
        gateway.post("/auth/login", &json!({ "username": "admin@scale.test", "password": password }), None)
    };
    assert_eq!(log_in("open").0, 401);
    assert_eq!(gateway.post("/auth/login", &json!({ "username": "admin@scale.test" }), None).0, 400);
    assert_eq!(gateway.get("/auth/login").unwrap().0, 405);
    let (status, answer) = log_in("open sesame");
    let token = answer["token"].as_str().unwrap();
    assert_eq!(status, 200);

    assert_eq!(get(&gateway, "/ops/status", token), api.get("/ops/status").unwrap());
    assert_eq!(get(&gateway, "/api/scale/read?filter=site", token).0, 400, "what the API refuses");
    assert_eq!(gateway.post("/api/scale/rules", &json!({ "name": "a" }), Some(token)).0, 201);
    assert_eq!((gateway.truth("/passed"), gateway.truth("/refused")), (3, 4));

    api.kill();
    assert_eq!((get(&gateway, "/ops/status", token).0, gateway.get("/health").unwrap().0), (502, 502));
}

#[test]
fn without_a_password_it_does_not_start() {
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_scaler")).args(["reference", "gateway"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("SCALER_GATEWAY_PASSWORD"));
}
