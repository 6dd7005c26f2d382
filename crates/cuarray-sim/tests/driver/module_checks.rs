//! Checks of modules when they are loaded, with the error log, and the limits of their kernels.

use crate::program::*;
use std::ffi::{CStr, CString};

const ADD: &str = ".visible .entry k(.param .u64 out) { ret; }";

fn ptx(version: &str, target: &str, body: &str) -> CString {
    CString::new(format!(".version {version}\n.target {target}\n.address_size 64\n{body}\n")).unwrap()
}

/// Loads a module, and returns the result and the error log.
fn load(program: &Program, image: *const c_void) -> (CUresult, CUmodule, String) {
    let (mut module, mut log) = (CUmodule::NULL, vec![0_u8; 1000]);
    let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
    let result = call!(program, cuModuleLoadDataEx(&mut module, image, 2, options.as_mut_ptr(), values.as_mut_ptr()));
    let end = log.iter().position(|byte| *byte == 0).unwrap();
    (result, module, String::from_utf8(log[..end].to_vec()).unwrap())
}

fn load_text(program: &Program, text: &CStr) -> (CUresult, CUmodule, String) {
    load(program, text.as_ptr().cast())
}

fn kernel(program: &Program, body: &str) -> CUfunction {
    let (result, module, log) = load_text(program, &ptx("8.0", "sm_80", body));
    assert!(result.is_success(), "{log}");
    let mut function = CUfunction::NULL;
    ok!(program, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    function
}

fn attribute(program: &Program, function: CUfunction, attribute: CUfunction_attribute) -> i32 {
    let mut value = -1;
    ok!(program, cuFuncGetAttribute(&mut value, attribute, function));
    value
}

fn launch(program: &Program, function: CUfunction, threads: u32, shared: u32) -> CUresult {
    let mut out = 0_u64;
    let mut params = [(&raw mut out).cast::<c_void>()];
    let (stream, none) = (CUstream::NULL, std::ptr::null_mut());
    let result =
        call!(program, cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared, stream, params.as_mut_ptr(), none));
    ok!(program, cuCtxSynchronize());
    result
}

#[test]
fn ptx_that_is_newer_than_the_driver_is_an_unsupported_version() {
    let program = Program::with(Config { driver_version: 12040, ..Config::default() });
    assert!(load_text(&program, &ptx("8.4", "sm_90", ADD)).0.is_success());
    let (result, _, log) = load_text(&program, &ptx("8.5", "sm_90", ADD));
    assert_eq!(result, CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    assert!(log.contains("line 1") && log.contains(".version 8.5 is newer than 8.4"), "{log}");
    for (driver_version, newest, too_new) in [
        (11080, "7.8", "8.0"),
        (12050, "8.5", "8.6"),
        (12060, "8.5", "8.6"),
        (12090, "8.8", "9.0"),
        (13020, "9.2", "9.3"),
    ] {
        let program = Program::with(Config { driver_version, ..Config::default() });
        assert!(load_text(&program, &ptx(newest, "sm_80", ADD)).0.is_success(), "{driver_version}");
        let refused = load_text(&program, &ptx(too_new, "sm_80", ADD)).0;
        assert_eq!(refused, CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "{driver_version}");
    }
}

#[test]
fn ptx_for_another_device_is_invalid() {
    let program = Program::with(Config { compute_capability: (8, 6), ..Config::default() });
    for target in ["sm_75", "sm_80", "sm_86", "sm_86a", "sm_80, debug"] {
        let (result, _, log) = load_text(&program, &ptx("8.0", target, ADD));
        assert!(result.is_success(), "{target}: {log}");
    }
    for target in ["sm_89", "sm_90", "sm_90a", "sm_100f", "sm_80a"] {
        let (result, _, log) = load_text(&program, &ptx("8.0", target, ADD));
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_PTX, "{target}");
        assert!(log.contains("line 2") && log.contains(&format!(".target {target} does not run on")), "{log}");
    }
    // A link refuses the input when it is added.
    let mut link = CUlinkState::NULL;
    let none = std::ptr::null_mut();
    ok!(program, cuLinkCreate_v2(0, none, none.cast(), &mut link));
    let text = ptx("8.0", "sm_90", ADD);
    let (data, size) = (text.as_ptr().cast_mut().cast(), text.as_bytes_with_nul().len());
    fails!(program, INVALID_PTX, cuLinkAddData_v2(link, 1, data, size, std::ptr::null(), 0, none, none.cast()));
    ok!(program, cuLinkDestroy(link));
}

/// A fat binary with machine code for each target of `code`, which nothing reads, and with plain PTX for each of `targets`.
fn fat_binary(code: &[u32], targets: &[u32]) -> Vec<u8> {
    let mut body = Vec::new();
    let code = code.iter().map(|target| (2, target, b"\x7fELF\0\0\0\0".to_vec()));
    let texts =
        targets.iter().map(|target| (1, target, ptx("8.7", &format!("sm_{target}"), ADD).into_bytes_with_nul()));
    for (kind, target, mut text) in code.chain(texts) {
        text.resize(text.len().next_multiple_of(8), 0);
        let mut head = vec![kind, 0, 1, 1, 64, 0, 0, 0];
        head.extend((text.len() as u64).to_le_bytes());
        head.extend((text.len() as u32).to_le_bytes());
        head.extend([0; 8]);
        head.extend(target.to_le_bytes());
        head.resize(64, 0);
        body.extend(head);
        body.extend(text);
    }
    let mut bytes = 0xba55_ed50_u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn fat_binary_gives_the_newest_ptx_of_the_device() {
    let program = Program::with(Config { compute_capability: (8, 6), ..Config::default() });
    let (result, module, log) = load(&program, fat_binary(&[], &[75, 80, 90]).as_ptr().cast());
    assert!(result.is_success(), "{log}");
    let mut function = CUfunction::NULL;
    ok!(program, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    assert_eq!(attribute(&program, function, 5), 80);
    let (result, _, log) = load(&program, fat_binary(&[75, 90], &[90, 89]).as_ptr().cast());
    assert_eq!(result, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert!(log.contains("sm_90, a newer device"), "{log}");
}

#[test]
fn newer_ptx_runs_where_the_device_would_run_machine_code() {
    let program = Program::with(Config { compute_capability: (8, 6), ..Config::default() });
    let (result, module, log) = load(&program, fat_binary(&[75, 80], &[100, 90]).as_ptr().cast());
    assert!(result.is_success(), "{log}");
    let mut function = CUfunction::NULL;
    ok!(program, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    // A program that chooses by the version of the PTX gets the one whose code runs.
    assert_eq!(attribute(&program, function, 5), 90);
    // Other inputs of a link are for the device itself.
    let mut link = CUlinkState::NULL;
    let none = std::ptr::null_mut();
    ok!(program, cuLinkCreate_v2(0, none, none.cast(), &mut link));
    let bytes = fat_binary(&[80], &[90]);
    let (data, size) = (bytes.as_ptr().cast_mut().cast(), bytes.len());
    let name = std::ptr::null();
    fails!(program, NO_BINARY_FOR_GPU, cuLinkAddData_v2(link, 4, data, size, name, 0, none, none.cast()));
    ok!(program, cuLinkDestroy(link));
}

/// Readable memory, and inaccessible memory behind it.
struct Room {
    start: *mut u8,
    page: usize,
}

impl Room {
    fn new() -> Room {
        let page = 1 << 16;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping; its second half is made inaccessible.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), 2 * page, access, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(page), page, libc::PROT_NONE), 0);
            Room { start: start.cast(), page }
        }
    }

    /// Copies bytes to the end of the page, and returns their address.
    fn at_the_end(&self, bytes: &[u8]) -> *const u8 {
        assert!(bytes.len() <= self.page);
        // SAFETY: the bytes end where the page ends.
        unsafe {
            let place = self.start.add(self.page - bytes.len());
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            place
        }
    }
}

#[test]
fn image_that_is_cut_short_or_not_readable_is_invalid() {
    let program = Program::new();
    let bytes = fat_binary(&[], &[75, 80]);
    let room = Room::new();
    assert!(load(&program, room.at_the_end(&bytes).cast()).0.is_success());
    for length in 1..bytes.len() {
        let image = room.at_the_end(&bytes[..length]);
        assert_eq!(load(&program, image.cast()).0, CUresult::CUDA_ERROR_INVALID_IMAGE, "{length}");
    }
    let mut lying = bytes.clone();
    for length in [bytes.len() as u64, 1 << 40, u64::MAX] {
        lying[8..16].copy_from_slice(&length.to_le_bytes());
        let image = room.at_the_end(&lying);
        assert_eq!(load(&program, image.cast()).0, CUresult::CUDA_ERROR_INVALID_IMAGE, "{length}");
    }
    for wild in [8, 0x7fff_ffff_f000] {
        let wild = std::ptr::without_provenance(wild);
        assert_eq!(load(&program, wild).0, CUresult::CUDA_ERROR_INVALID_IMAGE);
    }
    let mut link = CUlinkState::NULL;
    let none = std::ptr::null_mut();
    ok!(program, cuLinkCreate_v2(0, none, none.cast(), &mut link));
    let (data, size) = (room.at_the_end(&bytes).cast_mut().cast(), 2 * bytes.len());
    fails!(program, INVALID_VALUE, cuLinkAddData_v2(link, 2, data, size, std::ptr::null(), 0, none, none.cast()));
    ok!(program, cuLinkDestroy(link));
}

#[test]
fn unknown_instruction_is_invalid_and_unsupported_one_is_not_supported() {
    let program = Program::new();
    let body = "\n.visible .entry k() {\n.reg .b32 %r;\nfrobnicate.u32 %r, %r;\nret; }";
    let (result, _, log) = load_text(&program, &ptx("8.0", "sm_90", body));
    assert_eq!(result, CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(log.contains("line 7") && log.contains("'frobnicate.u32'"), "{log}");
    let body = ".visible .entry k(.param .u64 t) { .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %t; ld.param.u64 %t, [t];\n\
        tex.2dms.v4.f32.s32 {%f0,%f1,%f2,%f3}, [%t, %r0, {%r1,%r2,%r3,%r3}]; ret; }";
    let (result, _, log) = load_text(&program, &ptx("8.0", "sm_90", body));
    assert_eq!(result, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    assert!(
        log.contains("line 5") && log.contains("'tex.2dms.v4.f32.s32': multi-sample textures are not supported"),
        "{log}"
    );
}

/// A kernel with as many values live at once, and a directive.
fn wide_kernel(values: u32, directive: &str) -> String {
    let mut body =
        format!(".visible .entry k(.param .u64 out) {directive} {{ .reg .b32 %r<{}>; .reg .b64 %o;\n", values + 1);
    body += "ld.param.u64 %o, [out]; mov.u32 %r0, %tid.x;\n";
    for value in 1..=values {
        body += &format!("mad.lo.u32 %r{value}, %r{}, %r0, {value};\n", value - 1);
    }
    for value in 1..=values {
        body += &format!("xor.b32 %r0, %r0, %r{value};\n");
    }
    body + "ret; }"
}

#[test]
fn launch_is_never_refused_by_an_estimate_of_registers() {
    let program = Program::new();
    let registers = |body: &str| attribute(&program, kernel(&program, body), 4);
    let wide = kernel(&program, &wide_kernel(200, ""));
    assert_eq!((attribute(&program, wide, 0), attribute(&program, wide, 4)), (1024, 64));
    assert!(launch(&program, wide, 1024, 0).is_success());
    for directive in [".maxntid 512, 1, 1", ".reqntid 512", ".maxntid 16, 32"] {
        let bounded = kernel(&program, &wide_kernel(200, directive));
        assert_eq!((attribute(&program, bounded, 0), attribute(&program, bounded, 4)), (512, 128), "{directive}");
        assert!(launch(&program, bounded, 512, 0).is_success(), "{directive}");
    }
    assert_eq!(registers(&wide_kernel(200, ".maxntid 128")), 205);
    assert_eq!(registers(&wide_kernel(300, ".maxntid 64")), 255);
    assert_eq!(registers(&wide_kernel(200, ".maxntid 128 .maxnreg 40")), 40);
    assert_eq!(registers(&wide_kernel(200, ".maxntid 128 .minnctapersm 4")), 128);
    // A register that is used again after a long time is not live in between, if it is written anew.
    let reused = "mov.u32 %r1, %tid.x; add.u32 %r0, %r0, %r1;".repeat(300);
    let body = format!(".visible .entry k(.param .u64 out) {{ .reg .b32 %r<300>; mov.u32 %r0, 1; {reused} ret; }}");
    assert!(registers(&body) < 16);
}

#[test]
fn function_attribute_of_ptx_is_the_virtual_architecture() {
    let program = Program::new();
    let function = kernel(&program, ADD);
    assert_eq!((attribute(&program, function, 5), attribute(&program, function, 6)), (80, 90));
}

#[test]
fn available_dynamic_shared_memory_can_be_launched() {
    for (compute_capability, of_block) in [((7, 5), 65536), ((8, 0), 166_912), ((8, 9), 101_376), ((9, 0), 232_448)] {
        let program = Program::with(Config { compute_capability, ..Config::default() });
        let body = ".extern .shared .b8 more[]; .visible .entry k(.param .u64 out) { .shared .b8 own[1024]; .reg .b64 %r; \
            mov.u64 %r, own; mov.u64 %r, more; ret; }";
        let (result, module, log) = load_text(&program, &ptx("8.0", "sm_75", body));
        assert!(result.is_success(), "{log}");
        let mut function = CUfunction::NULL;
        ok!(program, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
        let available = |blocks| {
            let mut bytes = 0;
            ok!(program, cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, function, blocks, 128));
            bytes as u32
        };
        let mut opt_in = 0;
        ok!(program, cuDeviceGetAttribute(&mut opt_in, 97, 0));
        assert_eq!(opt_in, of_block);
        assert_eq!(available(1), (48 << 10) - 1024);
        assert!(launch(&program, function, 128, available(1)).is_success());
        assert!(!launch(&program, function, 128, available(1) + 1).is_success());
        fails!(program, INVALID_VALUE, cuFuncSetAttribute(function, 8, of_block));
        ok!(program, cuFuncSetAttribute(function, 8, of_block - 1024));
        assert_eq!(available(1), of_block as u32 - 1024);
        assert!(launch(&program, function, 128, available(1)).is_success());
        for blocks in [2, 3, 8] {
            let mut fit = 0;
            let bytes = available(blocks) as usize;
            ok!(program, cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut fit, function, 128, bytes));
            assert!(fit >= blocks, "{fit} blocks of {bytes} bytes");
        }
    }
}

#[test]
fn intermediate_code_is_refused_with_what_to_do() {
    let program = Program::new();
    for image in [&b"BC\xc0\xde\x35\0"[..], b"; ModuleID = 'a'\n\0", b"\xedCN\x7f\x01C\x83\0"] {
        let (result, _, log) = load(&program, image.as_ptr().cast());
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_IMAGE);
        assert!(log.contains("NVVM IR or LTO-IR") && log.contains("nvJitLink"), "{log}");
    }
}

#[test]
fn kernel_that_launches_kernels_is_refused_with_what_to_do() {
    let program = Program::new();
    let body = ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2 (.param .b64 a, .param .b64 b);\n
        .visible .entry k(.param .u64 out) {
            .reg .b64 %rd<2>; .reg .b32 %r<2>;
            ld.param.u64 %rd1, [out];
            { .param .b64 a; .param .b64 b; .param .b32 r;
              st.param.b64 [a], %rd1; st.param.b64 [b], %rd1;
              call.uni (r), __cudaCDP2LaunchDeviceV2, (a, b); ld.param.b32 %r1, [r]; }
            ret; }";
    let (result, _, log) = load_text(&program, &ptx("8.0", "sm_80", body));
    assert!(!result.is_success());
    assert!(log.contains("dynamic parallelism") && log.contains("launch them from the host"), "{log}");
}
