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
        let entry = if let Some(entry) = self.known.get_mut(name) {
            entry
        } else {
            Self::make_room(&mut self.known, self.retained);
            self.known.entry(name.into()).or_default()
        };
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

    fn make_room(known: &mut HashMap<Box<str>, Topic>, retained: usize) {
        if known.len() - retained >= REMEMBERED {
            known.retain(|_, entry| entry.retained.is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::reference::broker::session::Session;

    fn session(id: &str) -> Rc<RefCell<Session>> {
        Rc::new(RefCell::new(Session::new(id.into(), true, 10, 10)))
    }

    fn message(topic: &str, payload: &str) -> Message {
        Message::new(topic, payload.as_bytes(), &mut Vec::new())
    }

    #[test]
    fn overlapping_filters_deliver_once_at_the_higher_qos_and_changes_are_seen() {
        let (mut topics, mut subscriptions) = (Topics::default(), Subscriptions::default());
        let (one, two) = (session("one"), session("two"));
        subscriptions.add("a/+", &one, 0);
        subscriptions.add("a/#", &one, 1);
        subscriptions.add("a/b", &two, 0);
        let mut routes = |subscriptions: &mut Subscriptions, name: &str| {
            let (routes, kept) = topics.publish(name, &message(name, "x"), false, subscriptions);
            assert!(kept);
            routes.iter().map(|route| (route.session.borrow().id.to_string(), route.qos)).collect::<Vec<_>>()
        };
        assert_eq!(routes(&mut subscriptions, "a/b"), [("one".to_owned(), 1), ("two".to_owned(), 0)]);
        assert_eq!(routes(&mut subscriptions, "a"), [("one".to_owned(), 1)]);
        assert_eq!(routes(&mut subscriptions, "b"), []);
        subscriptions.remove("a/#", &one);
        assert_eq!(routes(&mut subscriptions, "a/b"), [("one".to_owned(), 0), ("two".to_owned(), 0)]);
        subscriptions.remove_all(&one);
        assert_eq!(routes(&mut subscriptions, "a/b"), [("two".to_owned(), 0)]);
        assert_eq!((subscriptions.count(), subscriptions.count_of(&two)), (1, 1));
    }

    #[test]
    fn the_last_message_is_retained_until_an_empty_one_deletes_it() {
        let (mut topics, mut subscriptions) = (Topics::default(), Subscriptions::default());
        for (name, payload) in [("a/b", "1"), ("a/b", "2"), ("a/c", "3"), ("$SYS/x", "4")] {
            topics.publish(name, &message(name, payload), true, &mut subscriptions);
        }
        topics.publish("a/d", &message("a/d", "not retained"), false, &mut subscriptions);
        let payloads = |topics: &Topics, filter: &str| {
            let mut all: Vec<_> = topics
                .retained(filter)
                .map(|message| String::from_utf8_lossy(message.payload()).into_owned())
                .collect();
            all.sort();
            all
        };
        assert_eq!(payloads(&topics, "#"), ["2", "3"]);
        assert_eq!(payloads(&topics, "a/b"), ["2"]);
        assert_eq!(payloads(&topics, "$SYS/#"), ["4"]);
        topics.publish("a/b", &message("a/b", ""), true, &mut subscriptions);
        assert_eq!(payloads(&topics, "#"), ["3"]);
        assert_eq!(topics.retained_count(), 2);
    }
}
