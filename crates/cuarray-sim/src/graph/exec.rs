//! Executable graphs: their layout, and their launches as work in streams.
//!
//! A launch follows the stream's earlier work and the previous launch of the same executable graph, and precedes the
//! stream's later work. Within the launch, only the graph's edges order nodes. Therefore instantiation assigns the
//! nodes to *lanes*. The first lane is the stream of the launch. The other lanes are private streams of the
//! executable graph, ordered only by the edges. So branches of a graph can race, as on a device.

use crate::objects::copy::{Copy, Source};
use crate::objects::graph::Exec;
use crate::objects::graph::{Action, INVALID_VALUE, Owner, fresh_id};
use crate::objects::graph::{Layout, Step};
use crate::objects::stream::{Kind, Stream};
use crate::objects::work::{Point, Work};
use crate::state::State;
use crate::thread;
use cuarray_abi::*;
use cuarray_races::{Caller, Clock};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl State {
    /// The executable graph of a handle that a program passed.
    pub(crate) fn exec(&self, handle: CUgraphExec) -> Result<&Exec, CUresult> {
        self.graph_execs.get(&handle).filter(|exec| !exec.destroyed).ok_or(INVALID_VALUE)
    }

    /// The executable graph of a handle that a program passed.
    pub(crate) fn exec_mut(&mut self, handle: CUgraphExec) -> Result<&mut Exec, CUresult> {
        self.graph_execs.get_mut(&handle).filter(|exec| !exec.destroyed).ok_or(INVALID_VALUE)
    }

    /// The node of an executable graph that corresponds to a node of its source.
    pub(crate) fn node_of_exec(&self, exec: CUgraphExec, node: CUgraphNode) -> Result<CUgraphNode, CUresult> {
        let graph = self.exec(exec)?.graph;
        let clone = self.graphs.get(&graph).and_then(|graph| graph.clones.get(&node).copied());
        // The node must still be in the source graph.
        clone.filter(|_| self.graph_nodes.contains_key(&node)).ok_or(INVALID_VALUE)
    }

    /// Instantiates a graph.
    ///
    /// # Errors
    /// - `CUDA_ERROR_INVALID_VALUE` with the node of a cycle; for unknown or contradictory flags; for a second
    ///   executable graph of a graph that allocates or frees memory.
    /// - `CUDA_ERROR_NOT_SUPPORTED` for launches from the device.
    /// - `CUDA_ERROR_ILLEGAL_STATE` while a capture is filling the graph.
    pub(crate) fn instantiate(&mut self, graph: CUgraph, flags: u64) -> Result<CUgraphExec, (CUresult, CUgraphNode)> {
        let wrong = |code| (code, CUgraphNode::NULL);
        let known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH
            | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
            | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
            | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
        let capture = self.graph(graph).map_err(wrong)?.capture;
        if flags & !known != 0 {
            return Err(wrong(INVALID_VALUE));
        }
        if flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH != 0 {
            return Err(wrong(CUresult::CUDA_ERROR_NOT_SUPPORTED));
        }
        if capture.is_some() {
            return Err(wrong(CUresult::CUDA_ERROR_ILLEGAL_STATE));
        }
        let taken = self.graph_execs.values().any(|exec| exec.source == graph && !exec.destroyed);
        if taken && self.has_memory_nodes(graph) {
            return Err(wrong(INVALID_VALUE));
        }
        self.check_order(graph).map_err(|node| (INVALID_VALUE, node))?;
        let clone = self.clone_graph(graph, Owner::Exec).map_err(wrong)?;
        let mut layout = Layout::default();
        self.lay_out(clone, &[], &mut layout);
        let allocations = self.graph_allocations(clone);
        for address in &allocations {
            self.retain_graph_memory(*address);
        }
        let handle = CUgraphExec(crate::handle::fresh());
        let exec = Exec {
            id: fresh_id(),
            source: graph,
            graph: clone,
            flags,
            disabled: HashSet::new(),
            steps: layout.steps,
            lanes: Vec::new(),
            width: layout.ends.len(),
            last: None,
            retired: Vec::new(),
            last_clock: None,
            allocations,
            destroyed: false,
        };
        self.graph_execs.insert(handle, exec);
        Ok(handle)
    }

    /// Checks a graph and its children for cycles.
    fn check_order(&self, graph: CUgraph) -> Result<(), CUgraphNode> {
        for node in self.in_order(graph)? {
            if let Some(Action::Child(child)) = self.graph_nodes.get(&node).map(|node| &node.action) {
                self.check_order(*child)?;
            }
        }
        Ok(())
    }

    /// Adds the steps of a graph after the given steps; returns the last steps of the graph.
    fn lay_out(&self, graph: CUgraph, before: &[usize], layout: &mut Layout) -> Vec<usize> {
        let mut step_of: HashMap<CUgraphNode, usize> = HashMap::new();
        let mut ends = Vec::new();
        for handle in self.in_order(graph).unwrap_or_default() {
            let Some(node) = self.graph_nodes.get(&handle) else { continue };
            let mut after: Vec<usize> = node.after.iter().filter_map(|node| step_of.get(node).copied()).collect();
            ends.retain(|end| !after.contains(end));
            if after.is_empty() {
                after.extend(before);
            }
            let mut step = layout.add(handle, &after);
            if let Action::Child(child) = node.action {
                // A child graph has two steps: its beginning and its end.
                let over = self.lay_out(child, &[step], layout);
                if !over.is_empty() {
                    step = layout.add(handle, &over);
                }
            }
            step_of.insert(handle, step);
            ends.push(step);
        }
        ends
    }

    /// Enqueues an executable graph in a stream; returns the point at which it is done.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`, without enqueuing anything, in three cases. Memory of the last launch is not freed;
    /// a free node has memory that is not live; or an access no longer lies in an allocation.
    pub(crate) fn launch(&mut self, handle: CUgraphExec, stream: CUstream) -> Result<Point, CUresult> {
        let leftovers = self.check_launch(handle)?;
        let last = self.exec(handle)?.last.filter(|point| !self.happened(*point));
        // Launches of one executable graph are ordered.
        if let Some(clock) = self.exec(handle)?.last_clock.clone() {
            self.stream_learns(stream, &clock);
        }
        let mut start = self.enqueue(stream, Work::Wait, last.into_iter().collect())?;
        for address in leftovers {
            self.release_live(address);
            start = self.enqueue(stream, Work::Release { address }, Vec::new())?;
        }
        let lanes = self.lanes(handle, stream)?;
        let steps = std::mem::take(&mut self.exec_mut(handle)?.steps);
        let points = self.enqueue_steps(handle, &steps, &lanes, start);
        let mut ends = Vec::new();
        if let Ok(points) = &points {
            let open = steps.iter().zip(points).filter(|(step, _)| step.last && step.lane != 0);
            ends.extend(open.map(|(_, point)| *point));
        }
        self.exec_mut(handle)?.steps = steps;
        points?;
        let end = self.enqueue(stream, Work::Wait, ends)?;
        let clock = self.clock_of(stream);
        let exec = self.exec_mut(handle)?;
        (exec.last, exec.last_clock) = (Some(end), clock);
        Ok(end)
    }

    /// Checks a launch before anything is enqueued; returns memory of the last launch that it must free first.
    fn check_launch(&self, handle: CUgraphExec) -> Result<Vec<u64>, CUresult> {
        let exec = self.exec(handle)?;
        let leftovers: Vec<u64> = exec.allocations.iter().copied().filter(|address| self.is_live(*address)).collect();
        if !leftovers.is_empty() && exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH == 0 {
            return Err(INVALID_VALUE);
        }
        for step in &exec.steps {
            if exec.disabled.contains(&step.node) {
                continue;
            }
            match self.graph_nodes.get(&step.node).map(|node| &node.action) {
                Some(Action::Copy(copy)) => self.check_copy(&copy.transfer)?,
                Some(Action::Fill(fill)) => self.check_fill(fill)?,
                Some(Action::Free(address)) if !self.is_live(*address) && !exec.allocations.contains(address) => {
                    return Err(INVALID_VALUE);
                }
                _ => {}
            }
        }
        Ok(leftovers)
    }

    /// The streams of a launch: the given one, and private ones in the same context.
    fn lanes(&mut self, handle: CUgraphExec, stream: CUstream) -> Result<Vec<CUstream>, CUresult> {
        let context = self.streams.get(&stream).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?.context;
        let exec = self.exec_mut(handle)?;
        let (mut own, width) = (std::mem::take(&mut exec.lanes), exec.width);
        // Destroying a context destroys its lanes.
        let usable = |lane: &CUstream| self.streams.get(lane).is_some_and(|lane| lane.context == context);
        if !own.iter().all(usable) {
            own.drain(..).for_each(|lane| self.close_lane(lane));
        }
        while own.len() + 1 < width {
            let lane = CUstream(crate::handle::fresh());
            self.context_mut(context)?.streams.insert(lane);
            self.streams.insert(lane, Stream::new(context, Kind::Lane, CU_STREAM_NON_BLOCKING, 0));
            own.push(lane);
        }
        let all = std::iter::once(stream).chain(own.iter().copied()).collect();
        self.exec_mut(handle)?.lanes = own;
        Ok(all)
    }

    fn close_lane(&mut self, lane: CUstream) {
        if let Some(stream) = self.streams.get_mut(&lane) {
            stream.destroyed = true;
        }
        self.remove_if_over(lane);
    }

    fn enqueue_steps(
        &mut self,
        handle: CUgraphExec,
        steps: &[Step],
        lanes: &[CUstream],
        start: Point,
    ) -> Result<Vec<Point>, CUresult> {
        let mut points: Vec<Point> = Vec::with_capacity(steps.len());
        // The clock of each step: a lane only has the clock of its last point.
        let mut clocks: Vec<Option<Clock>> = Vec::with_capacity(steps.len());
        let mut begun = vec![false; lanes.len()];
        let start_clock = self.clock_of(lanes[0]);
        let launch = start_clock.as_ref().map(|clock| clock.ordinal);
        let detail = thread::caller().map(|launch| Arc::from(format!("in a graph, launched at {}", launch.site)));
        for step in steps {
            let mut after: Vec<Point> = step.after.iter().filter_map(|step| points.get(*step).copied()).collect();
            if step.lane != 0 && !std::mem::replace(&mut begun[step.lane], true) && after.is_empty() {
                after.push(start);
                if let Some(clock) = &start_clock {
                    self.stream_learns(lanes[step.lane], clock);
                }
            }
            let lane = lanes[step.lane];
            let work = self.work_of(handle, step.node, lane, &mut after);
            let known = step.after.iter().filter_map(|step| clocks.get(*step)?.clone());
            for clock in known.collect::<Vec<Clock>>() {
                self.stream_learns(lane, &clock);
            }
            // Findings name the call that added the node.
            let made = self.graph_nodes.get(&step.node).and_then(|node| node.made.clone());
            let made = made.map(|made| Caller { detail: detail.clone(), launch, ..made }).or_else(thread::caller);
            points.push(thread::while_calling(made, || self.enqueue(lane, work, after))?);
            clocks.push(self.clock_of(lane));
        }
        Ok(points)
    }

    /// The work of a node in this launch. Adds the dependencies that are not edges to `after`.
    fn work_of(&mut self, exec: CUgraphExec, node: CUgraphNode, lane: CUstream, after: &mut Vec<Point>) -> Work {
        if self.graph_execs.get(&exec).is_some_and(|exec| exec.disabled.contains(&node)) {
            return Work::Wait;
        }
        let Some(action) = self.graph_nodes.get(&node).map(|node| node.action.clone()) else { return Work::Wait };
        match action {
            Action::Empty | Action::Child(_) => Work::Wait,
            Action::Copy(copy) => {
                let transfer = copy.transfer;
                let source = Source::Memory(transfer.source.place);
                Work::Copy(Box::new(Copy { source, target: transfer.target.place, extent: transfer.extent }))
            }
            Action::Fill(fill) => match fill.fill() {
                Ok(fill) => Work::Fill(Box::new(fill)),
                Err(_) => Work::Wait,
            },
            Action::Host(function) => Work::HostFunction(function),
            Action::Launch(launch) => Work::Launch(launch),
            Action::Wait(event) => {
                let event = self.events.get(&event).map(|event| (event.recorded, event.clock.clone()));
                let (recorded, clock) = event.unwrap_or_default();
                after.extend(recorded);
                if let Some(clock) = clock {
                    self.stream_learns(lane, &clock);
                }
                Work::Wait
            }
            Action::Record(event) => {
                let next = self.streams.get(&lane).map(|stream| stream.next(lane));
                match self.events.get_mut(&event) {
                    Some(known) => {
                        known.meet(next);
                        Work::Record(event)
                    }
                    None => Work::Wait,
                }
            }
            Action::Allocate(params) => {
                let (address, size) = (params.0.dptr, params.0.bytesize as u64);
                if let Some(allocation) = self.memory.get_mut(address) {
                    allocation.freed = false;
                }
                self.retain_graph_memory(address);
                Work::Allocate { address, size }
            }
            Action::Free(address) => {
                self.release_live(address);
                Work::Release { address }
            }
        }
    }

    /// Marks memory as freed before its release is enqueued, so that no new work may use it.
    pub(crate) fn release_live(&mut self, address: u64) {
        if let Some(allocation) = self.memory.get_mut(address) {
            allocation.freed = true;
        }
    }

    /// Replaces the references of an executable graph by the references of `graph`.
    ///
    /// A pending launch may still need the old references; a later update, or the end of the executable graph, drops
    /// them.
    pub(super) fn adopt_references(&mut self, handle: CUgraphExec, graph: CUgraph) {
        let new = self.share_references(graph);
        let Some(exec) = self.graph_execs.get_mut(&handle) else { return };
        let (own, last) = (exec.graph, exec.last);
        let mut retired = std::mem::take(&mut exec.retired);
        let Some(own) = self.graphs.get_mut(&own) else { return };
        let old = std::mem::replace(&mut own.references, new);
        match last.filter(|point| !self.happened(*point)) {
            Some(point) => retired.push((point, old)),
            None => self.drop_references(old),
        }
        let (over, pending): (Vec<_>, Vec<_>) = retired.into_iter().partition(|(point, _)| self.happened(*point));
        over.into_iter().for_each(|(_, references)| self.drop_references(references));
        if let Some(exec) = self.graph_execs.get_mut(&handle) {
            exec.retired = pending;
        }
    }

    /// Destroys an executable graph: at once, or after its last launch.
    pub(crate) fn destroy_exec(&mut self, handle: CUgraphExec) -> Result<(), CUresult> {
        let last = self.exec(handle)?.last.filter(|point| !self.happened(*point));
        self.exec_mut(handle)?.destroyed = true;
        match last {
            Some(last) => drop(self.enqueue(last.stream, Work::EndExec(handle), Vec::new())?),
            None => self.end_exec(handle),
        }
        Ok(())
    }

    /// Removes an executable graph that no pending work needs.
    pub(crate) fn end_exec(&mut self, handle: CUgraphExec) {
        let Some(exec) = self.graph_execs.remove(&handle) else { return };
        self.remove_graph(exec.graph);
        exec.allocations.into_iter().for_each(|address| self.release_graph_memory(address));
        exec.retired.into_iter().for_each(|(_, references)| self.drop_references(references));
        exec.lanes.into_iter().for_each(|lane| self.close_lane(lane));
    }
}
