//! Who has asked for what. The list is searched once per topic and change of subscriptions; [`super::topics`] keeps the answer.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use super::session::Session;
use crate::reference::topic;

/// The most lists that are shared; they only save memory, so they may be forgotten.
const SHARED: usize = 10_000;

/// A session that wants a topic, and at which quality of service.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// The session.
    pub(super) session: Rc<RefCell<Session>>,
    /// The highest QoS at which it wants the topic.
    pub(super) qos: u8,
}

#[derive(Debug)]
struct Subscription {
    filter: Rc<str>,
    route: Route,
}

/// All subscriptions of all sessions.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    list: Vec<Subscription>,
    generation: u64,
    /// Topics with the same subscribers share one list, by the subscriptions' places.
    shared: HashMap<Vec<usize>, Rc<[Route]>>,
}

impl Subscriptions {
    /// How many subscriptions there are.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// How many subscriptions a session has.
    pub(super) fn count_of(&self, session: &Rc<RefCell<Session>>) -> usize {
        self.list.iter().filter(|known| Rc::ptr_eq(&known.route.session, session)).count()
    }

    /// Changes whenever a subscription does; routes of another generation are stale.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Adds a subscription, or changes the QoS of the one with that filter.
    pub(super) fn add(&mut self, filter: &str, session: &Rc<RefCell<Session>>, qos: u8) {
        self.remove(filter, session);
        self.list.push(Subscription { filter: filter.into(), route: Route { session: session.clone(), qos } });
    }

    /// Removes a subscription, if it is there.
    pub(super) fn remove(&mut self, filter: &str, session: &Rc<RefCell<Session>>) {
        self.keep(|known| &*known.filter != filter || !Rc::ptr_eq(&known.route.session, session));
    }

    /// Removes all subscriptions of a session.
    pub(super) fn remove_all(&mut self, session: &Rc<RefCell<Session>>) {
        self.keep(|known| !Rc::ptr_eq(&known.route.session, session));
    }

    /// The sessions that want a topic, each once.
    pub(super) fn routes(&mut self, name: &str) -> Rc<[Route]> {
        let matching = self.list.iter().enumerate().filter(|(_, known)| topic::matches(&known.filter, name));
        let places: Vec<usize> = matching.map(|(place, _)| place).collect();
        if let Some(known) = self.shared.get(&places) {
            return known.clone();
        }
        let mut routes: Vec<Route> = Vec::new();
        for route in places.iter().map(|place| &self.list[*place].route) {
            match routes.iter_mut().find(|known| Rc::ptr_eq(&known.session, &route.session)) {
                Some(known) => known.qos = known.qos.max(route.qos),
                None => routes.push(route.clone()),
            }
        }
        let routes: Rc<[Route]> = routes.into();
        if self.shared.len() >= SHARED {
            self.shared.clear();
        }
        self.shared.insert(places, routes.clone());
        routes
    }

    fn keep(&mut self, wanted: impl FnMut(&Subscription) -> bool) {
        self.list.retain(wanted);
        self.generation += 1;
        self.shared.clear();
    }
}
