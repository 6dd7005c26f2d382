//! Kernels through the driver's interface: modules, libraries, links, launches, and the state after a failure.

use crate::program::*;
use std::ffi::CStr;

const SCALE: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .const .align 4 .f32 factor = 0f40000000;
.visible .global .align 8 .u64 count;
.visible .entry scale(.param .u64 data, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<5>; .reg .f32 %f<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.s32 %r2, %r3, %r4, %r2;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f1, [%rd1];
    ld.const.f32 %f2, [factor];
    mul.f32 %f1, %f1, %f2;
    st.global.f32 [%rd1], %f1;
    red.global.add.u64 [count], 1;
    ret;
}
";

fn module(program: &Program, text: &CStr) -> CUmodule {
    let mut module = CUmodule::NULL;
    ok!(program, cuModuleLoadData(&mut module, text.as_ptr().cast()));
    module
}

fn function(program: &Program, module: CUmodule, name: &CStr) -> CUfunction {
    let mut function = CUfunction::NULL;
    ok!(program, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    function
}

/// Launches a kernel with a device buffer and a count as arguments.
fn launch(program: &Program, function: CUfunction, grid: u32, threads: u32, data: u64, n: u32) -> CUresult {
    let (mut data, mut n) = (data, n);
    let mut params = [(&raw mut data).cast::<c_void>(), (&raw mut n).cast()];
    let none = std::ptr::null_mut();
    call!(program, cuLaunchKernel(function, grid, 1, 1, threads, 1, 1, 0, CUstream::NULL, params.as_mut_ptr(), none))
}

fn floats(program: &Program, address: u64, count: usize) -> Vec<f32> {
    let mut host = vec![0_f32; count];
    ok!(program, cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, count * 4));
    host
}

fn filled(program: &Program, values: &[f32]) -> u64 {
    let device = program.alloc(size_of_val(values));
    ok!(program, cuMemcpyHtoD_v2(device, values.as_ptr().cast(), size_of_val(values)));
    device
}

#[test]
fn legacy_calls_assemble_and_launch_a_kernel() {
    let program = Program::new();
    let kernel = function(&program, module(&program, SCALE), c"scale");
    let device = filled(&program, &[1.0; 100]);
    let mut address = device;
    let wrong = CUresult::CUDA_ERROR_INVALID_VALUE;
    assert_eq!(call!(program, cuLaunch(kernel)), wrong); // no block shape, no arguments
    ok!(program, cuFuncSetBlockShape(kernel, 32, 1, 1));
    assert_eq!(call!(program, cuLaunchGrid(kernel, 4, 1)), wrong); // no arguments
    ok!(program, cuParamSetv(kernel, 0, (&raw mut address).cast(), 8));
    ok!(program, cuParamSeti(kernel, 8, 100));
    ok!(program, cuParamSetSize(kernel, 12));
    ok!(program, cuFuncSetSharedSize(kernel, 16));
    ok!(program, cuLaunch(kernel)); // one block
    ok!(program, cuLaunchGrid(kernel, 2, 1));
    ok!(program, cuLaunchGridAsync(kernel, 4, 1, CU_STREAM_LEGACY));
    let result = floats(&program, device, 100);
    assert!(result.iter().enumerate().all(|(index, value)| *value == [8.0, 4.0, 2.0, 2.0][index / 32]), "{result:?}");
    ok!(program, cuParamSetf(kernel, 8, f32::from_bits(1)));
    ok!(program, cuLaunch(kernel));
    assert_eq!(floats(&program, device, 2), [16.0, 8.0]);

    for block in [[0, 1, 1], [-1, 1, 1], [1025, 1, 1], [32, 64, 1], [1, 1, 65]] {
        assert_eq!(call!(program, cuFuncSetBlockShape(kernel, block[0], block[1], block[2])), wrong, "{block:?}");
    }
    assert_eq!(call!(program, cuLaunchGrid(kernel, 0, 1)), wrong);
    assert_eq!(call!(program, cuParamSeti(kernel, -4, 1)), wrong);
    assert_eq!(call!(program, cuParamSeti(kernel, 4093, 1)), wrong);
    assert_eq!(call!(program, cuParamSetSize(kernel, 4097)), wrong);
    assert_eq!(call!(program, cuParamSetv(kernel, 0, (&raw mut address).cast(), u32::MAX)), wrong);
    assert_eq!(call!(program, cuLaunch(CUfunction(5))), CUresult::CUDA_ERROR_INVALID_HANDLE);
}

#[test]
fn kernel_runs_in_stream_order() {
    let program = Program::new();
    let module = module(&program, SCALE);
    let values: Vec<f32> = (0..1000).map(|value| value as f32).collect();
    let device = filled(&program, &values);
    let kernel = function(&program, module, c"scale");
    assert_eq!(kernel, function(&program, module, c"scale"));
    assert!(launch(&program, kernel, 8, 128, device, 1000).is_success());
    // The launch is still pending.
    assert_eq!(program.statistic("pending_operations"), 1);
    let result = floats(&program, device, 1000);
    assert!(result.iter().zip(&values).all(|(result, value)| *result == 2.0 * value));
    // Globals and constants are found by name.
    let (mut address, mut size, mut count) = (0, 0, 0_u64);
    ok!(program, cuModuleGetGlobal_v2(&mut address, &mut size, module, c"count".as_ptr()));
    ok!(program, cuMemcpyDtoH_v2((&raw mut count).cast(), address, size));
    assert_eq!((size, count), (8, 1000));
    ok!(program, cuModuleGetGlobal_v2(&mut address, &mut size, module, c"factor".as_ptr()));
    ok!(program, cuMemcpyHtoD_v2(address, (&10_f32 as *const f32).cast(), 4));
    assert!(launch(&program, kernel, 1, 32, device, 32).is_success());
    assert_eq!(floats(&program, device, 33)[31..], [620.0, 64.0]);
    fails!(program, NOT_FOUND, cuModuleGetGlobal_v2(&mut address, &mut size, module, c"scale".as_ptr()));
    fails!(program, INVALID_VALUE, cuMemFree_v2(address));
    ok!(program, cuModuleUnload(module));
    fails!(program, INVALID_HANDLE, cuModuleUnload(module));
    assert_eq!(launch(&program, kernel, 1, 32, device, 32).name(), Some("CUDA_ERROR_INVALID_HANDLE"));
}

#[test]
fn launch_accepts_parameters_in_a_buffer() {
    let program = Program::new();
    let kernel = function(&program, module(&program, SCALE), c"scale");
    let device = filled(&program, &[3.0; 4]);
    let mut buffer = [device, 4];
    let mut size = 12_usize;
    let key = |number: usize| number as *mut c_void;
    let mut extra: [*mut c_void; 5] = [key(1), buffer.as_mut_ptr().cast(), key(2), (&raw mut size).cast(), key(0)];
    let (none, extra) = (std::ptr::null_mut(), extra.as_mut_ptr());
    ok!(program, cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, CUstream::NULL, none, extra));
    assert_eq!(floats(&program, device, 4), [6.0; 4]);
    // SAFETY: the variable belongs to this function; the driver reads it through a pointer.
    unsafe { (&raw mut size).write_volatile(8) };
    fails!(program, INVALID_VALUE, cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, CUstream::NULL, none, extra));
}

#[test]
fn library_becomes_a_module_in_each_context() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let (mut library, mut kernel, none) = (CUlibrary::NULL, CUkernel::NULL, std::ptr::null_mut());
    let code = SCALE.as_ptr().cast();
    ok!(program, cuLibraryLoadData(&mut library, code, none, none.cast(), 0, none, none.cast(), 0));
    ok!(program, cuLibraryGetKernel(&mut kernel, library, c"scale".as_ptr()));
    let other = program.primary(1);
    for context in [program.context, other] {
        ok!(program, cuCtxSetCurrent(context));
        let device = filled(&program, &[1.0, 2.0]);
        // A kernel's handle is accepted as a function's handle.
        assert!(launch(&program, CUfunction(kernel.0), 1, 32, device, 2).is_success());
        assert_eq!(floats(&program, device, 2), [2.0, 4.0]);
        let (mut address, mut size, mut count) = (0, 0, 0_u64);
        ok!(program, cuLibraryGetGlobal(&mut address, &mut size, library, c"count".as_ptr()));
        ok!(program, cuMemcpyDtoH_v2((&raw mut count).cast(), address, 8));
        assert_eq!(count, 2);
    }
    let (mut offset, mut size) = (0, 0);
    ok!(program, cuKernelGetParamInfo(kernel, 1, &mut offset, &mut size));
    assert_eq!((offset, size), (8, 4));
    fails!(program, INVALID_VALUE, cuKernelGetParamInfo(kernel, 2, &mut offset, &mut size));
    let mut count = 0;
    ok!(program, cuLibraryGetKernelCount(&mut count, library));
    assert_eq!(count, 1);
    ok!(program, cuLibraryUnload(library));
    fails!(program, INVALID_HANDLE, cuLibraryUnload(library));
}

#[test]
fn link_resolves_symbols_between_inputs() {
    let program = Program::new();
    let (mut link, none) = (CUlinkState::NULL, std::ptr::null_mut());
    let mut log = [0_u8; 300];
    let mut options = [5, 6];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), log.len() as *mut c_void];
    ok!(program, cuLinkCreate_v2(2, options.as_mut_ptr(), values.as_mut_ptr(), &mut link));
    let caller = c".version 8.0\n.target sm_90\n.extern .func (.param .b32 r) twice(.param .b32 a);\n.visible .entry k(.param .u64 p) {\n\
        .reg .b64 %p; .reg .b32 %r; ld.param.u64 %p, [p]; { .param .b32 a; .param .b32 r; st.param.b32 [a], 21; call (r), twice, (a); ld.param.b32 %r, [r]; }\n\
        st.global.u32 [%p], %r; ret; }";
    let callee = c".version 8.0\n.target sm_90\n.visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %a; ld.param.u32 %a, [a]; add.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }";
    let add = |text: &CStr, name: &CStr| {
        let (data, size) = (text.as_ptr().cast_mut().cast(), text.to_bytes_with_nul().len());
        ok!(program, cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, data, size, name.as_ptr(), 0, none, none.cast()));
    };
    add(caller, c"caller.ptx");
    let (mut image, mut size) = (std::ptr::null_mut(), 0);
    fails!(program, INVALID_PTX, cuLinkComplete(link, &mut image, &mut size));
    let text = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
    assert_eq!(text, "error   : Undefined reference to 'twice' in 'caller.ptx'");
    assert_eq!(values[1] as usize, text.len() + 1);
    add(callee, c"callee.ptx");
    ok!(program, cuLinkComplete(link, &mut image, &mut size));
    let mut module = CUmodule::NULL;
    ok!(program, cuModuleLoadData(&mut module, image));
    ok!(program, cuLinkDestroy(link));
    let device = program.alloc(4);
    assert!(launch(&program, function(&program, module, c"k"), 1, 1, device, 0).is_success());
    assert_eq!(floats(&program, device, 1)[0].to_bits(), 42);
}

/// Modules that were compiled separately each declare the driver's functions that they call. A private function of
/// the same name in one module does not affect the other modules.
#[test]
fn linked_modules_may_each_declare_a_driver_function() {
    let program = Program::new();
    let head = ".version 8.0\n.target sm_90\n";
    let declared = format!("{head}.extern .func (.param .b64 r) malloc(.param .b64 n);\n");
    let call = "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call (r), malloc, (n); ld.param.b64 %p, [r]; } setp.ne.u64 %q, %p, 0; selp.u32 %a, 1, 0, %q;";
    let caller = format!(
        "{declared}.extern .func (.param .b32 r) other();\n.visible .entry k(.param .u64 p) {{ .reg .b64 %p, %t; .reg .b32 %a, %b; .reg .pred %q; {call}\n\
         {{ .param .b32 r; call (r), other; ld.param.b32 %b, [r]; }} add.u32 %a, %a, %b; ld.param.u64 %t, [p]; st.global.u32 [%t], %a; ret; }}"
    );
    let callee = format!(
        "{declared}.visible .func (.param .b32 r) other() {{ .reg .b64 %p; .reg .b32 %a; .reg .pred %q; {call} st.param.b32 [r], %a; ret; }}"
    );
    let private = format!("{head}.func (.param .b64 r) malloc(.param .b64 n) {{ st.param.b64 [r], 0; ret; }}");
    let (mut link, none) = (CUlinkState::NULL, std::ptr::null_mut::<c_void>());
    ok!(program, cuLinkCreate_v2(0, none.cast(), none.cast(), &mut link));
    for text in [caller, callee, private] {
        let (data, size) = (text.as_ptr().cast_mut().cast(), text.len());
        ok!(program, cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, data, size, c"".as_ptr(), 0, none.cast(), none.cast()));
    }
    let (mut image, mut size, mut module) = (std::ptr::null_mut(), 0, CUmodule::NULL);
    ok!(program, cuLinkComplete(link, &mut image, &mut size));
    ok!(program, cuModuleLoadData(&mut module, image));
    ok!(program, cuLinkDestroy(link));
    let device = program.alloc(4);
    assert!(launch(&program, function(&program, module, c"k"), 1, 1, device, 0).is_success());
    assert_eq!(floats(&program, device, 1)[0].to_bits(), 2, "both calls allocated memory");
}

#[test]
fn failing_kernel_leaves_its_context_failed() {
    let program = Program::new();
    let kernel = function(&program, module(&program, SCALE), c"scale");
    let device = program.alloc(16);
    // As on a GPU, memory behind an allocation is readable up to the next multiple of 512 bytes.
    assert!(launch(&program, kernel, 1, 128, device, 128).is_success());
    ok!(program, cuCtxSynchronize());
    assert!(launch(&program, kernel, 2, 128, device, 129).is_success());
    fails!(program, ILLEGAL_ADDRESS, cuCtxSynchronize());
    let mut address = 0;
    fails!(program, ILLEGAL_ADDRESS, cuMemAlloc_v2(&mut address, 16));
    assert_eq!(launch(&program, kernel, 1, 32, device, 4).name(), Some("CUDA_ERROR_ILLEGAL_ADDRESS"));
    fails!(program, ILLEGAL_ADDRESS, cuStreamSynchronize(CUstream::NULL));
    // A new context is healthy.
    ok!(program, cuDevicePrimaryCtxReset_v2(0));
    ok!(program, cuCtxSetCurrent(program.primary(0)));
    let kernel = function(&program, module(&program, SCALE), c"scale");
    let device = filled(&program, &[1.0; 4]);
    assert!(launch(&program, kernel, 1, 32, device, 4).is_success());
    assert_eq!(floats(&program, device, 4), [2.0; 4]);
}

#[test]
fn invalid_launches_are_refused() {
    let program = Program::with(Config { launch_budget: 100_000, ..Config::default() });
    let text = c".version 8.0\n.target sm_90\n.visible .entry loop(.param .u64 p, .param .u32 n) .maxntid 64, 1, 1 { L: bra L; ret; }";
    let kernel = function(&program, module(&program, text), c"loop");
    assert_eq!(launch(&program, kernel, 1, 65, 0, 0).name(), Some("CUDA_ERROR_INVALID_VALUE"));
    assert_eq!(launch(&program, kernel, 0, 1, 0, 0).name(), Some("CUDA_ERROR_INVALID_VALUE"));
    let (mut value, none) = (0, std::ptr::null_mut());
    ok!(program, cuFuncGetAttribute(&mut value, 0, kernel));
    assert_eq!(value, 64);
    fails!(program, INVALID_VALUE, cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, none, none));
    let mut blocks = 0;
    ok!(program, cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, kernel, 64, 0));
    assert_eq!(blocks, 32);
    assert!(launch(&program, kernel, 1, 1, 0, 0).is_success());
    fails!(program, LAUNCH_TIMEOUT, cuCtxSynchronize());
}

#[test]
fn captured_launch_runs_with_its_graph() {
    let program = Program::new();
    let kernel = function(&program, module(&program, SCALE), c"scale");
    let device = filled(&program, &[1.0; 4]);
    let stream = program.stream(CU_STREAM_NON_BLOCKING);
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    let (mut data, mut n) = (device, 4_u32);
    let mut params = [(&raw mut data).cast::<c_void>(), (&raw mut n).cast()];
    let none = std::ptr::null_mut();
    ok!(program, cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, params.as_mut_ptr(), none));
    let (mut graph, mut exec) = (CUgraph::NULL, CUgraphExec::NULL);
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    ok!(program, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    assert_eq!(floats(&program, device, 4), [1.0; 4]);
    for _ in 0..3 {
        ok!(program, cuGraphLaunch(exec, stream));
    }
    ok!(program, cuStreamSynchronize(stream));
    assert_eq!(floats(&program, device, 4), [8.0; 4]);
}

/// A kernel in which thread 5 of block 2 writes four bytes at `data + n`, at line 77 of `bad.cu`.
const BAD: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .const .align 4 .u32 fixed;
.file 1 \"bad.cu\"
.visible .entry touch(.param .u64 data, .param .u32 n)
{
    .reg .pred %p, %q; .reg .b32 %r<4>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    cvt.s64.s32 %rd2, %r1;
    add.s64 %rd1, %rd1, %rd2;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    setp.eq.u32 %p, %r2, 5;
    setp.eq.u32 %q, %r3, 2;
    and.pred %p, %p, %q;
    .loc 1 77 3
    @%p st.global.u32 [%rd1], %r2;
    ret;
}
";

#[test]
fn invalid_access_fails_the_launch_and_is_a_finding_with_its_location() {
    use cuarray_sim::finding::{AccessKind, Kind};
    for (what, kind, code) in [
        ("behind", Kind::OutOfBounds, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("before", Kind::OutOfBounds, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("null", Kind::OutOfBounds, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("misaligned", Kind::MisalignedAccess, "CUDA_ERROR_MISALIGNED_ADDRESS"),
        ("freed", Kind::UseAfterFree, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("constant", Kind::OutOfBounds, "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ] {
        let program = Program::new();
        let module = module(&program, BAD);
        let kernel = function(&program, module, c"touch");
        let mut data = program.alloc(1000);
        ok!(program, cuMemsetD8_v2(data, 0, 1000));
        let mut offset = 0;
        match what {
            "behind" => offset = 1024,
            "before" => offset = -(1 << 20),
            "null" => (data, offset) = (0, 16),
            "misaligned" => offset = 2,
            "freed" => ok!(program, cuMemFree_v2(data)),
            _ => {
                let mut size = 0;
                ok!(program, cuModuleGetGlobal_v2(&mut data, &mut size, module, c"fixed".as_ptr()));
            }
        }
        assert!(launch(&program, kernel, 4, 32, data, offset as u32).is_success());
        for _ in 0..2 {
            assert_eq!(call!(program, cuCtxSynchronize()).name(), Some(code), "{what}");
        }
        let report = program.sim.report();
        let [finding] = &report.findings[..] else { panic!("{what}: {}", report.text(false)) };
        let side = finding.sides.last().unwrap();
        let place = side.place.as_ref().unwrap();
        assert_eq!((finding.kind, side.access), (kind, AccessKind::Write), "{what}");
        assert_eq!((side.call, side.detail.as_deref()), ("cuLaunchKernel", Some("touch")));
        assert_eq!((place.block, place.thread), ([2, 0, 0], [5, 0, 0]));
        let source = place.source.as_ref().unwrap();
        assert_eq!((source.file.as_str(), source.line, place.ptx_line), ("bad.cu", 77, Some(20)));
        assert_eq!(finding.bytes.unwrap().address, data.wrapping_add_signed(offset.into()));
        let missing = finding.missing.as_ref().unwrap();
        match what {
            "behind" => assert!(
                missing.contains("allocation is 1000 bytes at")
                    && missing.contains("24 bytes behind it, to which argument 1 points; the launch ended there"),
                "{missing}"
            ),
            "before" => assert!(
                missing.contains("1048576 bytes before it, to which argument 1 points; the launch ended there"),
                "{missing}"
            ),
            "null" => {
                assert!(missing.contains("; the pointer is null; the launch"), "{missing}")
            }
            "constant" => assert!(missing.contains("constant memory"), "{missing}"),
            _ => assert_eq!(finding.allocation.as_ref().unwrap().size, 1000, "{what}"),
        }
        let text = report.text(false);
        assert_eq!(text.contains(" writes 16 bytes behind a null pointer\n"), what == "null", "{text}");
        assert!(text.contains("in thread (5, 0, 0) of block (2, 0, 0), at bad.cu:77, line 20 of the PTX"), "{text}");
    }
}

/// Kernels whose thread 3 stores four bytes beyond 128 bytes of shared memory, or far beyond local memory. One kernel
/// uses a shared address, one a generic address.
const BEYOND: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.shared .align 4 .b8 s[128];
.visible .entry narrow(.param .u64 data, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %t;
    mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 3;
    @%p st.shared.u32 [s+132], %t;
    ret;
}
.visible .entry generic(.param .u64 data, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %t; .reg .b64 %a;
    mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 3;
    mov.u64 %a, s; cvta.shared.u64 %a, %a;
    @%p st.u32 [%a+132], %t;
    ret;
}
.visible .entry local(.param .u64 data, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %t; .local .align 4 .b8 l[16];
    mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 3;
    @%p st.local.u32 [l+4194304], %t;
    ret;
}
";

#[test]
fn finding_names_the_shared_or_local_memory_that_was_exceeded() {
    use cuarray_sim::finding::Kind;
    let shared = "keep within it: write of 4 bytes at byte 132 of shared memory, beyond the 128 bytes of the block";
    for (name, missing) in [
        (c"narrow", shared),
        (c"generic", shared),
        (c"local", "keep within it: write of 4 bytes at byte 4194304 of local memory, beyond its end"),
    ] {
        let program = Program::new();
        let module = module(&program, BEYOND);
        let kernel = function(&program, module, name);
        assert!(launch(&program, kernel, 1, 32, program.alloc(4), 0).is_success());
        assert_eq!(call!(program, cuCtxSynchronize()).name(), Some("CUDA_ERROR_ILLEGAL_ADDRESS"));
        let report = program.sim.report();
        let [finding] = &report.findings[..] else { panic!("{name:?}: {}", report.text(false)) };
        assert_eq!((finding.kind, finding.missing.as_deref()), (Kind::OutOfBounds, Some(missing)), "{name:?}");
        assert_eq!(finding.sides[0].place.as_ref().unwrap().thread, [3, 0, 0]);
        assert!(finding.allocation.is_none());
    }
}
