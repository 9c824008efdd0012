//! Ends that are used by one call at a time and kept open for the next.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Idle ends by name.
pub(super) struct Pool<T>(Mutex<HashMap<String, Vec<T>>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Pool<T> {
    /// Takes an idle end, or makes one, uses it, and keeps it.
    pub(super) fn using<R>(
        &self,
        name: &str,
        make: impl FnOnce(&str) -> Result<T, String>,
        ask: impl FnOnce(&mut T) -> Result<R, String>,
    ) -> Result<R, String> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(name).and_then(Vec::pop);
        let mut end = idle.map_or_else(|| make(name), Ok)?;
        let answer = ask(&mut end);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().push(end);
        answer
    }

    /// Closes all idle ends.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
