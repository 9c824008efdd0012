//! Commands inside a container of the target: they see its files, its network and its environment.

use std::time::Duration;

use bollard::{
    container::LogOutput,
    exec::{StartExecOptions, StartExecResults},
    models::ExecConfig,
};
use futures_util::StreamExt;

use super::Engine;

/// The most that is kept of an output, in bytes; what exceeds it is read and thrown away.
const OUTPUT_LIMIT: usize = 1 << 20;

/// What a command left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Its exit code.
    pub code: i64,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Engine {
    /// Runs a command inside a running container to its end. The engine has no way to end it: one that takes longer than `within` is left to
    /// end by itself, or with its container.
    ///
    /// # Errors
    /// When the container does not run, has no such program, or the command takes longer than `within`.
    pub fn exec(&self, id: &str, command: &[String], within: Duration) -> Result<Executed, String> {
        let name = command.first().map_or("the command", String::as_str);
        // The limit needs the runtime's clock, so it begins inside.
        let limited = async { tokio::time::timeout(within, self.execute(id, command)).await };
        let late = |_| format!("{name} took longer than {} s inside the container", within.as_secs_f64());
        self.runtime.block_on(limited).map_err(late)?.map_err(|error| format!("{name}: {error}"))
    }

    async fn execute(&self, id: &str, command: &[String]) -> Result<Executed, bollard::errors::Error> {
        let config = ExecConfig {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(command.to_vec()),
            ..ExecConfig::default()
        };
        let exec = self.docker.create_exec(id, config).await?.id;
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let started = self.docker.start_exec(&exec, None::<StartExecOptions>).await?;
        if let StartExecResults::Attached { mut output, .. } = started {
            while let Some(part) = output.next().await {
                match part? {
                    LogOutput::StdErr { message } => keep(&mut stderr, &message),
                    part => keep(&mut stdout, &part.into_bytes()),
                }
            }
        }
        let code = self.docker.inspect_exec(&exec).await?.exit_code.unwrap_or(-1);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Executed { code, stdout: text(stdout), stderr: text(stderr) })
    }
}

fn keep(kept: &mut Vec<u8>, more: &[u8]) {
    let room = OUTPUT_LIMIT.saturating_sub(kept.len()).min(more.len());
    kept.extend_from_slice(&more[..room]);
}
