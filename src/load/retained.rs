//! How many messages a broker retains, as a new subscriber gets them. Quality of service 0.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    encode,
    link::{Change, Heard, Link, LinkPlan, nanoseconds},
};
use crate::plan::{connection::Mqtt, load::Reconnect};

/// The length of a turn.
const TURN: Duration = Duration::from_millis(2);

/// How long a broker may take to accept the connection.
const ANSWER_WITHIN_NS: u64 = 10_000_000_000;

/// Without a number to wait for, so long without a retained message means that there are no more.
const QUIET: Duration = Duration::from_secs(2);

/// Retained messages that came to a new subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retained {
    /// How many.
    pub messages: u64,
    /// When the last of them came; when the subscription was asked for, if none did.
    pub at: Instant,
}

/// Subscribes anew and counts until `wanted` came, or without it until no more come; at most for `within`.
///
/// # Errors
/// When the broker cannot be reached, or refuses the connection or the subscription.
pub fn count(
    mqtt: &Mqtt,
    ca_pem: Option<&str>,
    topics: &str,
    wanted: Option<u64>,
    within: Duration,
) -> Result<Retained, String> {
    let plan = LinkPlan::new(mqtt, ca_pem, &Reconnect::default(), ANSWER_WITHIN_NS)?;
    let mut link = Link::new(plan, format!("{}-retained", mqtt.client_id), 0);
    let (epoch, mut scratch, mut heard) = (Instant::now(), vec![0; 64 * 1024], Heard::default());
    let (mut found, mut trouble) = (None::<Retained>, None);
    let filters = [topics.to_owned()];
    while epoch.elapsed() < within && !is_enough(found, wanted) {
        let now_ns = nanoseconds(epoch.elapsed());
        link.receive(now_ns, &mut scratch, &mut heard);
        if found.is_none()
            && let Some(out) = link.out()
        {
            encode::subscribe(out, 1, &filters)?;
            found = Some(Retained { messages: 0, at: Instant::now() });
        }
        link.flush(now_ns, &mut heard);
        let came = heard.messages.drain(..).filter(|message| message.retain).count() as u64;
        if let Some(found) = found.as_mut().filter(|_| came > 0) {
            *found = Retained { messages: found.messages + came, at: Instant::now() };
        }
        for change in heard.changes.drain(..) {
            match change {
                Change::Up { .. } => {}
                // A count over two subscriptions would count twice.
                Change::Lost(reason) | Change::Refused { reason, .. } => (found, trouble) = (None, Some(reason)),
                Change::NotSubscribed => return Err(format!("the broker refused the subscription to {topics}")),
            }
        }
        thread::sleep(TURN);
    }
    link.close();
    found.ok_or_else(|| {
        trouble.unwrap_or_else(|| format!("the broker did not answer within {} s", within.as_secs_f64()))
    })
}

fn is_enough(found: Option<Retained>, wanted: Option<u64>) -> bool {
    found.is_some_and(|Retained { messages, at }| match wanted {
        Some(wanted) => messages >= wanted,
        None => at.elapsed() >= QUIET,
    })
}
