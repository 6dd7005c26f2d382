//! What a driver has found wrong with the program, and the history in which it happened: plain data.
//!
//! A [`Finding`] names one or two [`Side`]s, the bytes they met in, the allocation of those bytes, and the edge that would
//! have ordered them. A [`Report`] is all findings together with the operations that the driver still remembers, so that
//! a reader, or a picture, can show what lay between. Nothing here computes anything; `docs/reference/findings.md` describes the
//! JSON that [`Report::json`] writes.

use crate::site::Site;
use std::fmt;
use std::sync::Arc;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Two accesses to the same bytes, at least one of them a write, that nothing orders.
    DataRace,
    /// The same between two threads of one launch of a kernel.
    KernelRace,
    /// An access to memory after its release.
    UseAfterFree,
    /// An access to stream-ordered memory that is not ordered after its allocation.
    UseBeforeAllocation,
    /// A release that is not ordered after an access.
    FreeBeforePendingWork,
    /// A read of bytes that nothing has written.
    UninitializedRead,
    /// An access that leaves its allocation, or lies in none.
    OutOfBounds,
    /// An access at an address that its element size does not divide.
    MisalignedAccess,
    /// A call that names a stream, an event or a context that was destroyed.
    DestroyedHandle,
    /// A synchronization with a stream, or with an event of a stream, that is capturing.
    CapturedStreamSynchronized,
    /// What is still there when the program ends.
    Leak,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 11] = [
        Kind::DataRace,
        Kind::KernelRace,
        Kind::UseAfterFree,
        Kind::UseBeforeAllocation,
        Kind::FreeBeforePendingWork,
        Kind::UninitializedRead,
        Kind::OutOfBounds,
        Kind::MisalignedAccess,
        Kind::DestroyedHandle,
        Kind::CapturedStreamSynchronized,
        Kind::Leak,
    ];

    /// A name that does not change from version to version.
    ///
    /// ```
    /// assert_eq!(cuarray_sim::finding::Kind::DataRace.name(), "data-race");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Kind::DataRace => "data-race",
            Kind::KernelRace => "kernel-race",
            Kind::UseAfterFree => "use-after-free",
            Kind::UseBeforeAllocation => "use-before-allocation",
            Kind::FreeBeforePendingWork => "free-before-pending-work",
            Kind::UninitializedRead => "uninitialized-read",
            Kind::OutOfBounds => "out-of-bounds",
            Kind::MisalignedAccess => "misaligned-access",
            Kind::DestroyedHandle => "destroyed-handle",
            Kind::CapturedStreamSynchronized => "captured-stream-synchronized",
            Kind::Leak => "leak",
        }
    }
}

/// What an operation does with memory or with a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// Reads bytes.
    Read,
    /// Writes bytes.
    Write,
    /// Makes an allocation, a stream, an event or a context.
    Create,
    /// Ends one: frees or destroys it.
    Release,
    /// Names a handle without touching memory.
    Use,
    /// Waits for it.
    Synchronize,
}

impl Deed {
    /// A name that does not change from version to version.
    pub fn name(self) -> &'static str {
        match self {
            Deed::Read => "read",
            Deed::Write => "write",
            Deed::Create => "create",
            Deed::Release => "release",
            Deed::Use => "use",
            Deed::Synchronize => "synchronize",
        }
    }
}

/// Which kind of lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneKind {
    /// A host thread.
    Host,
    /// The legacy default stream of a context.
    Legacy,
    /// The default stream of a host thread.
    PerThread,
    /// A stream that the program made and that waits for the legacy default stream.
    Blocking,
    /// A stream that the program made with `CU_STREAM_NON_BLOCKING`.
    NonBlocking,
    /// A stream of the driver's own: a branch of a graph.
    Internal,
}

impl LaneKind {
    /// A name that does not change from version to version.
    pub fn name(self) -> &'static str {
        match self {
            LaneKind::Host => "host",
            LaneKind::Legacy => "legacy",
            LaneKind::PerThread => "per-thread",
            LaneKind::Blocking => "blocking",
            LaneKind::NonBlocking => "non-blocking",
            LaneKind::Internal => "internal",
        }
    }
}

/// What does one thing after the other: a stream or a host thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Which of the lanes of the report; counted from 0 in the order of their first operations.
    pub number: u32,
    /// What it is.
    pub kind: LaneKind,
    /// The stream's handle, or the number of the host thread.
    pub handle: u64,
    /// The ordinal of the device of the stream's context; `None` for host threads.
    pub device: Option<i32>,
    /// How reports call it: `stream 2 (non-blocking)`, `host thread 1`.
    pub name: String,
}

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first byte's address.
    pub address: u64,
    /// How many bytes.
    pub length: u64,
}

/// The allocation in which a finding's bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Its first byte.
    pub address: u64,
    /// Its size in bytes, as asked for.
    pub size: u64,
    /// `device`, `pool`, `pinned`, `registered`, `managed` or `imported`.
    pub kind: &'static str,
    /// The ordinal of its device.
    pub device: i32,
    /// The call that made it.
    pub call: &'static str,
    /// Where that call came from.
    pub site: Arc<Site>,
    /// That call's place in the history.
    pub ordinal: u64,
}

/// A handle that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// `stream`, `event` or `context`.
    pub kind: &'static str,
    /// Its handle.
    pub handle: u64,
}

/// A variable of a kernel's module in which a finding's bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the PTX; `None` for dynamic shared memory.
    pub name: Option<String>,
    /// `shared` or `global`.
    pub space: &'static str,
    /// The first of the bytes, counted from its start.
    pub offset: u64,
}

/// Where in a kernel an access was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPlace {
    /// The index of the block in the grid, and of the thread in the block.
    pub block: [u32; 3],
    /// See `block`.
    pub thread: [u32; 3],
    /// Whether it was an atomic operation.
    pub atomic: bool,
    /// The line of the source, if the PTX tells it (`.loc`).
    pub source: Option<SourceLine>,
    /// The line of the PTX, counted from 1; `None` where it is not known.
    pub ptx_line: Option<u32>,
}

/// A line of a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// The file as the PTX names it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

/// `thread (3, 0, 0) of block (0, 0, 0), at kernel.cu:12, line 40 of the PTX`.
impl fmt::Display for KernelPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], [i, j, k]) = (self.block, self.thread);
        write!(out, "thread ({i}, {j}, {k}) of block ({x}, {y}, {z})")?;
        if let Some(SourceLine { file, line }) = &self.source {
            write!(out, ", at {file}:{line}")?;
        }
        if let Some(line) = self.ptx_line {
            write!(out, ", line {line} of the PTX")?;
        }
        Ok(())
    }
}

/// One of the operations that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The exported symbol that was called (`cuMemcpyDtoDAsync_v2`), or the name of a kernel's launch or of a host access.
    pub call: &'static str,
    /// More about it: the name of a kernel.
    pub detail: Option<String>,
    /// What it did.
    pub deed: Deed,
    /// Which of [`Report::lanes`] did it.
    pub lane: u32,
    /// The bytes that it touched, all of them from the first to the last; `None` where it touched none.
    pub bytes: Option<Range>,
    /// Where the call came from.
    pub site: Arc<Site>,
    /// For an access of a kernel that is known alone: where in the kernel.
    pub place: Option<KernelPlace>,
    /// Its place in the history.
    pub ordinal: u64,
}

/// One thing that is wrong with the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Counted from 1, in the order in which they were found.
    pub number: u64,
    /// What is wrong.
    pub kind: Kind,
    /// The bytes in question; where the same pair was found again, those of the first time.
    pub bytes: Option<Range>,
    /// The first of these bytes, counted from the start of the allocation; `None` without one.
    pub offset: Option<u64>,
    /// Where the bytes lie.
    pub allocation: Option<Allocation>,
    /// The variable of a kernel's module in question.
    pub variable: Option<Variable>,
    /// The handle in question.
    pub object: Option<Object>,
    /// One or two operations; of two, the earlier call first.
    pub sides: Vec<Side>,
    /// What would have made it right, as a sentence without its full stop.
    pub missing: Option<String>,
    /// How often it was found between the same two sites.
    pub count: u64,
}

/// One operation of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its place: counted from 1 over all lanes, in the order of the calls.
    pub ordinal: u64,
    /// Which of [`Report::lanes`].
    pub lane: u32,
    /// The exported symbol that was called.
    pub call: &'static str,
    /// More about it: the name of a kernel.
    pub detail: Option<String>,
    /// Where the call came from.
    pub site: Arc<Site>,
    /// The ordinals of the operations of other lanes that it comes after because of this call: event record to wait,
    /// stream to synchronization, legacy default stream to the blocking streams and back.
    pub after: Vec<u64>,
    /// What it touched.
    pub accesses: Vec<Access>,
}

/// Bytes that an operation touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// How.
    pub deed: Deed,
    /// From the first byte to the last; a box of rows has gaps in between.
    pub bytes: Range,
}

/// A line of the suppressions file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppressed {
    /// The number of the line, counted from 1.
    pub line: u32,
    /// The line without its comment.
    pub text: String,
    /// How many findings it has suppressed, each as often as it was found.
    pub count: u64,
}

/// Everything found, and the history in which it happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order in which they were found.
    pub findings: Vec<Finding>,
    /// How many more there were than are kept.
    pub not_kept: u64,
    /// The lines of the suppressions file, and how often each has kept a finding out of [`Report::findings`].
    pub suppressed: Vec<Suppressed>,
    /// The streams and host threads that findings and operations name.
    pub lanes: Vec<Lane>,
    /// The last operations, in the order of their ordinals; and those that the findings are about, however long ago.
    pub operations: Vec<Operation>,
    /// How many operations there were before them that are forgotten.
    pub forgotten: u64,
}
