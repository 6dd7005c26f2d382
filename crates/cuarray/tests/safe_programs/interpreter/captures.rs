//! Steps that capture graphs and launch them.

use super::{Interpreter, persist};
use crate::foreign::is_capturing;
use cuarray::{Error, Stream};
use cuarray_abi::{CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUgraphExec, CUstream};
use std::sync::atomic::Ordering::Relaxed;

impl Interpreter<'_> {
    pub(super) fn begin_capture(&mut self, slot: usize) -> Option<()> {
        let stream = Self::pick(&self.own, slot)?.0;
        (self.captures.len() < 2 && !is_capturing(&stream)).then_some(())?;
        let context = stream.work_context().ok()?;
        let _current = context.push().ok()?;
        let begin = self.shared.driver.api().cuStreamBeginCapture_v2.unwrap();
        // SAFETY: the stream is alive.
        let begun = unsafe { begin(CUstream(stream.handle()), CU_STREAM_CAPTURE_MODE_RELAXED) };
        begun.is_success().then_some(())?;
        self.has_captured = true;
        self.captures.push(stream);
        self.library.captures.store(self.captures.len(), Relaxed);
        Some(())
    }

    pub(super) fn end_capture(&mut self, capture: usize, launches: bool) -> Option<()> {
        (!self.captures.is_empty()).then_some(())?;
        let index = capture % self.captures.len();
        let stream = self.captures.swap_remove(index);
        let graph = self.end_capture_of(&stream);
        self.library.captures.store(self.captures.len(), Relaxed);
        let graph = graph?;
        // The launching program orders the graph: after all earlier work, and before all later work.
        let is_alone = self.captures.is_empty() && !self.has_faults;
        if launches && is_alone {
            self.contexts.iter().for_each(|context| persist(|| context.synchronize()));
            self.launch_graph(graph, &stream);
        } else {
            // SAFETY: the graph has not been destroyed.
            assert!(unsafe { self.shared.driver.api().cuGraphDestroy.unwrap()(graph) }.is_success());
        }
        Some(())
    }

    fn end_capture_of(&mut self, stream: &Stream) -> Option<CUgraph> {
        let mut graph = CUgraph::NULL;
        let mut context = stream.work_context();
        persist(|| {
            context = stream.work_context();
            context.as_ref().map(drop).map_err(|error| Error::argument(error.to_string()))
        });
        let context = context.unwrap();
        let mut current = context.push();
        while current.is_err() {
            current = context.push();
        }
        // SAFETY: the stream is alive; the driver writes one handle.
        let ended =
            unsafe { self.shared.driver.api().cuStreamEndCapture.unwrap()(CUstream(stream.handle()), &mut graph) };
        if !ended.is_success() && !self.has_faults {
            self.failure.get_or_insert(format!("the capture was invalidated: {ended:?}"));
        }
        (ended.is_success()).then_some(graph)
    }

    fn launch_graph(&mut self, graph: CUgraph, stream: &Stream) {
        let api = self.shared.driver.api();
        let context = stream.work_context().unwrap();
        let _current = context.push().unwrap();
        let mut exec = CUgraphExec::NULL;
        // SAFETY: the graph and the stream are alive; the driver writes one handle. The graph's work is ordered by host waits.
        unsafe {
            assert!(api.cuGraphInstantiateWithFlags.unwrap()(&mut exec, graph, 0).is_success());
            assert!(api.cuGraphDestroy.unwrap()(graph).is_success());
            assert!(api.cuGraphLaunch.unwrap()(exec, CUstream(stream.handle())).is_success());
        }
        stream.synchronize().unwrap();
        // SAFETY: the graph's work is done.
        assert!(unsafe { api.cuGraphExecDestroy.unwrap()(exec) }.is_success());
    }
}
