//! Answers about frames that need the debug information, each looked up once in a thread.

use super::debug_info::{DebugInfo, Location};
use super::object::object_of;
use cuarray_races::site::Native;
use std::collections::HashMap;

/// The answers so far by return address, and the debug information of their objects.
#[derive(Default)]
pub(super) struct LookedUp {
    answers: HashMap<usize, bool>,
    objects: HashMap<String, Option<DebugInfo>>,
}

impl LookedUp {
    /// The answer for a return address; `None` if it was not looked up yet.
    pub(super) fn known(&self, address: usize) -> Option<bool> {
        self.answers.get(&address).copied()
    }

    /// Looks up a return address: `answer` gets its place and the functions there, innermost first. `open` opens the debug
    /// information of an object. `None` if no object contains the address.
    pub(super) fn look_up(
        &mut self,
        address: usize,
        open: impl FnOnce(&str) -> Option<DebugInfo>,
        answer: impl FnOnce(&Native, &[Location]) -> bool,
    ) -> Option<bool> {
        let native = object_of(address)?;
        let info = self.objects.entry(native.object.clone()).or_insert_with(|| open(&native.object));
        let frames = info.as_ref().map(|info| info.frames(native.offset.saturating_sub(1))).unwrap_or_default();
        let answer = answer(&native, &frames);
        self.answers.insert(address, answer);
        Some(answer)
    }
}
