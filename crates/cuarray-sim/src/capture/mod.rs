//! Stream capture: work in a capturing stream becomes a graph instead of running.
//!
//! A capture begins and ends in one stream. A stream that waits for an event of a capturing stream joins the capture,
//! and its work must be joined back in the same way before the end. Captured work and other work must not depend on
//! each other. Three kinds of calls fail and *invalidate the captures that they involve*:
//!
//! - calls that would connect captured and other work;
//! - calls that query or wait for a capturing stream or a captured event;
//! - uses of the legacy default stream while a blocking stream captures.
//!
//! An invalidated capture refuses all calls until it is ended, and yields no graph.
//!
//! Some other calls have effects that a graph would not repeat: they allocate, free, or query events. During a capture
//! they may be prohibited, depending on the modes of the capture and of the calling thread: see [`forbid_unsafe`].
//!
//! Driver API: [`cuStreamBeginCapture`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html) and the
//! calls beside it; the rules are those of the programming guide's section on prohibited and unhandled operations.

mod nodes;
pub(crate) mod recapture;

pub(crate) use nodes::{capture, capture_allocation, capture_launch, capture_node, capture_release};

use crate::graph_structure::{self, references};
use crate::happens_before::edges;
use crate::objects::capturing::{Capture, Captured, Capturing, Recapture};
use crate::objects::graph_data::{Edge, Owner};
use crate::objects::green_context::Scope;
use crate::objects::stream::Kind;
use crate::state::State;
use cuarray_abi::*;
use std::collections::BTreeSet;

/// Checks a call that puts work into a stream; returns whether the work is to be captured.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the legacy default stream while a blocking stream of its context
/// captures; this invalidates the capture. `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` after that.
pub(crate) fn captures(state: &mut State, stream: CUstream) -> Result<bool, CUresult> {
    if state.captures.is_empty() {
        return Ok(false);
    }
    refuse_legacy(state, stream)?;
    let Some(id) = capture_of(state, stream) else { return Ok(false) };
    match state.captures.get(&id) {
        Some(capture) if capture.invalidated => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
        Some(_) => Ok(true),
        None => Ok(false),
    }
}

/// The capture that a stream has joined.
pub(crate) fn capture_of(state: &State, stream: CUstream) -> Option<u64> {
    state.streams.get(&stream)?.capturing.as_ref().map(|capturing| capturing.id)
}

/// The captures that blocking streams of a context have joined.
fn blocking_captures(state: &State, context: CUcontext) -> Vec<u64> {
    let of = |stream: &CUstream| state.streams.get(stream);
    let blocks = |stream: &CUstream| of(stream).is_some_and(|s| s.context == context && s.blocking());
    let captures = state.captures.iter().filter(|(_, capture)| capture.streams.iter().any(blocks));
    captures.map(|(id, _)| *id).collect()
}

/// Whether a capture makes the legacy default stream unusable.
pub(crate) fn legacy_is_blocked(state: &State, stream: CUstream) -> bool {
    let legacy = state.streams.get(&stream).filter(|stream| stream.kind == Kind::Legacy);
    legacy.is_some_and(|stream| !blocking_captures(state, stream.context).is_empty())
}

fn refuse_legacy(state: &mut State, stream: CUstream) -> Result<(), CUresult> {
    let Some(Kind::Legacy) = state.streams.get(&stream).map(|stream| stream.kind) else { return Ok(()) };
    let context = state.streams.get(&stream).map(|stream| stream.context).unwrap_or_default();
    let captures = blocking_captures(state, context);
    refuse(state, &captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
}

/// Invalidates the captures and returns the error, if there is at least one.
pub(crate) fn refuse(state: &mut State, captures: &[u64], code: CUresult) -> Result<(), CUresult> {
    for id in captures {
        if let Some(capture) = state.captures.get_mut(id) {
            capture.invalidated = true;
            state.refused_by = capture.begun.clone();
        }
    }
    if captures.is_empty() { Ok(()) } else { Err(code) }
}

/// Checks a call that waits for or queries a stream, or that cannot be captured.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for a capturing stream; `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the
/// legacy default stream while a blocking stream captures. Both invalidate the capture.
pub(crate) fn forbid_in_capture(state: &mut State, stream: CUstream) -> Result<(), CUresult> {
    if state.captures.is_empty() {
        return Ok(());
    }
    refuse_legacy(state, stream)?;
    let captures: Vec<u64> = capture_of(state, stream).into_iter().collect();
    refuse(state, &captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

/// Checks a call that waits for a whole context or green context.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if a stream of the context captures; its capture is invalidated.
pub(crate) fn forbid_beside_capture(state: &mut State, scope: impl Into<Scope>) -> Result<(), CUresult> {
    let scope = scope.into();
    let within = |stream: &CUstream| state.streams.get(stream).is_some_and(|stream| scope.holds(stream));
    let captures = state.captures.iter().filter(|(_, capture)| capture.streams.iter().any(within));
    let captures: Vec<u64> = captures.map(|(id, _)| *id).collect();
    refuse(state, &captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

/// Checks a call that waits for or queries an event.
///
/// # Errors
/// `CUDA_ERROR_CAPTURED_EVENT` for an event that was last recorded in a capture; a capture in progress is
/// invalidated.
pub(crate) fn forbid_captured(state: &mut State, event: CUevent) -> Result<(), CUresult> {
    let Some(captured) = state.event(event)?.captured.as_ref().map(|captured| captured.id) else { return Ok(()) };
    refuse(state, &[captured], CUresult::CUDA_ERROR_CAPTURED_EVENT)
}

/// Checks an unsafe call. A thread's own captures forbid it unless they are relaxed. Global captures of other
/// threads forbid it unless the calling thread is in thread-local mode. A thread in relaxed mode may make any call.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`; the captures that forbid the call are invalidated.
pub(crate) fn forbid_unsafe(state: &mut State, thread: u64, mode: CUstreamCaptureMode) -> Result<(), CUresult> {
    if mode == CU_STREAM_CAPTURE_MODE_RELAXED {
        return Ok(());
    }
    let forbids = |capture: &Capture| match capture.thread == thread {
        true => capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED,
        false => mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL,
    };
    let captures: Vec<u64> = state.captures.iter().filter(|(_, capture)| forbids(capture)).map(|(id, _)| *id).collect();
    refuse(state, &captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

/// The graph that a capture fills.
pub(crate) enum Target {
    New,
    /// An existing graph; the first node depends on others of it.
    Existing(CUgraph, Vec<Edge>),
    /// An existing graph whose nodes are captured again.
    Again(CUgraph, Recapture),
}

/// Begins a capture in a stream.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an unknown mode, `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for the legacy default
/// stream, `CUDA_ERROR_ILLEGAL_STATE` for a stream that already captures.
pub(crate) fn begin_capture(
    state: &mut State,
    stream: CUstream,
    thread: u64,
    mode: CUstreamCaptureMode,
    into: Target,
) -> Result<(), CUresult> {
    if mode > CU_STREAM_CAPTURE_MODE_RELAXED {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let found = state.streams.get(&stream).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    if found.kind.is_default() {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    if found.capturing.is_some() {
        return Err(CUresult::CUDA_ERROR_ILLEGAL_STATE);
    }
    if let Target::Existing(graph, _) | Target::Again(graph, _) = &into
        && state.graph(*graph)?.capture.is_some()
    {
        return Err(CUresult::CUDA_ERROR_ILLEGAL_STATE);
    }
    let (owns_graph, mut recapture) = (matches!(into, Target::New), None);
    let (graph, after) = match into {
        Target::Existing(graph, after) => {
            check_dependencies(state, graph, &after)?;
            let mut merged = Vec::new();
            merge_dependencies(&mut merged, after);
            (graph, merged)
        }
        Target::Again(graph, progress) => {
            recapture = Some(progress);
            // By the manual, the user objects of the graph are released first.
            let references = std::mem::take(&mut state.graph_mut(graph)?.references);
            references::drop_all(state, references);
            (graph, Vec::new())
        }
        Target::New => (graph_structure::new_graph(state, Owner::Program), Vec::new()),
    };
    let id = crate::handle::fresh() as u64;
    state.graph_mut(graph)?.capture = Some(id);
    let capture = Capture {
        graph,
        owns_graph,
        origin: stream,
        mode,
        thread,
        invalidated: false,
        begun: edges::noted(state),
        streams: BTreeSet::new(),
        loose: Vec::new(),
        recapture,
    };
    state.captures.insert(id, capture);
    enter_capture(state, stream, id, after);
    Ok(())
}

/// Checks the dependencies of nodes that are still to be captured.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a node of another graph, and for a port that the node does not have.
pub(crate) fn check_dependencies(state: &State, graph: CUgraph, after: &[Edge]) -> Result<(), CUresult> {
    for edge in after {
        if !graph_structure::is_in(state, edge.from, graph) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        edge.check(&state.node(edge.from)?.action, None)?;
    }
    Ok(())
}

fn enter_capture(state: &mut State, stream: CUstream, id: u64, after: Vec<Edge>) {
    if let Some(capture) = state.captures.get_mut(&id) {
        capture.streams.insert(stream);
    }
    if let Some(stream) = state.streams.get_mut(&stream) {
        stream.capturing = Some(Capturing { id, after, launch: None, listed: Default::default() });
    }
}

/// Ends the capture that began in a stream; returns its graph.
///
/// # Errors
/// The capture continues after these:
/// - `CUDA_ERROR_ILLEGAL_STATE` if none is in progress;
/// - `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED` if it began in another stream; it is invalidated;
/// - `CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD`.
///
/// The capture has ended after these:
/// - `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`;
/// - `CUDA_ERROR_STREAM_CAPTURE_UNJOINED` if work of another stream is not joined back;
/// - `CUDA_ERROR_GRAPH_RECAPTURE_FAILURE` if nodes of the graph were not captured again.
pub(crate) fn end_capture(state: &mut State, stream: CUstream, thread: u64) -> Result<CUgraph, CUresult> {
    let id = capture_of(state, stream).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
    let capture = state.captures.get(&id).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
    if capture.origin != stream {
        return refuse(state, &[id], CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED).map(|()| CUgraph::NULL);
    }
    if capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture.thread != thread {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    }
    let (graph, invalidated) = (capture.graph, capture.invalidated);
    let joined = invalidated || is_joined(state, capture);
    let complete = recapture::is_complete(state, capture);
    leave_capture(state, id, !invalidated && joined);
    match (invalidated, joined, complete) {
        (true, ..) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
        (_, false, _) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED),
        (.., false) => Err(CUresult::CUDA_ERROR_GRAPH_RECAPTURE_FAILURE),
        _ => Ok(graph),
    }
}

/// Whether all work of the other streams of a capture is joined back.
fn is_joined(state: &State, capture: &Capture) -> bool {
    let after = |stream: &CUstream| {
        let capturing = state.streams.get(stream).and_then(|stream| stream.capturing.as_ref());
        let after = capturing.map(|capturing| capturing.after.as_slice()).unwrap_or_default();
        after.iter().map(|edge| edge.from)
    };
    let end: Vec<CUgraphNode> = after(&capture.origin).collect();
    let tails = capture.streams.iter().filter(|stream| **stream != capture.origin).flat_map(after);
    // A node that the program has removed from the graph does not count.
    let mut tails = tails.chain(capture.loose.iter().copied()).filter(|node| state.graph_nodes.contains_key(node));
    tails.all(|node| graph_structure::reaches(state, node, &end))
}

/// Removes all streams from a capture, and removes its graph unless `keep` is set or the graph existed before.
fn leave_capture(state: &mut State, id: u64, keep: bool) {
    let Some(capture) = state.captures.remove(&id) else { return };
    for stream in capture.streams {
        if let Some(stream) = state.streams.get_mut(&stream) {
            stream.capturing = None;
        }
    }
    if keep || !capture.owns_graph {
        if let Some(graph) = state.graphs.get_mut(&capture.graph) {
            graph.capture = None;
        }
    } else {
        graph_structure::remove_graph(state, capture.graph);
    }
}

/// Removes a destroyed stream from its capture. Without its origin stream, a capture can never be ended.
pub(crate) fn stream_leaves_capture(state: &mut State, stream: CUstream) {
    let capturing = state.streams.get_mut(&stream).and_then(|stream| stream.capturing.take());
    let Some(Capturing { id, after, .. }) = capturing else { return };
    let Some(capture) = state.captures.get_mut(&id) else { return };
    capture.streams.remove(&stream);
    capture.loose.extend(after.into_iter().map(|edge| edge.from));
    if capture.origin == stream {
        leave_capture(state, id, false);
    }
}

/// The captured state of an event that is recorded in a capturing stream.
pub(crate) fn captured_in(state: &State, stream: CUstream) -> Option<Captured> {
    let capturing = state.streams.get(&stream)?.capturing.as_ref()?;
    Some(Captured { id: capturing.id, after: capturing.after.clone() })
}

/// Makes a stream wait for an event if the stream captures or the event is captured. Returns `false` in other
/// cases.
///
/// # Errors
/// The captures involved are invalidated.
/// - `CUDA_ERROR_STREAM_CAPTURE_ISOLATION` if a capturing stream would wait for work outside;
/// - `CUDA_ERROR_STREAM_CAPTURE_MERGE` for work of another capture;
/// - `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if the legacy default stream would join a capture;
/// - `CUDA_ERROR_CAPTURED_EVENT` for an event of a capture that has ended.
pub(crate) fn wait_in_capture(state: &mut State, stream: CUstream, event: CUevent) -> Result<bool, CUresult> {
    let capturing = captures(state, stream)?;
    let own = capture_of(state, stream).filter(|_| capturing);
    let waited = state.event(event)?;
    let (captured, recorded) = (waited.captured.clone(), waited.recorded);
    let both = |other: Option<u64>| own.into_iter().chain(other).collect::<Vec<u64>>();
    let Some(Captured { id, after }) = captured else {
        return match own {
            Some(_) if recorded.is_some() => {
                refuse(state, &both(None), CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION).map(|()| true)
            }
            // An event that was never recorded represents no work.
            Some(_) => Ok(true),
            None => Ok(false),
        };
    };
    let Some(other) = state.captures.get(&id) else {
        refuse(state, &both(None), CUresult::CUDA_ERROR_CAPTURED_EVENT)?;
        return Err(CUresult::CUDA_ERROR_CAPTURED_EVENT);
    };
    if other.invalidated {
        refuse(state, &both(None), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)?;
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    match own {
        Some(own) if own != id => {
            refuse(state, &both(Some(id)), CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE)?;
        }
        Some(_) => add_dependencies(state, stream, after),
        None if state.streams.get(&stream).is_some_and(|stream| stream.kind.is_default()) => {
            refuse(state, &[id], CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        }
        None => enter_capture(state, stream, id, after),
    }
    Ok(true)
}

/// The dependencies of the next node of a capturing stream; none for another stream.
pub(crate) fn dependencies(state: &State, stream: CUstream) -> Vec<Edge> {
    let capturing = state.streams.get(&stream).and_then(|stream| stream.capturing.as_ref());
    capturing.map(|capturing| capturing.after.clone()).unwrap_or_default()
}

/// Replaces the dependencies of the next node of a capturing stream.
pub(crate) fn set_dependencies(state: &mut State, stream: CUstream, after: Vec<Edge>) {
    if let Some(capturing) = state.streams.get_mut(&stream).and_then(|stream| stream.capturing.as_mut()) {
        capturing.after = after;
    }
}

/// Adds dependencies to the next node of a capturing stream.
pub(crate) fn add_dependencies(state: &mut State, stream: CUstream, edges: Vec<Edge>) {
    if let Some(capturing) = state.streams.get_mut(&stream).and_then(|stream| stream.capturing.as_mut()) {
        merge_dependencies(&mut capturing.after, edges);
    }
}

/// Adds dependencies to others. Of several on one node, the strongest remains.
fn merge_dependencies(after: &mut Vec<Edge>, edges: Vec<Edge>) {
    for edge in edges {
        match after.iter_mut().find(|known| known.from == edge.from) {
            Some(known) if edge.order() > known.order() => *known = edge,
            Some(_) => {}
            None => after.push(edge),
        }
    }
}
