//! The handle of a library: the context of its work, and its settings.

use crate::place::Place;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The target of a library's handle, with settings `S`.
#[derive(Debug)]
pub struct Handle<S> {
    /// Where its work runs.
    pub place: Place,
    settings: Mutex<S>,
}

impl<S> Handle<S> {
    /// A handle for work in a place.
    pub fn new(place: Place, settings: S) -> Arc<Handle<S>> {
        Arc::new(Handle { place, settings: Mutex::new(settings) })
    }

    /// The settings, which calls read and change.
    pub fn settings(&self) -> MutexGuard<'_, S> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
