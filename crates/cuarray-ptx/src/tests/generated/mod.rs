//! Generated code and the interpreter give the same results, bit by bit.
//!
//! Each kernel of this crate's tests runs both ways; see [`Way::Generated`](super::Way::Generated). Here, random kernels do.

mod kernels;
mod turns;

use super::random::Random;
use super::*;
use kernels::{Kernel, REGISTERS};

/// The words of 64 bits of a buffer.
const WORDS: usize = 1 << 14;

/// The number of random kernels, unless `RANDOM_KERNELS` has another.
const KERNELS: u64 = 500;

/// The effects of a launch.
#[derive(PartialEq, Eq, Debug)]
struct Left {
    memory: Vec<u64>,
    fault: Option<crate::Fault>,
    instructions: u64,
    nanoseconds: u64,
    races: Vec<crate::Race>,
    misuses: Vec<crate::Misuse>,
    touched: Vec<crate::TouchedRange>,
    undefined: Vec<(u64, u64)>,
}

impl Left {
    /// All but the memory.
    fn facts(&self) -> impl std::fmt::Debug {
        let Left { memory: _, fault, instructions, nanoseconds, races, misuses, touched, undefined } = self;
        (fault, instructions, nanoseconds, races, misuses, touched, undefined)
    }
}

fn left_by(run: &Run<'_>, way: Way) -> Left {
    let mut memory: Vec<u64> = (0..WORDS as u64).map(|word| kernels::scattered(word) ^ word << 7).collect();
    let outcome = run.executed(&mut [&mut memory], way, 1);
    let Outcome { fault, instructions, nanoseconds, races, misuses, touched, undefined, .. } = outcome;
    Left { memory, fault, instructions, nanoseconds, races, misuses, touched, undefined }
}

/// Runs one kernel both ways. Every second launch is recorded, and some have another order of blocks and turns.
fn compare(seed: u64) -> (bool, u64) {
    let kernel = Kernel::random(&mut Random(seed));
    let run = Run {
        source: &kernel.source,
        grid: kernel.grid,
        threads: kernel.threads,
        more: kernel.parameters.clone(),
        budget: 1 << 22,
        order: match seed % 16 {
            5 => KernelOrder::Random(seed),
            9 => KernelOrder::Reverse,
            _ => KernelOrder::Forward,
        },
        ..Run::default()
    };
    let ways = match seed % 2 {
        0 => [Way::Recorded, Way::GeneratedRecorded],
        _ => [Way::Unrecorded, Way::Generated],
    };
    let [interpreted, generated] = ways.map(|way| left_by(&run, way));
    let report = || {
        let lines = kernel.source.lines().enumerate().map(|(line, text)| format!("{:4} {text}\n", line + 1));
        format!("seed {seed}, {:?} blocks of {:?} threads\n{}", kernel.grid, kernel.threads, lines.collect::<String>())
    };
    let places = interpreted.memory.iter().zip(&generated.memory).enumerate();
    let differing: Vec<String> = places
        .filter(|(_, (one, other))| one != other)
        .map(|(at, (one, other))| {
            let (thread, register) = (at / REGISTERS.len(), REGISTERS[at % REGISTERS.len()]);
            format!("word {at}, {register} of thread {thread}: {one:#x} interpreted, {other:#x} generated")
        })
        .take(8)
        .collect();
    let facts = [&interpreted, &generated].map(Left::facts);
    assert!(differing.is_empty(), "{}{}\n{facts:?}", report(), differing.join("\n"));
    // The memory is equal. A launch that fails counts the instructions up to the fault.
    assert!(interpreted == generated, "{}{facts:#?}", report());
    (interpreted.fault.is_some(), interpreted.instructions)
}

/// Each seed gives one kernel. `RANDOM_KERNELS_FROM` is the first one.
#[test]
fn random_kernels_leave_the_same_memory_faults_and_counts() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first: u64 = setting("RANDOM_KERNELS_FROM").unwrap_or(1);
    let count = setting("RANDOM_KERNELS").unwrap_or(KERNELS);
    let results: Vec<(bool, u64)> = (first..first + count).map(compare).collect();
    let failed = results.iter().filter(|(failed, _)| *failed).count();
    // Most kernels end, and some fail, so that both are compared.
    assert!(count < 100 || failed > 0 && failed * 4 < results.len(), "{failed} of {count} kernels failed");
}

#[cfg(target_arch = "x86_64")]
const SUM: &str = ".visible .entry k(.param .u64 out, .param .u32 n) { .reg .pred %p; .reg .b32 %t, %n, %i; .reg .b64 %out, %a;\n\
    ld.param.u64 %out, [out]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.u64 %out, %out, %a; mov.u32 %i, 0;\n\
    L: add.u32 %t, %t, %i; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra L; st.global.u32 [%out], %t; ret; }";

/// The number of [`SUM`]'s threads.
#[cfg(target_arch = "x86_64")]
const THREADS: u32 = 64;

/// The results of [`SUM`] for `n` rounds, and the program that gave them.
#[cfg(target_arch = "x86_64")]
fn sum(code: Code, record: bool, n: u64) -> (Program, Vec<u64>) {
    let program = load(SUM).expect("the kernel is valid");
    let mut memory = vec![0_u64; THREADS as usize / 2];
    let host = memory.as_mut_ptr() as u64;
    let end = BASE + 4 * u64::from(THREADS);
    let regions = [Region { start: BASE, end, host, writable: true, slack: 0, group: 0 }];
    let (constants, parameters) = (program.constants(|_| 0), [BASE, n]);
    let launch = Launch::new(&program, 0, &constants, &parameters);
    let launch = Launch { threads: [THREADS, 1, 1], regions: &regions, record, races: record, code, ..launch };
    // SAFETY: the region is the buffer.
    let outcome = unsafe { execute(&launch) };
    assert_eq!(outcome.fault, None);
    (program, memory)
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_is_generated_where_it_is_asked_for() {
    let expected: Vec<u64> =
        (0..u64::from(THREADS)).step_by(2).map(|thread| (thread + 45) | (thread + 46) << 32).collect();
    for (code, record, generated) in [
        (Code::Generated, false, true),
        (Code::Generated, true, true),
        // A short launch is not worth it.
        (Code::GeneratedIfWorth, false, false),
        (Code::Interpreted, false, false),
    ] {
        let (program, memory) = sum(code, record, 10);
        assert_eq!(memory, expected, "{code:?}");
        let wide = crate::machine::has_vectors();
        assert_eq!(program.generated.functions() > 0, generated && wide, "{code:?}, recorded: {record}");
        // It makes the store itself.
        assert_eq!(program.generated.journaled() > 0, generated && record && wide, "{code:?}, recorded: {record}");
    }
}

/// A warp's turn ends in the loop, where the interpreter has linear values that are not in their rows.
#[test]
#[cfg(target_arch = "x86_64")]
fn code_takes_over_in_the_middle_of_a_launch() {
    const ROUNDS: u64 = 40_000;
    for record in [false, true] {
        let (_, expected) = sum(Code::Interpreted, record, ROUNDS);
        let (program, memory) = sum(Code::GeneratedIfWorth, record, ROUNDS);
        assert_eq!(memory, expected, "recorded: {record}");
        assert_eq!(program.generated.functions() > 0, crate::machine::has_vectors(), "recorded: {record}");
    }
}

/// The turn of one warp ends on its way to a barrier, where the others wait.
#[test]
fn warps_wait_for_one_whose_turn_has_ended() {
    let source = ".visible .entry k(.param .u64 out) { .reg .pred %p; .reg .b32 %t, %n, %i, %v, %w, %s, %r; .reg .b64 %out, %a;\n\
        .shared .align 4 .b32 box[128]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %s, 0; mov.u32 %r, 0;\n\
        shl.b32 %w, %t, 2; mov.u32 %v, box; add.u32 %w, %w, %v; add.u32 %n, %t, 32; and.b32 %n, %n, 127; shl.b32 %n, %n, 2;\n\
        add.u32 %n, %n, %v;\n\
        R: shr.u32 %i, %t, 5; setp.ne.u32 %p, %i, 1; mov.u32 %i, 0; @%p bra STORE;\n\
        L: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 40000; @%p bra L;\n\
        STORE: mad.lo.u32 %v, %r, 1000, %t; add.u32 %v, %v, %i; st.shared.u32 [%w], %v; bar.sync 0;\n\
        ld.shared.u32 %v, [%n]; mad.lo.u32 %s, %s, 7, %v; bar.sync 0;\n\
        add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 3; @%p bra R;\n\
        mul.wide.u32 %a, %t, 4; add.u64 %out, %out, %a; st.global.u32 [%out], %s; ret; }";
    for order in [KernelOrder::Forward, KernelOrder::Reverse] {
        let run = Run { source, threads: [128, 1, 1], order, budget: 1 << 22, ..Run::default() };
        assert_eq!(left_by(&run, Way::Unrecorded), left_by(&run, Way::Generated), "{order:?}");
    }
}

/// The registers of a loop have values of their own in each round, also where lanes have left it.
#[test]
fn lanes_that_stay_in_a_loop_keep_their_registers() {
    let source = ".visible .entry k(.param .u64 out) { .reg .pred %p; .reg .b32 %t, %n, %v; .reg .b64 %out, %a; ld.param.u64 %out, [out];\n\
        mov.u32 %t, %tid.x; mov.u32 %v, %laneid; and.b32 %n, %t, 3; mul.wide.u32 %a, %t, 4; add.u64 %out, %out, %a;\n\
        L: add.s32 %v, %v, 0x7fffffff; sub.u32 %n, %n, 1; setp.ge.s32 %p, %n, 0; @%p bra L; st.global.u32 [%out], %v; ret; }";
    let mut values = vec![0_u64; 32];
    let outcome = Run { source, threads: [64, 1, 1], ..Run::default() }.over(&mut [&mut values]);
    assert!(outcome.fault.is_none(), "{outcome:?}");
    let value = |thread: u64| (thread % 32).wrapping_add((thread % 4 + 1) * 0x7fff_ffff) & 0xffff_ffff;
    let expected: Vec<u64> = (0..32).map(|pair| value(2 * pair) | value(2 * pair + 1) << 32).collect();
    assert_eq!(values, expected);
}

/// Lanes leave a loop with a branch after different numbers of rounds, some of them after many turns. Each round changes a digest that all
/// share, so the order of their turns is visible.
#[test]
fn lanes_that_are_apart_take_turns_as_in_the_interpreter() {
    let source = ".visible .entry k(.param .u64 out) { .reg .pred %p; .reg .b32 %t, %n, %i, %v, %w, %x; .reg .b64 %out, %a;\n\
        .shared .align 4 .b32 digest; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.lo.u32 %n, %t, 700, 100; mov.u32 %i, 0;\n\
        mov.u32 %w, 0; st.shared.u32 [digest], %w;\n\
        L: ld.shared.u32 %v, [digest]; mad.lo.u32 %v, %v, 31, %t; st.shared.u32 [digest], %v; xor.b32 %w, %w, %v;\n\
        mul.lo.u32 %x, %t, 37; add.u32 %x, %x, %i; and.b32 %x, %x, 192; setp.eq.u32 %p, %x, 64; @%p bra A; setp.eq.u32 %p, %x, 128; @%p bra B;\n\
        add.u32 %w, %w, 3; bra N; A: shl.b32 %w, %w, 1; B: add.u32 %w, %w, %i;\n\
        N: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra L;\n\
        mul.wide.u32 %a, %t, 4; add.u64 %out, %out, %a; add.u32 %v, %v, %w; st.global.u32 [%out], %v; ret; }";
    for threads in [32, 64] {
        let run = Run { source, threads: [threads, 1, 1], budget: 1 << 24, ..Run::default() };
        let left = left_by(&run, Way::Unrecorded);
        assert_eq!(left, left_by(&run, Way::Generated), "{threads} threads");
    }
}

/// Each thread counts in shared memory, and adds the sum of its own place behind the last barrier.
#[test]
fn warps_keep_their_registers_behind_barriers_over_several_blocks() {
    let source = ".visible .entry k(.param .u64 out) { .reg .pred %p; .reg .b32 %t, %c, %i, %v, %w, %s; .reg .b64 %out, %a, %l;\n\
        .shared .align 4 .b32 bins[256]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %s, bins;\n\
        mad.lo.u32 %w, %t, 4, %s; mov.u32 %v, 0; st.shared.u32 [%w], %v; bar.sync 0;\n\
        mad.lo.u32 %i, %c, 256, %t;\n\
        L: mul.lo.u32 %v, %i, 40503; shr.u32 %v, %v, 7; and.b32 %v, %v, 255; mad.lo.u32 %v, %v, 4, %s; atom.shared.add.u32 %v, [%v], 1;\n\
        add.u32 %i, %i, 4096; setp.lt.u32 %p, %i, 262144; @%p bra L; bar.sync 0;\n\
        ld.shared.u32 %v, [%w]; mul.wide.u32 %l, %t, 4; add.u64 %a, %out, %l; red.global.add.u32 [%a], %v; ret; }";
    let mut sums = vec![0_u64; 128];
    let run = Run { source, grid: [16, 1, 1], threads: [256, 1, 1], ..Run::default() };
    let outcome = run.over(&mut [&mut sums]);
    assert!(outcome.fault.is_none() && outcome.races.is_empty(), "{outcome:?}");
    let mut expected = [0_u32; 256];
    (0..262_144_u32).for_each(|index| expected[(index.wrapping_mul(40503) >> 7) as usize & 255] += 1);
    let sums: Vec<u32> = sums.iter().flat_map(|pair| [*pair as u32, (*pair >> 32) as u32]).collect();
    assert_eq!(sums, expected);
}
