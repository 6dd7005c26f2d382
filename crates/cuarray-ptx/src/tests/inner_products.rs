//! Steps of two loads and a multiply-add, as in products of tiles. [`Run::over`] executes each kernel in several ways.

use super::random::{Random, cases};
use super::*;

/// Addresses in a tile of 1,024 bytes: rows of 32, 16 and 8 lanes, values that are equal in 32, 16 and 8 lanes, and others.
const ADDRESSES: &[&str] = &[
    "mad.wide.u32 %A, %l, 4, %A;",
    "and.b32 %t, %l, 15; mad.wide.u32 %A, %t, 4, %A;",
    "and.b32 %t, %l, 7; mad.wide.u32 %A, %t, 4, %A;",
    "",
    "shr.u32 %t, %l, 4; mad.wide.u32 %A, %t, 64, %A;",
    "shr.u32 %t, %l, 3; mad.wide.u32 %A, %t, 64, %A;",
    "mad.wide.u32 %A, %l, 8, %A;",
];

/// Steps that mostly add to the sum of the one before. Some loaded values and sums are used elsewhere. `sums` are the registers of all
/// sums until then, and each step writes further registers.
fn steps(random: &mut Random, sums: &mut Vec<usize>) -> String {
    let mut text = String::new();
    let space = random.one_of(&["", ".shared"]);
    for _ in 0..1 + random.below(7) {
        let offset = |random: &mut Random| match random.below(40) {
            0 => 1024,
            1 => 2,
            _ => 4 * random.below(24),
        };
        let (first, second) = (offset(random), offset(random));
        let (x, y) = if random.below(12) == 0 { ("b", "a") } else { ("a", "b") };
        let global = if space.is_empty() { "g" } else { "" };
        let last = sums.len() - 1;
        let source = sums[if random.below(12) == 0 { random.below(sums.len() as u64) as usize } else { last }];
        let next = 3 * sums.len() + 6;
        let (f, g) = if random.below(3) == 0 { (next, next + 1) } else { (next + 1, next) };
        let target = next + 2;
        text += &format!(
            "ld{space}.f32 %f{next}, [%{global}{x}+{first}]; ld{space}.f32 %f{}, [%{global}{y}+{second}];\n",
            next + 1
        );
        text += &format!("fma.rn.f32 %f{target}, %f{f}, %f{g}, %f{source};\n");
        match random.below(24) {
            0 => text += &format!("add.f32 %f5, %f5, %f{next};\n"),
            1 => text += &format!("add.f32 %f4, %f4, %f{target};\n"),
            _ => {}
        }
        sums.push(target);
    }
    text
}

/// A kernel that fills a tile, and executes steps over it, partly in some lanes only. Each thread stores its sums.
fn kernel(random: &mut Random) -> String {
    let address = |name: &str, random: &mut Random| random.one_of(ADDRESSES).replace("%A", name);
    let (a, b) = (address("%a", random), address("%b", random));
    let skip = if random.below(4) == 0 { "setp.lt.u32 %p, %l, 7; @%p bra L;" } else { "" };
    let value = random.one_of(&["cvt.rn.f32.u32 %f0, %l;", "mov.b32 %f0, 0xffc12345;", "mov.f32 %f0, 0f3f000000;"]);
    let mut sums = vec![1];
    let (before, mut after) = (steps(random, &mut sums), String::new());
    let at = sums[sums.len() - 1];
    after += &format!("mov.f32 %f2, %f{at};\n {skip}\n");
    after += &steps(random, &mut sums);
    let at = sums[sums.len() - 1];
    let fills: String = (0..8).map(|at| format!("st.shared.f32 [%s+{}], %f0;\n", 128 * at)).collect();
    let results: String = (0..6).map(|at| format!("st.global.f32 [%out+{}], %f{at};\n", 4 * at)).collect();
    format!(
        ".visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p; .reg .b32 %t, %l; .reg .b64 %out, %s, %a, %b, %ga, %gb; .reg .f32 %f<64>; .shared .align 4 .b8 tile[1024];\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %l, %laneid; mad.wide.u32 %out, %t, 24, %out;\n\
         mov.u64 %s, tile; mad.wide.u32 %s, %l, 4, %s; {value}\n setp.gt.u32 %p, %t, 31; @%p bra F;\n {fills} F: bar.sync 0;\n\
         mov.f32 %f1, 0f3f800000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1; mov.f32 %f5, %f1;\n\
         mov.u64 %a, tile; mov.u64 %b, tile; {a} {b}\n cvta.shared.u64 %ga, %a; cvta.shared.u64 %gb, %b;\n\
         {before} {after} mov.f32 %f3, %f{at}; L: {results} ret; }}"
    )
}

#[test]
fn random_steps_have_the_results_faults_and_records_of_single_instructions() {
    let mut random = Random(7);
    let mut faults = 0;
    let cases = cases(250);
    for number in 0..cases {
        let source = kernel(&mut random);
        let threads = [32 + 13 * (number % 3), 1, 1];
        let mut results = vec![0_u64; 3 * 64];
        let outcome = Run { source: &source, threads, ..Run::default() }.over(&mut [&mut results]);
        faults += u32::from(outcome.fault.is_some());
    }
    // Few kernels may all have one.
    assert!(cases < 100 || (cases / 8..cases * 7 / 8).contains(&faults), "{faults} of {cases} kernels had a fault");
}

#[test]
fn load_through_the_value_of_the_load_before_uses_that_value() {
    let source = ".visible .entry k(.param .u64 p) {\n\
         .reg .b32 %t, %x, %y, %z; .reg .b64 %out, %i; .reg .f32 %f; .shared .align 4 .b8 tile[256];\n\
         ld.param.u64 %out, [p]; mov.u32 %t, %laneid; mul.wide.u32 %i, %t, 4; add.u64 %out, %out, %i;\n\
         mov.u32 %y, tile; shl.b32 %t, %t, 2; add.u32 %t, %t, %y; xor.b32 %x, %t, 64; st.shared.u32 [%t], %x;\n\
         st.shared.u32 [%t+128], %x; bar.sync 0; mov.f32 %f, 0f00000000; mov.u32 %x, %t;\n\
         ld.shared.u32 %x, [%t]; ld.shared.u32 %y, [%x]; fma.rn.f32 %f, %x, %y, %f; st.shared.f32 [%t+128], %f;\n\
         ld.shared.u32 %z, [%t]; ld.shared.u32 %z, [%x]; add.u32 %y, %y, %z;\n\
         st.global.u32 [%out], %y; ret; }";
    let mut results = vec![0_u64; 16];
    assert_eq!(Run { source, ..Run::default() }.over(&mut [&mut results]).fault, None);
    let words = results.iter().flat_map(|pair| [*pair as u32, (*pair >> 32) as u32]);
    assert!(words.enumerate().all(|(lane, word)| word == 8 * lane as u32));
}
