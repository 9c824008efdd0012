//! `scaler reference durability`: the settings of a session, which are not always those of the server.

use std::process::Command;

use super::postgres::Cluster;

fn printed(url: &str) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaler"));
    let output = command.args(["reference", "durability"]).env("SCALER_STORE_URL", url).output().unwrap();
    let said = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_session_has_the_settings_of_its_role() {
    let cluster = Cluster::start();
    let settings = |commit| format!("{{\"fsync\":1,\"synchronous_commit\":{commit},\"full_page_writes\":1}}\n");
    assert_eq!(printed(&cluster.url()), (true, settings(1)));
    cluster.execute("ALTER ROLE postgres SET synchronous_commit = off");
    assert_eq!(printed(&cluster.url()), (true, settings(0)), "the server itself still has it on");
    let (told, why) = printed("history.sqlite");
    assert!(!told && why.contains("only PostgreSQL has these settings"), "{why}");
}
