//! Stream capture: streams that, for a while, do not execute what they are given but make a graph of it.
//!
//! A capture begins in one stream and ends there. An event that was recorded in a capturing stream takes every stream that waits for
//! it into the capture, and whatever such a stream did has to be joined back, in the same way, before the end. Nothing may
//! connect work that is captured with work that is not: a call that would, one that asks how far a capturing stream or a captured
//! event has come, and a use of the legacy default stream beside a capturing blocking stream, fail, *and invalidate the
//! captures that they touch*: from then on these refuse everything until they are ended, and give no graph.
//!
//! Besides, some calls do things that a graph would not repeat (they allocate, free, or look at events). While a capture is
//! in progress they are prohibited, depending on the capture's mode and the calling thread's: see [`State::forbid_unsafe`].
//!
//! Driver API: [`cuStreamBeginCapture`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html) and its
//! neighbours; the rules are those of the programming guide's section on prohibited and unhandled operations.

use crate::driver::Answer;
use crate::graph::{Action, Owner};
use crate::state::State;
use crate::stream::Kind;
use cuarray_abi::*;
use cuarray_races::Operation;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// One capture, from its begin to its end.
pub(crate) struct Capture {
    pub graph: CUgraph,
    /// Whether the graph was made for it, and ends with it if it fails.
    pub owns_graph: bool,
    /// Where it began and has to end.
    pub origin: CUstream,
    pub mode: CUstreamCaptureMode,
    /// The thread that began it.
    pub thread: u64,
    pub invalidated: bool,
    /// The call that began it, while findings are on.
    pub begun: Option<Arc<Operation>>,
    /// The streams that take part.
    pub streams: BTreeSet<CUstream>,
    /// Where streams ended that were destroyed meanwhile.
    pub loose: Vec<CUgraphNode>,
}

/// A stream's part in a capture.
pub(crate) struct Capturing {
    /// The capture's number, which no other of this process has had.
    pub id: u64,
    /// The nodes that the next node captured in the stream comes after.
    pub after: Vec<CUgraphNode>,
    /// What there is to say of those edges: nothing, as often as was asked for.
    pub edges: Vec<CUgraphEdgeData>,
}

/// What an event means that was last recorded in a capturing stream.
#[derive(Clone)]
pub(crate) struct Captured {
    pub id: u64,
    pub after: Vec<CUgraphNode>,
}

/// All captures in progress, by their number.
pub(crate) type Captures = HashMap<u64, Capture>;

impl State {
    /// What a call has to ask that puts work into a stream. Answers whether the work is to be captured.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the legacy default stream while a blocking stream of its context captures, which
    /// invalidates that capture; `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` where that has happened.
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

    /// Captures work if the stream captures; otherwise answers `false`, and the work is the caller's to enqueue.
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

    /// Appends a node to a stream that captures.
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

    /// The capture that a stream takes part in.
    pub(crate) fn capture_of(&self, stream: CUstream) -> Option<u64> {
        self.streams.get(&stream)?.capturing.as_ref().map(|capturing| capturing.id)
    }

    /// The captures that blocking streams of a context take part in.
    fn blocking_captures(&self, context: CUcontext) -> Vec<u64> {
        let of = |stream: &CUstream| self.streams.get(stream);
        let blocks = |stream: &CUstream| of(stream).is_some_and(|s| s.context == context && s.blocking());
        let captures = self.captures.iter().filter(|(_, capture)| capture.streams.iter().any(blocks));
        captures.map(|(id, _)| *id).collect()
    }

    /// Whether the legacy default stream is out of use because of a capture.
    pub(crate) fn legacy_is_blocked(&self, stream: CUstream) -> bool {
        let legacy = self.streams.get(&stream).filter(|stream| stream.kind == Kind::Legacy);
        legacy.is_some_and(|stream| !self.blocking_captures(stream.context).is_empty())
    }

    fn refuse_legacy(&mut self, stream: CUstream) -> Answer {
        let Some(Kind::Legacy) = self.streams.get(&stream).map(|stream| stream.kind) else { return Ok(()) };
        let context = self.streams.get(&stream).map(|stream| stream.context).unwrap_or_default();
        let captures = self.blocking_captures(context);
        self.refuse(&captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    }

    /// Invalidates captures and answers the error, if there are any.
    pub(crate) fn refuse(&mut self, captures: &[u64], code: CUresult) -> Answer {
        for id in captures {
            if let Some(capture) = self.captures.get_mut(id) {
                capture.invalidated = true;
                self.refused_by = capture.begun.clone();
            }
        }
        if captures.is_empty() { Ok(()) } else { Err(code) }
    }

    /// What a call has to ask that waits for a stream, or asks whether its work is done, or that cannot be captured.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for a stream that captures, `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the legacy
    /// default stream beside a blocking one that does; either invalidates the capture.
    pub(crate) fn forbid_in_capture(&mut self, stream: CUstream) -> Answer {
        if self.captures.is_empty() {
            return Ok(());
        }
        self.refuse_legacy(stream)?;
        let captures: Vec<u64> = self.capture_of(stream).into_iter().collect();
        self.refuse(&captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    /// What a call has to ask that waits for a whole context.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if a stream of the context captures, whose capture is invalidated.
    pub(crate) fn forbid_beside_capture(&mut self, context: CUcontext) -> Answer {
        let within = |stream: &CUstream| self.streams.get(stream).is_some_and(|stream| stream.context == context);
        let captures = self.captures.iter().filter(|(_, capture)| capture.streams.iter().any(within));
        let captures: Vec<u64> = captures.map(|(id, _)| *id).collect();
        self.refuse(&captures, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    /// What a call has to ask that looks at an event.
    ///
    /// # Errors
    /// `CUDA_ERROR_CAPTURED_EVENT` for one that was last recorded in a capture, which is invalidated if it is still in progress.
    pub(crate) fn forbid_captured(&mut self, event: CUevent) -> Answer {
        let Some(captured) = self.event(event)?.captured.as_ref().map(|captured| captured.id) else { return Ok(()) };
        self.refuse(&[captured], CUresult::CUDA_ERROR_CAPTURED_EVENT)
    }

    /// What an unsafe call has to ask: a thread's own captures forbid it, unless they are relaxed, and so do the global ones of other threads,
    /// unless the calling thread has chosen not to mind. A thread in relaxed mode may do anything.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`; the captures that forbid it are invalidated.
    pub(crate) fn forbid_unsafe(&mut self, thread: u64, mode: CUstreamCaptureMode) -> Answer {
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

    /// Begins a capture in a stream, into a graph that is there or into a new one.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a mode that is none, `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for the legacy default stream,
    /// `CUDA_ERROR_ILLEGAL_STATE` for a stream that captures already.
    pub(crate) fn begin_capture(
        &mut self,
        stream: CUstream,
        thread: u64,
        mode: CUstreamCaptureMode,
        into: Option<(CUgraph, Vec<CUgraphNode>)>,
    ) -> Answer {
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

    /// Ends the capture that began in a stream. Answers its graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_ILLEGAL_STATE` where none is in progress, `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED` where it began elsewhere (and
    /// is invalidated), `CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD` (and it goes on). And, the capture being over then:
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`, and `CUDA_ERROR_STREAM_CAPTURE_UNJOINED` where work of another stream does not
    /// come before the end.
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

    /// Whether all that the other streams of a capture did comes before the end.
    fn is_joined(&self, capture: &Capture) -> bool {
        let after = |stream: &CUstream| {
            let capturing = self.streams.get(stream).and_then(|stream| stream.capturing.as_ref());
            capturing.map(|capturing| capturing.after.as_slice()).unwrap_or_default()
        };
        let end = after(&capture.origin);
        let tails = capture.streams.iter().filter(|stream| **stream != capture.origin).flat_map(after);
        // A node that the program has taken out of the graph does not count.
        let mut tails = tails.chain(&capture.loose).filter(|node| self.graph_nodes.contains_key(*node));
        tails.all(|node| self.reaches(*node, end))
    }

    /// Takes all streams out of a capture; its graph goes, unless it is kept or was there before.
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

    /// What the end of a stream means for the capture that it takes part in: one that began there can never be ended.
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

    /// What an event means that is recorded in a stream which captures.
    pub(crate) fn captured_in(&self, stream: CUstream) -> Option<Captured> {
        let capturing = self.streams.get(&stream)?.capturing.as_ref()?;
        Some(Captured { id: capturing.id, after: capturing.after.clone() })
    }

    /// What waiting for an event means in a capture, or for one from a capture. Answers `false` where it has to do with none.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_ISOLATION` where a capturing stream would wait for work outside, `CUDA_ERROR_STREAM_CAPTURE_MERGE` for
    /// work of another capture, `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` where the legacy default stream would join one,
    /// `CUDA_ERROR_CAPTURED_EVENT` for an event from a capture that is over; the captures concerned are invalidated.
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
                // An event that was never recorded stands for no work.
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

    /// Makes the next node of a capturing stream come after these too.
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
