//! Handles of objects, live and destroyed.

use super::operation::Operation;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// The maximum number of destroyed handles that are kept.
const MAX_ENDED: usize = 4096;

/// Live and destroyed handles, each with its kind and the operation that created or destroyed it.
#[derive(Default)]
pub(super) struct Handles {
    live: BTreeMap<u64, (&'static str, Arc<Operation>)>,
    gone: HashMap<u64, (&'static str, Arc<Operation>)>,
    order: VecDeque<u64>,
}

impl Handles {
    pub(super) fn add(&mut self, kind: &'static str, handle: u64, by: Arc<Operation>) {
        self.live.insert(handle, (kind, by));
    }

    pub(super) fn end(&mut self, kind: &'static str, handle: u64, by: Arc<Operation>) {
        self.live.remove(&handle);
        self.gone.insert(handle, (kind, by));
        self.order.push_back(handle);
        if self.order.len() > MAX_ENDED
            && let Some(oldest) = self.order.pop_front()
        {
            self.gone.remove(&oldest);
        }
    }

    /// The kind of a destroyed handle, and the operation that destroyed it.
    pub(super) fn gone(&self, handle: u64) -> Option<&(&'static str, Arc<Operation>)> {
        self.gone.get(&handle)
    }

    /// Reverses the destruction of a handle: it is in use again.
    pub(super) fn revive(&mut self, handle: u64) {
        self.gone.remove(&handle);
    }

    /// The operation that created a live handle.
    pub(super) fn made(&self, handle: u64) -> Option<&Arc<Operation>> {
        self.live.get(&handle).map(|(_, made)| made)
    }

    pub(super) fn live(&self) -> impl Iterator<Item = (u64, &'static str, &Arc<Operation>)> {
        self.live.iter().map(|(handle, (kind, made))| (*handle, *kind, made))
    }
}
