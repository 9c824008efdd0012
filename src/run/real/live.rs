//! One look at the live system and at the host.

use std::{path::Path, time::Instant};

use crate::{judge::live_safety::LiveLook, watch::host, web};

/// The longest that the live URL may take; longer is no latency but a failure.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

/// Looks at `url`, if one is given, and at the host.
///
/// # Errors
/// When the host cannot be looked at.
pub(super) fn look(url: Option<&str>, folder: &Path) -> Result<LiveLook, String> {
    let latency_s = url.map(latency_s);
    Ok(LiveLook {
        latency_s,
        load_per_cpu: host::load1()? / host::cpus(),
        disk_free_bytes: host::disk_free_bytes(folder)?,
    })
}

/// Seconds until the whole answer was read, on a connection of its own; a status of 400 or more is a failure.
fn latency_s(url: &str) -> Result<f64, String> {
    let trouble = |error: ureq::Error| format!("{url}: {error}");
    let agent = web::agent(LIMIT);
    let begun = Instant::now();
    let mut answer = agent.get(url).call().map_err(trouble)?;
    answer.body_mut().with_config().limit(web::BODY_LIMIT).read_to_vec().map_err(trouble)?;
    let seconds = begun.elapsed().as_secs_f64();
    match answer.status().as_u16() {
        status @ 400.. => Err(format!("{url}: status {status}")),
        _ => Ok(seconds),
    }
}
