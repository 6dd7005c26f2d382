//! Values that a thread of a kernel uses although they are undefined, and vectors that are read in part.

use super::*;
use std::ffi::CString;

const HEAD: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p; .reg .b32 %t, %v, %w; .reg .b64 %out, %global, %shared; .reg .f32 %f<5>;
    .shared .align 16 .u32 s[64];
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %global, %t, 4;
    mov.u64 %shared, s;
    add.u64 %shared, %shared, %global;
    add.u64 %global, %out, %global;
";

/// Runs a kernel with two blocks of 32 threads over `size` zeroed bytes.
fn run(p: &Program, body: &str, size: usize) {
    let text = CString::new(format!("{HEAD}{body}\n    ret;\n}}\n")).unwrap();
    let (mut module, mut function, stream) = (CUmodule::NULL, CUfunction::NULL, p.stream(0));
    ok!(p, cuModuleLoadData(&mut module, text.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    let mut memory = p.alloc(size);
    p.fill(memory, 0, size, stream);
    let mut parameters = [(&raw mut memory).cast::<c_void>()];
    let (none, parameters) = (std::ptr::null_mut(), parameters.as_mut_ptr());
    ok!(p, cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, none));
    ok!(p, cuCtxSynchronize());
}

const LAUNCH: [&str; 1] = ["cuLaunchKernel on stream 1"];

pairs! {
    shared_memory_accumulates_without_a_start: UninitializedRead LAUNCH, |p, right| {
        let start = if right { "st.shared.u32 [%shared], 0;" } else { "" };
        run(p, &format!("
            {start}
            ld.shared.u32 %v, [%shared];
            add.u32 %v, %v, %t;
            st.shared.u32 [%shared], %v;
            st.global.u32 [%global], %v;"), 256);
    }
    a_variable_of_a_thread_accumulates_without_a_start: UninitializedRead LAUNCH, |p, right| {
        let start = if right { "st.local.u32 [sums + 4], 0;" } else { "" };
        run(p, &format!("
            .local .align 4 .b32 sums[4];
            {start}
            ld.local.u32 %v, [sums + 4];
            add.u32 %v, %v, 1;
            st.local.u32 [sums + 4], %v;
            st.global.u32 [%global], %v;"), 256);
    }
    a_shared_counter_without_a_start: UninitializedRead LAUNCH, |p, right| {
        let start = if right { "setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [s], 0; bar.sync 0;" } else { "" };
        run(p, &format!("{start} atom.shared.add.u32 %v, [s], 1; st.global.u32 [%global], %t;"), 256);
    }
    a_halo_is_read_without_being_written: UninitializedRead LAUNCH, |p, right| {
        let halo = if right { "setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [s + 128], 0;" } else { "" };
        run(p, &format!("
            st.shared.u32 [%shared], %t;
            {halo}
            bar.sync 0;
            ld.shared.u32 %v, [%shared + 4];
            st.global.u32 [%global], %v;"), 256);
    }
    a_write_beyond_a_shared_array: OutOfBounds LAUNCH, |p, right| {
        let first = if right { 128 } else { 132 };
        run(p, &format!("
            .shared .align 4 .u32 next[8];
            setp.lt.u32 %p, %t, 8;
            mov.u64 %out, next;
            @%p st.shared.u32 [next + 4], 7;
            st.shared.u32 [%shared + {first}], %t;"), 256);
    }
    a_read_beyond_a_shared_array: OutOfBounds LAUNCH, |p, right| {
        let first = if right { 128 } else { 132 };
        run(p, &format!("
            .shared .align 4 .u32 next[64];
            mov.u64 %out, next;
            st.shared.u32 [%shared], %t;
            st.shared.u32 [%shared + 128], %t;
            bar.sync 0;
            ld.shared.u32 %v, [%shared + {first}];
            st.global.u32 [%global], %v;"), 256);
    }
    an_atomic_beyond_a_shared_array_into_dynamic_memory: OutOfBounds LAUNCH, |p, right| {
        let first = if right { 128 } else { 132 };
        run(p, &format!("
            .extern .shared .align 4 .b8 dynamic[];
            mov.u64 %out, dynamic;
            st.shared.u32 [%shared + 128], %t;
            bar.sync 0;
            atom.shared.add.u32 %v, [%shared + {first}], 1;"), 256);
    }
    a_shuffle_from_an_inactive_lane: UninitializedRead LAUNCH, |p, right| {
        // The upper half of the warp has left.
        let width = if right { "8" } else { "16" };
        run(p, &format!("
            setp.ge.u32 %p, %t, 16;
            @%p ret;
            mov.u32 %v, %t;
            shfl.sync.down.b32 %w, %v, {width}, 6175, 65535;
            add.u32 %v, %v, %w;
            st.global.u32 [%global], %v;").replace("6175", if right { "5919" } else { "31" }), 256);
    }
    a_shuffle_whose_undefined_value_is_used: UninitializedRead LAUNCH, |p, right| {
        let guard = if right { "setp.lt.u32 %p, %t, 8; @%p" } else { "" };
        run(p, &format!("
            setp.ge.u32 %p, %t, 16;
            @%p ret;
            mov.u32 %v, %t;
            shfl.sync.down.b32 %w, %v, 8, 31, 65535;
            {guard} add.u32 %v, %v, %w;
            st.global.u32 [%global], %v;"), 256);
    }
    a_reduction_of_half_a_warp_in_all_lanes: UninitializedRead LAUNCH, |p, right| {
        // XLA reduces 16 elements in this way. The lanes beyond the block reach the values of all lanes but the first.
        let first = if right { "setp.ne.u32 %p, %t, 0; @%p ret;" } else { "" };
        run(p, &format!("
            setp.ge.u32 %p, %t, 16;
            @%p ret;
            mov.u32 %v, %t;
            shfl.sync.down.b32 %w, %v, 8, 31, -1;
            add.u32 %v, %v, %w;
            shfl.sync.down.b32 %w, %v, 4, 31, -1;
            add.u32 %v, %v, %w;
            shfl.sync.down.b32 %w, %v, 2, 31, -1;
            add.u32 %v, %v, %w;
            shfl.sync.down.b32 %w, %v, 1, 31, -1;
            {first}
            add.u32 %v, %v, %w;
            st.global.u32 [%global], %v;"), 256);
    }
    a_vector_read_past_the_end: OutOfBounds LAUNCH, |p, right| {
        // Seven numbers are read as two vectors of four. The right kernel does not use the eighth.
        let last = if right { "%f3" } else { "%f4" };
        run(p, &format!("
            setp.ge.u32 %p, %t, 2;
            @%p ret;
            mul.wide.u32 %shared, %t, 16;
            add.u64 %shared, %out, %shared;
            ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%shared];
            add.f32 %f1, %f1, {last};
            st.global.f32 [%shared], %f1;"), 28);
    }
}
