//! The advice of findings about races between threads: the widest synchronization, its scope, and what a race follows from.

use crate::program::*;
use cuarray_sim::finding::{Finding, Kind};
use std::ffi::CString;

/// A kernel with this body. `%t` is the thread, `%b` the block, `%out` the argument, `%own` the address of the thread's word.
fn kernel(program: &Program, body: &str) -> CUfunction {
    let text = CString::new(format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 8 .b8 dynamic[];\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .pred %p; .reg .b32 %t, %b, %v; .reg .b64 %out, %own; .shared .align 4 .u32 _ZZ1kPfE4part[64];\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mul.wide.u32 %own, %t, 4; add.u64 %own, %out, %own;\n\
         {body}\nret;\n}}\n"
    ))
    .unwrap();
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(program, cuModuleLoadData(&mut module, text.as_ptr().cast()));
    ok!(program, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    function
}

/// Launches a kernel for each allocation and number of threads. The calls have one site.
fn launch(program: &Program, function: CUfunction, grid: u32, runs: &[(CUdeviceptr, u32)]) {
    // All launches are made at one place: the compiler cannot unroll a loop whose length it does not know.
    for (memory, threads) in std::hint::black_box(runs) {
        let mut memory = *memory;
        let (mut parameters, none) = ([(&raw mut memory).cast::<c_void>()], std::ptr::null_mut());
        let parameters = parameters.as_mut_ptr();
        ok!(program, cuLaunchKernel(function, grid, 1, 1, *threads, 1, 1, 64, CUstream::NULL, parameters, none));
    }
    ok!(program, cuCtxSynchronize());
}

fn zeroed(program: &Program, size: usize) -> CUdeviceptr {
    let memory = program.alloc(size);
    ok!(program, cuMemsetD8_v2(memory, 0, size));
    memory
}

/// Runs a body over 4096 bytes; returns its finding of a kind, and the report.
fn found(body: &str, grid: u32, threads: u32, kind: Kind) -> (Finding, String) {
    let program = Program::new();
    launch(&program, kernel(&program, body), grid, &[(zeroed(&program, 4096), threads)]);
    let text = program.sim.report().text(false);
    let mut findings = program.sim.report().findings.into_iter().filter(|finding| finding.kind == kind);
    (findings.next().unwrap_or_else(|| panic!("{text}")), text)
}

fn advice(body: &str, grid: u32, threads: u32) -> String {
    found(body, grid, threads, Kind::KernelRace).0.missing.unwrap()
}

/// Each thread stores its word, and loads that of the next thread.
const NEXT: &str = "st.global.u32 [%own], %t; ld.global.u32 %v, [%own + 4];";

#[test]
fn widest_synchronization_is_named() {
    assert!(advice(NEXT, 1, 32).contains("__syncwarp"));
    // Threads of one warp race at the same lines as those of two warps, and of two blocks.
    assert!(advice(NEXT, 1, 64).contains("__syncthreads"));
    let between = advice(NEXT, 2, 64);
    assert!(between.contains("two kernels in place of one, or a barrier of the grid"), "{between}");
}

#[test]
fn update_by_several_threads_needs_an_atomic_operation() {
    let updates =
        |body: &str, grid: u32, threads: u32| advice(body, grid, threads).contains("atomic operation (atomicAdd");
    let shared = "ld.shared.u32 %v, [_ZZ1kPfE4part]; add.u32 %v, %v, %t; st.shared.u32 [_ZZ1kPfE4part], %v;";
    let global = "ld.global.u32 %v, [%out + 8]; shl.b32 %v, %v, 1; st.global.u32 [%out + 8], %v;";
    for (body, grid, threads) in [(shared, 1, 32), (shared, 1, 64), (global, 1, 64), (global, 2, 1)] {
        assert!(updates(body, grid, threads), "{body} {grid} {threads}");
    }
    // Other addresses, another value, or an address that has changed in between: a barrier or an order is missing.
    for body in [
        "ld.global.u32 %v, [%own + 4]; add.u32 %v, %v, 1; st.global.u32 [%own], %v;",
        "ld.global.u32 %v, [%out]; st.global.u32 [%out], %t;",
        "ld.global.u32 %v, [%own]; add.u64 %own, %own, 4; add.u32 %v, %v, 1; st.global.u32 [%own], %v;",
    ] {
        assert!(!updates(body, 1, 64), "{body}");
    }
}

#[test]
fn store_under_a_condition_of_the_stored_word_needs_a_compare_and_swap() {
    for condition in ["@%p bra DONE; st.global.u32 [%out], %t; DONE:", "@!%p st.global.u32 [%out], %t;"] {
        let body = format!("ld.global.u32 %v, [%out]; setp.ne.u32 %p, %v, 0; {condition}");
        let found = advice(&body, 1, 64);
        assert!(found.contains("by one atomic operation (atomicCAS"), "{condition} {found}");
        let apart = body.replacen("[%out]", "[%out + 4]", 1).replacen("ld.", "st.global.u32 [%out + 4], %t; ld.", 1);
        assert!(!advice(&apart, 1, 64).contains("atomicCAS"), "{apart}");
    }
}

#[test]
fn plain_access_of_an_atomic_counter_between_blocks_is_made_atomic_or_moved() {
    let found = advice("red.global.add.u32 [%out], 1; ld.global.u32 %v, [%out];", 2, 1);
    assert!(found.contains("make both atomic") && found.contains("move the access to another kernel"), "{found}");
    let writes = advice("st.global.u32 [%out], %b;", 2, 1);
    assert!(writes.contains("if one write is one too many, remove it"), "{writes}");
}

#[test]
fn access_before_the_wait_is_moved_behind_it() {
    let wait = "W: ld.acquire.gpu.global.u32 %v, [%out + 64]; setp.eq.u32 %p, %v, 0; @%p bra W;";
    let body = format!(
        "setp.eq.u32 %p, %b, 0; @!%p bra READ; st.global.u32 [%out], 1; st.release.gpu.global.u32 [%out + 64], 1; bra DONE;\n\
         READ: ld.global.u32 %v, [%out]; {wait} DONE:"
    );
    let found = advice(&body, 2, 1);
    assert!(found.contains("move B behind that wait") && found.contains("\ngive each block"), "{found}");
}

#[test]
fn arrays_of_different_elements_in_dynamic_memory_may_overlap() {
    let with = |load: &str| {
        let body = format!("mov.u64 %own, dynamic; st.shared.u64 [%own + 8], %own; {load};");
        advice(&body, 1, 64)
    };
    let different = with("ld.shared.u32 %v, [%own + 8]");
    assert!(
        different.contains("elements of 4 and 8 bytes") && different.contains("two arrays may overlap"),
        "{different}"
    );
    let equal = with("ld.shared.u64 %out, [%own + 8]");
    assert!(equal.starts_with("put a barrier"), "{equal}");
}

#[test]
fn race_with_the_widest_synchronization_is_first() {
    // The first warp races in shared memory.
    let body = format!("setp.lt.u32 %p, %t, 32; @%p st.shared.u32 [_ZZ1kPfE4part], %t; bar.sync 0; {NEXT}");
    let (finding, text) = found(&body, 1, 64, Kind::KernelRace);
    assert_eq!(finding.number, 1, "{text}");
    assert!(finding.missing.unwrap().contains("__syncthreads"), "{text}");
    assert!(text.contains("the shared variable k::part"), "{text}");
}

#[test]
fn finding_of_several_launches_has_the_widest_advice() {
    let program = Program::new();
    let memory = zeroed(&program, 4096);
    let function = kernel(&program, "st.global.u32 [%out], %t;");
    launch(&program, function, 1, &[(memory, 32), (memory, 64), (memory, 32)]);
    let findings = program.sim.report().findings;
    assert_eq!((findings.len(), findings[0].count, findings[0].allocations), (1, 3, 1));
    assert!(findings[0].missing.as_ref().unwrap().contains("__syncthreads"));
}

#[test]
fn race_that_follows_from_an_access_out_of_bounds_says_so() {
    let program = Program::new();
    let memory = zeroed(&program, 400);
    // All threads write the bytes behind the allocation.
    launch(&program, kernel(&program, "st.global.u32 [%out + 400], %t;"), 1, &[(memory, 64)]);
    let (findings, text) = (program.sim.report().findings, program.sim.report().text(false));
    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&Kind::OutOfBounds) && kinds.contains(&Kind::KernelRace), "{text}");
    let follows = "first correct the address of A: its access is out of bounds";
    assert_eq!(text.matches(follows).count(), 1, "{text}");
    // Another race of the launch does not follow from it.
    let program = Program::new();
    let memory = zeroed(&program, 400);
    let body = "setp.eq.u32 %p, %t, 9; @%p st.global.u32 [%out + 400], %t; st.global.u32 [%out], %t;";
    launch(&program, kernel(&program, body), 1, &[(memory, 64)]);
    let text = program.sim.report().text(false);
    assert!(text.contains("kernel-race") && text.contains("out-of-bounds") && !text.contains(follows), "{text}");
}

#[test]
fn allocations_of_a_merged_finding_are_counted() {
    let program = Program::new();
    let memories = [zeroed(&program, 4096), zeroed(&program, 4096)];
    let runs = [(memories[0], 64), (memories[1], 64), (memories[0], 64)];
    launch(&program, kernel(&program, NEXT), 1, &runs);
    let text = program.sim.report().text(false);
    assert!(text.contains(" (3 times, in 2 allocations)\n"), "{text}");
    assert!(program.sim.report().json().contains("\"count\":3,\"allocations\":2,"));
}

#[test]
fn instruction_without_a_line_in_code_with_lines_has_a_hint() {
    let hint = "compile without optimization (-G)";
    let (_, without) = found(NEXT, 1, 64, Kind::KernelRace);
    assert!(!without.contains("compile"), "{without}");
    let program = Program::new();
    let text = CString::new(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .b32 %t; .reg .b64 %out;\n\
         ld.param.u64 %out, [out];\n.loc 1 0 0\nmov.u32 %t, %tid.x; st.global.u32 [%out], %t;\nret;\n}\n.file 1 \"k.cu\"\n",
    )
    .unwrap();
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(program, cuModuleLoadData(&mut module, text.as_ptr().cast()));
    ok!(program, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    launch(&program, function, 1, &[(zeroed(&program, 64), 64)]);
    let text = program.sim.report().text(false);
    assert!(text.contains(hint), "{text}");
}
