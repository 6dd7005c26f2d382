//! Work in streams: what is enqueued.

use crate::objects::copy::{Copy, Fill};
use crate::objects::event::Remote;
use crate::objects::graph_data::Run;
use crate::objects::host_function::HostFunction;
use crate::objects::launch::Launch;
use crate::objects::memory_operation::MemoryOperation;
use crate::objects::point::Point;
use crate::trace::timeline::Origin;
use cuarray_abi::*;
use cuarray_races::{Clock, Ticket, Touched};
use std::sync::Arc;

/// The work of an operation.
pub(crate) enum Work {
    /// No work besides waiting for its dependencies.
    Wait,
    Copy(Box<Copy>),
    Fill(Box<Fill>),
    Record(CUevent),
    /// A stream-ordered allocation. The program may use the memory only after it.
    Allocate {
        address: u64,
        size: u64,
    },
    /// A stream-ordered release.
    Release {
        address: u64,
    },
    HostFunction(HostFunction),
    /// Waits for a record that another process has made.
    Await(Remote),
    /// A kernel.
    Launch(Arc<Launch>),
    /// A conditional node of a graph.
    Condition(Box<Run>),
    /// Sets conditions to the values that a launch of their graph begins with.
    Assign(Box<[(CUgraphConditionalHandle, u32)]>),
    /// A stream memory operation.
    Memory(MemoryOperation),
    /// The end of an executable graph that was destroyed while a launch was pending.
    EndExec(CUgraphExec),
}

impl Work {
    /// Whether other work and the program can observe only the completion of the work.
    pub(crate) fn is_silent(&self) -> bool {
        match self {
            Work::Wait | Work::Record(_) | Work::Assign(_) | Work::EndExec(_) => true,
            Work::Memory(operation) => !operation.writes(),
            Work::Await(remote) => remote.is_done(),
            _ => false,
        }
    }

    /// Whether the work needs code of the program, or another process, to come to its end.
    pub(crate) fn depends_on_others(&self) -> bool {
        match self {
            Work::HostFunction(function) => function.is_of_program(),
            Work::Await(remote) => !remote.is_done(),
            _ => false,
        }
    }

    /// Whether the accesses of the work, or the work that it follows, are known only at run time.
    pub(crate) fn is_known_at_run_time(&self) -> bool {
        matches!(self, Work::HostFunction(_) | Work::Launch(_) | Work::Condition(_) | Work::Memory(_))
    }
}

/// The accesses of work that were not known before it ran.
#[derive(Default)]
pub(crate) struct Accesses {
    /// The accesses of a dependent launch before it waited for the previous kernel.
    pub before_wait: Vec<Touched>,
    pub touched: Vec<Touched>,
    /// For a wait for a word of memory: the clocks of the operations that ended it.
    pub ended_by: Option<Vec<Clock>>,
}

/// An operation of a stream.
pub(crate) struct Operation {
    pub work: Work,
    /// The points that must happen before the operation, besides the earlier operations of its stream.
    pub after: Vec<Point>,
    /// The operation's clock, for the program's code that runs in it.
    pub ticket: Option<Box<Ticket>>,
    /// The call that enqueued the operation, while a timeline is written.
    pub origin: Option<Arc<Origin>>,
}
