//! The faults that can be switched on, as `--fault NAME[=VALUE]`, several joined by `+`, `none` for none.
//!
//! One enum per service; a fault is one variant, its spelling in `parse`, and the place in the service that acts on it. Each has a count of
//! its own at `/truth`.

use std::{num::NonZeroU64, str::FromStr, time::Duration};

/// A kind of fault that a service knows.
pub trait Fault: Sized {
    /// The spellings, for messages.
    const KNOWN: &'static str;

    /// Reads a fault from its name and value.
    ///
    /// # Errors
    /// Says what is wrong with the value; `None` when the name is not known.
    fn parse(name: &str, value: Option<&str>) -> Option<Result<Self, String>>;
}

/// The faults of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults<F>(pub Vec<F>);

impl<F: Fault> FromStr for Faults<F> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(Vec::new()));
        }
        text.split('+')
            .map(|part| {
                let (name, value) = part.split_once('=').map_or((part, None), |(name, value)| (name, Some(value)));
                F::parse(name, value)
                    .unwrap_or_else(|| Err(format!("unknown fault `{name}`; known: none, {}", F::KNOWN)))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// What the broker can do wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerFault {
    /// One reading in so many is acknowledged, and neither retained nor delivered. Truth: `dropped_after_ack`.
    DropAfterAck {
        /// The n of "1 in n".
        one_in: NonZeroU64,
    },
    /// The queue of one session holds no more than so many messages, and its socket's buffer next to nothing. Truth:
    /// `dropped_by_session`.
    SmallQueue {
        /// The client identifier.
        session: String,
        /// How many messages.
        messages: NonZeroU64,
    },
    /// `/metrics` answers so many times, then takes requests and never answers. Truth: `metrics_unanswered`.
    MuteMetrics {
        /// How many times it answers.
        after: NonZeroU64,
    },
    /// One topic under `$SYS/broker` is never published. Truth: `sys_withheld`.
    MissingSys {
        /// The topic without its prefix, as in `publish/messages/dropped`.
        topic: String,
    },
    /// The counter of received messages, in `/metrics` and `$SYS`, goes back to 0 once, after so many readings. Truth: `counter_resets`.
    ResetCounter {
        /// How many readings.
        after: NonZeroU64,
    },
}

impl Fault for BrokerFault {
    const KNOWN: &'static str =
        "drop_after_ack=N, small_queue=SESSION:N, mute_metrics=N, missing_sys=TOPIC, reset_counter=N";

    fn parse(name: &str, value: Option<&str>) -> Option<Result<Self, String>> {
        Some(match name {
            "drop_after_ack" => count(name, value).map(|one_in| Self::DropAfterAck { one_in }),
            "small_queue" => pair(name, value, "daemon:50")
                .and_then(|(session, messages)| Ok((session.to_owned(), count(name, Some(messages))?)))
                .map(|(session, messages)| Self::SmallQueue { session, messages }),
            "mute_metrics" => count(name, value).map(|after| Self::MuteMetrics { after }),
            "missing_sys" => match value.filter(|topic| !topic.is_empty()) {
                Some(topic) => Ok(Self::MissingSys { topic: topic.to_owned() }),
                None => Err(format!("`{name}` needs a topic, as in `{name}=publish/messages/dropped`")),
            },
            "reset_counter" => count(name, value).map(|after| Self::ResetCounter { after }),
            _ => return None,
        })
    }
}

/// What the listener can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerFault {
    /// Readings are acknowledged on arrival and committed every 500 ms: a kill loses what lies between. Truth: `acknowledged_uncommitted`,
    /// and after a kill the broker's `acked_by_session` less the rows of the store.
    AckBeforeCommit,
    /// One reading in so many is stored twice, as by a store without a key when a batch is retried. Truth: `duplicated`.
    Duplicate {
        /// The n of "1 in n".
        one_in: NonZeroU64,
    },
    /// One reading in so many is stored with a value that is 1/1024 too high. Truth: `corrupted`.
    Corrupt {
        /// The n of "1 in n".
        one_in: NonZeroU64,
    },
    /// One reading in so many is not stored, and the next one is stored twice in its place. Truth: `dropped` and `duplicated`.
    DropAndDuplicate {
        /// The n of "1 in n".
        one_in: NonZeroU64,
    },
    /// One reading in so many is acknowledged at once and committed later. Truth: `late`.
    Late {
        /// The n of "1 in n".
        one_in: NonZeroU64,
        /// How much later.
        by: Duration,
    },
    /// Every so often nothing is committed for a time. Truth: `stalls` and `stalled_total_s`.
    Stall {
        /// How long.
        length: Duration,
        /// From the beginning of one stall to that of the next; the first begins so long after the first reading.
        every: Duration,
    },
    /// So many bytes are kept each second and never used. Truth: `leaked_bytes`.
    Leak {
        /// Bytes.
        per_s: NonZeroU64,
    },
    /// The process aborts once it has committed so many readings. Truth: its end, and what waits at the broker.
    Crash {
        /// How many readings.
        after: NonZeroU64,
    },
    /// The process replaces itself once it has committed so many readings, as by a supervisor that nobody sees. Truth: `restarts`.
    Restart {
        /// How many readings.
        after: NonZeroU64,
    },
    /// Rows carry a time that is so much later than the reading's, as from a clock that is set apart. Truth: `shifted`.
    ClockApart {
        /// How much.
        by: Duration,
    },
}

impl Fault for ListenerFault {
    const KNOWN: &'static str = "ack_before_commit, duplicate=N, corrupt=N, drop_and_duplicate=N, late=N:DURATION, \
                                 stall=DURATION:EVERY, leak=BYTES, crash=N, restart=N, clock_apart=DURATION";

    fn parse(name: &str, value: Option<&str>) -> Option<Result<Self, String>> {
        Some(match name {
            "ack_before_commit" => no_value(name, value).map(|()| Self::AckBeforeCommit),
            "duplicate" => count(name, value).map(|one_in| Self::Duplicate { one_in }),
            "corrupt" => count(name, value).map(|one_in| Self::Corrupt { one_in }),
            "drop_and_duplicate" => count(name, value).map(|one_in| Self::DropAndDuplicate { one_in }),
            "late" => pair(name, value, "20:3s")
                .and_then(|(one_in, by)| Ok((count(name, Some(one_in))?, duration(name, Some(by))?)))
                .map(|(one_in, by)| Self::Late { one_in, by }),
            "stall" => pair(name, value, "3s:5s")
                .and_then(|(length, every)| Ok((duration(name, Some(length))?, duration(name, Some(every))?)))
                .map(|(length, every)| Self::Stall { length, every }),
            "leak" => count(name, value).map(|per_s| Self::Leak { per_s }),
            "crash" => count(name, value).map(|after| Self::Crash { after }),
            "restart" => count(name, value).map(|after| Self::Restart { after }),
            "clock_apart" => duration(name, value).map(|by| Self::ClockApart { by }),
            _ => return None,
        })
    }
}

/// What the read API can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiFault {
    /// Each row of an answer takes so much longer. Truth: `rows_slowed` and `delay_total_s`.
    SlowReads {
        /// The delay of one row.
        per_row: Duration,
    },
    /// One list in so many lacks its last row, with status 200. Truth: `wrong_answers`.
    WrongRows {
        /// The n of "1 in n".
        one_in: NonZeroU64,
    },
}

impl Fault for ApiFault {
    const KNOWN: &'static str = "slow_reads=DURATION, wrong_rows=N";

    fn parse(name: &str, value: Option<&str>) -> Option<Result<Self, String>> {
        Some(match name {
            "slow_reads" => duration(name, value).map(|per_row| Self::SlowReads { per_row }),
            "wrong_rows" => count(name, value).map(|one_in| Self::WrongRows { one_in }),
            _ => return None,
        })
    }
}

/// What the store-and-forward stage can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardFault {
    /// Once it has taken so many messages, its upstream cannot be reached for a time. Truth: `away_total_s`.
    Away {
        /// How many messages.
        after: NonZeroU64,
        /// How long.
        length: Duration,
    },
}

impl Fault for ForwardFault {
    const KNOWN: &'static str = "away=N:DURATION";

    fn parse(name: &str, value: Option<&str>) -> Option<Result<Self, String>> {
        match name {
            "away" => Some(
                pair(name, value, "1000:3s")
                    .and_then(|(after, length)| Ok((count(name, Some(after))?, duration(name, Some(length))?)))
                    .map(|(after, length)| Self::Away { after, length }),
            ),
            _ => None,
        }
    }
}

fn no_value(name: &str, value: Option<&str>) -> Result<(), String> {
    value.map_or(Ok(()), |_| Err(format!("`{name}` takes no value")))
}

pub(super) fn count(name: &str, value: Option<&str>) -> Result<NonZeroU64, String> {
    value
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| format!("`{name}` needs a whole number above 0, as in `{name}=1000`"))
}

/// Two values, joined by a colon.
fn pair<'a>(name: &str, value: Option<&'a str>, example: &str) -> Result<(&'a str, &'a str), String> {
    value
        .and_then(|value| value.split_once(':'))
        .ok_or_else(|| format!("`{name}` needs two values, as in `{name}={example}`"))
}

pub(super) fn duration(name: &str, value: Option<&str>) -> Result<Duration, String> {
    let parsed = value.and_then(|value| {
        let digits = value.find(|character: char| !character.is_ascii_digit())?;
        let number: u64 = value[..digits].parse().ok()?;
        match &value[digits..] {
            "us" => Some(Duration::from_micros(number)),
            "ms" => Some(Duration::from_millis(number)),
            "s" => Some(Duration::from_secs(number)),
            _ => None,
        }
    });
    parsed.ok_or_else(|| format!("`{name}` needs a length of time in us, ms or s, as in `{name}=20us`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_and_refused_by_name() {
        assert_eq!("none".parse(), Ok(Faults::<BrokerFault>(vec![])));
        let one_in = NonZeroU64::new(1000).unwrap();
        assert_eq!("drop_after_ack=1000".parse(), Ok(Faults(vec![BrokerFault::DropAfterAck { one_in }])));
        let slow = ApiFault::SlowReads { per_row: Duration::from_micros(20) };
        assert_eq!("slow_reads=20us+slow_reads=20us".parse(), Ok(Faults(vec![slow, slow])));
        assert_eq!("ack_before_commit".parse(), Ok(Faults(vec![ListenerFault::AckBeforeCommit])));
        let refused = |text: &str| text.parse::<Faults<BrokerFault>>().unwrap_err();
        assert!(refused("drop").starts_with("unknown fault `drop`; known: none, drop_after_ack=N, "));
        assert!(refused("drop_after_ack=0").contains("above 0"));
        assert!(refused("drop_after_ack").contains("drop_after_ack=1000"));
        let session = "daemon".to_owned();
        let small = BrokerFault::SmallQueue { session, messages: one_in };
        assert_eq!("small_queue=daemon:1000".parse(), Ok(Faults(vec![small])));
        let late = ListenerFault::Late { one_in, by: Duration::from_secs(3) };
        assert_eq!("late=1000:3s".parse(), Ok(Faults(vec![late])));
        assert_eq!(refused("missing_sys"), "`missing_sys` needs a topic, as in `missing_sys=publish/messages/dropped`");
        assert_eq!(refused("small_queue=5"), "`small_queue` needs two values, as in `small_queue=daemon:50`");
        assert!("ack_before_commit=3".parse::<Faults<ListenerFault>>().is_err());
        for bad in [
            "slow_reads",
            "slow_reads=20",
            "slow_reads=us",
            "slow_reads=-1s",
            "slow_reads=1h",
            "slow_reads=99999999999999999999s",
        ] {
            assert!(bad.parse::<Faults<ApiFault>>().is_err(), "{bad}");
        }
    }
}
