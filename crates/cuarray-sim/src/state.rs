//! The whole state of a driver, behind one lock.
//!
//! A call takes the lock once. Code that runs a host function releases it first.

use crate::handle::Table;
use crate::host_access::HostAccess;
use crate::objects::allocation::Memory;
use crate::objects::capturing::Captures;
use crate::objects::code::{Code, Link};
use crate::objects::context::Context;
use crate::objects::device::Device;
use crate::objects::event::Event;
use crate::objects::graph::{Exec, Graph, Node, UserObject};
use crate::objects::mode::Mode;
use crate::objects::pool::Pool;
use crate::objects::running::Running;
use crate::objects::stream::Stream;
use crate::objects::work::HostFunction;
use cuarray_abi::*;
use cuarray_races::{Detector, Operation};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The state of one driver.
pub(crate) struct State {
    /// The devices by ordinal; empty until `cuInit`.
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
    /// The operation that began the capture for which a call was last refused.
    pub refused_by: Option<Arc<Operation>>,
    pub graphs: HashMap<CUgraph, Graph>,
    pub graph_nodes: HashMap<CUgraphNode, Node>,
    pub graph_execs: HashMap<CUgraphExec, Exec>,
    pub user_objects: HashMap<CUuserObject, UserObject>,
    /// The pending callbacks of user objects without references.
    pub dead_objects: Vec<HostFunction>,
    // Declared before the memory that it watches, so that it is dropped first.
    pub host_access: HostAccess,
    pub memory: Memory,
    /// The schedule and its state.
    pub mode: Mode,
    /// The order of operations, and the findings.
    pub detector: Detector,
    /// Host functions that are running, while findings are on.
    pub running: Vec<Running>,
    /// Host functions that are enqueued and have not returned.
    pub host_functions: usize,
    /// Whether a query has found a pending host function, which should then run soon.
    pub host_function_wanted: bool,
    /// Whether the progress thread is running.
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

    /// Nanoseconds since the driver started; every result is greater than the previous one.
    pub(crate) fn stamp(&mut self) -> u64 {
        let now = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last_stamp = now.max(self.last_stamp + 1);
        self.last_stamp
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
