//! Handles of objects, and calls that are refused because of one.

use crate::happens_before::caller::caller;
use crate::state::State;

/// Records the creation of a stream, an event or a context.
pub(crate) fn created(state: &mut State, kind: &'static str, handle: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.create_handle(caller, kind, handle);
}

/// Records that a destroyed handle is in use again.
pub(crate) fn revived(state: &mut State, kind: &'static str, handle: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.revive_handle(handle);
    state.detector.create_handle(caller, kind, handle);
}

/// Records the destruction of a stream, an event or a context.
pub(crate) fn destroyed(state: &mut State, kind: &'static str, handle: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.destroy_handle(caller, kind, handle);
}

/// Records a call that is refused because of a handle.
pub(crate) fn refused_handle(state: &mut State, handle: u64) {
    let Some(caller) = caller(state) else { return };
    state.detector.refuse_handle(caller, handle);
}

/// Records a call that waits for or queries work that is only being captured.
pub(crate) fn captured_synchronized(state: &mut State, kind: &'static str, handle: u64) {
    let Some(caller) = caller(state) else { return };
    let begun = state.refused_by.take();
    state.detector.refuse_wait_for_capture(caller, begun, kind, handle);
}
