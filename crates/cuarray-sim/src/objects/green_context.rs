//! Green contexts: parts of a device's resources, with streams of their own in the device's primary context.
//!
//! Memory, code and events belong to the primary context. A stream belongs to the primary context too, and states its
//! green context.

use crate::objects::stream::Stream;
use cuarray_abi::*;
use cuarray_races::Lane;
use std::collections::{HashMap, HashSet};

/// The resources of a device, or a part of them.
#[derive(Clone, Copy)]
pub(crate) struct Resources {
    pub device: usize,
    pub sm: CUdevSmResource,
    pub config: CUdevWorkqueueConfigResource,
    /// The number of the work queues; those of the device are number 0.
    pub workqueue: u32,
}

/// One green context.
pub(crate) struct GreenContext {
    pub primary: CUcontext,
    /// The handle of `cuCtxFromGreenCtx`.
    pub context: CUcontext,
    /// `cuGreenCtxGetId`: unique in the process, also among contexts.
    pub id: u64,
    pub resources: Resources,
    pub default_stream: Option<CUstream>,
    /// The clocks of streams that have ended, which a wait for the green context joins.
    pub ended: Option<Lane>,
}

/// The green contexts of a driver.
#[derive(Default)]
pub(crate) struct GreenContexts {
    pub table: HashMap<CUgreenCtx, GreenContext>,
    /// The descriptions of `cuDevResourceGenerateDesc`, which last as long as the driver.
    pub descriptions: HashMap<CUdevResourceDesc, Resources>,
    /// The streams whose green context was destroyed before them.
    pub detached: HashSet<CUstream>,
    /// The number of the last split, and that of the last work queues.
    pub splits: u32,
    pub workqueues: u32,
}

impl GreenContexts {
    /// The green context that a handle of `cuCtxFromGreenCtx` stands for.
    pub(crate) fn of_context(&self, context: CUcontext) -> Option<CUgreenCtx> {
        self.table.iter().find(|(_, green)| green.context == context).map(|(handle, _)| *handle)
    }
}

/// The streams that a call for a whole context concerns: those of a context with its green contexts, or of one green context.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    /// The context that owns the streams.
    pub context: CUcontext,
    pub green: Option<CUgreenCtx>,
}

impl From<CUcontext> for Scope {
    fn from(context: CUcontext) -> Scope {
        Scope { context, green: None }
    }
}

impl Scope {
    pub(crate) fn holds(self, stream: &Stream) -> bool {
        stream.context == self.context && (self.green.is_none() || stream.green == self.green)
    }
}
