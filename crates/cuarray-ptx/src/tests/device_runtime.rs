//! `cudaMalloc` in a kernel without a heap, and the last error of a thread.

use super::*;

#[test]
fn failed_allocation_is_the_last_error_of_its_thread_until_it_is_taken() {
    let source = ".extern .func (.param .b32 r) __cudaCDP2Malloc (.param .b64 a, .param .b64 b);\n\
        .extern .func (.param .b32 r) __cudaCDP2Free (.param .b64 a);\n\
        .extern .func (.param .b32 r) __cudaCDP2PeekAtLastError ();\n.extern .func (.param .b32 r) __cudaCDP2GetLastError ();\n\
        .visible .entry k(.param .u64 o) { .local .align 8 .b8 place[8]; .reg .b64 %o, %x, %p; .reg .b32 %t, %r<6>; .reg .pred %odd;\n\
        ld.param.u64 %o, [o]; mov.u32 %t, %tid.x; mul.wide.u32 %x, %t, 32; add.u64 %o, %o, %x; and.b32 %t, %t, 1;\n\
        setp.eq.u32 %odd, %t, 1; mov.u64 %p, place; cvta.local.u64 %p, %p; st.u64 [%p], 77; mov.u32 %r0, 9; selp.b64 %x, 16, 0, %odd;\n\
        { .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %p; st.param.b64 [b], %x;\n\
          call.uni (r), __cudaCDP2Malloc, (a, b); ld.param.b32 %r0, [r]; }\n\
        { .param .b32 r; call.uni (r), __cudaCDP2PeekAtLastError, (); ld.param.b32 %r1, [r]; }\n\
        { .param .b32 r; call.uni (r), __cudaCDP2GetLastError, (); ld.param.b32 %r2, [r]; }\n\
        { .param .b32 r; call.uni (r), __cudaCDP2GetLastError, (); ld.param.b32 %r3, [r]; }\n\
        { .param .b64 a; .param .b32 r; st.param.b64 [a], 0; call.uni (r), __cudaCDP2Free, (a); ld.param.b32 %r4, [r]; }\n\
        { .param .b64 a; .param .b32 r; st.param.b64 [a], 64; call.uni (r), __cudaCDP2Free, (a); ld.param.b32 %r5, [r]; }\n\
        ld.u64 %p, [%p]; cvt.u32.u64 %t, %p; st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3}; st.global.v2.u32 [%o+16], {%r4, %r5};\n\
        st.global.u32 [%o+24], %t; ret; }";
    let mut out = vec![0; 128];
    assert_eq!(Run { source, ..Run::default() }.over(&mut [&mut out]).fault, None);
    for (thread, words) in out.chunks(4).enumerate() {
        // cudaErrorMemoryAllocation in the threads that ask for memory; cudaErrorInvalidValue for an address of no block.
        let wanted = if thread % 2 == 1 { [2 << 32 | 2, 2, 1 << 32, 0] } else { [0, 0, 1 << 32, 0] };
        assert_eq!(words, wanted, "thread {thread}");
    }
}
