//! `publish`: send messages, then wait until a query shows them.

use super::super::{
    interpreter::{Halt, Interpreter},
    world::{Answer, Call},
};
use crate::{
    plan::phase::{Publish, Until},
    record::entry::{Entry, Published},
};

impl Interpreter<'_> {
    pub(super) fn publish(&mut self, name: &str, publish: &Publish) -> Result<(), Halt> {
        let begun = self.now();
        let call = Call::Publish { connection: publish.connection.clone(), messages: publish.messages.clone() };
        let mut published = Published { window: name.to_owned(), ..Published::default() };
        match self.try_ask(call)? {
            Ok(Answer::Published { messages, acked, seconds }) => {
                published.messages = messages;
                published.acked = acked;
                published.publish_s = seconds;
            }
            Ok(_) => published.wrong = Some("the world gave an answer of another kind".to_owned()),
            Err(failure) => published.wrong = Some(failure.reason().to_owned()),
        }
        if published.wrong.is_none()
            && let Some(until) = &publish.until
        {
            self.wait_until_visible(begun, until, &mut published)?;
        }
        let wrong = published.wrong.clone();
        self.record(Entry::Published(published))?;
        wrong.map_or(Ok(()), |reason| Err(Halt::PhaseFailed(reason)))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
    fn wait_until_visible(&mut self, begun: f64, until: &Until, published: &mut Published) -> Result<(), Halt> {
        let wanted = until.at_least.0;
        published.wanted = Some(wanted);
        let limit = self.now() + until.within.as_secs_f64();
        let mut trouble = String::new();
        loop {
            match self.try_ask(Call::Query(until.query.clone()))? {
                Ok(Answer::Number(number)) => {
                    published.seen = Some(number);
                    if number >= wanted as f64 {
                        published.visible_s = Some(self.now() - begun);
                        return Ok(());
                    }
                }
                Ok(_) => {}
                Err(failure) => trouble = format!(" (the last read failed: {})", failure.reason()),
            }
            if self.now() >= limit {
                let seen = published.seen.map_or_else(|| "nothing".to_owned(), |seen| seen.to_string());
                published.wrong =
                    Some(format!("query `{}` showed {seen} of {wanted} after {}{trouble}", until.query, until.within));
                return Ok(());
            }
            let next = self.now() + until.poll.as_secs_f64();
            self.pause_until(next)?;
        }
    }
}
