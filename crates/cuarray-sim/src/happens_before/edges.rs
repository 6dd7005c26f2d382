//! Edges, allocations and handles: the functions that the rest of the driver calls to record events.

use crate::objects::allocation;
use crate::objects::copy::{Copy, Extent, Fill, Place, Source};
use crate::objects::stream;
use crate::objects::work::{Point, Work};
use crate::state::State;
use crate::thread;
use cuarray_abi::*;
use cuarray_races::finding::{AccessKind, KernelPlace, Kind, LaneKind, Range};
use cuarray_races::{self as races, Block, Caller, Clock, Detector, Effect, Lane, Operation, Region, Ticket, Touched};
use std::sync::Arc;

/// The bytes of a box.
fn region(place: Place, extent: Extent) -> Region {
    let Extent { width, height, depth } = extent;
    Region::new(place.address, place.pitch, place.slice, races::Extent { width, height, depth })
}

impl State {
    /// The current call of the calling thread, if the detector is on.
    fn caller(&self) -> Option<Caller> {
        if self.detector.is_on() { thread::caller() } else { None }
    }

    /// The lane of a stream, created on first use.
    fn lane_of(&mut self, handle: CUstream) -> Option<(&mut Lane, &mut Detector)> {
        let State { streams, detector, contexts, .. } = self;
        let stream = streams.get_mut(&handle)?;
        if stream.lane.is_none() {
            let kind = match stream.kind {
                stream::Kind::Legacy => LaneKind::Legacy,
                stream::Kind::PerThread => LaneKind::PerThread,
                stream::Kind::Lane => LaneKind::Internal,
                stream::Kind::Created if stream.blocking() => LaneKind::Blocking,
                stream::Kind::Created => LaneKind::NonBlocking,
            };
            let device = contexts.get(&stream.context).map(|context| context.device as i32);
            stream.lane = Some(detector.new_lane(kind, handle.0 as u64, device));
        }
        Some((stream.lane.as_mut()?, detector))
    }

    /// The clock of a stream's last operation; `None` without one, or while findings are off.
    pub(crate) fn clock_of(&self, handle: CUstream) -> Option<Clock> {
        let lane = self.streams.get(&handle)?.lane.as_ref()?;
        (!lane.is_unused()).then(|| lane.clock())
    }

    /// The clocks that a synchronization with a stream joins: the stream's own clock. For the legacy default stream,
    /// also the clocks of the blocking streams of its context that are not ordered before it yet.
    pub(crate) fn clocks_of_tail(&self, handle: CUstream) -> Vec<Clock> {
        let Some(stream) = self.streams.get(&handle).filter(|_| self.detector.is_on()) else { return Vec::new() };
        let mut clocks: Vec<Clock> = self.clock_of(handle).into_iter().collect();
        if stream.kind == stream::Kind::Legacy
            && let Some(context) = self.contexts.get(&stream.context)
        {
            clocks.extend(context.unordered.iter().filter_map(|other| self.clock_of(*other)));
            clocks.extend(context.ended_blocking.as_ref().map(Lane::clock));
        }
        clocks
    }

    /// The clocks of all streams of a context.
    pub(crate) fn clocks_of_context(&self, context: CUcontext) -> Vec<Clock> {
        let Some(context) = self.contexts.get(&context).filter(|_| self.detector.is_on()) else { return Vec::new() };
        let streams = context.streams.iter().filter_map(|stream| self.clock_of(*stream));
        streams.chain(context.ended.as_ref().map(Lane::clock)).collect()
    }

    /// Stores the clock of a destroyed and drained stream for later waits for its context.
    pub(crate) fn remember_ended(&mut self, handle: CUstream) {
        let Some(clock) = self.clock_of(handle).filter(|_| self.detector.is_on()) else { return };
        let State { streams, detector, contexts, .. } = self;
        let Some(stream) = streams.get(&handle) else { return };
        let Some(context) = contexts.get_mut(&stream.context) else { return };
        if detector.everything_follows(&clock) {
            return;
        }
        detector.gather(&mut context.ended, &clock);
        if stream.blocking() {
            detector.gather(&mut context.ended_blocking, &clock);
        }
    }

    /// Adds an edge: the next operation of a stream follows the operation of a clock.
    pub(crate) fn stream_learns(&mut self, handle: CUstream, clock: &Clock) {
        if !self.detector.is_on() {
            return;
        }
        if let Some((lane, detector)) = self.lane_of(handle) {
            detector.learn(lane, clock);
        }
    }

    /// Adds edges from dependencies. The clock of a point is available while the point is the last of its stream.
    pub(crate) fn stream_learns_points(&mut self, handle: CUstream, points: &[Point]) {
        if !self.detector.is_on() {
            return;
        }
        for point in points {
            let last = self.streams.get(&point.stream).is_some_and(|stream| stream.enqueued == point.operation);
            if let Some(clock) = self.clock_of(point.stream).filter(|_| last) {
                self.stream_learns(handle, &clock);
            }
        }
    }

    /// Records a synchronization: the calling thread has waited for these operations.
    pub(crate) fn host_learns(&mut self, clocks: Vec<Clock>) {
        let Some(caller) = self.caller() else { return };
        self.detector.synchronize(caller, &clocks);
        self.host_access.learned();
    }

    /// Records an operation that is being enqueued. Returns a ticket for work that runs the program's code.
    pub(crate) fn issued(&mut self, handle: CUstream, work: &Work) -> Option<Box<Ticket>> {
        let mut caller = self.caller()?;
        if let Work::Launch(launch) = work {
            caller.detail = Some(launch.name().into());
        }
        let effect = self.effect(work);
        let watched = self.host_access.watches().then(|| effect.touches());
        let (lane, detector) = self.lane_of(handle)?;
        let ticket = detector.issue(lane, caller, effect);
        if let Work::Record(event) = work
            && let Some(event) = self.events.get_mut(event)
        {
            event.clock = Some(ticket.clock.clone());
        }
        if let Some(touches) = watched {
            match work {
                Work::Launch(launch) => self.watch_host_for(&launch.parameters, &ticket.operation, &ticket.clock),
                _ => self.watch_host(&touches, &ticket.operation, &ticket.clock),
            }
        }
        work.runs_the_programs_code().then(|| Box::new(ticket))
    }

    /// Records the accesses of work that has run.
    pub(crate) fn ran(&mut self, ticket: &Ticket, touched: &[Touched]) {
        let touches = self.detector.resolve(ticket, touched);
        if self.host_access.watches() {
            self.host_access.has_run(&ticket.operation);
            self.watch_host(&touches, &ticket.operation, &ticket.clock);
        }
    }

    /// The effect of work on memory.
    fn effect(&self, work: &Work) -> Effect {
        match work {
            Work::Copy(copy) => {
                let Copy { source, target, extent } = &**copy;
                let from = match source {
                    Source::Memory(place) => Some(region(*place, *extent)),
                    Source::Staged(_) => None,
                };
                let exact = self.memory.find(target.address).is_none_or(|target| !target.kind.on_device());
                Effect::Copy { from, to: region(*target, *extent), exact }
            }
            Work::Fill(fill) => {
                let Fill { target, extent, .. } = &**fill;
                Effect::Fill(region(*target, *extent))
            }
            Work::Allocate { address, size } => {
                let allocation = self.memory.starting_at(*address);
                let device = allocation.map_or(0, |allocation| allocation.device as i32);
                let kind = allocation.map_or("pool", |allocation| allocation.kind.name());
                Effect::Allocate { block: Block::new(*address, *size, kind, device), written: false, ordered: true }
            }
            Work::Release { address } => match self.detector.block_at(*address) {
                Some(block) => Effect::Free { block: block.clone() },
                None => Effect::none(),
            },
            Work::Launch(_) => Effect::Unknown,
            Work::Wait | Work::Record(_) | Work::HostFunction(_) | Work::EndExec(_) => Effect::none(),
        }
    }

    /// Records an allocation of the calling thread.
    pub(crate) fn allocated(&mut self, address: u64) {
        let Some(caller) = self.caller() else { return };
        let Some(allocation) = self.memory.starting_at(address) else { return };
        let block = Block::new(address, allocation.size, allocation.kind.name(), allocation.device as i32);
        // The host and other processes may write memory that is not on the device, without a driver call.
        let written = !matches!(allocation.kind, allocation::Kind::Device);
        self.detector.allocate(caller, block, written);
    }

    /// Records a free by the calling thread, outside of any stream.
    pub(crate) fn released(&mut self, address: u64) {
        let Some(caller) = self.caller() else { return };
        self.detector.free(caller, address);
    }

    /// Records a refused access that lies outside every allocation, or partly so.
    pub(crate) fn refused(&mut self, access: AccessKind, address: u64, length: u64) {
        let Some(caller) = self.caller() else { return };
        self.detector.refuse_access(caller, access, address, length);
    }

    /// Records a refused free.
    pub(crate) fn released_again(&mut self, address: u64) {
        let Some(caller) = self.caller() else { return };
        self.detector.refuse_free(caller, address);
    }

    /// Records an access that is refused because its address or pitch is not a multiple of `size`.
    pub(crate) fn misaligned(&mut self, access: AccessKind, address: u64, length: u64, size: u64) {
        let Some(caller) = self.caller() else { return };
        self.detector.refuse_misaligned(caller, access, Range { address, length }, size);
    }

    /// Records the access at which a launch failed.
    pub(crate) fn launch_failed(
        &mut self,
        ticket: &Ticket,
        access: (AccessKind, Range),
        wrong: Option<(Kind, String)>,
        place: KernelPlace,
        more: &str,
    ) {
        self.detector.launch_failed(ticket, access, wrong, place, more);
    }

    /// Records the creation of a stream, an event or a context.
    pub(crate) fn created(&mut self, kind: &'static str, handle: u64) {
        let Some(caller) = self.caller() else { return };
        self.detector.create_handle(caller, kind, handle);
    }

    /// Records the destruction of a stream, an event or a context.
    pub(crate) fn destroyed(&mut self, kind: &'static str, handle: u64) {
        let Some(caller) = self.caller() else { return };
        self.detector.destroy_handle(caller, kind, handle);
    }

    /// Records a call that is refused because of a handle.
    pub(crate) fn refused_handle(&mut self, handle: u64) {
        let Some(caller) = self.caller() else { return };
        self.detector.refuse_handle(caller, handle);
    }

    /// The calling thread's call as an operation, for later findings about it.
    pub(crate) fn noted(&mut self) -> Option<Arc<Operation>> {
        let caller = self.caller()?;
        Some(self.detector.host_operation(caller, Effect::none()).operation)
    }

    /// Records a call that waits for or queries work that is only being captured.
    pub(crate) fn captured_synchronized(&mut self, kind: &'static str, handle: u64) {
        let Some(caller) = self.caller() else { return };
        let begun = self.refused_by.take();
        self.detector.refuse_wait_for_capture(caller, begun, kind, handle);
    }

    /// Records the end of a stream's lane.
    pub(crate) fn lane_ends(&mut self, lane: Option<&Lane>) {
        if let Some(lane) = lane {
            self.detector.lane_ends(lane);
        }
    }
}
