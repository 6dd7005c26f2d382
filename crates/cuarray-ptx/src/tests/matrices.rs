//! Errors, faults, misuses and races of instructions on matrices. Results are compared in `tests/kernels`.

use super::{Run, load_for};
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
        misuses.iter().map(|misuse| (misuse.kind, misuse.thread, misuse.address)).collect::<Vec<_>>()
    };
    let whole = "mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0; \
        mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;";
    assert_eq!(kinds(&format!("{whole} {PRODUCT}"), 64), []);
    assert_eq!(kinds(&format!("{whole} {PRODUCT}"), 40), [(MisuseKind::PartialWarp, 32, 8)]);
    let exited = format!("{whole} setp.eq.u32 %p0, %r8, 3; @%p0 exit; {PRODUCT}");
    assert_eq!(kinds(&exited, 32), [(MisuseKind::PartialWarp, 0, 3)]);
    let guarded = format!("{whole} setp.lt.u32 %p0, %r8, 16; @%p0 {PRODUCT}");
    assert_eq!(kinds(&guarded, 32), [(MisuseKind::PartialWarp, 0, 16)]);
    let diverged = format!("{whole} setp.lt.u32 %p0, %r8, 16; @%p0 add.u32 %r0, %r0, 1; {PRODUCT}");
    assert_eq!(kinds(&diverged, 32), []);
}
