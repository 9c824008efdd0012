//! How long PostgreSQL replayed its write-ahead log, from what it printed since its start. Pure.
//!
//! Since PostgreSQL 15 the line `redo done at …` ends with the time that it took (`src/backend/access/transam/xlogrecovery.c`).

/// Seconds of the last replay in the log.
///
/// # Errors
/// What the log tells instead.
pub(super) fn replay(log: &str) -> Result<f64, String> {
    let Some(begun) = log.rfind("redo starts at") else {
        let none = log.contains("redo is not required");
        return if none { Ok(0.0) } else { Err("of no WAL replay".to_owned()) };
    };
    let after = log[begun..].lines().find(|line| line.contains("redo done at"));
    let done = after.ok_or("of a WAL replay that has not ended")?;
    let elapsed = done.rsplit_once("elapsed: ").and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
    elapsed
        .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
        .ok_or_else(|| "of a WAL replay and not how long it took, as PostgreSQL does since version 15".to_owned())
}

#[cfg(test)]
mod tests {
    use super::replay;

    #[test]
    fn what_a_log_tells_of_a_replay() {
        let start = "LOG:  database system was not properly shut down; automatic recovery in progress\nLOG:  redo starts at 0/15D6E90\n";
        let usage = "system usage: CPU: user: 0.03 s, system: 0.01 s, elapsed: 1.26 s";
        let done = format!("LOG:  redo done at 0/1A5C3F8 {usage}\n");
        let told = [
            (format!("{start}LOG:  invalid record length\n{done}ready"), Ok(1.26)),
            // The last replay counts.
            (format!("{start}{}{start}{done}", done.replace("1.26", "9.99")), Ok(1.26)),
            ("LOG:  redo is not required\n".to_owned(), Ok(0.0)),
            (start.to_owned(), Err("of a WAL replay that has not ended")),
            (format!("{start}{done}{start}"), Err("of a WAL replay that has not ended")),
            (
                format!("{start}LOG:  redo done at 0/1A5C3F8\n"),
                Err("of a WAL replay and not how long it took, as PostgreSQL does since version 15"),
            ),
            ("listener ready".to_owned(), Err("of no WAL replay")),
            (String::new(), Err("of no WAL replay")),
        ];
        for (log, expected) in told {
            assert_eq!(replay(&log), expected.map_err(str::to_owned), "{log}");
        }
    }
}
