//! A private PostgreSQL: its values, its restart, its freezing; and SQLite beside a writer.

use std::{path::Path, process::Command, time::Duration};

use scaler::{
    plan::phase::Signal,
    run::world::{Answer, Call, Datum, TakeDown},
};
use serde_json::{Value, json};

use super::bench::{Bench, eventually, free_port};

const BIN: &str = "/usr/lib/postgresql/15/bin";
const READ: &str = "SELECT count(*) FROM t";

/// A plan with a database server as the target and a connection `db` to it. The server refuses to run as root.
fn database(home: &Path, watches: &Value) -> Value {
    let data = home.join("data");
    let as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
    assert!(Command::new("chmod").arg("755").arg(home).status().unwrap().success());
    assert!(Command::new("install").args(["-d", "-o", "postgres"]).arg(&data).status().unwrap().success());
    let initdb = Command::new(as_postgres[0])
        .args(&as_postgres[1..])
        .arg(format!("{BIN}/initdb"))
        .args(["--auth=trust", "--no-sync", "-U", "tester", "-D"])
        .arg(&data)
        .output()
        .unwrap();
    assert!(initdb.status.success(), "{}", String::from_utf8_lossy(&initdb.stderr));
    certify(home, &data);
    let port = free_port();
    let data = data.to_str().unwrap();
    let settings = ["-D", data, "-p", &port.to_string(), "-h", "127.0.0.1", "-k", data, "-F", "-c", "ssl=on"];
    let command: Vec<String> = as_postgres
        .iter()
        .map(|word| (*word).to_owned())
        .chain([format!("{BIN}/postgres")])
        .chain(settings.map(str::to_owned))
        .collect();
    let service = json!({ "command": command, "ports": [port], "ready": { "tcp": format!("127.0.0.1:{port}"), "within": "30s" } });
    json!({
        "target": { "processes": { "services": { "it": service } } },
        "connections": {
            "encrypted": { "postgres": { "url": format!("postgres://tester@127.0.0.1:{port}/postgres?sslmode=require"), "ca_file": "server.crt" } },
            "stranger": { "postgres": { "url": format!("postgres://tester@127.0.0.1:{port}/postgres?sslmode=require") } },
            "db": { "postgres": { "url": format!("postgres://tester:hunter2@127.0.0.1:{port}/postgres") } },
        },
        "queries": { "rows": { "sql": { "connection": "db", "statement": READ } } },
        "watches": watches,
    })
}

/// A key and a certificate for 127.0.0.1, where the server looks for them; the certificate also in the plan's folder.
fn certify(home: &Path, data: &Path) {
    let (key, certificate) = (data.join("server.key"), data.join("server.crt"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=scaler test"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::copy(&certificate, home.join("server.crt")).unwrap();
    assert!(Command::new("chown").arg("postgres").args([&key, &certificate]).status().unwrap().success());
    assert!(Command::new("chmod").arg("600").arg(&key).status().unwrap().success());
}

fn started(watches: &Value) -> Bench {
    let home = tempfile::tempdir().unwrap();
    let plan = database(home.path(), watches);
    let mut bench = Bench::in_home(home, &plan);
    bench.done(Call::StartTarget { fresh: false });
    // The port is open a moment before the server takes statements.
    eventually("a statement", || bench.call(execute("CREATE TABLE IF NOT EXISTS t (a int); DELETE FROM t")).is_ok());
    bench
}

fn execute(statement: &str) -> Call {
    Call::Execute { connection: "db".to_owned(), statement: statement.to_owned() }
}

fn rows(statement: &str) -> Call {
    Call::Rows { connection: "db".to_owned(), statement: statement.to_owned() }
}

#[test]
fn values_of_common_types_are_read() {
    let mut bench = started(&json!({}));
    let statement = "SELECT 1::smallint, 2::bigint, 1.5::real, 2.25::float8, 12.5::numeric, sum(x), true, 'text'::text, \
         'v'::varchar, NULL::int, timestamptz '1970-01-02 00:00:00+00', timestamp '2000-01-01 00:00:01.5', date '1970-01-02', \
         '{\"a\": 1}'::jsonb, floor(extract(epoch FROM timestamptz '2026-01-01 00:00:00+00'))::bigint \
         FROM (VALUES (9007199254740993::bigint), (1)) AS v(x)";
    let Ok(Answer::Rows { rows: read, seconds }) = bench.call(rows(statement)) else { panic!() };
    assert!(seconds > 0.0);
    let text = |text: &str| Datum::Text(text.to_owned());
    let expected = vec![
        Datum::Integer(1),
        Datum::Integer(2),
        Datum::Real(1.5),
        Datum::Real(2.25),
        Datum::Real(12.5),
        Datum::Integer(9_007_199_254_740_994),
        Datum::Integer(1),
        text("text"),
        text("v"),
        Datum::Null,
        Datum::Integer(86_400),
        Datum::Real(946_684_801.5),
        Datum::Integer(86_400),
        text("{\"a\": 1}"),
        Datum::Integer(1_767_225_600),
    ];
    assert_eq!(read, [expected]);
    let why = bench.failed(rows("SELECT '1.2.3.4'::inet"));
    assert!(why.contains("inet"), "{why}");
    let why = bench.failed(rows("SELECT * FROM nothing_here"));
    assert_eq!(why, "relation \"nothing_here\" does not exist (42P01)");
}

#[test]
fn a_connection_is_encrypted_when_the_url_asks_for_it() {
    let mut bench = started(&json!({}));
    let mut encrypted = |connection: &str| {
        let statement = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()".to_owned();
        match bench.call(Call::Rows { connection: connection.to_owned(), statement }) {
            Ok(Answer::Rows { rows, .. }) => Ok(rows[0][0].clone()),
            Err(failure) => Err(failure.reason().to_owned()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(encrypted("encrypted"), Ok(Datum::Integer(1)));
    assert_eq!(encrypted("db"), Ok(Datum::Integer(0)));
    let why = encrypted("stranger").unwrap_err();
    assert!(why.contains("certificate"), "{why}");
}

#[test]
fn a_restart_fails_reads_and_then_they_work_again() {
    let watch = json!({ "every": "50ms", "sql": { "connection": "db", "statement": READ, "series": ["rows"] } });
    let mut bench = started(&json!({ "store": watch }));
    bench.done(execute("INSERT INTO t SELECT generate_series(1, 3)"));
    assert_eq!(bench.number("rows"), 3.0);
    bench.done(Call::StartWatch("store".to_owned()));
    assert_eq!(bench.sample(|sample| !sample.values.is_empty()).values["rows"], 3.0);
    let down = bench.call(Call::TakeDown { service: "it".to_owned(), how: TakeDown::Kill(Signal::SigKill) });
    assert!(matches!(down, Ok(Answer::Down { proven: true, .. })), "{down:?}");
    let why = bench.failed(Call::Query("rows".to_owned()));
    assert!(why.starts_with("no connection: ") && !why.contains("hunter2"), "{why}");
    let gap = bench.sample(|sample| sample.gaps.get("*").is_some_and(|why| why.starts_with("no connection: ")));
    assert!(gap.values.is_empty(), "{gap:?}");
    let up = bench.call(Call::BringBack { service: "it".to_owned(), within: Duration::from_secs(30) });
    assert!(matches!(up, Ok(Answer::Up { ready_at: Some(_), .. })), "{up:?}");
    eventually("a read after the restart", || bench.call(Call::Query("rows".to_owned())) == Ok(Answer::Number(3.0)));
    bench.sample(|sample| sample.values.get("rows") == Some(&3.0));
    bench.done(Call::StopWatch("store".to_owned()));
    let Ok(Answer::Text(log)) = bench.call(Call::Log { service: "it".to_owned() }) else { panic!("no log") };
    let replayed = log.lines().any(|line| line.contains("redo done at") && line.contains("elapsed: "));
    assert!(replayed, "PostgreSQL tells how long it replayed: {log}");
}

#[test]
fn a_frozen_server_leaves_gaps_while_it_is_frozen() {
    let watch = json!({ "every": "50ms", "sql": { "connection": "db", "statement": READ, "series": ["rows"] } });
    let mut bench = started(&json!({ "store": watch }));
    bench.done(Call::StartWatch("store".to_owned()));
    bench.sample(|sample| !sample.values.is_empty());
    // The connection's own server process is in a session of its own, so the whole tree is frozen from outside.
    let tree = |signal: &str, pid: u32| {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        for process in children.split_whitespace().chain([pid.to_string().as_str()]) {
            let _ = Command::new("kill").args([signal, process]).status();
        }
    };
    let pid = bench.pid("it");
    tree("-STOP", pid);
    let gap = bench.sample(|sample| sample.gaps.get("*").is_some_and(|why| why.starts_with("no answer for")));
    assert!(gap.values.is_empty());
    tree("-CONT", pid);
    bench.sample(|sample| !sample.values.is_empty());
    bench.done(Call::StopWatch("store".to_owned()));
}

#[test]
fn sqlite_is_read_beside_its_writer_and_after_it_was_replaced() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("history.sqlite");
    let statement = json!({ "connection": "file", "statement": "SELECT count(*) FROM t" });
    let plan = json!({ "connections": { "file": { "sqlite": { "path": "history.sqlite" } } }, "queries": { "rows": { "sql": statement } } });
    let mut bench = Bench::in_home(home, &plan);
    assert!(bench.failed(Call::Query("rows".to_owned())).contains("history.sqlite"));
    let write = |rows: i64| {
        let _ = std::fs::remove_file(&path);
        let writer = rusqlite::Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t (a, b, c, d)").unwrap();
        for row in 0..rows {
            writer.execute("INSERT INTO t VALUES (?1, 0.5, 'x', NULL)", [row]).unwrap();
        }
        writer
    };
    let writer = write(2);
    assert_eq!(bench.number("rows"), 2.0);
    writer.execute("INSERT INTO t VALUES (7, 0.5, 'x', NULL)", []).unwrap();
    assert_eq!(bench.number("rows"), 3.0);
    drop(writer);
    let _replaced = write(5);
    assert_eq!(bench.number("rows"), 5.0, "a fresh file under the old name is seen");
    let all = Call::Rows { connection: "file".to_owned(), statement: "SELECT * FROM t WHERE a = 1".to_owned() };
    let Ok(Answer::Rows { rows, .. }) = bench.call(all) else { panic!() };
    assert_eq!(rows, [[Datum::Integer(1), Datum::Real(0.5), Datum::Text("x".to_owned()), Datum::Null]]);
    let write = Call::Rows { connection: "file".to_owned(), statement: "DELETE FROM t".to_owned() };
    assert!(bench.failed(write).contains("readonly"));
}
