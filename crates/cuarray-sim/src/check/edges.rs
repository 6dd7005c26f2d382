//! The calls of the driver as edges: which of them puts what before what.
//!
//! These are the only functions that the rest of the driver calls when something synchronizes. Each does nothing
//! while findings are off. `docs/explanation/happens-before.md` says which call uses which, and why.

use super::operation::boxes;
use super::{Block, Checks, Clock, DYING, Doing, Entry, Kind, Lane, Operation, Party, Region, Ticket, Touch, Touched};
use crate::copy::{Copy, Fill, Source};
use crate::finding::{Deed, KernelPlace, LaneKind, Object, Range};
use crate::memory;
use crate::schedule::{Point, Work};
use crate::state::State;
use crate::stream;
use crate::thread;
use cuarray_abi::*;
use std::sync::Arc;

impl State {
    /// The lane of a stream, made when it is first needed.
    fn lane_of(&mut self, handle: CUstream) -> Option<(&mut Lane, &mut Vec<u64>, &mut Checks)> {
        let State { streams, checks, contexts, .. } = self;
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
            stream.lane = Some(checks.new_lane(kind, handle.0 as u64, device));
        }
        Some((stream.lane.as_mut()?, &mut stream.after, checks))
    }

    /// What a stream has done so far: the clock of its last operation. `None` if it has done nothing, or findings are off.
    pub(crate) fn clock_of(&self, handle: CUstream) -> Option<Clock> {
        let lane = self.streams.get(&handle)?.lane.as_ref()?;
        (lane.time > 0).then(|| lane.clock())
    }

    /// The clocks of a synchronization with a stream: its own and, for the legacy default stream, those of the blocking
    /// streams of its context that it does not know yet.
    pub(crate) fn clocks_of_tail(&self, handle: CUstream) -> Vec<Clock> {
        let Some(stream) = self.streams.get(&handle).filter(|_| self.checks.on) else { return Vec::new() };
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
        let Some(context) = self.contexts.get(&context).filter(|_| self.checks.on) else { return Vec::new() };
        let streams = context.streams.iter().filter_map(|stream| self.clock_of(*stream));
        streams.chain(context.ended.as_ref().map(Lane::clock)).collect()
    }

    /// A stream is about to be forgotten, since it is destroyed and drained. Whoever waits for its context later has waited
    /// for it too: when its work happened to run is the schedule's choice and orders nothing.
    pub(crate) fn remember_ended(&mut self, handle: CUstream) {
        let Some(clock) = self.clock_of(handle).filter(|_| self.checks.on) else { return };
        let State { streams, checks, contexts, .. } = self;
        let Some(stream) = streams.get(&handle) else { return };
        let Some(context) = contexts.get_mut(&stream.context) else { return };
        if checks.everybody_knows(&clock) {
            return;
        }
        let mut ended = vec![&mut context.ended];
        if stream.blocking() {
            ended.push(&mut context.ended_blocking);
        }
        for ended in ended {
            let lane = ended.get_or_insert_with(|| checks.new_lane(LaneKind::Internal, 0, None));
            if lane.learn(&clock, &checks.retired) {
                lane.advance();
            }
        }
    }

    /// Puts what an operation knows before the next operation of a stream.
    pub(crate) fn stream_learns(&mut self, handle: CUstream, clock: &Clock) {
        if !self.checks.on {
            return;
        }
        if let Some((lane, after, checks)) = self.lane_of(handle)
            && lane.number != clock.lane
            && lane.learn(clock, &checks.retired)
            && clock.ordinal != 0
        {
            after.push(clock.ordinal);
        }
    }

    /// The same for points that were given as dependencies. A point's clock is known as long as it is its stream's last.
    pub(crate) fn stream_learns_points(&mut self, handle: CUstream, points: &[Point]) {
        if !self.checks.on {
            return;
        }
        for point in points {
            let last = self.streams.get(&point.stream).is_some_and(|stream| stream.enqueued == point.operation);
            if let Some(clock) = self.clock_of(point.stream).filter(|_| last) {
                self.stream_learns(handle, &clock);
            }
        }
    }

    /// The calling thread has waited for these operations: everything it does from now on comes after them.
    pub(crate) fn host_learns(&mut self, clocks: Vec<Clock>) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        let (host, retired) = self.checks.host(caller.thread);
        let mut after = Vec::new();
        for clock in &clocks {
            if host.learn(clock, retired) && clock.ordinal != 0 {
                after.push(clock.ordinal);
            }
        }
        self.checks.host_operation(caller, after, Doing::Touches(Vec::new()));
        self.checks.retire();
        self.host_access.learned();
    }

    /// An operation that is being enqueued. Answers what whoever runs it has to hand back.
    pub(crate) fn issued(&mut self, handle: CUstream, work: &Work) -> Option<Box<Ticket>> {
        let mut caller = thread::caller().filter(|_| self.checks.on)?;
        if let Work::Launch(launch) = work {
            caller.detail = Some(launch.name().into());
        }
        let doing = self.doing(work);
        let (lane, after, checks) = self.lane_of(handle)?;
        let after = std::mem::take(after);
        let next = checks.operations + 1;
        // The host's lane and the stream's are needed side by side.
        let key = checks.host_key(caller.thread);
        checks.host(caller.thread);
        if let Some(host) = checks.hosts.get(&key) {
            lane.called_by(host, &checks.retired);
        }
        lane.last = next;
        let clock = lane.clock();
        let operation = checks.remember(clock.lane, caller, after, &doing);
        if let Work::Record(event) = work
            && let Some(event) = self.events.get_mut(event)
        {
            event.clock = Some(clock.clone());
        }
        let ticket = work
            .runs_the_programs_code()
            .then(|| Box::new(Ticket { operation: operation.clone(), clock: clock.clone() }));
        if let Doing::Create { block, .. } = &doing {
            block.made_by(operation.clone());
            self.checks.blocks.add(block.clone());
        }
        if let Doing::Release { block } = &doing {
            self.checks.blocks.end(block.address, operation.clone());
        }
        if self.host_access.watches() {
            match work {
                Work::Launch(launch) => self.watch_host_for(&launch.parameters, &operation, &clock),
                _ => self.watch_host(&doing.touches(), &operation, &clock),
            }
        }
        self.checks.check(Entry { operation, clock, doing });
        ticket
    }

    /// What work has touched that did not say so before it ran.
    pub(crate) fn ran(&mut self, ticket: &Ticket, touched: &[Touched]) {
        let (updates, touches): (Vec<_>, Vec<_>) =
            boxes(touched).into_iter().partition(|(_, touch)| *touch == Touch::Update);
        let deed = |touch| if touch == Touch::Read { Deed::Read } else { Deed::Write };
        let touches: Vec<_> = touches.into_iter().map(|(region, touch)| (region, deed(touch))).collect();
        if self.host_access.watches() {
            self.host_access.has_run(&ticket.operation);
            self.watch_host(&touches, &ticket.operation, &ticket.clock);
        }
        self.checks.resolve(ticket, touches, updates.into_iter().map(|(region, _)| region).collect());
    }

    /// What work does to memory.
    fn doing(&self, work: &Work) -> Doing {
        match work {
            Work::Copy(copy) => {
                let Copy { source, target, extent } = &**copy;
                let from = match source {
                    Source::Memory(place) => Some(Region::new(*place, *extent)),
                    Source::Staged(_) => None,
                };
                let exact = self.memory.find(target.address).is_none_or(|target| !target.kind.on_device());
                Doing::Copy { from, to: Region::new(*target, *extent), exact }
            }
            Work::Fill(fill) => {
                let Fill { target, extent, .. } = &**fill;
                Doing::Fill(Region::new(*target, *extent))
            }
            Work::Allocate { address, size } => {
                let allocation = self.memory.starting_at(*address);
                let device = allocation.map_or(0, |allocation| allocation.device as i32);
                let kind = allocation.map_or("pool", |allocation| allocation.kind.name());
                Doing::Create { block: Block::new(*address, *size, kind, device), written: false, ordered: true }
            }
            Work::Release { address } => match self.checks.blocks.at(*address) {
                Some(block) => Doing::Release { block: block.clone() },
                None => Doing::Touches(Vec::new()),
            },
            Work::Launch(_) => Doing::Unknown,
            Work::Wait | Work::Record(_) | Work::HostFunction(_) | Work::EndExec(_) => Doing::Touches(Vec::new()),
        }
    }

    /// Memory that the calling thread has allocated.
    pub(crate) fn allocated(&mut self, address: u64) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        let Some(allocation) = self.memory.starting_at(address) else { return };
        let block = Block::new(address, allocation.size, allocation.kind.name(), allocation.device as i32);
        // What the host can write, and what other processes have, may have been written unseen.
        let written = !matches!(allocation.kind, memory::Kind::Device);
        let doing = Doing::Create { block: block.clone(), written, ordered: false };
        let ticket = self.checks.host_operation(caller, Vec::new(), doing);
        block.made_by(ticket.operation);
        self.checks.blocks.add(block);
    }

    /// Memory that the calling thread releases without a stream, after what it knows.
    pub(crate) fn released(&mut self, address: u64) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        let Some(block) = self.checks.blocks.at(address).cloned() else { return };
        let doing = Doing::Release { block: block.clone() };
        let ticket = self.checks.host_operation(caller, Vec::new(), doing);
        self.checks.blocks.end(block.address, ticket.operation);
    }

    /// An access that the driver refuses, because it leaves its allocation or lies in none.
    pub(crate) fn refused(&mut self, deed: Deed, address: u64, length: u64) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        // Refused for another reason.
        if self.checks.blocks.at(address).is_some_and(|block| address.saturating_add(length) <= block.end()) {
            return;
        }
        let ticket = self.checks.host_operation(caller, Vec::new(), Doing::Touches(Vec::new()));
        self.checks.stray(Party::of(&ticket.operation, deed, Some(Range { address, length })), "");
    }

    /// A release that the driver refuses: a finding if the memory was released before.
    pub(crate) fn released_again(&mut self, address: u64) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        let gone = self.checks.blocks.gone_at(address, 1).map(|(block, _)| block);
        let Some(size) = gone.filter(|block| block.address == address).map(|block| block.size) else { return };
        let ticket = self.checks.host_operation(caller, Vec::new(), Doing::Touches(Vec::new()));
        self.checks.stray(Party::of(&ticket.operation, Deed::Release, Some(Range { address, length: size })), "");
    }

    /// An access that the driver refuses because of its alignment to `size` bytes.
    pub(crate) fn misaligned(&mut self, deed: Deed, address: u64, length: u64, size: u64) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        let ticket = self.checks.host_operation(caller, Vec::new(), Doing::Touches(Vec::new()));
        let party = Party::of(&ticket.operation, deed, Some(Range { address, length }));
        let missing = format!("use an address, and a pitch, that {size} divides");
        let range = Some((address, address.saturating_add(length)));
        self.checks.find(Kind::MisalignedAccess, range, None, vec![party], Some(missing));
    }

    /// An access of a launch that has failed: where in the kernel, and what more there is to say. `wrong` says what is wrong with an
    /// access to memory that is there, and what would have made it right.
    pub(crate) fn launch_failed(
        &mut self,
        ticket: &Ticket,
        (deed, bytes): (Deed, Range),
        wrong: Option<(Kind, String)>,
        place: KernelPlace,
        more: &str,
    ) {
        let party = Party { place: Some(place), ..Party::of(&ticket.operation, deed, Some(bytes)) };
        let Some((kind, missing)) = wrong else { return self.checks.stray(party, more) };
        let range = Some((bytes.address, bytes.address.saturating_add(bytes.length)));
        self.checks.find(kind, range, None, vec![party], Some(missing));
    }

    /// A stream, an event or a context that the calling thread makes.
    pub(crate) fn created(&mut self, kind: &'static str, handle: u64) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        let ticket = self.checks.host_operation(caller, Vec::new(), Doing::Touches(Vec::new()));
        self.checks.handles.add(kind, handle, ticket.operation);
    }

    /// A stream, an event or a context that the calling thread destroys.
    pub(crate) fn destroyed(&mut self, kind: &'static str, handle: u64) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        let ticket = self.checks.host_operation(caller, Vec::new(), Doing::Touches(Vec::new()));
        self.checks.handles.end(kind, handle, ticket.operation);
    }

    /// A call that was refused for a handle: a finding if that was destroyed.
    pub(crate) fn refused_handle(&mut self, handle: u64) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        let Some((kind, by)) = self.checks.handles.gone(handle).cloned() else { return };
        let ticket = self.checks.host_operation(caller, Vec::new(), Doing::Touches(Vec::new()));
        let parties = vec![Party::naming(&by, Deed::Release), Party::naming(&ticket.operation, Deed::Use)];
        let missing = format!("keep the {kind} until the last call that names it");
        self.checks.find(Kind::DestroyedHandle, None, Some(Object { kind, handle }), parties, Some(missing));
    }

    /// The call of this thread as an operation, for what may be found wrong with it later.
    pub(crate) fn noted(&mut self) -> Option<Arc<Operation>> {
        let caller = thread::caller().filter(|_| self.checks.on)?;
        Some(self.checks.host_operation(caller, Vec::new(), Doing::Touches(Vec::new())).operation)
    }

    /// A call that waits for, or asks after, work that is only being captured; the capture's begin is named, if it is in progress.
    pub(crate) fn captured_synchronized(&mut self, kind: &'static str, handle: u64) {
        let Some(caller) = thread::caller().filter(|_| self.checks.on) else { return };
        let ticket = self.checks.host_operation(caller, Vec::new(), Doing::Touches(Vec::new()));
        let begun = self.refused_by.take().map(|begun| Party::naming(&begun, Deed::Use));
        let parties = begun.into_iter().chain([Party::naming(&ticket.operation, Deed::Synchronize)]).collect();
        let missing =
            "end the capture and launch its graph before waiting, or ask cuStreamIsCapturing first".to_owned();
        self.checks.find(Kind::CapturedStreamSynchronized, None, Some(Object { kind, handle }), parties, Some(missing));
    }

    /// A stream's lane ends with it, once everybody knows what it did.
    pub(crate) fn lane_ends(&mut self, lane: Option<&Lane>) {
        if let Some(lane) = lane {
            self.checks.dying.push((lane.number, lane.time));
        }
    }
}

impl Checks {
    /// A handle that is in use again: a primary context has the same one in all its lives.
    pub(crate) fn revive(&mut self, handle: u64) {
        self.handles.revive(handle);
    }

    /// Whether whatever the host does from now on comes after an operation.
    fn everybody_knows(&self, clock: &Clock) -> bool {
        !self.strict && self.hosts.values().next().is_some_and(|host| host.knows(clock.lane, clock.time, &self.retired))
    }

    /// Takes the lanes that have ended out of the vectors, where the host, and so whatever it calls from now on, knows all of them.
    fn retire(&mut self) {
        if self.strict || self.dying.len() < DYING || !self.queue.is_empty() {
            return;
        }
        let Checks { dying, hosts, retired, .. } = self;
        let Some(host) = hosts.values().next() else { return };
        let known: Vec<u32>;
        (known, *dying) = {
            let (known, left): (Vec<_>, Vec<_>) =
                std::mem::take(dying).into_iter().partition(|(lane, time)| host.knows(*lane, *time, retired));
            (known.into_iter().map(|(lane, _)| lane).collect(), left)
        };
        known.into_iter().for_each(|lane| retired.add(lane));
    }

    /// Everything that the calling thread has done comes before what a thread does after it has [taken](Checks::take) this.
    ///
    /// Several may hand over under one key, as with a lock: whoever takes comes after all of them.
    pub(crate) fn hand_over(&mut self, key: u64, thread: u64) {
        let (host, _) = self.host(thread);
        host.advance();
        let clock = host.clock();
        if !self.handed.contains_key(&key) {
            let lane = self.new_lane(LaneKind::Internal, key, None);
            self.handed.insert(key, lane);
        }
        if let Some(lane) = self.handed.get_mut(&key) {
            lane.learn(&clock, &self.retired);
            lane.advance();
        }
    }

    /// What the calling thread does from now on comes after what was [handed over](Checks::hand_over) under this key.
    pub(crate) fn take(&mut self, key: u64, thread: u64) {
        let Some(clock) = self.handed.get(&key).map(Lane::clock) else { return };
        let (host, retired) = self.host(thread);
        host.learn(&clock, retired);
        host.advance();
    }
}
