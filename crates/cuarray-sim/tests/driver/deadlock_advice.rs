//! The advice of launches whose threads wait forever: what is known about what they wait for.

use crate::program::*;
use std::ffi::CString;

/// The advice of the deadlock of a kernel. `%t` is the thread, `%b` the block, and `%f` the address of a zeroed word. `%q` holds in all
/// threads of a block but the first.
fn advice(body: &str, grid: u32, threads: u32) -> String {
    let program = Program::new();
    let text = CString::new(format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .pred %p, %q; .reg .b32 %t, %b, %v; .reg .b64 %f; ld.param.u64 %f, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;\n\
         setp.ne.u32 %q, %t, 0;\n{body}\nDONE: ret;\n}}\n"
    ))
    .unwrap();
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(program, cuModuleLoadData(&mut module, text.as_ptr().cast()));
    ok!(program, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    let mut memory = program.alloc(256);
    ok!(program, cuMemsetD8_v2(memory, 0, 256));
    let (mut parameters, none) = ([(&raw mut memory).cast::<c_void>()], std::ptr::null_mut());
    let parameters = parameters.as_mut_ptr();
    ok!(program, cuLaunchKernel(function, grid, 1, 1, threads, 1, 1, 0, CUstream::NULL, parameters, none));
    fails!(program, LAUNCH_TIMEOUT, cuCtxSynchronize());
    let findings = program.sim.report().findings;
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(finding.kind.name(), "deadlock");
    finding.missing.clone().unwrap()
}

const POLL: &str = "POLL: ld.volatile.global.u32 %v, [%f]; setp.eq.u32 %p, %v, 0; @%p bra POLL;";
const TAKE: &str = "TAKE: atom.acquire.gpu.global.cas.b32 %v, [%f], 0, 1; setp.ne.u32 %p, %v, 0; @%p bra TAKE;";

#[test]
fn advice_names_what_is_known_about_the_awaited_word() {
    let cases = [
        (format!("@%q bra DONE; {TAKE} {}", TAKE.replace("TAKE", "AGAIN")), 1, "remove the second taking"),
        (format!("@%q bra DONE; {TAKE}"), 2, "give the lock back before each return"),
        (format!("@%q bra DONE; {}", TAKE.replace(".acquire.gpu", "")), 2, "no thread gives the lock back"),
        (
            format!("setp.eq.u32 %p, %b, 0; @%p bra POLL; @!%q st.volatile.global.u32 [%f + 8], 1; bra DONE; {POLL}"),
            2,
            "the 4 bytes that begin 8 bytes behind it are written by thread (0, 0, 0) of block (1, 0, 0)",
        ),
        (
            format!(
                "setp.eq.u32 %p, %b, 0; @%p bra POLL; st.volatile.global.u32 [%f], 3; bra DONE; {}",
                POLL.replace("eq", "ne").replace("0;", "7;")
            ),
            2,
            "has ended, so they stay 3: correct the condition of the wait",
        ),
        (format!("setp.eq.u32 %p, %b, 1; @%p bra DONE; {POLL}"), 2, "1 block has ended, and the others wait"),
        (format!("{POLL} st.volatile.global.u32 [%f], 1;"), 2, "all threads that are left wait themselves"),
        ("LOOP: bra LOOP;".to_owned(), 1, "the loop reads no memory"),
    ];
    for (body, grid, expected) in cases {
        let found = advice(&body, grid, 32);
        assert!(found.contains(expected), "{body}: {found}");
    }
}

#[test]
fn advice_tells_a_poll_beside_a_barrier_from_barriers_alone() {
    let flag = format!(
        "setp.lt.u32 %p, %t, 32; @%p bra POLL; bar.sync 0; st.volatile.global.u32 [%f], 1; bra DONE; {POLL} bar.sync 0;"
    );
    assert!(advice(&flag, 1, 64).contains("move the awaited write before the barrier"));
    let apart = "setp.lt.u32 %p, %t, 32; @%p bra OTHER; bar.sync 1; bra DONE; OTHER: bar.sync 2;";
    assert!(advice(apart, 1, 64).contains("let all threads that it counts arrive at each"));
}
