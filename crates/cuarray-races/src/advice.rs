//! The texts that say what a program lacks, for the `missing` of a finding.

use std::fmt;

/// Declares each advice with its text, in which the fields are inserted.
macro_rules! advice {
    ($($name:ident $({ $($field:ident: $type:ty),* })? => $text:literal,)*) => {
        /// The missing edge or the remedies of a finding. It displays as a line for each remedy without its full stop, the most probable first.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the text of an advice says what its fields are")]
        pub enum Advice {
            $(#[doc = $text] $name $({ $($field: $type),* })?,)*
        }

        impl fmt::Display for Advice {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Advice::$name $({ $($field),* })? => write!(out, $text),)*
                }
            }
        }
    };
}

advice! {
    // Edges between operations.
    OrderNodes { first: String, second: String } =>
        "add an edge between the two nodes of the graph: in a capture, record an event after {first} and make the stream of {second} \
         wait for it before",
    OrderStreams { from: String, before: String, to: String, after: String } =>
        "record an event on {from} after {before} and make {to} wait for it before {after}",
    RecordEventLater { record: String, wait: String, before: String } =>
        "record the event after {before}, and not before it, as {record} does: {wait} waits for what is in front of the record",
    OrderTorchStreams { from: String, before: String, to: String, after: String } =>
        "let {to} wait for {from} after {before} and before {after}, by wait_stream or an event\n\
         if the later call has a new tensor in the bytes of a released one, call record_stream on the released tensor, with {from}, before \
         its release",
    AwaitTorchStream { from: String, before: String, to: String, after: String } =>
        "let {to} wait for {from} after {before} and before {after}, by wait_stream or an event",
    RecordTorchStream { from: String, before: String, to: String, earlier: String, later: String } =>
        "call record_stream on {earlier}, with {from}, before its release: its bytes are now those of {later}, and PyTorch's allocator does \
         not know that {from} still uses them\n\
         keep a reference to the earlier tensor until {to} has waited for {from} after {before}",
    KeepUntilStreamIsDone { from: String, before: String, to: String, earlier: String, later: String } =>
        "keep a reference to {earlier} until {to} has waited for {from} after {before}: its bytes are now those of {later}, and the memory \
         pool does not know that {from} still uses them\n\
         make the earlier array while {from} is the current stream, and use it there only: the pool gives its bytes out again in the order of \
         that stream",
    OrderHostAfterStream { from: String, before: String, after: String } =>
        "synchronize with {from}, or with an event recorded there after {before}, before {after}",
    OrderStreamAfterHost { from: String, before: String, after: String } =>
        "make the call {after} after {before} in {from}\n\
         hand over from there to the thread that calls it",
    OrderHosts { from: String, before: String, to: String, after: String } =>
        "order the two threads: hand over from {from} after {before} to {to} before {after}",
    AwaitRequest { before: String, after: String } =>
        "wait for the request of {before} before {after}: the host may access the buffer until then",
    WaitForEarlierKernel { kernel: String } =>
        "let each thread of {kernel} execute cudaGridDependencySynchronize (griddepcontrol.wait) before this access\n\
         launch it without programmatic stream serialization",
    SplitBatch => "copy these bytes by different calls: the copies of one batch have no order",
    EndCapture => "end the capture and launch its graph before waiting\n\
         ask cuStreamIsCapturing (cudaStreamIsCapturing) first",

    // The lifetime of memory and handles, and their first write.
    AllocateFirst => "allocate or map the memory before the work that uses it",
    ReleaseLater => "release the memory after its last use\n\
         do not use it after the release",
    ReleaseAtEnd => "release the memory before the program ends",
    DestroyAtEnd { kind: &'static str } => "destroy the {kind} before the program ends",
    KeepForKernels { kind: &'static str } => "keep the {kind} until the kernels that use it have run",
    KeepForCalls { kind: &'static str } => "keep the {kind} until the last call that names it",
    FreeHeapBlockLater => "free the block after its last use: malloc may give its bytes to another thread at once",
    AwaitReadBeforeBlockEnds =>
        "wait until the bulk copy has read its source (cp.async.bulk.wait_group.read) before the block ends: its shared memory ends \
         with it",
    WriteFirst => "write these bytes (a copy, a fill, a kernel) before they are read",
    WriteSharedFirst =>
        "write shared memory before it is read: each block starts with undefined bytes\n\
         correct the index or the condition of the read",
    WriteSharedBeforeUse { used: &'static str, from: String } =>
        "write shared memory before it is read: each block starts with undefined bytes. The value {used}, and {from} has read it\n\
         correct the index or the condition of the read",
    WriteLocalBeforeUse { used: &'static str, from: String } =>
        "set the variable before its value is used: local memory starts with undefined bytes. The value {used}, and {from} has read it",
    WriteBlockBeforeUse { used: &'static str, from: String } =>
        "write these bytes before their value is used: the kernel has allocated them, and they start undefined. The value {used}, and {from} has read it",
    WriteBeforeUse { used: &'static str, from: String } =>
        "write these bytes (a copy, a fill, a kernel) before a kernel uses their value: it {used}, and {from} has read it",
    IncludeLane { lane: u64, used: &'static str, from: String } =>
        "let lane {lane} execute the shuffle at {from}, and put it into the mask: the value of a lane that does not take part is undefined, and it {used}\n\
         do not use its value",

    // Barriers, and instructions of several lanes of a warp.
    IncludeWarp { lanes: String } =>
        "let all 32 lanes of the warp execute the matrix instruction together: without {lanes} the result is undefined",
    StayInMask { mask: String, lanes: String } =>
        "the member mask {mask} does not name {lanes}: name each lane that executes the instruction\n\
         let only members execute it",
    AgreeOnMask { mask: String, lanes: String } =>
        "members of the mask {mask} execute the instruction with another mask ({lanes}): give all members one mask",
    BringMembers { mask: String, lanes: String, guard: String } =>
        "members of the mask {mask} do not execute the instruction, and have not exited ({lanes}): name only lanes that execute it\n\
         move it out of the divergent code{guard}",
    AlignBarrier { lanes: String, others: String, barrier: &'static str, guard: String } =>
        "all threads of a warp must execute an aligned barrier ({barrier}) together, and some are at this one ({lanes}), \
         some at another one ({others}): move it out of the divergent code{guard}",
    CountWholeWarps { count: u32 } =>
        "the barrier counts {count} threads: state a multiple of 32, as barriers count whole warps",
    CountWithinBlock { count: u32, threads: u32 } =>
        "the barrier counts {count} threads, and the block has only {threads}, so it never completes: count those that take part",
    AgreeOnCount { count: u32, other: u32 } =>
        "the barrier counts {count} threads here, and {other} for another thread that waits there: state one number\n\
         use two barriers",
    ReduceTogether { number: u32 } =>
        "barrier {number} is used with a reduction (bar.red, syncthreads_count) and without one at the same time: let all threads \
         use the same form",
    ArriveOnce { number: u32 } =>
        "the thread arrives at barrier {number} again before it is complete, and is counted once: wait between the two arrivals",

    // Addresses, and the right to use them.
    KeepWithinAllocation { beyond: u64 } => "keep within the allocation: it ends {beyond} bytes before the access does",
    KeepWithinRegion { size: u64, beyond: u64 } => "keep within the {size} bytes: the access ends {beyond} bytes past their end",
    KeepWithinVariable { size: u64, name: String, beyond: u64 } =>
        "keep within the {size} bytes of {name}: the access ends {beyond} bytes past their end",
    KeepWithinArguments { targets: String } => "keep within {targets}: the store reaches another allocation",
    KeepWithinModule => "keep within the variable of the module: the store reaches another allocation",
    CorrectKernel { failure: String } => "correct the kernel: {failure}",
    EndLoop { failure: String } => "let the body of the loop set its condition to 0: {failure}",
    WriteAwaitedWord => "enqueue the write before the call that waits\n\
         write the word from another thread of the host",
    LoadSupported { reason: String } =>
        "change the module, or set CUARRAY_SIM_REFUSALS=0 in a program that tries modules and has others: {reason}",
    KeepWithinWindow { failure: String } => "keep within it: {failure}",
    UseLiveAddress => "use an address inside a live allocation",
    LeavePoison =>
        "use an address inside a live allocation: the read gave poison, and the launch went on (CUARRAY_SIM_STRAY_READS=poison)",
    AlignAddressAndPitch { size: u64 } => "use an address, and a pitch, that {size} divides",
    AlignAddress { size: u32 } => "use an address that is a multiple of {size}",
    LeaveConstant => "do not write constant memory in a kernel: only the host sets it",
    MakeWritable => "write other memory, or make this memory writable with mprotect",
    OpenPool { device: usize } => "give device {device} access to the memory of the pool with cuMemPoolSetAccess",
    OpenGraphMemory { device: usize } =>
        "give device {device} access in the parameters of the allocation node, or in the pool before the capture",
    OpenMapping { device: usize } => "give device {device} access to the mapped memory with cuMemSetAccess",
    OpenPeer { device: usize, other: usize } =>
        "call cuCtxEnablePeerAccess (cudaDeviceEnablePeerAccess) in the context of device {device} for the context of device {other}",

    // Races between the threads of a launch.
    CorrectAddressFirst { access: char } =>
        "first correct the address of {access}: its access is out of bounds, as another finding of this launch says, and the race \
         follows from that",
    SetConditionOnce =>
        "let one thread call cudaGraphSetConditional: possibly concurrent calls for one condition are undefined, even with one value\n\
         order the calls",
    ClusterBarrier => "put a barrier of the cluster (cluster.sync(), barrier.cluster.arrive and wait) between the two",
    OrderBlocks =>
        "give each block its own memory, or use atomic operations\n\
         order the blocks: two kernels in place of one, or a barrier of the grid in a cooperative launch\n\
         if the two should not meet, correct the index or the condition of one",
    OrderWritesOfBlocks =>
        "give each block its own memory, or use atomic operations\n\
         order the blocks: two kernels in place of one, or a barrier of the grid in a cooperative launch\n\
         if the two should not meet, correct the index or the condition of one\n\
         if one write is one too many, remove it",
    MakeBothAtomicOrMove =>
        "one access is atomic and the other one is plain: make both atomic\n\
         if the plain one belongs before or behind all atomic ones, move the access to another kernel, or put a barrier of the grid between the two\n\
         if the two should not meet, correct the index or the condition of one",
    BarrierBeforeHandOver { access: char, barrier: &'static str } =>
        "another thread of the block of {access} hands {access} over (by a flag, a lock or a counter), and no barrier is between the two: put \
         a barrier ({barrier}) between {access} and the hand-over",
    BarrierBehindWait { access: char, barrier: &'static str } =>
        "another thread of the block of {access} has waited for the other access (at a flag, a lock or a counter), and no barrier is \
         between that wait and {access}: put a barrier ({barrier}) there\n\
         if a barrier is behind {access}, move {access} behind it",
    AwaitAnswer =>
        "the thread writes again what it has handed over, while the other one may still read it: wait before the write for a flag or counter that the reader writes behind its read\n\
         put a barrier of the grid between the two\n\
         write to other memory",
    MoveBehindWait { access: char, advice: String } =>
        "the thread of {access} waits for the other thread only behind {access}: if it should see the other access, move {access} behind that wait (at a flag, a lock or a barrier of the grid)\n\
         {advice}",
    CheckAtomically { swap: &'static str, advice: String } =>
        "a thread tests these bytes and stores there if they pass, and the other thread does so between the two: test and store by one atomic operation ({swap})\n\
         {advice}",
    UpdateAtomically { atomic: &'static str } =>
        "both threads load these bytes, compute, and store the result there: update them by an atomic operation ({atomic})\n\
         let one thread do it\n\
         if a lock should order them, let both hold the same lock from the load to the store",
    UpdateAtomicallyOrFence { atomic: &'static str, fences: &'static str } =>
        "both threads load these bytes, compute, and store the result there: update them by an atomic operation ({atomic})\n\
         let one thread do it\n\
         if a lock of atomic operations should order the two, it lacks fences: {fences}",
    SeparateArrays { one: u32, other: u32, barrier: &'static str } =>
        "the two access elements of {one} and {other} bytes in dynamic shared memory, so two arrays may overlap: begin each array behind the last element of the one before\n\
         if both belong to one array, put a barrier ({barrier}) between the two",
    MakeBothAtomic { barrier: &'static str } =>
        "put a barrier ({barrier}) between the two\n\
         make both atomic",
    WarpBarrier { barrier: &'static str } =>
        "put {barrier} between the two: without it the threads of a warp are unordered\n\
         if one is there, let the lanes of both take part in it, or move the access to its other side\n\
         if the two should not meet, correct the index or the condition of one",
    BlockBarrier { barrier: &'static str } =>
        "put a barrier ({barrier}) between the two, which all threads of the block reach\n\
         if one is there, let it count all threads that access the memory, or move the access to its other side\n\
         if the two should not meet, correct the index or the condition of one",
    MakeBothStrong =>
        "one access is plain and the other one is strong (atomic, volatile or with an order): make both strong\n\
         order them by a barrier, or by a fence and a flag",
    WidenAccessOfBlock { narrow: &'static str } =>
        "an access has the scope of a block ({narrow}) and the other one is in another block: give \
         both the scope of the device",
    WidenAccessOfCluster =>
        "an access has the scope of a cluster and the other one is in another cluster: give both the scope of the device",
    AccessEqualBytes => "the two strong accesses overlap in a part of their bytes: access the same bytes",
    WidenFenceOfBlock { narrow: &'static str, fence: &'static str } =>
        "the fence before the flag's write is of scope cta ({narrow}): it orders one block only; use {fence}",
    WidenFenceOfCluster { fence: &'static str } =>
        "the fence before the flag's write orders one cluster only: use {fence}",
    FenceBeforeFlag { release: &'static str } =>
        "no fence is between the data's access and the flag's write: {release}\n\
         if a fence is behind both, wait for another flag, or another value of it, that is written behind that fence",
    FenceOrBarrierBeforeFlag { fence: &'static str, barrier: &'static str } =>
        "no fence is between the data's access and the flag's write: put {fence} there\n\
         put a barrier ({barrier}) there",
    HandOverElsewhere { advice: String } =>
        "{advice}\n\
         if a flag or a counter should order the two, wait for another value, or another flag, that is written behind the other access\n\
         if a lock should order them, let both hold the same lock around their accesses",
    FencesOfHandOver { fences: &'static str, advice: String } =>
        "if a flag or lock of atomic operations should order the two, it lacks fences: {fences}\n\
         {advice}",
    AccessBeforeFlag { barrier: &'static str } =>
        "the data's access is behind the write of the flag that should hand it over: move the access before that write (the release), \
         and let the threads of the block meet at a barrier ({barrier}) between the two\n\
         wait for another flag, or another value of it, that is written behind the access",
    FenceBehindData { fences: &'static str } =>
        "both accesses are strong, but a fence is missing between the data's write and the flag's write, or behind the read of the \
         flag, so the read may return an old value: {fences}",
    AcquireInBlock { fence: &'static str } =>
        "no fence is behind the read of the flag: put {fence} there",
    AcquireInCluster =>
        "no fence of scope cluster is behind the read of the flag: put fence.acq_rel.cluster, or a wider one, there",
    AcquireOnDevice { acquire: &'static str } =>
        "no fence of scope gpu is behind the read of the flag: {acquire}",
    ProxyFence =>
        "a bulk copy reads by another path than threads write: put fence.proxy.async (cuda::ptx::fence_proxy_async) behind the write, \
         before the barrier that the copying thread waits at",
    LoadPlainly =>
        "ld.global.nc (const __restrict__, __ldg) may read only what no thread of the launch writes: read it by a plain load",
    BarrierAroundObject { barrier: &'static str } =>
        "one access initializes or overwrites the barrier object that the other one uses: put a barrier ({barrier}, or that of \
         the cluster) between mbarrier.init and the first use, and between the last use and mbarrier.inval",
    LoadWithoutTexture =>
        "a texture fetch or a surface load need not see what its own launch has written, even behind a barrier: read the bytes by a \
         plain load, or in another launch",
    UnrestrictedFence =>
        "a fence between the two is restricted to shared memory (.sync_restrict), and the bytes are in global memory: use \
         fence.acq_rel.cluster, or a wider one",
    WriteFlagStrongly =>
        "the flag is written by a plain store, which hands over nothing: write it by an atomic or volatile store behind a fence",

    // Waits for asynchronous copies.
    AwaitGroup =>
        "commit the copy and wait for it (cp.async.wait_group, __pipeline_wait_prior, the consumer_wait of a cuda::pipeline) before its target is \
         accessed",
    AwaitGroupAndBarrier { barrier: &'static str } =>
        "let the copying thread wait (cp.async.wait_group, __pipeline_wait_prior, the consumer_wait of a cuda::pipeline), and then \
         put a barrier ({barrier}) before other threads access the target",
    AwaitGroupRead =>
        "wait for the copy (cp.async.wait_group, __pipeline_wait_prior, the consumer_wait of a cuda::pipeline) before its source is \
         written",
    AwaitBulkGroup =>
        "let the copying thread commit the copy and wait for it (cp.async.bulk.wait_group) before its target is accessed, and put a \
         barrier between that wait and other threads",
    AwaitBulkGroupRead =>
        "let the copying thread commit the copy and wait for its read (cp.async.bulk.wait_group.read) before its source is written, \
         and put a barrier between that wait and other threads",
    AwaitPhase =>
        "wait at the mbarrier of the copy, for the phase that expects its bytes, before its target is accessed\n\
         if the access should come first, put a barrier before the copy",
    AwaitPhaseRead =>
        "wait at the mbarrier of the copy, for the phase that expects its bytes, before its source is written",

    // Launches that do not end.
    ReleaseOwnLock =>
        "the thread waits for a lock that it has taken itself: give the lock back before it takes it again\n\
         remove the second taking",
    OrderLocks =>
        "each of the threads has taken a lock that another one waits for: let all threads take the locks in one order, for instance by ascending index",
    ReleaseLock =>
        "no thread gives the lock back that they wait for: give it back on each way, also before each return\n\
         let no thread take it twice",
    ReleaseBeforeEnd =>
        "the thread that took the lock last has ended without giving it back: give the lock back before each return\n\
         move the return before the taking",
    LaunchFewerBlocks { resident: u64, waiting: u64 } =>
        "the {resident} blocks that are resident at once wait for {waiting} blocks that can start only after them: launch at most {resident} blocks, and loop over the data (a grid-stride loop)\n\
         remove the wait for other blocks",
    ReadInLoop =>
        "the loop reads no memory, so no other thread can end it: if it waits for memory, the compiler reads that once, so read it by an atomic or volatile access\n\
         correct the condition of the loop",
    WriteBeforeBarrier =>
        "some threads poll memory, and the others wait for them at a barrier, so nothing behind the barrier can end the poll: move the awaited write before the barrier\n\
         move the poll behind the barrier",
    CorrectPolledIndex { place: String, distance: String } =>
        "no thread has written what they read, and {distance} it are written by {place}: if the two should meet, correct the index of one",
    AwaitOtherPhase =>
        "no thread is left to arrive at the barrier object: let the missing ones arrive\n\
         wait for another value of the parity (a wait for parity 1 of a new barrier object ends at once, as a producer's first wait should)",
    LetEndedTakePart { ended: String, guard: String } =>
        "{ended} ended, and the others wait: if these should write or count first, correct the condition under which they return{guard}\n\
         move the return before the ticket or count that they have taken\n\
         count only the threads that take part",
    AwaitLastValue { value: String } =>
        "the thread that wrote the bytes last has ended, so they {value}: correct the condition of the wait\n\
         let that thread write what is awaited",
    LetOneGoOn =>
        "all threads that are left wait themselves: correct the condition of a wait, so that one of them goes on\n\
         move a write before the wait that it is behind\n\
         let the host write it",
    CompleteBarrier { guard: String } =>
        "no barrier completes: let all threads that it counts arrive at each, outside of code that only some of them execute{guard}\n\
         correct its count",
    EndWait =>
        "change what the threads wait for\n\
         let the missing ones arrive",

    // Continuations of another advice.
    MapReserved => "; the address is only reserved: map memory there with cuMemMap",
    LaunchEnded { and: String } =>
        "{and}; the launch ended there, so errors and races behind this access are not searched",
    LaunchEndedAtRead { and: String } =>
        "{and}; the launch ended there, so errors and races behind this read are not searched; with CUARRAY_SIM_STRAY_READS=poison the read \
         gives poison and the launch goes on",
    NullPointer => "; the pointer is null",
    NearestAllocation { size: u64, start: u64, away: u64, side: &'static str, pointed: String } =>
        "; the nearest allocation is {size} bytes at {start:#x}, {away} bytes {side} it{pointed}",
}
