//! Private streams, on which branches of graphs run, and the removal of streams that are destroyed and drained.

use crate::happens_before::edges;
use crate::objects::green_context::Scope;
use crate::objects::stream::{Kind, Stream};
use crate::state::State;
use cuarray_abi::*;

/// Removes a stream that is destroyed and drained.
pub(crate) fn remove_if_over(state: &mut State, handle: CUstream) {
    let Some(stream) = state.streams.get(&handle) else { return };
    if stream.destroyed && stream.pending() == 0 {
        let context = stream.context;
        edges::remember_ended(state, handle);
        let stream = state.streams.remove(&handle);
        edges::lane_ends(state, stream.as_ref().and_then(|stream| stream.lane.as_ref()));
        if let Some(context) = state.contexts.get_mut(&context) {
            context.streams.remove(&handle);
            context.unordered.remove(&handle);
        }
    }
}

/// Opens a private stream of a context or a green context.
pub(crate) fn open(state: &mut State, scope: impl Into<Scope>) -> Result<CUstream, CUresult> {
    let scope = scope.into();
    let lane = CUstream(crate::handle::fresh());
    state.add_stream(lane, scope, Stream::new(scope.context, Kind::Lane, CU_STREAM_NON_BLOCKING, 0))?;
    Ok(lane)
}

/// Ends a private stream once it is drained.
pub(crate) fn close(state: &mut State, lane: CUstream) {
    if let Some(stream) = state.streams.get_mut(&lane) {
        stream.destroyed = true;
    }
    remove_if_over(state, lane);
}
