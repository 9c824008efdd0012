//! What the broker knows of each topic: the retained message, and who wants it.

use std::{collections::HashMap, rc::Rc};

use super::{
    message::Message,
    subscriptions::{Route, Subscriptions},
};
use crate::reference::topic;

/// The most retained messages; further topics are delivered but not retained, and counted.
const RETAINED: usize = 4_000_000;

/// The most topics that are remembered only to find their subscribers faster.
const REMEMBERED: usize = 1_000_000;

#[derive(Debug, Default)]
struct Topic {
    retained: Option<Message>,
    routes: Option<Rc<[Route]>>,
    generation: u64,
}

/// All topics that have a retained message or were published to of late.
#[derive(Debug, Default)]
pub(super) struct Topics {
    known: HashMap<Box<str>, Topic>,
    retained: usize,
}

impl Topics {
    /// How many messages are retained.
    pub(super) fn retained_count(&self) -> usize {
        self.retained
    }

    /// The sessions that want a topic; with `retain`, the message is retained first, or the retained one is deleted when the payload is
    /// empty. The second value is false when it could not be retained.
    pub(super) fn publish(
        &mut self,
        name: &str,
        message: &Message,
        retain: bool,
        subscriptions: &mut Subscriptions,
    ) -> (Rc<[Route]>, bool) {
        if !self.known.contains_key(name) {
            self.make_room();
            self.known.insert(name.into(), Topic::default());
        }
        let Some(entry) = self.known.get_mut(name) else { return (Rc::default(), false) };
        let mut kept = true;
        if retain {
            let before = entry.retained.take();
            self.retained -= usize::from(before.is_some());
            if !message.payload().is_empty() {
                kept = self.retained < RETAINED;
                if kept {
                    entry.retained = Some(message.clone());
                    self.retained += 1;
                }
            }
        }
        let routes = match &entry.routes {
            Some(routes) if entry.generation == subscriptions.generation() => routes.clone(),
            _ => {
                let routes = subscriptions.routes(name);
                entry.generation = subscriptions.generation();
                entry.routes.insert(routes).clone()
            }
        };
        (routes, kept)
    }

    /// The retained messages whose topics match a filter. Looks at every topic: a subscription costs time in proportion to them.
    pub(super) fn retained<'a>(&'a self, filter: &'a str) -> impl Iterator<Item = &'a Message> {
        let exact = (!filter.contains(['+', '#'])).then(|| self.known.get(filter));
        let all = exact.is_none().then(|| self.known.values()).into_iter().flatten();
        exact
            .flatten()
            .into_iter()
            .chain(all)
            .filter_map(|entry| entry.retained.as_ref())
            .filter(|message| topic::matches(filter, message.topic()))
    }

    fn make_room(&mut self) {
        if self.known.len() - self.retained >= REMEMBERED {
            self.known.retain(|_, entry| entry.retained.is_some());
        }
    }
}
