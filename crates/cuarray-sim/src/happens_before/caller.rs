//! The driver call that the calling thread is in.

use crate::state::State;
use crate::thread;
use cuarray_races::Caller;

/// The current call of the calling thread, if the detector is on.
pub(crate) fn caller(state: &State) -> Option<Caller> {
    if state.detector.is_on() { thread::caller() } else { None }
}
