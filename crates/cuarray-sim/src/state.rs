//! The whole state of a driver, behind one lock.
//!
//! A call takes the lock once. Code that runs a host function releases it first.

use crate::error_log::ErrorLog;
use crate::handle::Table;
use crate::host_access::HostAccess;
use crate::objects::allocation::{Kind, Memory};
use crate::objects::array::Arrays;
use crate::objects::capturing::{Captures, Recaptured};
use crate::objects::code::{Code, Link};
use crate::objects::context::Context;
use crate::objects::coredump::Coredump;
use crate::objects::device::Device;
use crate::objects::event::{Event, Published};
use crate::objects::exported::Unwaited;
use crate::objects::graph_data::{Condition, Exec, Graph, INVALID_VALUE, Node, Owner, UserObject};
use crate::objects::green_context::{GreenContext, GreenContexts, Scope};
use crate::objects::host_function::HostFunction;
use crate::objects::memory_operation::Publications;
use crate::objects::physical::Physical;
use crate::objects::point::Point;
use crate::objects::pool::{Place, PlacePools, Pool};
use crate::objects::running::Running;
use crate::objects::stream::{Kind as StreamKind, Stream};
use crate::objects::texture::Textures;
use crate::objects::upload::Upload;
use crate::objects::work::{Accesses, Work};
use crate::pages::arena::Arena;
use crate::pages::reservation::Reservation;
use crate::schedule::mode::Mode;
use crate::trace::timeline::Timeline;
use cuarray_abi::*;
use cuarray_races::{Detector, Lane, Operation, Ticket};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Executes work that runs no code of the program; returns the accesses that were not known before.
pub(crate) type Execute = fn(&mut State, Work, Point, Option<&Ticket>) -> Accesses;

/// The state of one driver.
pub(crate) struct State {
    /// The devices by ordinal; empty until `cuInit`.
    pub devices: Vec<Device>,
    pub contexts: Table<CUcontext, Context>,
    pub green_contexts: GreenContexts,
    pub streams: Table<CUstream, Stream>,
    pub events: Table<CUevent, Event>,
    pub pools: HashMap<CUmemoryPool, Pool>,
    /// The default and the current pools of places that were asked for.
    pub place_pools: HashMap<Place, PlacePools>,
    /// Pending links.
    pub links: HashMap<CUlinkState, Link>,
    /// Loaded modules and libraries.
    pub code: Code,
    pub captures: Captures,
    /// The operation that began the capture for which a call was last refused.
    pub refused_by: Option<Arc<Operation>>,
    /// The nodes that the calls in progress have captured again with other parameters, and whether there are any; read without
    /// the lock.
    pub recaptured: Vec<Recaptured>,
    pub has_recaptured: Arc<AtomicBool>,
    pub graphs: HashMap<CUgraph, Graph>,
    pub graph_nodes: HashMap<CUgraphNode, Node>,
    pub graph_execs: HashMap<CUgraphExec, Exec>,
    pub conditions: HashMap<CUgraphConditionalHandle, Condition>,
    pub user_objects: HashMap<CUuserObject, UserObject>,
    /// The pending callbacks of user objects without references.
    pub dead_objects: Vec<HostFunction>,
    // Declared before the memory that it watches, so that it is dropped first.
    pub host_access: HostAccess,
    /// Whether the host may write device memory unseen, so that no memory counts as unwritten.
    pub host_writes_devices: bool,
    /// Whether devices access the program's own memory.
    pub pageable_memory: bool,
    /// The messages about failed calls and failed work.
    pub log: Arc<ErrorLog>,
    /// The settings of core dumps for all contexts.
    pub coredump: Coredump,
    /// The registered receivers of notifications, by their device.
    pub notifications: HashMap<CUasyncCallbackHandle, CUdevice>,
    /// Whether messages about failed work are suppressed.
    pub quiet: bool,
    /// The maximum number of instructions of a launch, and of the loops of a conditional node.
    pub launch_budget: u64,
    /// The timeline to which executed work is written.
    pub timeline: Option<Arc<Timeline>>,
    pub memory: Memory,
    pub arrays: Arrays,
    pub textures: Textures,
    /// The ranges of `cuMemAddressReserve` by their first address.
    pub reservations: BTreeMap<u64, Reservation>,
    /// The physical memory of `cuMemCreate` and of imports.
    pub physical: BTreeMap<CUmemGenericAllocationHandle, Physical>,
    /// The schedule and its state.
    pub mode: Mode,
    /// The order of operations, and the findings.
    pub detector: Detector,
    /// Host functions that are running, while findings are on.
    pub running: Vec<Running>,
    /// Host functions that are enqueued and have not returned.
    pub host_functions: usize,
    /// Waits for words of memory that are enqueued and have not ended.
    pub memory_waits: usize,
    /// The words that stream memory operations have written.
    pub publications: Publications,
    /// The accesses of the host that libraries have reported, and that last.
    pub requests: HashMap<u64, Lane>,
    /// Whether a library has reported accesses of the host to device memory.
    pub host_accesses_reported: bool,
    /// Copies of graphs from pageable memory that the host has not waited for.
    pub uploads: Vec<Upload>,
    /// Whether a query has found a pending host function, which should then run soon.
    pub host_function_wanted: bool,
    /// Whether the progress thread is running.
    pub progress_thread: bool,
    /// Whether the queue of a stream is full; read without the lock.
    pub crowded: Arc<AtomicBool>,
    /// The pending records of shared events, and whether the thread that serves them is running.
    pub published: Vec<Published>,
    /// The exports that wait for pending work.
    pub unwaited_exports: Vec<Unwaited>,
    pub service_thread: bool,
    /// The effects of work. The code that enqueues work knows them, and stands above its execution.
    pub execute: Execute,
    /// The time of the devices in nanoseconds.
    time: u64,
}

impl State {
    pub(crate) fn new(mode: Mode, detector: Detector, host_access: HostAccess, execute: Execute) -> State {
        State {
            devices: Vec::new(),
            contexts: Table::default(),
            green_contexts: GreenContexts::default(),
            streams: Table::default(),
            events: Table::default(),
            pools: HashMap::new(),
            place_pools: HashMap::new(),
            links: HashMap::new(),
            code: Code::default(),
            captures: Captures::new(),
            refused_by: None,
            recaptured: Vec::new(),
            has_recaptured: Arc::default(),
            graphs: HashMap::new(),
            graph_nodes: HashMap::new(),
            graph_execs: HashMap::new(),
            conditions: HashMap::new(),
            user_objects: HashMap::new(),
            dead_objects: Vec::new(),
            memory: Memory::default(),
            arrays: Arrays::default(),
            textures: Textures::default(),
            reservations: BTreeMap::new(),
            physical: BTreeMap::new(),
            mode,
            detector,
            host_access,
            host_writes_devices: false,
            pageable_memory: false,
            log: Arc::default(),
            coredump: Coredump::default(),
            notifications: HashMap::new(),
            quiet: false,
            launch_budget: u64::MAX,
            timeline: None,
            running: Vec::new(),
            host_functions: 0,
            memory_waits: 0,
            publications: Publications::default(),
            requests: HashMap::new(),
            host_accesses_reported: false,
            uploads: Vec::new(),
            host_function_wanted: false,
            progress_thread: false,
            crowded: Arc::default(),
            published: Vec::new(),
            unwaited_exports: Vec::new(),
            service_thread: false,
            execute,
            time: 0,
        }
    }

    /// The time of the devices in nanoseconds. Only executed work advances it.
    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    /// Advances the time of the devices.
    pub(crate) fn time_passes(&mut self, nanoseconds: u64) {
        self.time = self.time.saturating_add(nanoseconds);
    }

    /// The time of an event; every result is greater than the previous one.
    pub(crate) fn stamp(&mut self) -> u64 {
        self.time_passes(1);
        self.time
    }

    /// The device with an ordinal.
    pub(crate) fn device(&self, ordinal: CUdevice) -> Result<&Device, CUresult> {
        let device = usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get(ordinal));
        device.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    /// The device with an ordinal.
    pub(crate) fn device_mut(&mut self, ordinal: CUdevice) -> Result<&mut Device, CUresult> {
        let device = usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get_mut(ordinal));
        device.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    /// The context of a handle that a program passed; for that of a green context, the primary context.
    pub(crate) fn context(&self, handle: CUcontext) -> Result<&Context, CUresult> {
        let context = self.scope(handle)?.context;
        self.contexts.get(&context).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
    }

    /// The context of a handle that a program passed; for that of a green context, the primary context.
    pub(crate) fn context_mut(&mut self, handle: CUcontext) -> Result<&mut Context, CUresult> {
        let context = self.scope(handle)?.context;
        self.contexts.get_mut(&context).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
    }

    /// The streams of a handle that a program passed: those of the context, or of the green context that it stands for.
    pub(crate) fn scope(&self, handle: CUcontext) -> Result<Scope, CUresult> {
        if self.contexts.get(&handle).is_some_and(|context| context.active) {
            return Ok(handle.into());
        }
        let green = self.green_contexts.of_context(handle).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
        self.green_scope(green)
    }

    /// The green context of a handle that a program passed.
    pub(crate) fn green(&self, handle: CUgreenCtx) -> Result<&GreenContext, CUresult> {
        self.green_contexts.table.get(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
    }

    /// The streams of a green context.
    pub(crate) fn green_scope(&self, handle: CUgreenCtx) -> Result<Scope, CUresult> {
        Ok(Scope { context: self.green(handle)?.primary, green: Some(handle) })
    }

    /// Adds a stream to a context or a green context. By the runtime's manual, the streams of a green context do not block.
    pub(crate) fn add_stream(&mut self, handle: CUstream, scope: Scope, stream: Stream) -> Result<(), CUresult> {
        self.context_mut(scope.context)?.streams.insert(handle);
        let flags = if scope.green.is_some() { CU_STREAM_NON_BLOCKING } else { stream.flags };
        self.streams.insert(handle, Stream { green: scope.green, flags, ..stream });
        Ok(())
    }

    /// The stream of a handle of `cuStreamCreate` that a program passed.
    pub(crate) fn created_stream(&self, handle: CUstream) -> Result<&Stream, CUresult> {
        let stream = self.streams.get(&handle).filter(|stream| stream.kind == StreamKind::Created && !stream.destroyed);
        stream.ok_or(match self.green_contexts.detached.contains(&handle) {
            true => CUresult::CUDA_ERROR_STREAM_DETACHED,
            false => CUresult::CUDA_ERROR_INVALID_HANDLE,
        })
    }

    /// Marks a context as failed: its later calls return `code`, and no more work is executed.
    pub(crate) fn fail_context(&mut self, handle: CUcontext, code: CUresult) {
        if let Some(context) = self.contexts.get_mut(&handle) {
            context.failed = Some(code);
            self.code.failed.store(true, Ordering::Relaxed);
        }
    }

    /// The event of a handle that a program passed.
    pub(crate) fn event(&self, handle: CUevent) -> Result<&Event, CUresult> {
        self.events.get(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    }

    /// The graph of a handle that a program passed.
    pub(crate) fn graph(&self, handle: CUgraph) -> Result<&Graph, CUresult> {
        self.graphs.get(&handle).filter(|graph| graph.owner != Owner::Exec).ok_or(INVALID_VALUE)
    }

    /// The graph of a handle that a program passed.
    pub(crate) fn graph_mut(&mut self, handle: CUgraph) -> Result<&mut Graph, CUresult> {
        self.graphs.get_mut(&handle).filter(|graph| graph.owner != Owner::Exec).ok_or(INVALID_VALUE)
    }

    /// The node of a handle that a program passed.
    pub(crate) fn node(&self, handle: CUgraphNode) -> Result<&Node, CUresult> {
        self.graph_nodes.get(&handle).ok_or(INVALID_VALUE)
    }

    /// The executable graph of a handle that a program passed.
    pub(crate) fn exec(&self, handle: CUgraphExec) -> Result<&Exec, CUresult> {
        self.graph_execs.get(&handle).filter(|exec| !exec.destroyed).ok_or(INVALID_VALUE)
    }

    /// The executable graph of a handle that a program passed.
    pub(crate) fn exec_mut(&mut self, handle: CUgraphExec) -> Result<&mut Exec, CUresult> {
        self.graph_execs.get_mut(&handle).filter(|exec| !exec.destroyed).ok_or(INVALID_VALUE)
    }

    /// The pool of a handle that a program passed.
    pub(crate) fn pool(&mut self, handle: CUmemoryPool) -> Result<&mut Pool, CUresult> {
        self.pools.get_mut(&handle).filter(|pool| !pool.destroyed).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// Whether a point has happened.
    pub(crate) fn happened(&self, point: Point) -> bool {
        self.streams.get(&point.stream).is_none_or(|stream| stream.executed >= point.operation)
    }

    /// The arena that holds `address`.
    pub(crate) fn arena_of(&self, address: u64) -> Option<&Arena> {
        self.devices.iter().map(|device| &device.arena).find(|arena| arena.holds(address))
    }

    /// Whether `address` is not one of memory that the driver knows.
    pub(crate) fn is_pageable(&self, address: u64) -> bool {
        self.memory.holding(address).is_none() && self.arena_of(address).is_none()
    }

    /// The reservation that holds `address`.
    pub(crate) fn reservation_of(&self, address: u64) -> Option<&Reservation> {
        let (_, reservation) = self.reservations.range(..=address).next_back()?;
        reservation.holds(address).then_some(reservation)
    }

    /// The driver's address of the byte at `address`.
    pub(crate) fn host_address(&self, address: u64) -> u64 {
        if let Some(arena) = self.arena_of(address) {
            return arena.shadow_of(address);
        }
        // Work that was enqueued before a release still uses the memory.
        let Some(allocation) = self.memory.holding(address) else { return address };
        match &allocation.kind {
            Kind::Imported(imported) => imported.shadow_of(address),
            Kind::Mapped(mapping) => mapping.shadow + (address - allocation.address),
            kind => kind.pages().map_or(address, |pages| pages.shadow_of(address)),
        }
    }
}
