//! Managed variables of modules and libraries (`.attribute(.managed)`): their addresses, their life, and accesses of the host.

use crate::program::*;
use cuarray_sim::finding::{AccessKind, Kind};

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 count = 5;
.visible .global .attribute(.managed) .align 4 .b8 bytes[6] = {1, 2, 3, 4, 5, 6};
.visible .global .align 4 .u32 plain = 9;
.visible .global .align 8 .u64 place = count;
.visible .entry add(.param .u64 unused)
{
    .reg .b32 %r<3>;
    ld.global.u32 %r1, [count]; ld.global.u32 %r2, [plain]; add.u32 %r1, %r1, %r2; st.global.u32 [count], %r1;
    ret;
}
.visible .entry idle(.param .u64 unused) { ret; }
.visible .entry beyond(.param .u64 unused)
{
    .reg .b32 %r1; .reg .b64 %rd1;
    mov.u64 %rd1, bytes; ld.global.u8 %r1, [%rd1+6];
    ret;
}";

fn library(p: &Program) -> CUlibrary {
    let (mut library, none) = (CUlibrary::NULL, std::ptr::null_mut());
    let code = PTX.as_ptr().cast();
    ok!(p, cuLibraryLoadData(&mut library, code, none, none.cast(), 0, none.cast(), none.cast(), 0));
    library
}

fn module(p: &Program) -> CUmodule {
    let mut module = CUmodule::NULL;
    ok!(p, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    module
}

fn managed(p: &Program, library: CUlibrary, name: &std::ffi::CStr) -> (CUdeviceptr, usize) {
    let (mut address, mut size) = (0, 0);
    ok!(p, cuLibraryGetManaged(&mut address, &mut size, library, name.as_ptr()));
    (address, size)
}

fn global(p: &Program, module: CUmodule, name: &std::ffi::CStr) -> (CUdeviceptr, usize) {
    let (mut address, mut size) = (0, 0);
    ok!(p, cuModuleGetGlobal_v2(&mut address, &mut size, module, name.as_ptr()));
    (address, size)
}

/// Launches a kernel of a module in a stream.
fn launch(p: &Program, module: CUmodule, name: &std::ffi::CStr, stream: CUstream) {
    let (mut function, mut unused, none) = (CUfunction::NULL, 0_u64, std::ptr::null_mut());
    ok!(p, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    let mut params = [(&raw mut unused).cast::<c_void>()];
    ok!(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params.as_mut_ptr(), none));
}

fn word(address: CUdeviceptr) -> u32 {
    // SAFETY: the tests pass a live managed word.
    unsafe { (address as *const u32).read_volatile() }
}

#[test]
fn host_and_kernels_share_a_managed_variable() {
    let p = Program::new();
    let module = module(&p);
    let ((count, size), (bytes, length)) = (global(&p, module, c"count"), global(&p, module, c"bytes"));
    assert_eq!((size, length, word(count)), (4, 6, 5));
    assert_eq!((0..6).map(|at| read((bytes + at) as *const u8)).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    launch(&p, module, c"add", CUstream::NULL);
    ok!(p, cuCtxSynchronize());
    assert_eq!(word(count), 14);
    write(count as *mut u8, 1);
    launch(&p, module, c"add", CUstream::NULL);
    let mut copied = [0_u8; 4];
    ok!(p, cuMemcpyDtoH_v2(copied.as_mut_ptr().cast(), count, 4));
    assert_eq!(copied, [10, 0, 0, 0]);
    // Initializers hold its address.
    let mut place = 0_u64;
    ok!(p, cuMemcpyDtoH_v2((&raw mut place).cast(), global(&p, module, c"place").0, 8));
    assert_eq!(place, count);
    // The program does not own it.
    fails!(p, INVALID_VALUE, cuMemFree_v2(count));
    fails!(p, INVALID_VALUE, cuMemFreeAsync(count, CUstream::NULL));
    assert_eq!(p.sim.statistics().matches("\"kind\"").count(), 0);
    ok!(p, cuModuleUnload(module));
    fails!(p, INVALID_VALUE, cuMemcpyDtoH_v2(copied.as_mut_ptr().cast(), count, 4));
    assert!(p.sim.report().findings.iter().all(|finding| finding.kind != Kind::Leak));
}

#[test]
fn managed_variable_is_managed_memory() {
    let p = Program::new();
    let (count, _) = global(&p, module(&p), c"count");
    let (mut managed, mut kind, mut base, mut size) = (0_u8, 0_u32, 0, 0);
    ok!(p, cuPointerGetAttribute((&raw mut managed).cast(), CU_POINTER_ATTRIBUTE_IS_MANAGED, count));
    ok!(p, cuPointerGetAttribute((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, count));
    ok!(p, cuMemGetAddressRange_v2(&mut base, &mut size, count + 1));
    assert_eq!((managed, kind, base, size), (1, CU_MEMORYTYPE_DEVICE, count, 4));
    ok!(p, cuMemPrefetchAsync(count, 4, 0, CUstream::NULL));
    ok!(p, cuStreamAttachMemAsync(p.stream(0), count, 0, CU_MEM_ATTACH_SINGLE));
    ok!(p, cuMemAdvise(count, 4, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
}

#[test]
fn contexts_share_the_managed_variables_of_a_library() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let library = library(&p);
    let (mut first, mut second) = (CUmodule::NULL, CUmodule::NULL);
    let (count, size) = managed(&p, library, c"count");
    assert_eq!((size, word(count)), (4, 5));
    ok!(p, cuLibraryGetModule(&mut first, library));
    launch(&p, first, c"add", CUstream::NULL);
    ok!(p, cuCtxSynchronize());
    let other = p.primary(1);
    ok!(p, cuCtxSetCurrent(other));
    assert_eq!(managed(&p, library, c"count").0, count);
    ok!(p, cuLibraryGetModule(&mut second, library));
    assert_ne!(first, second);
    assert_eq!(global(&p, second, c"count").0, count);
    assert_ne!(global(&p, second, c"plain").0, global(&p, first, c"plain").0);
    // A second context does not initialize it again.
    launch(&p, second, c"add", CUstream::NULL);
    ok!(p, cuCtxSynchronize());
    assert_eq!(word(count), 23);
    // It outlives a context, and ends with the library.
    ok!(p, cuDevicePrimaryCtxReset_v2(1));
    ok!(p, cuCtxSetCurrent(p.context));
    assert_eq!((managed(&p, library, c"count").0, word(count)), (count, 23));
    launch(&p, first, c"add", CUstream::NULL);
    ok!(p, cuCtxSynchronize());
    assert_eq!(word(count), 32);
    ok!(p, cuLibraryUnload(library));
    let mut base = 0;
    fails!(p, NOT_FOUND, cuMemGetAddressRange_v2(&mut base, std::ptr::null_mut(), count));
    assert_eq!(p.sim.report().text(false), "");
}

#[test]
fn wrong_names_handles_and_pointers_are_refused() {
    let p = Program::new();
    let (library, mut address, mut size) = (library(&p), 0, 0);
    let name = c"count".as_ptr();
    for absent in [c"plain", c"other", c"add", c""] {
        fails!(p, NOT_FOUND, cuLibraryGetManaged(&mut address, &mut size, library, absent.as_ptr()));
    }
    fails!(p, INVALID_HANDLE, cuLibraryGetManaged(&mut address, &mut size, CUlibrary::NULL, name));
    fails!(p, INVALID_VALUE, cuLibraryGetManaged(&mut address, &mut size, library, std::ptr::null()));
    let (no_address, no_size) = (std::ptr::null_mut(), std::ptr::null_mut());
    fails!(p, INVALID_VALUE, cuLibraryGetManaged(no_address, no_size, library, name));
    // Either output may be missing.
    ok!(p, cuLibraryGetManaged(&mut address, no_size, library, name));
    ok!(p, cuLibraryGetManaged(no_address, &mut size, library, name));
    assert!(address != 0 && size == 4);
}

#[test]
fn library_without_a_context_has_no_managed_memory_yet() {
    let p = Program::new();
    ok!(p, cuCtxSetCurrent(CUcontext::NULL));
    let (library, mut address, none) = (library(&p), 0, std::ptr::null_mut());
    fails!(p, NOT_FOUND, cuLibraryGetManaged(&mut address, none, library, c"count".as_ptr()));
    ok!(p, cuCtxSetCurrent(p.context));
    let (count, _) = managed(&p, library, c"count");
    ok!(p, cuCtxSetCurrent(CUcontext::NULL));
    assert_eq!(managed(&p, library, c"count").0, count);
}

#[test]
fn host_access_without_a_wait_for_the_kernel_is_a_race() {
    for (kernel, waits, races) in [(c"add", false, true), (c"add", true, false), (c"idle", false, false)] {
        let p = Program::new();
        let (module, stream) = (module(&p), p.stream(CU_STREAM_NON_BLOCKING));
        let (count, _) = global(&p, module, c"count");
        launch(&p, module, kernel, stream);
        if waits {
            ok!(p, cuStreamSynchronize(stream));
        }
        read(count as *const u8);
        ok!(p, cuStreamSynchronize(stream));
        let findings = p.sim.report().findings;
        assert_eq!(findings.len(), usize::from(races), "{kernel:?} {waits}");
        if let Some(finding) = findings.first() {
            assert_eq!((finding.kind, finding.sides[1].access), (Kind::DataRace, AccessKind::Read));
            assert_eq!(finding.variable.as_ref().and_then(|of| of.name.as_deref()), Some("count"));
        }
    }
}

#[test]
fn kernels_of_two_streams_race_on_a_managed_variable() {
    for ordered in [true, false] {
        let p = Program::new();
        let (module, streams) = (module(&p), [(); 2].map(|()| p.stream(CU_STREAM_NON_BLOCKING)));
        launch(&p, module, c"add", streams[0]);
        if ordered {
            ok!(p, cuStreamSynchronize(streams[0]));
        }
        launch(&p, module, c"add", streams[1]);
        ok!(p, cuCtxSynchronize());
        assert_eq!(p.sim.report().findings.is_empty(), ordered);
    }
}

#[test]
fn access_behind_a_managed_variable_is_found() {
    let p = Program::new();
    launch(&p, module(&p), c"beyond", CUstream::NULL);
    call!(p, cuCtxSynchronize());
    let findings = p.sim.report().findings;
    assert_eq!(findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [Kind::OutOfBounds]);
}

#[test]
fn attribute_of_another_kind_or_place_is_refused() {
    let p = Program::new();
    for (declaration, code) in [
        (".shared .attribute(.managed) .align 4 .u32 x;", CUresult::CUDA_ERROR_INVALID_PTX),
        (".const .attribute(.managed) .align 4 .u32 x;", CUresult::CUDA_ERROR_INVALID_PTX),
        (".global .attribute(.unified(1, 2)) .align 4 .u32 x;", CUresult::CUDA_ERROR_NOT_SUPPORTED),
        (".global .attribute(.managed .align 4 .u32 x;", CUresult::CUDA_ERROR_INVALID_PTX),
    ] {
        let ptx = format!(".version 8.0\n.target sm_80\n.address_size 64\n{declaration}\0");
        let mut module = CUmodule::NULL;
        assert_eq!(call!(p, cuModuleLoadData(&mut module, ptx.as_ptr().cast())), code, "{declaration}");
    }
}
