//! The points that a synchronization waits for.

use crate::objects::point::Point;
use crate::state::State;
use cuarray_abi::*;

/// The last operation of every stream of a context with pending work.
pub(crate) fn of_context(state: &State, context: CUcontext) -> Vec<Point> {
    let streams = state.contexts.get(&context).map(|context| &context.streams);
    let streams = streams.into_iter().flatten().filter_map(|handle| Some((*handle, state.streams.get(handle)?)));
    streams.filter(|(_, stream)| stream.pending() > 0).map(|(handle, stream)| stream.last(handle)).collect()
}
