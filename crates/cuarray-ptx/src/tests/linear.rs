//! Values that are linear in the lane number. [`Run::over`] compares each result with that of the usual functions.

use super::random::{Random, cases};
use super::*;

impl Random {
    /// A register, or a number near the ends of the types' ranges.
    fn source(&mut self, bits: u32) -> String {
        let wide = bits == 64;
        match self.below(4) {
            0 if wide => {
                self.one_of(&["0", "1", "-1", "63", "4294967295", "0x8000000000000000", "0x7ffffffffffffff0"]).into()
            }
            0 => self.one_of(&["0", "1", "-1", "31", "7", "0x80000000", "0x7ffffff0"]).into(),
            _ => self.register(bits),
        }
    }

    fn register(&mut self, bits: u32) -> String {
        format!("%{}{}", if bits == 64 { "q" } else { "r" }, self.below(REGISTERS))
    }

    fn instruction(&mut self) -> String {
        let bits = [32, 64][self.below(2) as usize];
        let (d, a, b, c) = (self.register(bits), self.source(bits), self.source(bits), self.source(bits));
        let (narrow, by) = (self.register(32), self.source(32));
        let sign = self.one_of(&["u", "s"]);
        match self.below(16) {
            0 | 1 => format!("{}.{sign}{bits} {d}, {a}, {b};", self.one_of(&["add", "sub"])),
            2 => format!("mul.lo.{sign}{bits} {d}, {a}, {b};"),
            3 => format!("mad.lo.{sign}{bits} {d}, {a}, {b}, {c};"),
            4 => format!("mul.wide.{sign}32 {}, {narrow}, {by};", self.register(64)),
            5 => format!("cvt.{}64.{sign}32 {}, {narrow};", self.one_of(&["u", "s"]), self.register(64)),
            6 => format!("cvt.u32.u64 {narrow}, {};", self.register(64)),
            7 => format!("shl.b{bits} {d}, {a}, {};", self.below(70)),
            8 => format!("shr.{sign}{bits} {d}, {a}, {};", self.below(70)),
            9 => format!("shr.{sign}{bits} {d}, {a}, {by};"),
            10 => format!("{}.b{bits} {d}, {a}, {b};", self.one_of(&["and", "or", "xor"])),
            11 => format!("{} {d}, {a};", self.one_of(&[&format!("not.b{bits}"), &format!("neg.s{bits}")])),
            12 => format!("mov.u{bits} {d}, {a};"),
            13 => format!("selp.b{bits} {d}, {a}, {b}, %p{};", self.below(2)),
            _ => {
                let test = self.one_of(&["eq", "ne", "lt", "le", "gt", "ge"]);
                format!("setp.{test}.{sign}{bits} %p{}, {a}, {b};", self.below(2))
            }
        }
    }
}

/// The registers of each width.
const REGISTERS: u64 = 6;

/// The words that each thread stores.
const WORDS: usize = 2 * REGISTERS as usize + 2;

/// A kernel of random instructions, some of them guarded or skipped by some threads. Each thread stores all its
/// registers, through addresses that are rarely linear and through such that mostly are.
fn kernel(seed: u64) -> String {
    let mut random = Random(seed);
    let mut body = String::new();
    for label in 0..8 {
        let skipped = random.below(3) == 0;
        if skipped {
            body += &format!("@%p{} bra L{label};\n", random.below(2));
        }
        for _ in 0..random.below(6) {
            let guard = if random.below(8) == 0 { format!("@%p{} ", random.below(2)) } else { String::new() };
            body += &format!("{guard}{}\n", random.instruction());
        }
        body += &format!("L{label}:\n");
    }
    let stores: String = (0..REGISTERS as usize)
        .map(|index| {
            let (narrow, wide) = (8 * index, 8 * (index + REGISTERS as usize));
            format!("cvt.u64.u32 %w, %r{index}; st.global.u64 [%out+{narrow}], %w; st.global.u64 [%out+{wide}], %q{index};\n")
        })
        .collect();
    format!(
        ".visible .entry k(.param .u64 out, .param .u64 x, .param .u64 y) {{\n\
         .reg .pred %p<2>; .reg .b32 %r<{REGISTERS}>; .reg .b64 %q<{REGISTERS}>; .reg .b64 %out, %w, %i; .reg .b32 %t, %n;\n\
         mov.u32 %t, %tid.y; mov.u32 %n, %ntid.x; mov.u32 %r0, %tid.x; mad.lo.u32 %t, %t, %n, %r0;\n\
         ld.param.u64 %out, [out]; mul.wide.u32 %i, %t, {size}; add.u64 %out, %out, %i;\n\
         mov.u32 %r1, %tid.y; mov.u32 %r2, %laneid; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, 0x7ffffff0;\n\
         ld.param.u64 %q0, [x]; ld.param.u64 %q1, [y]; cvt.s64.s32 %q2, %r0; cvt.u64.u32 %q3, %r2; mov.u64 %q4, 0; mov.u64 %q5, -8;\n\
         setp.lt.u32 %p0, %r0, 5; setp.lt.s64 %p1, %q0, %q1;\n\
         {body}{stores} setp.ne.b32 %p0, %r0, 0; selp.u64 %w, 1, 2, %p0; st.global.u64 [%out+{first}], %w;\n\
         selp.u64 %w, 3, 4, %p1; st.global.u64 [%out+{second}], %w; ret; }}",
        size = 8 * WORDS,
        first = 8 * (WORDS - 2),
        second = 8 * (WORDS - 1),
    )
}

#[test]
fn random_programs_have_the_results_of_the_usual_functions() {
    for seed in 0..cases(60).into() {
        let source = kernel(seed);
        for threads in [[32, 1, 1], [16, 4, 1], [8, 4, 1], [10, 5, 1], [45, 1, 1]] {
            let mut results = vec![0_u64; 64 * WORDS];
            let more = vec![u64::MAX - 3, 1 << 31];
            let run = Run { source: &source, threads, more, ..Run::default() };
            assert_eq!(run.over(&mut [&mut results]).fault, None, "seed {seed}");
        }
    }
}

#[test]
fn thread_indices_of_narrow_blocks_address_rows() {
    let source = ".visible .entry k(.param .u64 p, .param .u64 q) {\n\
         .reg .b32 %x, %y, %v; .reg .b64 %a, %b, %i;\n\
         ld.param.u64 %a, [p]; ld.param.u64 %b, [q]; mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; shl.b32 %v, %y, 6;\n\
         add.u32 %v, %v, %x; mul.wide.u32 %i, %v, 4; add.u64 %a, %a, %i; ld.global.u32 %v, [%a];\n\
         mad.lo.u32 %x, %y, 16, %x; mul.wide.u32 %i, %x, 4; add.u64 %b, %b, %i; st.global.u32 [%b], %v; ret; }";
    let mut numbers: Vec<u64> = (0..128).map(|pair| (pair * 2) | ((pair * 2 + 1) << 32)).collect();
    let mut results = vec![0_u64; 32];
    let run = Run { source, threads: [16, 4, 1], ..Run::default() };
    assert_eq!(run.over(&mut [&mut numbers, &mut results]).fault, None);
    for (thread, pair) in (0..64).step_by(2).zip(results) {
        let expected = thread / 16 * 64 + thread % 16;
        assert_eq!(pair, expected | (expected + 1) << 32);
    }
}

#[test]
fn linear_address_outside_of_the_buffer_faults_in_the_first_thread_outside() {
    let source = ".visible .entry k(.param .u64 p) {\n\
         .reg .b32 %x; .reg .b64 %a, %i; ld.param.u64 %a, [p]; mov.u32 %x, %tid.x; mul.wide.u32 %i, %x, 4;\n\
         add.u64 %a, %a, %i; ld.global.u32 %x, [%a+40]; st.global.u32 [%a], %x; ret; }";
    let mut numbers = vec![0_u64; 16];
    let outcome = Run { source, ..Run::default() }.over(&mut [&mut numbers]);
    let fault = outcome.fault.expect("the last lanes load behind the buffer");
    assert_eq!((fault.kind, fault.thread, fault.address), (FaultKind::IllegalAddress, [22, 0, 0], BASE + 128));
}
