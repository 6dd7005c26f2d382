//! The points that a synchronization waits for.

use crate::objects::green_context::Scope;
use crate::objects::point::Point;
use crate::objects::stream::Kind;
use crate::state::State;
use cuarray_abi::*;

/// The last operation of every stream of a context with pending work.
pub(crate) fn of_context(state: &State, scope: impl Into<Scope>) -> Vec<Point> {
    let scope = scope.into();
    let streams = state.contexts.get(&scope.context).map(|context| &context.streams);
    let streams = streams.into_iter().flatten().filter_map(|handle| Some((*handle, state.streams.get(handle)?)));
    streams
        .filter(|(_, stream)| stream.pending() > 0 && scope.holds(stream))
        .map(|(handle, stream)| stream.last(handle))
        .collect()
}

/// The points that a synchronization with `stream` waits for: the stream's own work. For the legacy default
/// stream, also the work of every blocking stream of its context.
pub(crate) fn of_stream(state: &State, handle: CUstream) -> Vec<Point> {
    let Some(stream) = state.streams.get(&handle) else { return Vec::new() };
    let mut tail = vec![stream.last(handle)];
    if stream.kind == Kind::Legacy
        && let Some(context) = state.contexts.get(&stream.context)
    {
        let others = context.unordered.iter().filter_map(|other| Some(state.streams.get(other)?.last(*other)));
        tail.extend(others);
    }
    tail.retain(|point| !state.happened(*point));
    tail
}
