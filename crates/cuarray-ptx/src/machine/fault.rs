//! Failures of a launch.

use super::waiting::WaitingThreads;

/// The reason why a launch failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// An access outside all regions.
    IllegalAddress,
    /// An access whose address is not a multiple of its size.
    Misaligned,
    /// A write to a read-only region.
    ReadOnly,
    /// An access to the shared memory of a block of the cluster that has ended.
    BlockEnded,
    /// The `trap` instruction.
    Trap,
    /// A failed assertion.
    Assert,
    /// A stack overflow in a thread.
    Stack,
    /// An indirect call or jump to an address without matching code.
    InvalidProgramCounter,
    /// Threads that wait for each other.
    Deadlock,
    /// Threads that wait for work that does not run before the launch has ended.
    OtherWork,
    /// The instruction budget is exhausted.
    Budget,
    /// The service has ended the launch because of its time.
    TimeLimit,
    /// The service has ended the launch because the host was interrupted.
    Interrupted,
    /// A texture or surface instruction whose handle, in `address`, has no such object.
    NoTexture,
    /// A texture or surface instruction for other dimensions than those of the object, whose handle is in `address`.
    OtherGeometry,
    /// A surface instruction with `.trap` outside of its surface, whose handle is in `address`.
    OutsideSurface,
    /// `brkpt`, or another instruction that ends a launch.
    IllegalInstruction,
}

/// A failed launch: the reason and the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The reason.
    pub kind: FaultKind,
    /// The number of the instruction, for [`Program::location`](crate::Program::location).
    pub pc: u32,
    /// The index of the block in the grid.
    pub block: [u32; 3],
    /// The index of the thread in the block.
    pub thread: [u32; 3],
    /// The address of the failed access.
    pub address: u64,
    /// The size of the failed access in bytes.
    pub size: u32,
    /// Whether the failed access is a write.
    pub write: bool,
    /// The threads that had not ended, if the launch did [not end](Fault::is_hang).
    pub waiting: Vec<WaitingThreads>,
    /// The progress of the launch, if it did not end.
    pub progress: Progress,
}

/// The threads and blocks of a launch that had ended or started when it was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// The threads of started blocks that had ended.
    pub ended: u64,
    /// Those of them that had ended beyond the number that had ended in each block.
    pub ended_early: u64,
    /// The blocks whose threads had all ended.
    pub ended_blocks: u64,
    /// The blocks that could not start, because others wait.
    pub not_started: u64,
}
