//! [`KnownState`]: the synchronization state of a view's data or mask, given with the view or found at first use.

use crate::{Result, sync::SyncState};
use std::sync::OnceLock;

/// A synchronization state, once it is known. A given state costs no atomic operation, as an argument of a function needs it at once.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownState {
    given: Option<SyncState>,
    found: OnceLock<Box<SyncState>>,
}

impl KnownState {
    pub(super) fn given(state: Option<SyncState>) -> KnownState {
        KnownState { given: state, found: OnceLock::new() }
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&SyncState> {
        self.given.as_ref().or_else(|| self.found.get().map(Box::as_ref))
    }

    /// The state, which `find` returns if it is not known yet.
    pub(super) fn get_or_find(&self, find: impl FnOnce() -> Result<SyncState>) -> Result<&SyncState> {
        if let Some(known) = self.get() {
            return Ok(known);
        }
        let found = Box::new(find()?);
        Ok(self.found.get_or_init(|| found))
    }

    /// Takes the state out.
    pub(super) fn into_inner(self) -> Option<SyncState> {
        self.given.or_else(|| self.found.into_inner().map(|found| *found))
    }
}
