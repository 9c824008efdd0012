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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerFault {
    /// One reading in so many is acknowledged, and neither retained nor delivered. Truth: `dropped_after_ack`.
    DropAfterAck {
        /// The n of "1 in n".
        one_in: NonZeroU64,
    },
}

impl Fault for BrokerFault {
    const KNOWN: &'static str = "drop_after_ack=N";

    fn parse(name: &str, value: Option<&str>) -> Option<Result<Self, String>> {
        match name {
            "drop_after_ack" => Some(count(name, value).map(|one_in| Self::DropAfterAck { one_in })),
            _ => None,
        }
    }
}

/// What the listener can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerFault {
    /// Readings are acknowledged on arrival and committed every 500 ms: a kill loses what lies between. Truth: `acknowledged_uncommitted`,
    /// and after a kill the broker's `acked_by_session` less the rows of the store.
    AckBeforeCommit,
}

impl Fault for ListenerFault {
    const KNOWN: &'static str = "ack_before_commit";

    fn parse(name: &str, value: Option<&str>) -> Option<Result<Self, String>> {
        match name {
            "ack_before_commit" => Some(no_value(name, value).map(|()| Self::AckBeforeCommit)),
            _ => None,
        }
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
}

impl Fault for ApiFault {
    const KNOWN: &'static str = "slow_reads=DURATION";

    fn parse(name: &str, value: Option<&str>) -> Option<Result<Self, String>> {
        match name {
            "slow_reads" => Some(duration(name, value).map(|per_row| Self::SlowReads { per_row })),
            _ => None,
        }
    }
}

fn no_value(name: &str, value: Option<&str>) -> Result<(), String> {
    value.map_or(Ok(()), |_| Err(format!("`{name}` takes no value")))
}

fn count(name: &str, value: Option<&str>) -> Result<NonZeroU64, String> {
    value
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| format!("`{name}` needs a whole number above 0, as in `{name}=1000`"))
}

fn duration(name: &str, value: Option<&str>) -> Result<Duration, String> {
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
        assert_eq!(refused("drop"), "unknown fault `drop`; known: none, drop_after_ack=N");
        assert!(refused("drop_after_ack=0").contains("above 0"));
        assert!(refused("drop_after_ack").contains("drop_after_ack=1000"));
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
