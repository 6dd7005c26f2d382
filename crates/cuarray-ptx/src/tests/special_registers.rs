//! Every special register of the manual, and every name that begins with `%`: the right value, or a refusal by name.
//!
//! PTX manual: [special registers](https://docs.nvidia.com/cuda/parallel-thread-execution/#special-registers). NVIDIA's
//! assembler accepts exactly these names, widths, targets and versions.

use super::*;

/// A launch of blocks of 8 by 4 by 3 threads in clusters of 2 blocks; the thread looked at has the number 77 in block 13.
const THREADS: [u32; 3] = [8, 4, 3];
const GRID: [u32; 3] = [4, 3, 2];
const CLUSTER: [u32; 3] = [2, 1, 1];
const THREAD: u64 = 77;
const BLOCK: [u64; 3] = [1, 0, 1];
const DYNAMIC: u32 = 200;

/// The registers of 32 bits that have one value in that thread.
const VALUES: &[(&str, u64)] = &[
    ("%tid.x", 5),
    ("%tid.y", 1),
    ("%tid.z", 2),
    ("%tid.w", 0),
    ("%ntid.x", 8),
    ("%ntid.y", 4),
    ("%ntid.z", 3),
    ("%ntid.w", 0),
    ("%ctaid.x", BLOCK[0]),
    ("%ctaid.y", BLOCK[1]),
    ("%ctaid.z", BLOCK[2]),
    ("%ctaid.w", 0),
    ("%nctaid.x", 4),
    ("%nctaid.y", 3),
    ("%nctaid.z", 2),
    ("%nctaid.w", 0),
    ("%clusterid.x", 0),
    ("%clusterid.y", 0),
    ("%clusterid.z", 1),
    ("%clusterid.w", 0),
    ("%nclusterid.x", 2),
    ("%nclusterid.y", 3),
    ("%nclusterid.z", 2),
    ("%nclusterid.w", 0),
    ("%cluster_ctaid.x", 1),
    ("%cluster_ctaid.y", 0),
    ("%cluster_ctaid.z", 0),
    ("%cluster_ctaid.w", 0),
    ("%cluster_nctaid.x", 2),
    ("%cluster_nctaid.y", 1),
    ("%cluster_nctaid.z", 1),
    ("%cluster_nctaid.w", 0),
    ("%cluster_ctarank", 1),
    ("%cluster_nctarank", 2),
    ("%laneid", 77 % 32),
    ("%warpid", 77 / 32),
    ("%nwarpid", 48),
    ("%smid", 13),
    ("%nsmid", 20),
    ("%lanemask_eq", 1 << 13),
    ("%lanemask_lt", (1 << 13) - 1),
    ("%lanemask_le", (1 << 14) - 1),
    ("%lanemask_gt", 0xffff_c000),
    ("%lanemask_ge", 0xffff_e000),
    // 40 bytes of a variable and 200 of dynamic memory, in units of 128 bytes.
    ("%total_smem_size", 256),
    ("%aggr_smem_size", 256 + 1024),
    ("%dynamic_smem_size", 200),
    ("%reserved_smem_offset_cap", 1024),
    ("%gridid", 7),
    ("WARP_SZ", 32),
];

/// The registers of 32 bits whose values depend on the place of the reserved memory, or on time.
const OTHERS: &[&str] = &[
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%clock",
    "%clock_hi",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%envreg1",
    "%envreg2",
];

/// The registers of 64 bits.
const WIDE: &[&str] = &["%clock64", "%globaltimer", "%current_graph_exec"];

const HEAD_OF_CLUSTERS: &str = ".version 8.1\n.target sm_90\n.address_size 64\n";

fn reading(name: &str, bits: u32) -> String {
    let value = if bits == 64 { "mov.u64 %d, %v;" } else { "cvt.u64.u%b %d, %v;" }.replace("%b", &bits.to_string());
    format!(
        ".shared .align 8 .b8 s[40]; .visible .entry k(.param .u64 o) {{ .reg .u{bits} %v; .reg .b64 %o, %d, %t64; .reg .b32 %t, %n, %b;\n\
         .reg .pred %p, %q; ld.param.u64 %o, [o]; st.shared.u32 [s], 1;\n\
         mov.u32 %t, %tid.z; mov.u32 %n, %ntid.y; mul.lo.u32 %t, %t, %n; mov.u32 %n, %tid.y; add.u32 %t, %t, %n; mov.u32 %n, %ntid.x;\n\
         mul.lo.u32 %t, %t, %n; mov.u32 %n, %tid.x; add.u32 %t, %t, %n;\n\
         mov.u32 %b, %ctaid.z; mov.u32 %n, %nctaid.y; mul.lo.u32 %b, %b, %n; mov.u32 %n, %ctaid.y; add.u32 %b, %b, %n; mov.u32 %n, %nctaid.x;\n\
         mul.lo.u32 %b, %b, %n; mov.u32 %n, %ctaid.x; add.u32 %b, %b, %n;\n\
         setp.eq.u32 %p, %t, {THREAD}; setp.eq.and.u32 %q, %b, 13, %p; mov.u{bits} %v, {name}; {value} @%q st.global.u64 [%o], %d; ret; }}"
    )
}

fn value_of(source: &str) -> u64 {
    let mut out = [u64::MAX];
    let run = Run {
        head: HEAD_OF_CLUSTERS,
        source,
        grid: GRID,
        threads: THREADS,
        cluster: Some(CLUSTER),
        dynamic_shared: DYNAMIC,
        ..Run::default()
    };
    assert_eq!(run.over(&mut [&mut out]).fault, None, "{source}");
    out[0]
}

#[test]
fn every_special_register_has_the_value_of_the_manual() {
    for (name, value) in VALUES {
        assert_eq!(value_of(&reading(name, 32)), *value, "{name}");
    }
    assert_eq!(value_of(&reading("%gridid", 64)), 7);
    assert_eq!(value_of(&reading("%current_graph_exec", 64)), 0);
}

#[test]
fn registers_are_read_in_their_own_width_only() {
    let accepts = |name: &str, bits: u32| load_for(HEAD_OF_CLUSTERS, &reading(name, bits)).map(|_| ());
    let short = ["%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%gridid", "WARP_SZ"];
    for name in VALUES.iter().map(|(name, _)| name).chain(OTHERS) {
        assert_eq!(accepts(name, 32), Ok(()), "{name}");
        assert_eq!(accepts(name, 16).is_ok(), short.iter().any(|start| name.starts_with(start)), "{name} of 16 bits");
        assert_eq!(accepts(name, 64).is_ok(), matches!(*name, "%gridid" | "WARP_SZ"), "{name} of 64 bits");
    }
    for name in WIDE {
        assert_eq!(accepts(name, 64), Ok(()), "{name}");
        assert!(accepts(name, 32).is_err_and(|error| !error.unsupported), "{name} of 32 bits");
    }
    // The low 16 bits, as in version 1 of PTX.
    let source = reading("%ctaid.x", 16);
    let mut out = [0];
    let run = Run { source: &source, grid: [65536 + 14, 1, 1], threads: THREADS, ..Run::default() };
    let last = source.replace("%b, 13,", "%b, 65549,");
    assert_eq!(Run { source: &last, ..run }.executed(&mut [&mut out], Way::Recorded, 2).fault, None);
    assert_eq!(out, [13]);
}

#[test]
fn registers_without_a_value_and_unknown_names_are_refused_by_name() {
    let counters = (0..8).flat_map(|number| [(format!("%pm{number}"), 32), (format!("%pm{number}_64"), 64)]);
    let of_driver = (0..32).filter(|number| !matches!(number, 1 | 2)).map(|number| (format!("%envreg{number}"), 32));
    for (name, bits) in counters.chain(of_driver) {
        let error = load_for(HEAD_OF_CLUSTERS, &reading(&name, bits)).err().unwrap_or_else(|| panic!("{name} is read"));
        assert!(error.unsupported && error.token == name, "{name}: {error}");
    }
    for name in [
        "%pm8",
        "%pm8_64",
        "%pm",
        "%envreg32",
        "%envreg",
        "%envreg01",
        "%reserved_smem_offset_2",
        "%gridid.x",
        "%tid.v",
        "%none",
    ] {
        let error = load_for(HEAD_OF_CLUSTERS, &reading(name, 32)).err().unwrap_or_else(|| panic!("{name} is read"));
        assert!(!error.unsupported, "{name}: {error}");
    }
}

#[test]
fn registers_need_their_target_and_version() {
    for (name, bits, target, version) in [
        ("%clusterid.x", 32, 90, (7, 8)),
        ("%nclusterid.w", 32, 90, (7, 8)),
        ("%cluster_ctarank", 32, 90, (7, 8)),
        ("%aggr_smem_size", 32, 90, (8, 1)),
        ("%reserved_smem_offset_begin", 32, 80, (7, 6)),
        ("%reserved_smem_offset_1", 32, 80, (7, 6)),
        ("%current_graph_exec", 64, 50, (8, 0)),
        ("%total_smem_size", 32, 50, (6, 0)),
    ] {
        let accepts = |target: u32, (major, minor): (u32, u32)| {
            let head = format!(".version {major}.{minor}\n.target sm_{target}\n.address_size 64\n");
            load_for(&head, &reading(name, bits)).map(|_| ())
        };
        assert_eq!(accepts(target, version), Ok(()), "{name}");
        if version > (6, 0) {
            let (major, minor) = version;
            let older = if minor == 0 { (major - 1, 8) } else { (major, minor - 1) };
            assert!(accepts(target, older).is_err_and(|error| !error.unsupported), "{name} in an older version");
        }
        if target > 50 {
            assert!(accepts(target - 10, (8, 5)).is_err_and(|error| !error.unsupported), "{name} for an older target");
        }
    }
}

#[test]
fn reserved_shared_memory_is_zero_at_first_and_apart_from_the_program() {
    // Each of 256 words of the area is zero and can be written; the program's own variable and dynamic memory keep their values.
    let source = ".shared .align 8 .b8 s[40]; .extern .shared .align 8 .b8 d[];\n\
        .visible .entry k(.param .u64 o) { .reg .b64 %o; .reg .b32 %b, %e, %c, %v, %sum, %one, %zero; .reg .pred %p, %first;\n\
        ld.param.u64 %o, [o]; mov.u32 %v, %tid.x; setp.eq.u32 %first, %v, 0; @!%first bra END;\n\
        st.shared.u32 [s+36], 11; st.shared.u32 [d], 22; st.shared.u32 [d+196], 33; mov.u32 %sum, 0;\n\
        mov.u32 %b, %reserved_smem_offset_begin; mov.u32 %e, %reserved_smem_offset_end; mov.u32 %c, %reserved_smem_offset_cap;\n\
        add.u32 %zero, %b, %c; sub.u32 %zero, %zero, %e; mov.u32 %one, %reserved_smem_offset_1;\n\
        NEXT: ld.shared.u32 %v, [%b]; add.u32 %sum, %sum, %v; st.shared.u32 [%b], -1; add.u32 %b, %b, 4;\n\
        setp.lt.u32 %p, %b, %e; @%p bra NEXT;\n\
        st.global.u32 [%o], %sum; st.global.u32 [%o+4], %zero; ld.shared.u32 %v, [s+36]; st.global.u32 [%o+8], %v;\n\
        ld.shared.u32 %v, [d]; st.global.u32 [%o+12], %v; ld.shared.u32 %v, [d+196]; st.global.u32 [%o+16], %v;\n\
        sub.u32 %v, %e, %one; st.global.u32 [%o+20], %v; END: ret; }";
    let mut out = [u64::MAX; 3];
    let outcome = Run { source, dynamic_shared: DYNAMIC, ..Run::default() }.over(&mut [&mut out]);
    assert_eq!((outcome.fault, outcome.misuses.len(), outcome.races.len()), (None, 0, 0));
    assert_eq!(out[..2], [0, 22 << 32 | 11]);
    assert_eq!(out[2] & 0xffff_ffff, 33);
    // The header of cooperative groups puts 288 bytes there.
    assert!(out[2] >> 32 >= 288, "{out:x?}");
}

#[test]
fn static_shared_memory_ends_at_48_kib() {
    let source = |bytes: u32| {
        format!(
            ".shared .align 4 .b8 unused[60000]; .shared .align 4 .b8 s[{bytes}];\n\
             .visible .entry k() {{ st.shared.u32 [s], 1; ret; }}"
        )
    };
    assert!(load(&source(49152)).is_ok());
    let error = load(&source(49156)).err().unwrap();
    assert!(!error.unsupported && error.token == "k", "{error}");
}

/// A called function has more registers than the kernel, so its values may lie where the kernel's special registers were.
#[test]
fn special_registers_of_later_warps_are_right_after_a_call() {
    let each = |f: &dyn Fn(usize) -> String| (1..40).map(f).collect::<String>();
    let starts = each(&|index| format!("mov.u32 %r{index}, {index};\n"));
    let steps = each(&|index| format!("add.u32 %r{index}, %r{index}, 1;\n"));
    let sums = each(&|index| format!("add.u32 %r0, %r0, %r{index};\n"));
    let source = format!(
        ".func (.param .b32 result) more(.param .b32 x) {{ .reg .pred %p; .reg .b32 %r<41>;\n\
         {starts} mov.u32 %r40, 0;\n\
         AGAIN: {steps} add.u32 %r40, %r40, 1; setp.lt.u32 %p, %r40, 3; @%p bra AGAIN;\n\
         ld.param.u32 %r0, [x];\n{sums} st.param.b32 [result], %r0; ret; }}\n\
         .visible .entry k(.param .u64 out) {{ .reg .b32 %t, %n, %c, %i; .reg .b64 %out, %a;\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %i, %c, %n, %t;\n\
         mul.wide.u32 %a, %i, 8; add.u64 %a, %out, %a;\n\
         {{ .param .b32 x; .param .b32 result; st.param.b32 [x], %i; call.uni (result), more, (x); ld.param.b32 %i, [result]; }}\n\
         st.global.u32 [%a], %i; ret; }}"
    );
    let mut memory = vec![0_u64; 3 * 96];
    let run = Run { source: &source, grid: [3, 1, 1], threads: [96, 1, 1], ..Run::default() };
    let outcome = run.over(&mut [&mut memory]);
    assert_eq!(outcome.fault, None);
    // The sum of the numbers to 39, each three greater.
    let sum = 39 * 40 / 2 + 3 * 39;
    assert_eq!(memory, (sum..sum + 3 * 96).collect::<Vec<_>>());
}
