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
//! Some other calls have effects that a graph would not repeat: they allocate, free, or query events. During a
//! capture they may be prohibited, depending on the modes of the capture and of the calling thread: see
//! [`State::forbid_unsafe`].
//!
//! Driver API: [`cuStreamBeginCapture`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html) and the
//! calls beside it; the rules are those of the programming guide's section on prohibited and unhandled operations.

use crate::objects::capturing::{Capture, Captured, Capturing};
use crate::objects::graph::{Action, Owner};
use crate::objects::stream::Kind;
use crate::state::State;
use cuarray_abi::*;
use std::collections::BTreeSet;

impl State {
    /// Checks a call that puts work into a stream; returns whether the work is to be captured.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the legacy default stream while a blocking stream of its context
    /// captures; this invalidates the capture. `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` after that.
    pub(crate) fn captures(&mut self, stream: CUstream) -> Result<bool, CUresult> {
        if self.captures.is_empty() {
            return Ok(false);
        }
        self.refuse_legacy(stream)?;
        let Some(id) = self.capture_of(stream) else { return Ok(false) };
        match self.captures.get(&id) {
            Some(capture) if capture.invalidated => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
            Some(_) => Ok(true),
            None => Ok(false),
        }
    }

    /// Captures work if the stream captures; otherwise returns `false`, and the caller enqueues the work.
    ///
    /// # Errors
    /// As [`State::captures`].
    pub(crate) fn capture(&mut self, stream: CUstream, action: impl FnOnce() -> Action) -> Result<bool, CUresult> {
        if !self.captures(stream)? {
            return Ok(false);
        }
        self.capture_node(stream, action())?;
        Ok(true)
    }

    /// Appends a node to a capturing stream.
    pub(crate) fn capture_node(&mut self, stream: CUstream, action: Action) -> Result<CUgraphNode, CUresult> {
        let unknown = CUresult::CUDA_ERROR_ILLEGAL_STATE;
        let capturing = self.streams.get(&stream).and_then(|stream| stream.capturing.as_ref()).ok_or(unknown)?;
        let graph = self.captures.get(&capturing.id).ok_or(unknown)?.graph;
        let node = self.add_node(graph, capturing.after.clone(), action)?;
        if let Some(capturing) = self.streams.get_mut(&stream).and_then(|stream| stream.capturing.as_mut()) {
            capturing.after = vec![node];
        }
        Ok(node)
    }

    /// The capture that a stream has joined.
    pub(crate) fn capture_of(&self, stream: CUstream) -> Option<u64> {
        self.streams.get(&stream)?.capturing.as_ref().map(|capturing| capturing.id)
    }

    /// The captures that blocking streams of a context have joined.
    fn blocking_captures(&self, context: CUcontext) -> Vec<u64> {
        let of = |stream: &CUstream| self.streams.get(stream);
        let blocks = |stream: &CUstream| of(stream).is_some_and(|s| s.context == context && s.blocking());
        let captures = self.captures.iter().filter(|(_, capture)| capture.streams.iter().any(blocks));
        captures.map(|(id, _)| *id).collect()
    }

    /// Whether a capture makes the legacy default stream unusable.
    pub(crate) fn legacy_is_blocked(&self, stream: CUstream) -> bool {
        let legacy = self.streams.get(&stream).filter(|stream| stream.kind == Kind::Legacy);
        legacy.is_some_and(|stream| !self.blocking_captures(stream.context).is_empty())
    }

    fn refuse_legacy(&mut self, stream: CUstream) -> Result<(), CUresult> {
        let Some(Kind::Legacy) = self.streams.get(&stream).map(|stream| stream.kind) else { return Ok(()) };
        let context = self.streams.get(&stream).map(|stream| stream.context).unwrap_or_default();
        let captures = self.blocking_captures(context);
        self.refuse(&captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    }

    /// Invalidates the captures and returns the error, if there is at least one.
    pub(crate) fn refuse(&mut self, captures: &[u64], code: CUresult) -> Result<(), CUresult> {
        for id in captures {
            if let Some(capture) = self.captures.get_mut(id) {
                capture.invalidated = true;
                self.refused_by = capture.begun.clone();
            }
        }
        if captures.is_empty() { Ok(()) } else { Err(code) }
    }

    /// Checks a call that waits for or queries a stream, or that cannot be captured.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for a capturing stream; `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the
    /// legacy default stream while a blocking stream captures. Both invalidate the capture.
    pub(crate) fn forbid_in_capture(&mut self, stream: CUstream) -> Result<(), CUresult> {
        if self.captures.is_empty() {
            return Ok(());
        }
        self.refuse_legacy(stream)?;
        let captures: Vec<u64> = self.capture_of(stream).into_iter().collect();
        self.refuse(&captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Checks a call that waits for a whole context.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if a stream of the context captures; its capture is invalidated.
    pub(crate) fn forbid_beside_capture(&mut self, context: CUcontext) -> Result<(), CUresult> {
        let within = |stream: &CUstream| self.streams.get(stream).is_some_and(|stream| stream.context == context);
        let captures = self.captures.iter().filter(|(_, capture)| capture.streams.iter().any(within));
        let captures: Vec<u64> = captures.map(|(id, _)| *id).collect();
        self.refuse(&captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Checks a call that waits for or queries an event.
    ///
    /// # Errors
    /// `CUDA_ERROR_CAPTURED_EVENT` for an event that was last recorded in a capture; a capture in progress is
    /// invalidated.
    pub(crate) fn forbid_captured(&mut self, event: CUevent) -> Result<(), CUresult> {
        let Some(captured) = self.event(event)?.captured.as_ref().map(|captured| captured.id) else { return Ok(()) };
        self.refuse(&[captured], CUresult::CUDA_ERROR_CAPTURED_EVENT)
    }

    /// Checks an unsafe call. A thread's own captures forbid it unless they are relaxed. Global captures of other
    /// threads forbid it unless the calling thread is in thread-local mode. A thread in relaxed mode may make any call.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`; the captures that forbid the call are invalidated.
    pub(crate) fn forbid_unsafe(&mut self, thread: u64, mode: CUstreamCaptureMode) -> Result<(), CUresult> {
        if mode == CU_STREAM_CAPTURE_MODE_RELAXED {
            return Ok(());
        }
        let forbids = |capture: &Capture| match capture.thread == thread {
            true => capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED,
            false => mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL,
        };
        let captures: Vec<u64> =
            self.captures.iter().filter(|(_, capture)| forbids(capture)).map(|(id, _)| *id).collect();
        self.refuse(&captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Begins a capture in a stream, into an existing graph or a new one.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an unknown mode, `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for the legacy default
    /// stream, `CUDA_ERROR_ILLEGAL_STATE` for a stream that already captures.
    pub(crate) fn begin_capture(
        &mut self,
        stream: CUstream,
        thread: u64,
        mode: CUstreamCaptureMode,
        into: Option<(CUgraph, Vec<CUgraphNode>)>,
    ) -> Result<(), CUresult> {
        if mode > CU_STREAM_CAPTURE_MODE_RELAXED {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let found = self.streams.get(&stream).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        if found.kind == Kind::Legacy {
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        if found.capturing.is_some() {
            return Err(CUresult::CUDA_ERROR_ILLEGAL_STATE);
        }
        let owns_graph = into.is_none();
        let (graph, after) = match into {
            Some((graph, after)) => {
                if self.graph(graph)?.capture.is_some() {
                    return Err(CUresult::CUDA_ERROR_ILLEGAL_STATE);
                }
                if !after.iter().all(|node| self.is_in(*node, graph)) {
                    return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
                (graph, after)
            }
            None => (self.new_graph(Owner::Program), Vec::new()),
        };
        let id = crate::handle::fresh() as u64;
        self.graph_mut(graph)?.capture = Some(id);
        let capture = Capture {
            graph,
            owns_graph,
            origin: stream,
            mode,
            thread,
            invalidated: false,
            begun: self.noted(),
            streams: BTreeSet::new(),
            loose: Vec::new(),
        };
        self.captures.insert(id, capture);
        self.enter_capture(stream, id, after);
        Ok(())
    }

    fn enter_capture(&mut self, stream: CUstream, id: u64, after: Vec<CUgraphNode>) {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.streams.insert(stream);
        }
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.capturing = Some(Capturing { id, after, edges: Vec::new() });
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
    /// - `CUDA_ERROR_STREAM_CAPTURE_UNJOINED` if work of another stream is not joined back.
    pub(crate) fn end_capture(&mut self, stream: CUstream, thread: u64) -> Result<CUgraph, CUresult> {
        let id = self.capture_of(stream).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
        let capture = self.captures.get(&id).ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
        if capture.origin != stream {
            return self.refuse(&[id], CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED).map(|()| CUgraph::NULL);
        }
        if capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture.thread != thread {
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
        }
        let (graph, invalidated) = (capture.graph, capture.invalidated);
        let joined = invalidated || self.is_joined(capture);
        self.leave_capture(id, !invalidated && joined);
        match (invalidated, joined) {
            (true, _) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
            (_, false) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED),
            _ => Ok(graph),
        }
    }

    /// Whether all work of the other streams of a capture is joined back.
    fn is_joined(&self, capture: &Capture) -> bool {
        let after = |stream: &CUstream| {
            let capturing = self.streams.get(stream).and_then(|stream| stream.capturing.as_ref());
            capturing.map(|capturing| capturing.after.as_slice()).unwrap_or_default()
        };
        let end = after(&capture.origin);
        let tails = capture.streams.iter().filter(|stream| **stream != capture.origin).flat_map(after);
        // A node that the program has removed from the graph does not count.
        let mut tails = tails.chain(&capture.loose).filter(|node| self.graph_nodes.contains_key(*node));
        tails.all(|node| self.reaches(*node, end))
    }

    /// Removes all streams from a capture, and removes its graph unless `keep` is set or the graph existed before.
    fn leave_capture(&mut self, id: u64, keep: bool) {
        let Some(capture) = self.captures.remove(&id) else { return };
        for stream in capture.streams {
            if let Some(stream) = self.streams.get_mut(&stream) {
                stream.capturing = None;
            }
        }
        if keep || !capture.owns_graph {
            if let Some(graph) = self.graphs.get_mut(&capture.graph) {
                graph.capture = None;
            }
        } else {
            self.remove_graph(capture.graph);
        }
    }

    /// Removes a destroyed stream from its capture. Without its origin stream, a capture can never be ended.
    pub(crate) fn stream_leaves_capture(&mut self, stream: CUstream) {
        let capturing = self.streams.get_mut(&stream).and_then(|stream| stream.capturing.take());
        let Some(Capturing { id, after, .. }) = capturing else { return };
        let Some(capture) = self.captures.get_mut(&id) else { return };
        capture.streams.remove(&stream);
        capture.loose.extend(after);
        if capture.origin == stream {
            self.leave_capture(id, false);
        }
    }

    /// The captured state of an event that is recorded in a capturing stream.
    pub(crate) fn captured_in(&self, stream: CUstream) -> Option<Captured> {
        let capturing = self.streams.get(&stream)?.capturing.as_ref()?;
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
    pub(crate) fn wait_in_capture(&mut self, stream: CUstream, event: CUevent) -> Result<bool, CUresult> {
        let capturing = self.captures(stream)?;
        let own = self.capture_of(stream).filter(|_| capturing);
        let waited = self.event(event)?;
        let (captured, recorded) = (waited.captured.clone(), waited.recorded);
        let both = |other: Option<u64>| own.into_iter().chain(other).collect::<Vec<u64>>();
        let Some(Captured { id, after }) = captured else {
            return match own {
                Some(_) if recorded.is_some() => {
                    self.refuse(&both(None), CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION).map(|()| true)
                }
                // An event that was never recorded represents no work.
                Some(_) => Ok(true),
                None => Ok(false),
            };
        };
        let Some(other) = self.captures.get(&id) else {
            self.refuse(&both(None), CUresult::CUDA_ERROR_CAPTURED_EVENT)?;
            return Err(CUresult::CUDA_ERROR_CAPTURED_EVENT);
        };
        if other.invalidated {
            self.refuse(&both(None), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)?;
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
        match own {
            Some(own) if own != id => {
                self.refuse(&both(Some(id)), CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE)?;
            }
            Some(_) => self.add_dependencies(stream, after),
            None if self.streams.get(&stream).is_some_and(|stream| stream.kind == Kind::Legacy) => {
                self.refuse(&[id], CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
            }
            None => self.enter_capture(stream, id, after),
        }
        Ok(true)
    }

    /// Adds dependencies to the next node of a capturing stream.
    pub(crate) fn add_dependencies(&mut self, stream: CUstream, nodes: Vec<CUgraphNode>) {
        if let Some(capturing) = self.streams.get_mut(&stream).and_then(|stream| stream.capturing.as_mut()) {
            for node in nodes {
                if !capturing.after.contains(&node) {
                    capturing.after.push(node);
                }
            }
        }
    }
}
