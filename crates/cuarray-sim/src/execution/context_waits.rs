//! Waits of a whole context: the next operation of each of its streams follows the points that the context waits for.

use crate::happens_before::edges;
use crate::objects::context::Awaited;
use crate::objects::point::Point;
use crate::state::State;
use cuarray_abi::*;

/// Adds the points that a stream's context waits for, and that the stream has not waited for yet, to the dependencies of its next
/// operation.
pub(super) fn follow(state: &mut State, handle: CUstream, context: CUcontext, after: &mut Vec<Point>) {
    let Some(awaited) = state.contexts.get(&context).map(|context| &context.awaited) else { return };
    let Some(last) = awaited.last().map(|last| last.number) else { return };
    let Some(stream) = state.streams.get(&handle).filter(|stream| stream.awaited < last) else { return };
    let (seen, green) = (stream.awaited, stream.green);
    // A stream that has ended is ordered before a point of itself.
    let concerns =
        |one: &&Awaited| one.number > seen && one.point.stream != handle && (one.green.is_none() || one.green == green);
    let new: Vec<Awaited> = awaited.iter().filter(concerns).cloned().collect();
    if let Some(stream) = state.streams.get_mut(&handle) {
        stream.awaited = last;
    }
    for Awaited { point, clock, .. } in new {
        after.push(point);
        if let Some(clock) = clock {
            edges::stream_joins(state, handle, &clock);
        }
    }
}
