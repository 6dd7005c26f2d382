//! Kernels that fail by another cause than an access, and modules that only this driver refuses.

use super::small_kernels::kernel;
use super::*;
use std::ffi::CString;

/// Launches a kernel that does not write its memory if it fails, and then copies the memory to the host.
fn fails(p: &Program, right: bool, failure: &str) {
    let memory = p.alloc(256);
    let failure = if right { "" } else { failure };
    let body = format!(
        "setp.eq.u32 %p, %t, 5; {failure}
         mov.u32 %v, %ctaid.x; mad.lo.u32 %v, %v, 32, %t; mul.wide.u32 %a, %v, 4; add.u64 %a, %a, %out; st.global.u32 [%a], %t;"
    );
    kernel(p, &body).run(p, memory, memory, p.stream(NON_BLOCKING));
    let mut host = [0_u32; 64];
    let done = call!(p, cuCtxSynchronize());
    let copied = call!(p, cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), memory, 256));
    assert_eq!((done.is_success(), copied.is_success()), (right, right));
}

fn load(p: &Program, body: &str) -> CUresult {
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let text = CString::new(format!("{head}.visible .entry k() {{ .reg .b32 %r; {body} ret; }}")).unwrap();
    let mut module = CUmodule::NULL;
    call!(p, cuModuleLoadData(&mut module, text.as_ptr().cast()))
}

const ONE: [&str; 1] = ["cuLaunchKernel on stream 1"];

pairs! {
    a_kernel_that_traps: KernelFailure ONE, |p, right| { fails(p, right, "@%p trap;"); }
    a_kernel_that_stops_at_a_breakpoint: KernelFailure ONE, |p, right| { fails(p, right, "@%p brkpt;"); }
    a_module_with_an_instruction_that_is_not_supported: RefusedModule ["cuModuleLoadData on host"], |p, right| {
        let result = load(p, if right { "mov.u32 %r, 1;" } else { "wgmma.fence.sync.aligned;" });
        assert_eq!(result, if right { CUresult::CUDA_SUCCESS } else { CUresult::CUDA_ERROR_NOT_SUPPORTED });
    }
    a_module_of_a_program_that_may_be_refused: RefusedModule ["cuModuleLoadData on host"], |p, right| {
        // Wrong PTX is refused by every driver, and the program sees the code.
        let result = load(p, if right { "frobnicate.u32 %r, %r;" } else { "mov.u32 %r, %pm3;" });
        let wrong = CUresult::CUDA_ERROR_INVALID_PTX;
        assert_eq!(result, if right { wrong } else { CUresult::CUDA_ERROR_NOT_SUPPORTED });
    }
}
