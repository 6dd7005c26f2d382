//! Findings and the history in which they happened, as plain data.
//!
//! A [`Finding`] names one or two [`Side`]s, the bytes that both accessed, the allocation of those bytes, and the edge that
//! would have ordered the sides. A [`Report`] holds all findings and the latest operations, so that a diagram can show the
//! operations between the sides. All types serialize as `docs/reference/findings.md` describes.

use crate::site::{Site, SourceLine};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Declares the kinds once. `tests/project/test_findings.py` compares the page of findings and Python's list with it: of each
/// comment, the first paragraph is the meaning, and the second one lists the sides of a finding.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $name:literal,)*) => {
        /// The kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum Kind {
            $($(#[doc = $doc])* #[serde(rename = $name)] $kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: [Kind; [$($name),*].len()] = [$(Kind::$kind),*];

            /// The stable name: `data-race`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// The lines of the comment.
            fn comment(self) -> &'static [&'static str] {
                match self {
                    $(Kind::$kind => &[$($doc),*],)*
                }
            }
        }
    };
}

kinds! {
    /// Two accesses to the same bytes, at least one a write, that nothing orders.
    ///
    /// Sides: both accesses.
    DataRace = "data-race",
    /// A race between two threads of one launch, or between an asynchronous copy and an access before its wait; addresses
    /// of shared memory are generic ones.
    ///
    /// Sides: both accesses.
    KernelRace = "kernel-race",
    /// An access to memory after its release, or a second release; a graph node, or a launch of its graph, that names
    /// released memory.
    ///
    /// Sides: the release, the access.
    UseAfterFree = "use-after-free",
    /// An access to stream-ordered memory that is not ordered after its allocation, or to memory that is allocated or
    /// mapped later.
    ///
    /// Sides: the allocation, the access.
    UseBeforeAllocation = "use-before-allocation",
    /// A release that is not ordered after an access.
    ///
    /// Sides: the access, the release.
    FreeBeforePendingWork = "free-before-pending-work",
    /// The [use of an undefined value](kernels.md#undefined-values) by a kernel; a read of bytes to the host that nothing has written.
    ///
    /// Sides: the use, or the read.
    UninitializedRead = "uninitialized-read",
    /// An access that leaves its allocation, or lies in none.
    ///
    /// Sides: the access.
    OutOfBounds = "out-of-bounds",
    /// A kernel that ended before its end: by a trap, a failed assertion, a wrong jump, a stack overflow, threads that wait
    /// for each other, a limit, or an instruction that cannot be executed. A failed access has another kind.
    ///
    /// Sides: the launch.
    KernelFailure = "kernel-failure",
    /// A module that a driver can load, and that the simulated driver refuses: an instruction or function that it does not
    /// support, or machine code.
    ///
    /// Sides: the call.
    RefusedModule = "refused-module",
    /// An access at an address that is not a multiple of its element size.
    ///
    /// Sides: the access.
    MisalignedAccess = "misaligned-access",
    /// A use of a barrier, or of an instruction of several lanes of a warp, that the PTX manual forbids; a wrong member mask or
    /// count, a lane that does not come, divergent code.
    ///
    /// Sides: the instruction; the one that another thread executes or waits at, if it is part of the error.
    SynchronizationError = "synchronization-error",
    /// A call with a destroyed stream, event, context, array, texture or surface object, with a released memory handle, or
    /// with a freed address reservation; a launch of a graph with a destroyed array.
    ///
    /// Sides: the destruction, the call.
    DestroyedHandle = "destroyed-handle",
    /// A call that waits for, or queries, a capturing stream or an event of the capture.
    ///
    /// Sides: the call that began the capture, if it is in progress; the synchronization.
    CapturedStreamSynchronized = "captured-stream-synchronized",
    /// A launch whose threads wait forever: each repeats a state, or waits at a barrier that cannot fill, and nothing outside of the
    /// launch can end that.
    ///
    /// Sides: each group of waiting threads; the work that last wrote what they read.
    Deadlock = "deadlock",
    /// An object that is alive at the end.
    ///
    /// Sides: the call that made it.
    Leak = "leak",
}

impl Kind {
    /// The meaning of the kind, as the page of findings has it, without links.
    pub fn meaning(self) -> String {
        let lines = self.comment().iter().map(|line| line.trim()).take_while(|line| !line.is_empty());
        let text = lines.collect::<Vec<_>>().join(" ");
        // A link is `[text](target)`.
        let mut parts = text.split(']');
        let first = parts.next().unwrap_or_default().replace('[', "");
        parts.fold(first, |text, part| {
            let behind =
                part.strip_prefix('(').and_then(|target| target.split_once(')')).map_or(part, |(_, behind)| behind);
            text + &behind.replace('[', "")
        })
    }
}

/// How an operation treats memory or a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AccessKind {
    /// Reads bytes.
    Read,
    /// Writes bytes.
    Write,
    /// Makes an allocation, a stream, an event or a context.
    Create,
    /// Frees an allocation or destroys a handle.
    Release,
    /// Names a handle without touching memory.
    Use,
    /// Waits for a handle, or synchronizes threads of a kernel.
    Synchronize,
}

/// The kind of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LaneKind {
    /// A host thread.
    Host,
    /// The legacy default stream of a context.
    Legacy,
    /// The default stream of a host thread.
    PerThread,
    /// A stream of the program that waits for the legacy default stream.
    Blocking,
    /// A stream of the program that does not wait for the legacy default stream.
    NonBlocking,
    /// A stream that the program did not make: a branch of a graph.
    Internal,
    /// An access of the host that lasts until the program waits for it: that of a request of MPI.
    Request,
}

/// A stream or a host thread: its operations happen one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Lane {
    /// The lane's number in the report, counted from 0 in the order of first operations.
    pub number: u32,
    /// The kind of lane.
    pub kind: LaneKind,
    /// The stream's handle, or the number of the host thread.
    pub handle: u64,
    /// The ordinal of the device of the stream's context; `None` for host threads.
    pub device: Option<i32>,
    /// The name in reports: `stream 2 (non-blocking)`, `host thread 1`.
    pub name: String,
    /// The place of the call that made the stream; `None` for host threads and default streams.
    pub made: Option<Arc<Site>>,
    /// The variable that this line assigns the stream to, if its text tells.
    pub variable: Option<String>,
}

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Range {
    /// The first byte's address.
    pub address: u64,
    /// The number of bytes.
    pub length: u64,
}

/// The allocation that holds a finding's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Allocation {
    /// The first byte's address.
    pub address: u64,
    /// The size in bytes, as requested.
    pub size: u64,
    /// The kind of memory: `device`, `pool`, `pinned`, `registered`, `managed`, `imported` or `mapped`.
    pub kind: &'static str,
    /// The ordinal of the device.
    pub device: i32,
    /// The call that made it.
    pub call: &'static str,
    /// Where that call came from.
    pub site: Arc<Site>,
    /// The place of that call in the history.
    pub ordinal: u64,
}

/// The handle that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Object {
    /// The kind of object: `stream`, `event`, `context`, `memory handle` or `address reservation`.
    pub kind: &'static str,
    /// The handle.
    pub handle: u64,
}

/// The variable of a kernel's module that holds a finding's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Variable {
    /// The name in the PTX, or the handle of a condition; `None` for dynamic shared memory.
    pub name: Option<String>,
    /// The state space: `shared`, `global` or `constant`; `conditional` for a condition of a graph.
    pub space: &'static str,
    /// The offset of the first of the bytes from the variable's start.
    pub offset: u64,
}

/// The place of an access in a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelPlace {
    /// The index of the block in the grid.
    pub block: [u32; 3],
    /// The index of the thread in the block.
    pub thread: [u32; 3],
    /// Whether the access was an atomic operation.
    pub atomic: bool,
    /// The line of the source, if the PTX names it (`.loc`).
    pub source: Option<SourceLine>,
    /// The line of the call, if the source is an inlined function.
    pub inlined_at: Option<SourceLine>,
    /// The text of the line that a reader looks for first, if its file is not kept: of `inlined_at` where `source` is a library's.
    pub text: Option<String>,
    /// The arguments of the kernel that point to the memory of a race, with their names if the source tells: ``argument 1 (`out`, `int*`)``.
    pub argument: Option<String>,
    /// For threads that wait forever: their number, the wait in words, and the facts that are known about it.
    pub waits: Option<String>,
    /// The line of the PTX, counted from 1, if it is known.
    pub ptx_line: Option<u32>,
    /// Whether the PTX has line information, here or elsewhere.
    #[serde(skip)]
    pub has_lines: bool,
    /// The language of the kernel.
    #[serde(skip)]
    pub language: Language,
}

/// The language of a kernel's source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// CUDA C++.
    Cuda,
    /// Python, compiled by Numba.
    Numba,
    /// Python, compiled by Triton.
    Triton,
    /// Any other, such as PTX.
    #[default]
    Other,
}

impl KernelPlace {
    /// The line that a reader looks for first, and the other one: the program's own line comes before that of a header or package
    /// whose function is inlined there.
    pub fn lines(&self) -> (Option<&SourceLine>, Option<&SourceLine>) {
        let (source, call) = (self.source.as_ref(), self.inlined_at.as_ref());
        let of_library = |line: &SourceLine| ["/include/", "-packages/"].iter().any(|part| line.file.contains(part));
        let is_inner = source.is_some_and(of_library) && call.is_some_and(|call| !of_library(call));
        if is_inner { (call, source) } else { (source, call) }
    }
}

/// `thread (3, 0, 0) of block (0, 0, 0), at kernel.cu:12, line 40 of the PTX`.
impl fmt::Display for KernelPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], [i, j, k]) = (self.block, self.thread);
        write!(out, "thread ({i}, {j}, {k}) of block ({x}, {y}, {z})")?;
        let (first, other) = self.lines();
        let joint = if first == self.source.as_ref() { "inlined at" } else { "inside" };
        if let Some(SourceLine { file, line }) = first {
            write!(out, ", at {file}:{line}")?;
        }
        if let Some(SourceLine { file, line }) = other {
            write!(out, ", {joint} {file}:{line}")?;
        }
        if let Some(line) = self.ptx_line {
            write!(out, ", line {line} of the PTX")?;
        }
        Ok(())
    }
}

/// One of the operations that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Side {
    /// The function that was called (`cuMemcpyDtoDAsync_v2`), or the name of a kernel launch or of a host access.
    pub call: &'static str,
    /// More about it: the name of a kernel.
    pub detail: Option<String>,
    /// How it treated the memory or the handle.
    pub access: AccessKind,
    /// The number of its lane in [`Report::lanes`].
    pub lane: u32,
    /// All bytes that it touched, from the first to the last; `None` if it touched none.
    pub bytes: Option<Range>,
    /// Where the call came from.
    pub site: Arc<Site>,
    /// The place in the kernel, for a single access of a kernel.
    pub place: Option<KernelPlace>,
    /// For a node of a graph: the call that launched the graph. `site` is the call that added the node.
    pub graph: Option<Arc<Site>>,
    /// Its place in the history.
    pub ordinal: u64,
}

/// One problem of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// The number in the report, counted from 1 in the order of discovery.
    pub number: u64,
    /// The kind of problem.
    pub kind: Kind,
    /// Kind, calls, names of files and functions, and lines of source: equal in another run, on another machine, and after lines were
    /// inserted above. Empty until [`Report::identify`] has run.
    pub fingerprint: String,
    /// How often it was found between the same two sites.
    pub count: u64,
    /// The number of allocations in which it was found; 0 if it concerns none.
    pub allocations: u64,
    /// The bytes in question. If the same pair of sites was found several times, the bytes of the first time.
    pub bytes: Option<Range>,
    /// The offset of the first of these bytes from the start of the allocation; `None` without one.
    pub offset: Option<u64>,
    /// The allocation that holds the bytes.
    pub allocation: Option<Allocation>,
    /// Further allocations in which it was found, if other lines made them.
    pub more_allocations: Vec<Allocation>,
    /// The variable of a kernel's module in question.
    pub variable: Option<Variable>,
    /// The handle in question.
    pub object: Option<Object>,
    /// One or two operations. Of two, the earlier call is first. A deadlock has more, one for each group of threads.
    pub sides: Vec<Side>,
    /// The missing edge or the remedies: a line for each, without its full stop, the most probable first.
    pub missing: Option<String>,
}

/// One operation of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Operation {
    /// Its place: counted from 1 over all lanes, in the order of the calls.
    pub ordinal: u64,
    /// The number of its lane in [`Report::lanes`].
    pub lane: u32,
    /// The function that was called.
    pub call: &'static str,
    /// More about it: the name of a kernel.
    pub detail: Option<String>,
    /// Where the call came from.
    pub site: Arc<Site>,
    /// The ordinals of the operations in other lanes that this operation is ordered after by a direct edge. Such edges run from
    /// an event's record to a wait, from a stream to a synchronization, and between the legacy default stream and blocking streams.
    pub after: Vec<u64>,
    /// The bytes it touched.
    pub accesses: Vec<Access>,
    /// Whether the function exists to order other work: it records, waits or asks.
    #[serde(skip)]
    pub orders: bool,
}

/// Bytes that an operation touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Access {
    /// How the bytes were touched.
    #[serde(rename = "access")]
    pub kind: AccessKind,
    /// The bytes from the first to the last. A box of rows has gaps in between.
    #[serde(flatten)]
    pub bytes: Range,
}

/// A line of the suppressions file, with its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Suppressed {
    /// The number of the line, counted from 1.
    pub line: u32,
    /// The line without its comment.
    pub text: String,
    /// The number of findings that it has suppressed. A finding that was found several times counts several times.
    pub count: u64,
}

/// The memory that the search for findings watches, and the memory that this takes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Watched {
    /// The bytes of live allocations and variables, whose accesses are compared.
    pub bytes: u64,
    /// About the bytes that their last accesses take.
    pub memory: u64,
    /// About the bytes that the operations in the history take, without their sites.
    pub history: u64,
    /// The bytes of launches that the search within a launch left out.
    pub left_out: u64,
}

/// All findings, and the history in which they happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// The findings in the order of discovery.
    pub findings: Vec<Finding>,
    /// The number of further findings that were not kept.
    pub not_kept: u64,
    /// The lines of the suppressions file. Findings that they match are not in [`Report::findings`].
    pub suppressed: Vec<Suppressed>,
    /// The streams and host threads that findings and operations name.
    pub lanes: Vec<Lane>,
    /// The last operations in the order of their ordinals, and all operations that findings are about.
    pub operations: Vec<Operation>,
    /// The number of earlier operations that are forgotten.
    pub forgotten: u64,
    /// The memory of the search at the time of the report.
    pub watched: Watched,
    /// The name and version of the program that recorded the operations, for the HTML page; empty if it is unknown.
    #[serde(skip)]
    pub recorded_by: String,
}
