//! Memory that kernels allocate by `malloc`, and pass to other launches.

use super::*;
use std::ffi::CStr;

const CODE: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 result) malloc(.param .b64 size);
.extern .func free(.param .b64 address);
.extern .func (.param .b32 code) __cudaCDP2Malloc(.param .b64 place, .param .b64 size);
.extern .func (.param .b32 code) __cudaCDP2Free(.param .b64 address);
.visible .entry make(.param .u64 place)
{
    .param .b64 size, address; .reg .b64 %p, %a;
    ld.param.u64 %p, [place];
    st.param.b64 [size], 64;
    call (address), malloc, (size);
    ld.param.b64 %a, [address];
    st.u64 [%a], 5;
    st.u64 [%a + 8], 6;
    st.release.gpu.global.u64 [%p], %a;
    ret;
}
.visible .entry put(.param .u64 place)
{
    .reg .b64 %p, %a;
    ld.param.u64 %p, [place];
    ld.acquire.gpu.global.u64 %a, [%p];
    st.u64 [%a], 7;
    ret;
}
.visible .entry take(.param .u64 place)
{
    .reg .b64 %p, %a, %v;
    ld.param.u64 %p, [place];
    ld.relaxed.gpu.global.u64 %a, [%p];
    ld.u64 %v, [%a];
    ret;
}
.visible .entry take_unwritten(.param .u64 place)
{
    .reg .pred %q;
    .reg .b64 %p, %a, %v;
    ld.param.u64 %p, [place];
    ld.relaxed.gpu.global.u64 %a, [%p];
    ld.u64 %v, [%a + 16];
    setp.eq.u64 %q, %v, 7;
    @%q bra END;
END:
    ret;
}
.visible .entry take_behind(.param .u64 place)
{
    .reg .b64 %p, %a, %v;
    ld.param.u64 %p, [place];
    ld.relaxed.gpu.global.u64 %a, [%p];
    ld.u64 %v, [%a + 4096];
    ret;
}
.visible .entry put_behind(.param .u64 place)
{
    .reg .b64 %p, %a;
    ld.param.u64 %p, [place];
    ld.relaxed.gpu.global.u64 %a, [%p];
    st.u64 [%a + 16], 7;
    ret;
}
.visible .entry drop(.param .u64 place)
{
    .param .b64 address; .reg .b64 %p, %a;
    ld.param.u64 %p, [place];
    ld.relaxed.gpu.global.u64 %a, [%p];
    st.param.b64 [address], %a;
    call free, (address);
    ret;
}
.visible .entry drop_early(.param .u64 place)
{
    .param .b64 address; .reg .b64 %p, %a, %v;
    ld.param.u64 %p, [place];
    ld.relaxed.gpu.global.u64 %a, [%p];
    st.param.b64 [address], %a;
    call free, (address);
    ld.u64 %v, [%a];
    ret;
}
.visible .entry within_early(.param .u64 place)
{
    .param .b64 size, address; .reg .b64 %a, %b;
    st.param.b64 [size], 64;
    call (address), malloc, (size);
    ld.param.b64 %a, [address];
    call (address), malloc, (size);
    ld.param.b64 %b, [address];
    st.param.b64 [address], %a;
    call free, (address);
    st.u64 [%b], 5;
    st.u64 [%a + 56], 5;
    st.param.b64 [address], %b;
    call free, (address);
    ret;
}
.visible .entry of_runtime(.param .u64 place)
{
    .param .b64 address, size; .param .b32 code; .reg .b64 %p, %a; .reg .b32 %c;
    ld.param.u64 %p, [place];
    st.param.b64 [address], %p;
    st.param.b64 [size], 64;
    call (code), __cudaCDP2Malloc, (address, size);
    ld.global.u64 %a, [%p];
    st.u64 [%a], 5;
    st.param.b64 [address], %a;
    call (code), __cudaCDP2Free, (address);
    ld.param.b32 %c, [code];
    st.global.u32 [%p], %c;
    ret;
}
.visible .entry of_runtime_early(.param .u64 place)
{
    .param .b64 address, size; .param .b32 code; .reg .b64 %p, %a;
    ld.param.u64 %p, [place];
    st.param.b64 [address], %p;
    st.param.b64 [size], 64;
    call (code), __cudaCDP2Malloc, (address, size);
    ld.global.u64 %a, [%p];
    st.param.b64 [address], %a;
    call (code), __cudaCDP2Free, (address);
    st.u64 [%a], 5;
    ret;
}
.func (.param .b64 made) make_and_use(.param .b64 at)
{
    .param .b64 size, address; .reg .pred %q; .reg .b64 %at, %a, %v;
    ld.param.u64 %at, [at];
    st.param.b64 [size], 64;
    call (address), malloc, (size);
    ld.param.b64 %a, [address];
    st.u64 [%a + 8], 5;
    add.u64 %at, %at, %a;
    ld.u64 %v, [%at];
    setp.eq.u64 %q, %v, 7;
    @%q bra END;
END:
    st.param.b64 [made], %a;
    ret;
}
.visible .entry use_own(.param .u64 place)
{
    .param .b64 at, address;
    st.param.b64 [at], 8;
    call (address), make_and_use, (at);
    call free, (address);
    ret;
}
.visible .entry use_unwritten(.param .u64 place)
{
    .param .b64 at, address;
    st.param.b64 [at], 16;
    call (address), make_and_use, (at);
    call free, (address);
    ret;
}
.visible .entry make_and_use_unwritten(.param .u64 place)
{
    .param .b64 at, address; .reg .b64 %p, %a;
    ld.param.u64 %p, [place];
    st.param.b64 [at], 16;
    call (address), make_and_use, (at);
    ld.param.b64 %a, [address];
    st.release.gpu.global.u64 [%p], %a;
    ret;
}
.visible .entry within(.param .u64 place)
{
    .param .b64 size, address; .reg .b64 %a;
    st.param.b64 [size], 64;
    call (address), malloc, (size);
    ld.param.b64 %a, [address];
    st.u64 [%a], 5;
    st.param.b64 [address], %a;
    call free, (address);
    ret;
}
";

/// A loaded module, and the place of the pointer that its kernels pass on.
struct Kernels(CUmodule, CUdeviceptr);

fn kernels(p: &Program) -> Kernels {
    let mut module = CUmodule::NULL;
    ok!(p, cuModuleLoadData(&mut module, CODE.as_ptr().cast()));
    Kernels(module, p.written(8))
}

impl Kernels {
    fn run(&self, p: &Program, name: &CStr, stream: CUstream) {
        let (mut function, mut place) = (CUfunction::NULL, self.1);
        ok!(p, cuModuleGetFunction(&mut function, self.0, name.as_ptr()));
        let (mut parameters, none) = ([(&raw mut place).cast::<c_void>()], std::ptr::null_mut());
        ok!(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_mut_ptr(), none));
    }

    /// Launches kernels in one stream.
    fn in_order(&self, p: &Program, names: &[&CStr]) {
        let stream = p.stream(NON_BLOCKING);
        names.iter().for_each(|name| self.run(p, name, stream));
        ok!(p, cuCtxSynchronize());
    }
}

const ONE_STREAM: [&str; 2] = ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 1"];

fn eager(config: &mut Config) {
    config.schedule = Schedule::Eager;
}

pairs! {
    two_launches_use_one_block: DataRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let kernels = kernels(p);
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        kernels.run(p, c"make", one);
        ok!(p, cuStreamSynchronize(one));
        kernels.run(p, c"put", one);
        if right {
            p.order(one, other);
        }
        kernels.run(p, c"take", other);
        ok!(p, cuCtxSynchronize());
    }
    a_pointer_without_an_acquire: DataRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 2"] with eager, |p, right| {
        let kernels = kernels(p);
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        kernels.run(p, c"make", one);
        kernels.run(p, if right { c"put" } else { c"take" }, other);
        ok!(p, cuCtxSynchronize());
    }
    a_block_before_its_allocation: UseBeforeAllocation ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 2"] with eager, |p, right| {
        let kernels = kernels(p);
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        kernels.run(p, c"make", one);
        if right {
            p.order(one, other);
        }
        kernels.run(p, c"put_behind", other);
        ok!(p, cuCtxSynchronize());
    }
    a_block_freed_by_an_earlier_launch: UseAfterFree ONE_STREAM, |p, right| {
        let names = if right { [c"make", c"take", c"drop"] } else { [c"make", c"drop", c"take"] };
        kernels(p).in_order(p, &names);
    }
    a_block_freed_twice: UseAfterFree ONE_STREAM, |p, right| {
        kernels(p).in_order(p, if right { &[c"make", c"drop"] } else { &[c"make", c"drop", c"drop"] });
    }
    a_block_used_by_the_kernel_that_has_freed_it: UseAfterFree ["cuLaunchKernel on stream 1"], |p, right| {
        kernels(p).in_order(p, &[c"make", if right { c"drop" } else { c"drop_early" }]);
    }
    a_block_that_lives_within_a_kernel_and_is_used_after_free: UseAfterFree ["cuLaunchKernel on stream 1"], |p, right| {
        kernels(p).in_order(p, &[if right { c"within" } else { c"within_early" }]);
    }
    a_block_of_the_device_runtime_used_after_free: UseAfterFree ["cuLaunchKernel on stream 1"], |p, right| {
        let kernels = kernels(p);
        kernels.in_order(p, &[if right { c"of_runtime" } else { c"of_runtime_early" }]);
        if right {
            let mut code = 1_u32;
            ok!(p, cuMemcpyDtoH_v2((&raw mut code).cast(), kernels.1, 4));
            assert_eq!(code, 0);
        }
    }
    a_block_freed_while_a_launch_uses_it: FreeBeforePendingWork ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let kernels = kernels(p);
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        kernels.run(p, c"make", one);
        ok!(p, cuStreamSynchronize(one));
        kernels.run(p, c"take", one);
        if right {
            p.order(one, other);
        }
        kernels.run(p, c"drop", other);
        ok!(p, cuCtxSynchronize());
    }
    bytes_of_a_block_that_nothing_has_written: UninitializedRead ["cuLaunchKernel on stream 1"], |p, right| {
        kernels(p).in_order(p, &[c"make", if right { c"take" } else { c"take_unwritten" }]);
    }
    bytes_of_a_block_that_its_own_kernel_has_not_written: UninitializedRead ["cuLaunchKernel on stream 1"], |p, right| {
        kernels(p).in_order(p, &[if right { c"use_own" } else { c"use_unwritten" }]);
    }
    bytes_of_a_block_that_outlives_its_kernel_and_is_not_written: UninitializedRead ["cuLaunchKernel on stream 1"], |p, right| {
        kernels(p).in_order(p, if right { &[c"make", c"take", c"drop"] } else { &[c"make_and_use_unwritten", c"drop"] });
    }
    bytes_behind_a_block: OutOfBounds ["cuLaunchKernel on stream 1"], |p, right| {
        kernels(p).in_order(p, &[c"make", if right { c"take" } else { c"take_behind" }]);
    }
    a_block_that_nothing_frees: Leak ["cuLaunchKernel on stream 1"], |p, right| {
        let kernels = kernels(p);
        let stream = p.stream(NON_BLOCKING);
        kernels.run(p, c"make", stream);
        kernels.run(p, if right { c"drop" } else { c"within" }, stream);
        ok!(p, cuCtxSynchronize());
        ok!(p, cuMemFree_v2(kernels.1));
        ok!(p, cuStreamDestroy_v2(stream));
    }
}
