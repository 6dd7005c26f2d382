//! Everything that a driver remembers, behind one lock.
//!
//! A call takes the lock once. Whatever runs foreign code (a host function) lets go of it first.

use crate::capture::Captures;
use crate::code::{Code, Link};
use crate::context::Context;
use crate::device::Device;
use crate::event::Event;
use crate::graph::{Exec, Graph, Node, UserObject};
use crate::handle::Table;
use crate::happens_before::Running;
use crate::host_access::HostAccess;
use crate::memory::Memory;
use crate::pool::Pool;
use crate::schedule::HostFunction;
use crate::schedule::chosen::Mode;
use crate::stream::Stream;
use cuarray_abi::*;
use cuarray_races::{Detector, Operation};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The state of one driver.
pub(crate) struct State {
    /// In the order of their ordinals; empty until `cuInit`.
    pub devices: Vec<Device>,
    pub contexts: Table<CUcontext, Context>,
    pub streams: Table<CUstream, Stream>,
    pub events: Table<CUevent, Event>,
    pub pools: HashMap<CUmemoryPool, Pool>,
    /// Pending links.
    pub links: HashMap<CUlinkState, Link>,
    /// Loaded modules and libraries.
    pub code: Code,
    pub captures: Captures,
    /// The begin of the capture that a call was last refused for.
    pub refused_by: Option<Arc<Operation>>,
    pub graphs: HashMap<CUgraph, Graph>,
    pub graph_nodes: HashMap<CUgraphNode, Node>,
    pub graph_execs: HashMap<CUgraphExec, Exec>,
    pub user_objects: HashMap<CUuserObject, UserObject>,
    /// The callbacks of user objects that nothing refers to any more, still to be made.
    pub dead_objects: Vec<HostFunction>,
    /// In front of the memory that it watches, so that it goes first.
    pub host_access: HostAccess,
    pub memory: Memory,
    /// The schedule, and what it remembers.
    pub mode: Mode,
    /// What comes before what, and what is wrong with the program.
    pub detector: Detector,
    /// Host functions that are running, while findings are on.
    pub running: Vec<Running>,
    /// Host functions that are enqueued and have not returned.
    pub host_functions: usize,
    /// Whether a query has met one of them, so that it should run soon.
    pub host_function_wanted: bool,
    /// Whether the thread that runs forgotten host functions is there.
    pub progress_thread: bool,
    started: Instant,
    last_stamp: u64,
}

impl State {
    pub(crate) fn new(mode: Mode, detector: Detector, host_access: HostAccess) -> State {
        State {
            devices: Vec::new(),
            contexts: Table::default(),
            streams: Table::default(),
            events: Table::default(),
            pools: HashMap::new(),
            links: HashMap::new(),
            code: Code::default(),
            captures: Captures::new(),
            refused_by: None,
            graphs: HashMap::new(),
            graph_nodes: HashMap::new(),
            graph_execs: HashMap::new(),
            user_objects: HashMap::new(),
            dead_objects: Vec::new(),
            memory: Memory::default(),
            mode,
            detector,
            host_access,
            running: Vec::new(),
            host_functions: 0,
            host_function_wanted: false,
            progress_thread: false,
            started: Instant::now(),
            last_stamp: 0,
        }
    }

    /// Nanoseconds since the driver started; every answer is greater than the one before.
    pub(crate) fn stamp(&mut self) -> u64 {
        let now = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last_stamp = now.max(self.last_stamp + 1);
        self.last_stamp
    }

    /// The device of an ordinal.
    pub(crate) fn device(&self, ordinal: CUdevice) -> Result<&Device, CUresult> {
        let device = usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get(ordinal));
        device.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    /// The device of an ordinal.
    pub(crate) fn device_mut(&mut self, ordinal: CUdevice) -> Result<&mut Device, CUresult> {
        let device = usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get_mut(ordinal));
        device.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    /// The context of a handle that a program passed.
    pub(crate) fn context(&self, handle: CUcontext) -> Result<&Context, CUresult> {
        self.contexts.get(&handle).filter(|context| context.active).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
    }

    /// The context of a handle that a program passed.
    pub(crate) fn context_mut(&mut self, handle: CUcontext) -> Result<&mut Context, CUresult> {
        let context = self.contexts.get_mut(&handle).filter(|context| context.active);
        context.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
    }

    /// The event of a handle that a program passed.
    pub(crate) fn event(&self, handle: CUevent) -> Result<&Event, CUresult> {
        self.events.get(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    }
}
