//! Forms of operands and modifiers that NVIDIA's assembler takes, and errors for those that it does not take.

use super::{HEAD, Run, computed, load};
use crate::Error;

fn error(source: &str) -> Error {
    load(source).err().unwrap_or_else(|| panic!("{source} was taken"))
}

fn kernel(body: &str) -> String {
    format!(
        ".global .align 8 .b64 table[4]; .visible .entry k(.param .u64 out) {{ .reg .b32 %r<9>; .reg .b64 %rd<9>; \
         .reg .f32 %f<9>; .reg .pred %p<4>; .reg .b16 %h; .shared .align 16 .b8 sh[256]; ld.param.u64 %rd0, [out]; {body} ret; }}"
    )
}

#[test]
fn indexed_arrays_are_operands() {
    let declarations =
        ".reg .b32 %i; .local .align 8 .b32 words[8]; .shared .align 8 .b64 longs[8]; .local .b8 bytes[16];";
    let run = |body: &str, inputs| computed(declarations, &format!("cvt.u32.u64 %i, %a; {body}"), inputs);
    // `mov` takes the address, in steps of the size of an element.
    assert_eq!(run("mov.u64 %b, words[3]; mov.u64 %c, words; sub.u64 %d, %b, %c;", [0; 3]), 12);
    assert_eq!(run("mov.u64 %b, bytes[3]; mov.u64 %c, bytes[0]; sub.u64 %d, %b, %c;", [0; 3]), 3);
    assert_eq!(run("mov.u64 %b, longs[%i]; mov.u64 %c, longs; sub.u64 %d, %b, %c;", [5, 0, 0]), 40);
    assert_eq!(run("mov.u64 %b, longs[%i+1]; mov.u64 %c, longs; sub.u64 %d, %b, %c;", [5, 0, 0]), 48);
    assert_eq!(run("mov.u64 %b, longs[%a]; mov.u64 %c, longs[2]; sub.u64 %d, %b, %c;", [7, 0, 0]), 40);
    // Loads and stores access the element.
    assert_eq!(run("st.local.u32 words[%i], %i; ld.local.u32 %i, words[6]; cvt.u64.u32 %d, %i;", [6, 0, 0]), 6);
    assert_eq!(run("st.shared.u64 longs[2], %b; ld.shared.u64 %d, longs[%i+1];", [1, 99, 0]), 99);
    assert_eq!(run("st.shared.u64 longs[2], %b; ld.shared.u64 %d, [longs+16];", [0, 77, 0]), 77);
    for wrong in
        ["mov.u64 %rd1, out[0];", "mov.u64 %rd1, missing[0];", "mov.u64 %rd1, table[%f1x];", "ld.u64 %rd1, [table[1]];"]
    {
        assert!(!error(&kernel(wrong)).unsupported, "{wrong}");
    }
}

#[test]
fn elect_without_the_lane_takes_a_predicate() {
    let body = "elect.sync _|%p, 0xffffffff; selp.u64 %d, 7, 8, %p;";
    assert_eq!(computed(".reg .pred %p;", body, [0; 3]), 7);
    let body = "setp.eq.u64 _|%p, %a, 1; selp.u64 %d, 7, 8, %p;";
    assert_eq!(computed(".reg .pred %p;", body, [1, 0, 0]), 8);
}

#[test]
fn cache_policies_and_hints_have_no_effect() {
    let body = "createpolicy.fractional.L2::evict_last.b64 %p, 0.5; \
        createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %p; \
        createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %p, [%out], 0x100000, 0x200000; \
        createpolicy.cvt.L2.b64 %p, %p; \
        st.global.L1::no_allocate.L2::cache_hint.u64 [%out], %a, %p; \
        st.global.L1::evict_last.u64 [%out], %a; \
        atom.global.L2::cache_hint.add.u64 %d, [%out], 1, %p; \
        atom.global.L2::cache_hint.cas.b64 %d, [%out], 5, 6, %p; \
        red.global.L2::cache_hint.add.u64 [%out], 1, %p; \
        prefetch.global.L2::evict_last [%out]; prefetch.L1 [%out]; prefetch.global.L2 [%out]; prefetchu.L1 [%out]; \
        ld.global.L1::evict_first.L2::cache_hint.L2::128B.u64 %b, [%out], %p; \
        ld.global.nc.L1::no_allocate.L2::256B.u64 %b, [%out]; ld.global.ca.L2::64B.u64 %b, [%out]; \
        ld.global.L1::evict_unchanged.u64 %d, [%out];";
    assert_eq!(computed(".reg .b64 %p;", body, [4, 0, 0]), 7);
}

#[test]
fn depth_textures_and_matrices_are_refused_by_name() {
    for (body, message) in [
        ("tex.2dms.v4.s32.s32 {%r0,%r1,%r2,%r3}, [%rd0, {%r4,%r5,%r6,%r7}];", "multi-sample"),
        ("tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%rd0, {%f4,%f5}], %f6;", "depth"),
        ("txq.filter_mode.b32 %r0, [%rd0];", "number of a mode"),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r1];", "matrices are not supported"),
        (
            "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f4,%f5,%f6,%f7};",
            "not supported",
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [sh], [%rd0, {%r0,%r1}], [sh+8];",
            "not supported",
        ),
        ("cvt.rs.f16x2.f32 %r0, %f0, %f1, %r1;", "not supported"),
    ] {
        let error = self::error(&kernel(body));
        assert!(error.unsupported && error.message.contains(message), "{body}: {error}");
        assert!(error.token.starts_with(body.split(' ').next().unwrap()), "{error}");
    }
    let error = self::error(".global .texref picture = { width = 4 };");
    assert!(error.unsupported && error.message.contains(".samplerref"), "{error}");
    let error = self::error(".global .samplerref sampler = { addr_mode_0 = clamp_ogl };");
    assert!(error.unsupported && error.message.contains("clamp_ogl"), "{error}");
}

#[test]
fn device_functions_of_the_runtime_are_refused_with_a_reason() {
    for (name, reason) in [
        ("cudaGraphKernelNodeSetParam", "change nodes of graphs"),
        ("cudaGraphKernelNodeUpdatesApply", "change nodes of graphs"),
        ("cudaGraphLaunch", "launch graphs"),
        ("__cudaCDP2LaunchDeviceV2", "launch kernels"),
        ("__cudaCDP2GetParameterBufferV2", "launch kernels"),
        ("__cudaCDP2StreamCreateWithFlags", "cudaMalloc, cudaFree"),
    ] {
        let module = format!(
            ".extern .func (.param .b32 result) {name} (.param .b64 a);\n.visible .entry k() {{ .reg .b32 %r; .reg .b64 %a;\n\
             {{ .param .b64 p; .param .b32 q; st.param.b64 [p], %a; call.uni (q), {name}, (p); ld.param.b32 %r, [q]; }} ret; }}"
        );
        let error = self::error(&module);
        assert!(error.unsupported && error.token == name && error.message.contains(reason), "{error}");
        let error = self::error(&module.replace(name, "unknown"));
        assert!(!error.unsupported && error.message == "no module defines the function", "{error}");
    }
}

#[test]
fn instructions_that_ptx_does_not_have_are_invalid() {
    for (body, token) in [
        ("frobnicate.u32 %r0, %r1;", "frobnicate.u32"),
        ("add.u31 %r0, %r1, %r2;", "add.u31"),
        ("add.warm.u32 %r0, %r1, %r2;", "add.warm.u32"),
        ("ld.global.spiced.u32 %r0, [%rd0];", "ld.global.spiced.u32"),
    ] {
        let error = self::error(&kernel(body));
        assert!(!error.unsupported && error.token == token, "{body}: {error}");
        assert!(error.message.ends_with("does not exist"), "{error}");
        assert_eq!(error.line, 4);
    }
}

#[test]
fn directives_of_functions_are_understood() {
    let functions = ".visible .func (.reg .b32 res) next(.reg .b32 a) { add.u32 res, a, 1; ret; }\n\
        .visible .func (.reg .b32 res) twice(.reg .b32 a) { add.u32 res, a, a; ret; }\n\
        .visible .func (.reg .b32 res) same(.reg .b32 a);\n.alias same, next;\n\
        # 1 \"source.cu\"\n.func stop() .noreturn { exit; }\n.global .u64 table[2] = {next, twice};\n\
        .common .global .align 4 .u32 shared_by_all;\n.weak .global .u32 weak = 3;\n.pragma \"nounroll\";\n";
    let body = |text: &str| {
        format!(
            "{functions} .visible .entry k(.param .u64 out) .maxnreg 32 .maxntid 64, 2 .minnctapersm 1 {{ \
             .reg .b64 %o, %f; .reg .b32 %r; .reg .pred %p; ld.param.u64 %o, [out]; {text} st.global.u32 [%o], %r; ret; }}"
        )
    };
    for (text, expected) in [
        ("call (%r), same, (4);", 5),
        ("mov.u64 %f, twice; T: .calltargets next, twice; call (%r), %f, (4), T;", 8),
        ("ld.global.u64 %f, [table+8]; call (%r), %f, (4), table;", 8),
        ("ld.global.u64 %f, [table]; P: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (%r), %f, (4), P;", 5),
        (
            "mov.u64 %f, stop; P: .callprototype _ () .noreturn; mov.u32 %r, 9; setp.eq.u32 %p, %r, 1; @%p call %f, P;",
            9,
        ),
        ("T: .branchtargets A, B; mov.u32 %r, 1; brx.idx %r, T; A: mov.u32 %r, 4; B: .pragma \"x\"; ", 1),
        ("ld.global.u32 %r, [weak];", 3),
        ("ld.global.u32 %r, [shared_by_all];", 0),
    ] {
        let mut out = [0_u64; 1];
        let source = body(text);
        let outcome = Run { source: &source, threads: [1, 1, 1], ..Run::default() }.over(&mut [&mut out]);
        assert_eq!((outcome.fault, out[0]), (None, expected), "{text}");
    }
    for wrong in [".alias same2, next;", ".func missing();\n.func also();\n.alias also, missing;"] {
        assert!(!error(wrong).unsupported, "{wrong}");
    }
}

#[test]
fn functions_with_a_body_are_defined_and_others_are_only_declared() {
    let source = format!(
        "{HEAD}.extern .func far(.param .b32 a);\n.func near();\n.func empty() {{ }}\n.visible .entry k() {{ call near, (); ret; }}\n.func near() {{ ret; }}\n"
    );
    let functions =
        crate::check(&crate::Image { modules: vec![(String::new(), source)], ..crate::Image::default() }).unwrap();
    let mut defined = functions.iter().map(|each| (each.name.as_str(), each.is_defined())).collect::<Vec<_>>();
    defined.sort_unstable();
    assert_eq!(defined, [("empty", true), ("far", false), ("k", true), ("near", true)]);
}
