//! Launches that never end, each beside one that does.

use super::*;
use crate::machine::{Reason, WriterState};

/// A kernel over `out`. `%t` is the thread, `%b` the block, and `%f` the address of a flag 512 bytes behind `%out`. `%q` holds in all
/// threads but the first.
fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{ .reg .pred %p, %q, %r; .reg .b32 %t, %b, %n, %i, %v, %w; .reg .b64 %out, %f, %a, %c, %d;\n\
         .shared .align 8 .b64 box; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x;\n\
         add.u64 %f, %out, 512; setp.ne.u32 %q, %t, 0;\n{body}\n DONE: ret; }}"
    )
}

const ORDERS: [KernelOrder; 3] = [KernelOrder::Forward, KernelOrder::Reverse, KernelOrder::Random(9)];

/// The outcome of a kernel in an order.
fn outcome(body: &str, (blocks, threads): (u32, u32), order: KernelOrder) -> Outcome {
    let mut memory = vec![0_u64; 1024];
    let (source, budget) = (kernel(body), 1 << 26);
    let (grid, threads) = ([blocks, 1, 1], [threads, 1, 1]);
    let run = Run { source: &source, grid, threads, order, budget, ..Run::default() };
    if order.is_fixed() {
        return run.over(&mut [&mut memory]);
    }
    // The turns of a random order depend on the search for races.
    let unrecorded = run.executed(&mut [&mut memory.clone()], Way::Unrecorded, 2);
    let outcome = run.executed(&mut [&mut memory], Way::Recorded, 2);
    let kind = |outcome: &Outcome| outcome.fault.as_ref().map(|fault| fault.kind);
    assert_eq!(kind(&unrecorded), kind(&outcome), "{order:?}");
    outcome
}

/// The name, the blocks and threads, the body, and the values with which it waits forever and with which it ends.
type Case = (&'static str, (u32, u32), &'static str, &'static str, &'static str);

/// Kernels that wait forever, with one change by which they end.
const CASES: &[Case] = &[
    (
        "a flag that no thread sets",
        (1, 32),
        "POLL: ld.volatile.global.u32 %v, [%f]; setp.eq.u32 %p, %v, SET; @%p bra POLL;",
        "SET=0",
        "SET=1",
    ),
    (
        "a flag that a later block does not set",
        (4, 64),
        "setp.eq.u32 %p, %b, 3; @%p bra SETS; @%q bra DONE; POLL: ld.acquire.gpu.global.u32 %v, [%f]; setp.eq.u32 %p, %v, 0;\n\
         @%p bra POLL; bra DONE; SETS: @%q bra DONE; st.release.gpu.global.u32 [%f+OFFSET], 1;",
        "OFFSET=4",
        "OFFSET=0",
    ),
    (
        "a counter that stays one too small",
        (4, 64),
        "bar.sync 0; @%q bra DONE; atom.global.add.u32 %v, [%f], 1; add.u32 %n, %n, MORE;\n\
         POLL: ld.volatile.global.u32 %v, [%f]; setp.lt.u32 %p, %v, %n; @%p bra POLL;",
        "MORE=1",
        "MORE=0",
    ),
    (
        "a lock that is not released",
        (2, 64),
        "@%q bra DONE; LOCK: atom.acquire.gpu.global.cas.b32 %v, [%f], 0, 1; setp.ne.u32 %p, %v, 0; @%p bra LOCK;\n\
         st.release.gpu.global.u32 [%f], HELD;",
        "HELD=1",
        "HELD=0",
    ),
    (
        "a lock that its owner takes again",
        (2, 32),
        "@%q bra DONE; LOCK: atom.acquire.gpu.global.cas.b32 %v, [%f], 0, 1; setp.ne.u32 %p, %v, 0; @%p bra LOCK;\n\
         AGAIN: atom.acquire.gpu.global.cas.b32 %v, [%f+OTHER], 0, 1; setp.ne.u32 %p, %v, 0; @%p bra AGAIN;\n\
         st.release.gpu.global.u32 [%f+OTHER], 0; st.release.gpu.global.u32 [%f], 0;",
        "OTHER=0",
        "OTHER=4",
    ),
    (
        "a barrier in a branch, and a poll behind it",
        (1, 64),
        "setp.lt.u32 %p, %t, 32; @%p bra FIRST; LATER: bar.sync 0; bar.sync 1; bra DONE; FIRST: bar.sync NUMBER; bar.sync 1;",
        "NUMBER=2",
        "NUMBER=0",
    ),
    (
        "a named barrier for more threads than come",
        (1, 64),
        "setp.lt.u32 %p, %t, 32; @%p bra FIRST; bra DONE; FIRST: bar.sync 1, COUNT;",
        "COUNT=64",
        "COUNT=32",
    ),
    (
        "a poll of shared memory",
        (1, 64),
        "@!%q st.shared.u32 [box], 0; bar.sync 0; setp.eq.u32 %p, %t, 32; @%p st.volatile.shared.u32 [box], VALUE; setp.lt.u32 %p, %t, 32;\n\
         @!%p bra DONE; POLL: ld.volatile.shared.u32 %v, [box]; setp.eq.u32 %p, %v, 0; @%p bra POLL;",
        "VALUE=0",
        "VALUE=1",
    ),
    (
        "a phase of a barrier object that misses an arrival",
        (1, 64),
        "@!%q mbarrier.init.shared.b64 [box], COUNT; bar.sync 0; mbarrier.arrive.shared.b64 %a, [box];\n\
         WAIT: mbarrier.try_wait.shared.b64 %p, [box], %a; @!%p bra WAIT;",
        "COUNT=65",
        "COUNT=64",
    ),
    (
        "the wrong parity of a phase",
        (1, 64),
        "@!%q mbarrier.init.shared.b64 [box], 64; bar.sync 0; mbarrier.arrive.shared.b64 %a, [box]; mov.u32 %i, PARITY;\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %p, [box], %i; @!%p bra WAIT;",
        "PARITY=1",
        "PARITY=0",
    ),
    (
        "a ticket that is never served",
        (4, 32),
        "@%q bra DONE; atom.global.add.u32 %i, [%f], 1; POLL: nanosleep.u32 50; ld.acquire.gpu.global.u32 %v, [%f+4];\n\
         setp.ne.u32 %p, %v, %i; @%p bra POLL; add.u32 %v, %v, SERVED; st.release.gpu.global.u32 [%f+4], %v;",
        "SERVED=0",
        "SERVED=1",
    ),
    (
        "a poll with a growing and limited pause",
        (1, 32),
        "mov.u32 %i, 8; POLL: ld.relaxed.gpu.global.u32 %v, [%f]; setp.ne.u32 %p, %v, SET; @%p bra DONE; nanosleep.u32 %i; shl.b32 %i, %i, 1;\n\
         min.u32 %i, %i, 256; bra POLL;",
        "SET=0",
        "SET=1",
    ),
    (
        "an inner loop as a pause",
        (1, 32),
        "POLL: ld.relaxed.gpu.global.u32 %v, [%f]; setp.ne.u32 %p, %v, SET; @%p bra DONE; mov.u32 %i, 0;\n\
         PAUSE: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 300; @%p bra PAUSE; bra POLL;",
        "SET=0",
        "SET=1",
    ),
    (
        "a loop over plain loads",
        (2, 32),
        "POLL: ld.global.u32 %v, [%f]; setp.eq.u32 %p, %v, SET; @%p bra POLL;",
        "SET=0",
        "SET=1",
    ),
    (
        "a loop over nothing",
        (2, 32),
        "LOOP: add.u32 %i, %t, ADDED; setp.ge.s32 %p, %i, %t; @%p bra LOOP;",
        "ADDED=1",
        "ADDED=-100",
    ),
    (
        "threads of one warp that wait for each other",
        (1, 32),
        "setp.lt.u32 %p, %t, 16; @%p bra SETS; POLL: ld.volatile.global.u32 %v, [%f]; setp.eq.u32 %p, %v, 0; @%p bra POLL; bra DONE;\n\
         SETS: st.volatile.global.u32 [%f], VALUE;",
        "VALUE=0",
        "VALUE=1",
    ),
    (
        "a poll across barriers of the block",
        (2, 128),
        "setp.eq.u32 %p, %b, 1; @%p bra SETS;\n\
         POLL: @%q bra TESTED; atom.acq_rel.gpu.global.cas.b32 %v, [%f], 1, 1; st.shared.u32 [box], %v;\n\
         TESTED: bar.sync 0; ld.shared.u32 %v, [box]; bar.sync 0; setp.ne.u32 %p, %v, 1; @%p bra POLL; bra DONE;\n\
         SETS: @%q bra DONE; st.release.gpu.global.u32 [%f], VALUE;",
        "VALUE=0",
        "VALUE=1",
    ),
    (
        "warps that wait for their neighbours in a circle",
        (1, 128),
        "shr.u32 %w, %t, 5; add.u32 %w, %w, 1; and.b32 %w, %w, 3; and.b32 %i, %t, 31; setp.ne.u32 %q, %i, 0; @%q bra DONE;\n\
         setp.ne.u32 %r, %t, FREE; mul.wide.u32 %a, %w, 4; add.u64 %a, %a, %f; shr.u32 %w, %t, 5; mul.wide.u32 %c, %w, 4;\n\
         add.u64 %c, %c, %f; @!%r bra SETS; POLL: ld.acquire.gpu.global.u32 %v, [%a]; setp.eq.u32 %p, %v, 0; @%p bra POLL;\n\
         SETS: st.release.gpu.global.u32 [%c], 1;",
        "FREE=1",
        "FREE=0",
    ),
    (
        "a shuffle in a branch, and a barrier beside it",
        (1, 32),
        "setp.lt.u32 %p, %t, 20; @!%p bra OTHERS; shfl.sync.down.b32 %v, %t, 1, 31, MASK; OTHERS: bar.sync 0;",
        "MASK=-1",
        "MASK=1048575",
    ),
    (
        "a block that ends before a barrier of the grid",
        (8, 32),
        "@%q bra DONE; setp.eq.u32 %p, %b, SKIPPED; @%p bra DONE; atom.global.add.u32 %v, [%f], 1;\n\
         POLL: ld.volatile.global.u32 %v, [%f]; setp.ne.u32 %p, %v, %n; @%p bra POLL;",
        "SKIPPED=5",
        "SKIPPED=9",
    ),
];

/// The body, in which the value of a case replaces its name.
fn with(body: &str, change: &str) -> String {
    let (name, value) = change.split_once('=').unwrap();
    assert!(body.contains(name), "{body}");
    body.replace(name, value)
}

#[test]
fn launches_that_wait_forever_are_deadlocks() {
    // The orders take turns, because each case takes a second in a build without optimizations.
    for ((name, shape, body, wrong, _), order) in CASES.iter().zip(ORDERS.into_iter().cycle()) {
        let outcome = outcome(&with(body, wrong), *shape, order);
        let fault = outcome.fault.unwrap_or_else(|| panic!("{name}, {order:?}: it ended"));
        assert_eq!(fault.kind, FaultKind::Deadlock, "{name}, {order:?}");
        assert!(!fault.waiting.is_empty(), "{name}, {order:?}");
        // Two seconds of processor time are many more instructions of a warp.
        assert!(outcome.instructions < 5_000_000 * 32, "{name}, {order:?}: {}", outcome.instructions);
    }
}

#[test]
fn launches_that_end_are_no_deadlocks_in_any_order() {
    for (name, shape, body, _, right) in CASES {
        for order in ORDERS {
            assert_eq!(outcome(&with(body, right), *shape, order).fault, None, "{name}, {order:?}");
        }
    }
}

#[test]
fn blocks_that_the_device_does_not_hold_cannot_be_waited_for() {
    let (_, shape, body, _, right) = CASES.iter().find(|case| case.0 == "a counter that stays one too small").unwrap();
    let source = kernel(&with(body, right));
    for (resident_blocks, fault) in [(3, Some(FaultKind::Deadlock)), (4, None)] {
        let (grid, threads) = ([shape.0, 1, 1], [shape.1, 1, 1]);
        let run = Run { source: &source, grid, threads, resident_blocks, budget: 1 << 26, ..Run::default() };
        let outcome = run.over(&mut [&mut vec![0_u64; 1024]]);
        assert_eq!(outcome.fault.map(|fault| fault.kind), fault, "{resident_blocks} of {} blocks", shape.0);
    }
}

/// Loops that run long and end.
const ENDING: &[(&str, &str)] = &[
    (
        "a loop that counts its polls",
        "mov.u32 %i, 0; POLL: ld.volatile.global.u32 %v, [%f]; setp.ne.u32 %p, %v, 0; @%p bra DONE;\n\
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 60000; @%p bra POLL;",
    ),
    (
        "a loop that waits for the time",
        "mov.u64 %c, %clock64; POLL: ld.volatile.global.u32 %v, [%f]; setp.ne.u32 %p, %v, 0; @%p bra DONE;\n\
        mov.u64 %d, %clock64; sub.u64 %d, %d, %c; setp.lt.u64 %p, %d, 3000000; @%p bra POLL;",
    ),
    (
        "a loop that sleeps until a time",
        "mov.u64 %c, %globaltimer; POLL: nanosleep.u32 1000; mov.u64 %d, %globaltimer; sub.u64 %d, %d, %c;\n\
        setp.lt.u64 %p, %d, 9000000; @%p bra POLL;",
    ),
    (
        "a long sum",
        "mov.u32 %i, 0; mov.u32 %w, 0; SUM: ld.global.u32 %v, [%out]; add.u32 %w, %w, %v; add.u32 %i, %i, 1;\n\
        setp.lt.u32 %p, %i, 60000; @%p bra SUM; st.global.u32 [%out+8], %w;",
    ),
    (
        "a counter in shared memory",
        "@!%q st.shared.u32 [box], 0; bar.sync 0; COUNT: @!%q atom.shared.add.u32 %v, [box], 1; bar.sync 0;\n\
        ld.shared.u32 %v, [box]; bar.sync 0; setp.lt.u32 %p, %v, 10000; @%p bra COUNT;",
    ),
    (
        "a counter in local memory",
        ".local .b32 mine; st.local.u32 [mine], 0; COUNT: ld.local.u32 %v, [mine]; add.u32 %v, %v, 1; st.local.u32 [mine], %v;\n\
        setp.lt.u32 %p, %v, 30000; @%p bra COUNT;",
    ),
];

#[test]
fn long_loops_that_end_are_no_deadlocks() {
    for ((name, body), order) in ENDING.iter().zip(ORDERS.into_iter().cycle()) {
        assert_eq!(outcome(body, (2, 32), order).fault, None, "{name}, {order:?}");
    }
}

#[test]
fn deadlock_names_each_group_of_threads_and_its_reason() {
    let body = "setp.lt.u32 %p, %t, 32; @%p bra FIRST; bar.sync 0; bra DONE; FIRST: st.volatile.global.u32 [%f], 0;\n\
        POLL: ld.volatile.global.u32 %v, [%f]; setp.eq.u32 %p, %v, 0; @%p bra POLL;";
    let outcome = outcome(body, (3, 96), KernelOrder::Forward);
    let fault = outcome.fault.unwrap();
    let reasons: Vec<_> = fault.waiting.iter().map(|group| (group.reason, group.threads, group.blocks)).collect();
    let address = BASE + 512;
    assert_eq!(
        reasons,
        [
            (Reason::Reads { address, size: 4, phase: false, several: false }, 96, 3),
            (Reason::Barrier { number: 0, arrived: 64, expected: 96 }, 192, 3),
        ]
    );
    let writer = fault.waiting[0].writer.expect("a thread of the launch wrote the flag");
    assert!(writer.pc < fault.waiting[0].pc, "{writer:?}");
    assert_eq!((writer.state, fault.progress.ended, fault.progress.not_started), (WriterState::Lives, 0, 0));
    assert_eq!(fault.waiting[1].thread, [32, 0, 0]);
}

#[test]
fn deadlock_tells_the_state_of_the_thread_that_wrote_the_awaited_word() {
    let lock = "TAKE: atom.acquire.gpu.global.cas.b32 %v, [%f], 0, 1; setp.ne.u32 %p, %v, 0; @%p bra TAKE;";
    let other_lock = lock.replace("TAKE", "OTHER").replace("[%f]", "[%a]");
    let opposite = format!(
        "setp.gt.u32 %p, %t, 1; @%p bra DONE; setp.eq.u32 %p, %t, 0; add.u64 %a, %f, 4; @%p add.u64 %f, %f, 4; @%p sub.u64 %a, %a, 4;\n\
         {lock} {other_lock}"
    );
    let twice = lock.replace("TAKE", "AGAIN");
    let kept = format!("@%q bra DONE; {lock}");
    let barrier = "setp.lt.u32 %p, %t, 32; @%q bra LATE; st.volatile.global.u32 [%f], 2; LATE: @!%p bar.sync 0; @!%p bra DONE;\n\
        POLL: ld.volatile.global.u32 %v, [%f]; setp.ne.u32 %p, %v, 1; @%p bra POLL;";
    let cases = [
        (format!("@%q bra DONE; {lock} {twice}"), (1, 32), WriterState::Reader, 31, 0),
        (opposite, (1, 32), WriterState::WaitsForReader, 30, 0),
        (kept, (2, 32), WriterState::Ended, 63, 1),
    ];
    for (body, shape, state, ended, blocks) in cases {
        let fault = outcome(&body, shape, KernelOrder::Forward).fault.unwrap();
        let group = &fault.waiting[0];
        assert_eq!(group.writer.map(|writer| writer.state), Some(state), "{body}");
        assert!(group.takes, "{body}");
        assert_eq!(
            (fault.progress.ended, fault.progress.ended_blocks, fault.progress.not_started),
            (ended, blocks, 0),
            "{body}"
        );
    }
    let fault = outcome(barrier, (1, 64), KernelOrder::Forward).fault.unwrap();
    assert_eq!(fault.waiting[0].value, Some(2));
}

#[test]
fn deadlock_names_the_word_beside_the_awaited_one() {
    let body = "@%q bra DONE; setp.eq.u32 %p, %b, 0; @%p bra POLL; st.volatile.global.u32 [%f + 8], 1; bra DONE;\n\
        POLL: ld.volatile.global.u32 %v, [%f]; setp.eq.u32 %p, %v, 0; @%p bra POLL;";
    let fault = outcome(body, (2, 32), KernelOrder::Forward).fault.unwrap();
    let group = &fault.waiting[0];
    let (distance, writer) = group.beside.expect("a thread wrote the next word but one");
    assert_eq!((distance, writer.block, writer.state, group.value), (8, 1, WriterState::Ended, Some(0)));
}

#[test]
fn deadlock_counts_the_blocks_that_cannot_start() {
    let body = "@%q bra DONE; atom.global.add.u32 %v, [%f], 1; POLL: ld.volatile.global.u32 %v, [%f]; setp.lt.u32 %p, %v, %n; @%p bra POLL;";
    let mut memory = vec![0_u64; 1024];
    let source = kernel(body);
    let run = Run { source: &source, grid: [8, 1, 1], threads: [32, 1, 1], resident_blocks: 6, ..Run::default() };
    let fault = run.over(&mut [&mut memory]).fault.unwrap();
    assert_eq!((fault.progress.not_started, fault.progress.ended_blocks, fault.waiting[0].value), (2, 0, Some(6)));
}

/// The lines behind the first line of the body at which the guards of the instructions of a body are, for each line of the body.
fn guards(body: &str) -> Vec<Option<u32>> {
    let program = load(&kernel(body)).unwrap();
    let locations: Vec<u32> = (0..).map_while(|pc| program.location(pc)).map(|location| location.line).collect();
    // The lines of the kernel in front of the body and behind it hold the other instructions.
    let (last, count) = (*locations.iter().max().unwrap(), body.lines().count() as u32);
    let first = last - count;
    let guard = |line: u32| {
        let pc = locations.iter().position(|other| *other == line)? as u32;
        program.guards_of(pc).last().map(|guard| locations[*guard as usize] - first)
    };
    (first..last).map(guard).collect()
}

#[test]
fn guard_of_a_wait_is_the_early_return_in_front_of_it() {
    let poll = "add.u32 %v, %t, 1;\nPOLL: ld.volatile.global.u32 %v, [%f];\nsetp.eq.u32 %p, %v, 0;\n@%p bra POLL;\nst.global.u32 [%f], 1;";
    assert_eq!(guards(poll), [None; 5]);
    let with = |guard: &str| guards(&format!("{guard}\n{poll}"));
    let all = [None, Some(0), Some(0), Some(0), Some(0), Some(0)];
    assert_eq!(with("@%q bra DONE;"), all);
    assert_eq!(with("@%q ret;"), all);
    // The inner one of two is nearer, and both ways of a branch that meet again lead on.
    assert_eq!(with("@%q bra DONE; setp.eq.u32 %r, %b, 0;\n@%r bra DONE;")[3], Some(1));
    assert_eq!(with("@%q bra ON; mov.u32 %w, 1; ON:")[1], None);
}
