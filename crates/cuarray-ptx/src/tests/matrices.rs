//! Errors, faults, misuses and races of instructions on matrices. Results are compared in `tests/kernels`.

use super::{APART, BASE, HEAD, Run, load_for};
use crate::machine::{FaultKind, MisuseKind, Outcome};

const DECLARATIONS: &str = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .pred %p<4>; \
    .shared .align 16 .b8 sh[1024];";
const PRODUCT: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, \
    {%f0,%f1,%f2,%f3};";

fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{ {DECLARATIONS} ld.param.u64 %rd0, [out]; mov.u32 %r8, %tid.x; \
         shl.b32 %r7, %r8, 4; mov.u32 %r6, sh; add.u32 %r7, %r7, %r6; {body} ret; }}"
    )
}

fn run(body: &str, threads: u32) -> Outcome {
    let mut out = [0; 256];
    Run { source: &kernel(body), threads: [threads, 1, 1], ..Run::default() }.over(&mut [&mut out])
}

#[test]
fn lower_targets_and_versions_are_errors_of_the_assembler() {
    let cases = [
        ("6.5", "sm_70", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r7];", "'ldmatrix' requires .target sm_75"),
        ("6.4", "sm_75", "ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%r7];", "'ldmatrix' requires PTX ISA .version 6.5"),
        ("8.0", "sm_80", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7], {%r0};", "'stmatrix' requires .target sm_90"),
        ("8.0", "sm_70", "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;", "'movmatrix' requires .target sm_75"),
        ("8.0", "sm_75", PRODUCT, "'.m16n8k16' requires .target sm_80"),
        (
            "8.6",
            "sm_100",
            "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0,%r1}, [%r7];",
            "'.m16n16' not supported on .target 'sm_100'",
        ),
        (
            "8.0",
            "sm_80",
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%d0,%d1,%d2,%d3}, {%d0,%d1}, {%d2}, {%d0,%d1,%d2,%d3};",
            "'.m16n8k4 with double types' requires .target sm_90",
        ),
        (
            "7.0",
            "sm_80",
            "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%r0,%r1}, {%r2}, {%r3}, {%r0,%r1};",
            "requires PTX ISA .version 7.1",
        ),
        (
            "8.4",
            "sm_80",
            "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
            "'mma with FP8 floating point type' requires .target sm_89",
        ),
    ];
    for (version, target, body, message) in cases {
        let head = format!(".version {version}\n.target {target}\n.address_size 64\n");
        let error = load_for(&head, &kernel(body)).err().unwrap_or_else(|| panic!("{body} was taken"));
        assert!(!error.unsupported && error.message.contains(message), "{body}: {error}");
    }
}

#[test]
fn forms_that_the_manual_does_not_list_are_invalid() {
    let form = |shape: &str, types: &str| PRODUCT.replace("m16n8k16.row.col", shape).replace("f32.f16.f16.f32", types);
    for body in [
        form("m16n8k16.row.row", "f32.f16.f16.f32"),
        form("m16n8k16.row.col", "f32.f16.f16.f16"),
        form("m16n8k16.row.col", "f32.f16.bf16.f32"),
        form("m16n8k16.row.col.satfinite", "f32.f16.f16.f32"),
        form("m16n8k16.row.col", "f32.tf32.tf32.f32"),
        PRODUCT.replace(".aligned", ""),
        PRODUCT.replace("{%r0,%r1,%r2,%r3}", "{%r0,%r1,%r2}"),
        PRODUCT.replace("{%r4,%r5}", "%r4"),
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r0, [%r7];".to_owned(),
        "ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r0}, [%rd0];".to_owned(),
        "ldmatrix.sync.aligned.m8n8.x1.shared::cluster.b16 {%r0}, [%r7];".to_owned(),
        "ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r0}, [%r7];".to_owned(),
        "movmatrix.sync.aligned.m8n8.b16 %r0, %r1;".to_owned(),
    ] {
        let error = load_for(super::HEAD, &kernel(&body)).err().unwrap_or_else(|| panic!("{body} was taken"));
        assert!(!error.unsupported, "{body}: {error}");
    }
}

#[test]
fn row_addresses_are_checked() {
    let load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%r7];";
    let fault = |body: &str| run(body, 32).fault.map(|fault| (fault.kind, fault.thread[0], fault.size, fault.write));
    let init = "st.shared.v4.u32 [%r7], {%r8,%r8,%r8,%r8}; bar.sync 0;";
    assert_eq!(fault(&format!("{init} {load}")), None);
    let misaligned = format!("{init} setp.eq.u32 %p0, %r8, 5; @%p0 add.u32 %r7, %r7, 8; {load}");
    assert_eq!(fault(&misaligned), Some((FaultKind::Misaligned, 5, 16, false)));
    let outside = format!("{init} setp.eq.u32 %p0, %r8, 9; @%p0 add.u32 %r7, %r7, 4096; {load}");
    assert_eq!(fault(&outside), Some((FaultKind::IllegalAddress, 9, 16, false)));
    // The lanes from the eighth on provide no address of a single matrix.
    let one = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r7];";
    assert_eq!(fault(&outside.replace(load, one)), None);
    let store = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r7], {%r0,%r1,%r2,%r3};";
    assert_eq!(fault(&outside.replace(load, store)), Some((FaultKind::IllegalAddress, 9, 16, true)));
    let global = "ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%rd0];";
    assert_eq!(fault(global), Some((FaultKind::IllegalAddress, 0, 16, false)));
}

#[test]
fn alignment_of_matrices_in_memory_is_checked() {
    let fault = |body: &str| run(body, 32).fault.map(|fault| (fault.kind, fault.size, fault.write));
    let load = |place: &str| {
        format!("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}}, {place};")
    };
    assert_eq!(fault(&load("[%rd0], 24")), None);
    assert_eq!(fault(&load("[%rd0+16]")), Some((FaultKind::Misaligned, 32, false)));
    assert_eq!(fault(&load("[%rd0], 20")), Some((FaultKind::Misaligned, 32, false)));
    assert_eq!(fault(&load("[%rd0], 2048")), Some((FaultKind::IllegalAddress, 4, false)));
    let store = "wmma.store.d.sync.aligned.row.m8n8k32.global.s32 [%rd0+4], {%r0,%r1};";
    assert_eq!(fault(store), Some((FaultKind::Misaligned, 8, true)));
}

#[test]
fn results_may_replace_operands() {
    let product = |d: &str| {
        let body = format!(
            "mov.b32 %r0, %r8; shl.b32 %r1, %r8, 9; not.b32 %r2, %r8; mul.lo.u32 %r3, %r8, 77; mov.b32 %r4, 5; mov.b32 %r5, %r1; \
             mov.b32 %r6, %r2; mov.b32 %r7, 1; {{ .reg .b32 %s<8>; wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {d}, {{%r0,%r1}}, \
             {{%r2,%r3}}, {{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}}; \
             wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%rd0], {d}; }}"
        );
        let source = kernel(&body);
        let mut out = [0; 256];
        let outcome = Run { source: &source, ..Run::default() }.over(&mut [&mut out]);
        assert_eq!(outcome.fault, None);
        out
    };
    let apart = product("{%s0,%s1,%s2,%s3,%s4,%s5,%s6,%s7}");
    assert_ne!(apart, [0; 256]);
    assert_eq!(product("{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}"), apart);
    assert_eq!(product("{%r7,%r6,%r5,%r4,%r3,%r2,%r1,%r0}"), apart);
}

#[test]
fn rows_take_part_in_races() {
    let load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%r5];";
    // Each warp reads the rows that the other one writes.
    let body = |between: &str| {
        format!(
            "st.shared.v4.u32 [%r7], {{%r8,%r8,%r8,%r8}}; xor.b32 %r5, %r8, 32; shl.b32 %r5, %r5, 4; add.u32 %r5, %r5, %r6; \
             {between} {load}"
        )
    };
    assert_eq!(run(&body("bar.sync 0;"), 64).races.len(), 0);
    assert_ne!(run(&body(""), 64).races.len(), 0);
    let store = body("").replace(load, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r5], {%r0,%r1,%r2,%r3};");
    assert_ne!(run(&store, 64).races.len(), 0);
}

#[test]
fn partial_warps_are_misuses() {
    let kinds = |body: &str, threads| {
        let misuses = run(body, threads).misuses;
        misuses.iter().map(|misuse| (misuse.kind, misuse.thread, (misuse.address >> 32) as u32)).collect::<Vec<_>>()
    };
    let whole = "mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0; \
        mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;";
    assert_eq!(kinds(&format!("{whole} {PRODUCT}"), 64), []);
    assert_eq!(kinds(&format!("{whole} {PRODUCT}"), 40), [(MisuseKind::PartialWarp, 32, !0xff)]);
    let exited = format!("{whole} setp.eq.u32 %p0, %r8, 3; @%p0 exit; {PRODUCT}");
    assert_eq!(kinds(&exited, 32), [(MisuseKind::PartialWarp, 0, 8)]);
    let guarded = format!("{whole} setp.lt.u32 %p0, %r8, 16; @%p0 {PRODUCT}");
    assert_eq!(kinds(&guarded, 32), [(MisuseKind::PartialWarp, 0, 0xffff_0000)]);
    let diverged = format!("{whole} setp.lt.u32 %p0, %r8, 16; @%p0 add.u32 %r0, %r0, 1; {PRODUCT}");
    assert_eq!(kinds(&diverged, 32), []);
}

/// The byte, among rows of 16 bytes, that a byte of a lane's registers holds; modes of extent and stride, as in CuTe.
fn place(modes: &[(usize, usize)], mut index: usize) -> usize {
    modes.iter().fold(0, |at, (extent, stride)| {
        let digit = index % extent;
        index /= extent;
        at + digit * stride
    })
}

/// Runs an instruction on 16 bytes of shared memory for each lane, at the address `%r7`, and four registers. Returns both.
fn moved(instruction: &str, image: &[u8; 512], registers: &[[u32; 32]; 4]) -> ([u8; 512], [[u32; 32]; 4]) {
    let words = |bytes: &[u8]| bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let mut memory: Vec<u64> = words(image);
    let held: Vec<u8> = registers.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let mut values: Vec<u64> = words(&held);
    let each = |text: &str| (0..4).map(|index| text.replace('#', &index.to_string())).collect::<String>();
    let (load, store) = (each("ld.global.b32 %r#, [%rd2+128*#];"), each("st.global.b32 [%rd2+128*#], %r#;"));
    let body = format!(
        "mov.u64 %rd1, {BASE}; mad.wide.u32 %rd1, %r8, 16, %rd1; ld.global.v2.u64 {{%rd3, %rd4}}, [%rd1]; \
         st.shared.v2.u64 [%r7], {{%rd3, %rd4}}; mov.u64 %rd2, {}; mad.wide.u32 %rd2, %r8, 4, %rd2; {load} bar.sync 0; \
         {instruction} bar.sync 0; {store} ld.shared.v2.u64 {{%rd3, %rd4}}, [%r7]; st.global.v2.u64 [%rd1], {{%rd3, %rd4}};",
        BASE + APART
    );
    let source = kernel(&body);
    let head = HEAD.replace("8.0", "8.6").replace("sm_90", "sm_100a");
    let outcome = Run { head: &head, source: &source, ..Run::default() }.over(&mut [&mut memory, &mut values]);
    assert_eq!((outcome.fault, outcome.races.len(), outcome.misuses.len()), (None, 0, 0), "{instruction}");
    let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let values = bytes(&values);
    let register = |at: usize| u32::from_le_bytes(values[at * 4..][..4].try_into().unwrap());
    (
        bytes(&memory).try_into().unwrap(),
        std::array::from_fn(|index| std::array::from_fn(|lane| register(index * 32 + lane))),
    )
}

/// The byte that a load widens from a place in the image.
type Bytes<'a> = &'a dyn Fn(usize) -> u8;

fn mixed(index: usize) -> u32 {
    (index as u32 + 1).wrapping_mul(0x9e37_79b9) >> 3
}

#[test]
fn matrices_of_bytes_have_the_documented_layouts() {
    let image: [u8; 512] = std::array::from_fn(|index| mixed(index) as u8);
    let registers: [[u32; 32]; 4] =
        std::array::from_fn(|index| std::array::from_fn(|lane| mixed(index * 32 + lane + 999)));
    // A row of bytes as it is, and its packed elements of four and six bits.
    let row = |row: usize| u128::from_le_bytes(image[row * 16..][..16].try_into().unwrap());
    let whole = |at: usize| image[at];
    let four = |at: usize| ((row(at / 16) >> (at % 16 * 4)) as u8 & 0xf) << 2;
    let six = |at: usize| (row(at / 16) >> (at % 16 * 6)) as u8 & 0x3f;
    let plain: (&[_], &[_]) = (&[(32, 4)], &[(4, 1), (4, 128)]);
    let columns: (&[_], &[_]) = (&[(4, 64), (8, 1)], &[(2, 16), (2, 8), (2, 32), (2, 256)]);
    let loads: [(&str, usize, _, Bytes<'_>); 8] = [
        ("m16n16.x1.trans.shared.b8", 2, columns, &whole),
        ("m16n16.x2.trans.shared.b8", 4, columns, &whole),
        ("m16n16.x2.trans.shared.b8x16.b4x16_p64", 4, columns, &four),
        ("m16n16.x1.trans.shared.b8x16.b6x16_p32", 2, columns, &six),
        ("m8n16.x1.shared.b8x16.b4x16_p64", 1, plain, &four),
        ("m8n16.x2.shared.b8x16.b6x16_p32", 2, plain, &six),
        ("m8n16.x4.shared.b8x16.b4x16_p64", 4, plain, &four),
        ("m8n8.x4.shared.b16", 4, plain, &whole),
    ];
    for (form, count, (lanes, values), byte) in loads {
        let targets: Vec<String> = (0..count).map(|index| format!("%r{index}")).collect();
        let text = format!("ldmatrix.sync.aligned.{form} {{{}}}, [%r7];", targets.join(","));
        let (kept, loaded) = moved(&text, &image, &registers);
        assert_eq!(kept, image);
        for (index, lane) in (0..4).flat_map(|index| (0..32).map(move |lane| (index, lane))) {
            let at = |part: usize| place(lanes, lane) + place(values, index * 4 + part);
            let expected = match index < count {
                true => u32::from_le_bytes(std::array::from_fn(|part| byte(at(part)))),
                false => registers[index][lane],
            };
            assert_eq!(loaded[index][lane], expected, "{form}, register {index}, lane {lane}");
        }
    }
    let values = [(2, 16), (2, 8), (4, 128)];
    for count in [1, 2, 4] {
        let sources: Vec<String> = (0..count).map(|index| format!("%r{index}")).collect();
        let text = format!("stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%r7], {{{}}};", sources.join(","));
        let mut expected = image;
        for (lane, value) in (0..32).flat_map(|lane| (0..4 * count).map(move |value| (lane, value))) {
            let at = place(&[(4, 32), (8, 1)], lane) + place(&values, value);
            expected[at] = registers[value / 4][lane].to_le_bytes()[value % 4];
        }
        assert_eq!(moved(&text, &image, &registers).0, expected, "{count}");
    }
}
