//! Records of events that processes share.

use crate::objects::event::Published;
use crate::objects::point::Point;
use crate::state::State;
use cuarray_abi::*;

/// Announces to other processes that an event is recorded at a point that is about to be enqueued.
pub(crate) fn publish(state: &mut State, event: CUevent, point: Point) {
    let Some(event) = state.events.get_mut(&event) else { return };
    let Some(shared) = event.shared.clone() else { return };
    let generation = shared.record();
    event.generation = generation;
    state.published.push(Published { event: shared, generation, point });
}

/// Announces that a record has happened.
pub(crate) fn happened(state: &mut State, at: Point) {
    state.published.retain(|record| {
        let pending = record.point != at;
        if !pending {
            record.event.finish(record.generation);
        }
        pending
    });
}
