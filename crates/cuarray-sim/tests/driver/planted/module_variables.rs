//! Variables of a kernel's module (`__device__`, `__constant__`), used by several streams.

use super::*;
use std::ffi::CStr;

const CODE: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 count;
.visible .global .align 4 .b8 first[128];
.visible .global .align 4 .b8 second[128];
.visible .const .align 4 .b8 factors[128];
.visible .entry increment()
{
    .reg .pred %p; .reg .b32 %t, %v;
    mov.u32 %t, %tid.x;
    setp.ne.u32 %p, %t, 0;
    @%p ret;
    ld.global.u32 %v, [count];
    add.u32 %v, %v, 1;
    st.global.u32 [count], %v;
    ret;
}
.visible .entry set(.param .u64 out, .param .u32 shift)
{
    .reg .pred %p; .reg .b32 %t; .reg .b64 %o;
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    setp.ne.u32 %p, %t, 0;
    @%p ret;
    st.global.u32 [%o], 9;
    ret;
}
.visible .entry get(.param .u64 out, .param .u32 shift)
{
    .reg .b32 %t, %v; .reg .b64 %a, %o;
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %a, %t, 4;
    add.u64 %o, %o, %a;
    ld.global.u32 %v, [count];
    st.global.u32 [%o], %v;
    ret;
}
.visible .entry scale(.param .u64 out, .param .u32 shift)
{
    .reg .b32 %t, %v; .reg .b64 %a, %o;
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %a, %t, 4;
    add.u64 %o, %o, %a;
    mov.u64 %a, factors;
    ld.const.u32 %v, [factors];
    st.global.u32 [%o], %v;
    ret;
}
.visible .entry index(.param .u64 out, .param .u32 shift)
{
    .reg .b32 %t, %v; .reg .b64 %a, %o;
    ld.param.u64 %o, [out];
    ld.param.u32 %v, [shift];
    mov.u32 %t, %tid.x;
    add.u32 %v, %v, %t;
    mul.wide.u32 %a, %v, 4;
    mov.u64 %o, first;
    add.u64 %o, %o, %a;
    st.global.u32 [%o], %t;
    ret;
}
";

fn module(p: &Program) -> CUmodule {
    let mut module = CUmodule::NULL;
    ok!(p, cuModuleLoadData(&mut module, CODE.as_ptr().cast()));
    module
}

fn variable(p: &Program, module: CUmodule, name: &CStr) -> CUdeviceptr {
    let (mut address, mut size) = (0, 0);
    ok!(p, cuModuleGetGlobal_v2(&mut address, &mut size, module, name.as_ptr()));
    address
}

fn launch(p: &Program, module: CUmodule, name: &CStr, (out, shift): (CUdeviceptr, u32), stream: CUstream) {
    let (mut function, mut out, mut shift) = (CUfunction::NULL, out, shift);
    ok!(p, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    let mut parameters = [(&raw mut out).cast::<c_void>(), (&raw mut shift).cast()];
    let (none, parameters) = (std::ptr::null_mut(), parameters.as_mut_ptr());
    ok!(p, cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, none));
}

pairs! {
    a_counter_of_two_streams: DataRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let module = module(p);
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        launch(p, module, c"increment", (0, 0), one);
        if right {
            p.order(one, other);
        }
        launch(p, module, c"increment", (0, 0), other);
        ok!(p, cuCtxSynchronize());
        ok!(p, cuModuleUnload(module));
    }
    a_counter_is_set_while_a_kernel_runs: DataRace ["cuLaunchKernel on stream 1", "cuMemsetD32Async on stream 2"], |p, right| {
        let module = module(p);
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        launch(p, module, c"increment", (0, 0), one);
        if right {
            p.order(one, other);
        }
        ok!(p, cuMemsetD32Async(variable(p, module, c"count"), 0, 1, other));
        ok!(p, cuCtxSynchronize());
    }
    constants_are_set_while_a_kernel_runs: DataRace ["cuLaunchKernel on stream 1", "cuMemcpyHtoDAsync_v2 on stream 2"], |p, right| {
        let (module, out) = (module(p), p.written(128));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        let factors = p.pinned(128);
        launch(p, module, c"scale", (out, 0), one);
        if right {
            ok!(p, cuStreamSynchronize(one));
        }
        ok!(p, cuMemcpyHtoDAsync_v2(variable(p, module, c"factors"), factors.cast(), 128, other));
        ok!(p, cuCtxSynchronize());
    }
    a_variable_is_read_before_its_kernel_has_run: DataRace
        ["cuLaunchKernel on stream 1", "cuMemcpyDtoHAsync_v2 on stream 2"], |p, right| {
        let (module, host) = (module(p), p.pinned(4));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        launch(p, module, c"increment", (0, 0), one);
        let stream = if right { one } else { other };
        ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), variable(p, module, c"count"), 4, stream));
        ok!(p, cuCtxSynchronize());
    }
    a_kernel_of_another_module_gets_the_address_of_a_variable: DataRace
        ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let modules = [0, 1].map(|_| module(p));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        launch(p, modules[0], c"increment", (0, 0), one);
        // The other module has its own variable under the name.
        let count = variable(p, modules[usize::from(right)], c"count");
        launch(p, modules[1], c"set", (count, 0), other);
        ok!(p, cuCtxSynchronize());
    }
    a_variable_is_written_by_a_copy_and_read_by_a_kernel: DataRace
        ["cuMemcpyHtoDAsync_v2 on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let (module, out, host) = (module(p), p.written(128), p.pinned(4));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        ok!(p, cuMemcpyHtoDAsync_v2(variable(p, module, c"count"), host.cast(), 4, one));
        if right {
            p.order(one, other);
        }
        launch(p, module, c"get", (out, 0), other);
        ok!(p, cuCtxSynchronize());
    }
    constants_are_rewritten_by_a_synchronous_copy: DataRace ["cuLaunchKernel on stream 1", "cuMemcpyHtoD_v2 on legacy"], |p, right| {
        let (module, out, values) = (module(p), p.written(128), [7_u32; 32]);
        // The legacy default stream waits for blocking streams only.
        let stream = p.stream(if right { CU_STREAM_DEFAULT } else { NON_BLOCKING });
        launch(p, module, c"scale", (out, 0), stream);
        ok!(p, cuMemcpyHtoD_v2(variable(p, module, c"factors"), values.as_ptr().cast(), 128));
        ok!(p, cuCtxSynchronize());
    }
    constants_are_rewritten_for_the_next_launch: DataRace ["cuMemcpyDtoDAsync_v2 on stream 2", "cuLaunchKernel on stream 1"], |p, right| {
        let (module, out, values) = (module(p), p.written(128), p.written(128));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        launch(p, module, c"scale", (out, 0), one);
        p.order(one, other);
        p.copy(variable(p, module, c"factors"), values, 128, other);
        if right {
            p.order(other, one);
        }
        launch(p, module, c"scale", (out, 0), one);
        ok!(p, cuCtxSynchronize());
    }
    an_index_beyond_a_variable: OutOfBounds ["cuLaunchKernel on stream 1"], |p, right| {
        let module = module(p);
        launch(p, module, c"index", (0, if right { 0 } else { 1 }), p.stream(0));
        ok!(p, cuCtxSynchronize());
    }
}
