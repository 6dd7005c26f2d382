//! Kernel stores that leave their allocation and reach another one, in each kind of memory.

use crate::program::*;
use cuarray_sim::finding::{Finding, Kind};

/// In thread 3, reads `source` and stores 7 `offset` bytes after `place`. `put_in_variable` stores in a variable of the module.
const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64\n
    .visible .global .align 4 .u32 variable[16];
    .visible .global .align 4 .u32 another[16];
    .visible .entry put(.param .u64 place, .param .u64 offset, .param .u64 source)
    {
        .reg .b64 %place, %offset, %source; .reg .b32 %r, %t; .reg .pred %p;
        ld.param.u64 %place, [place]; ld.param.u64 %offset, [offset]; ld.param.u64 %source, [source];
        add.u64 %place, %place, %offset; mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 3;
        @%p ld.global.u32 %r, [%source]; @%p st.global.u32 [%place], 7;
        ret;
    }
    .visible .entry put_in_variable(.param .u64 place, .param .u64 offset, .param .u64 source)
    {
        .reg .b64 %place, %offset; .reg .b32 %t; .reg .pred %p;
        mov.u64 %place, variable; ld.param.u64 %offset, [offset];
        add.u64 %place, %place, %offset; mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 3;
        @%p st.global.u32 [%place], 7;
        ret;
    }";

/// The granularity of mapped memory.
const UNIT: usize = 2 << 20;

fn module(program: &Program) -> CUmodule {
    let mut module = CUmodule::NULL;
    ok!(program, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    module
}

fn launch(program: &Program, module: CUmodule, name: &std::ffi::CStr, arguments: [u64; 3]) {
    let (mut function, mut arguments) = (CUfunction::NULL, arguments);
    ok!(program, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    let mut parameters = arguments.each_mut().map(|argument| (&raw mut *argument).cast::<c_void>());
    let none = std::ptr::null_mut();
    ok!(program, cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, CUstream::NULL, parameters.as_mut_ptr(), none));
    ok!(program, cuCtxSynchronize());
}

/// Stores into `to` by a pointer to `from`.
fn put(program: &Program, from: CUdeviceptr, to: CUdeviceptr) {
    launch(program, module(program), c"put", [from, to.wrapping_sub(from), to & !3]);
}

/// The only finding, and its text.
fn only(program: &Program) -> (Finding, String) {
    let (findings, text) = (program.sim.report().findings, program.sim.report().text(false));
    assert_eq!(findings.len(), 1, "{text}");
    let finding = findings.into_iter().next().unwrap();
    assert_eq!(finding.kind, Kind::OutOfBounds, "{text}");
    (finding, text)
}

fn clean(program: &Program) {
    assert_eq!(program.sim.report().text(false), "");
}

/// Zeroed device memory.
fn zeroed(program: &Program, size: usize) -> CUdeviceptr {
    let memory = program.alloc(size);
    ok!(program, cuMemsetD8_v2(memory, 0, size));
    memory
}

#[test]
fn finding_names_the_thread_and_both_allocations() {
    for kernel_races in [true, false] {
        let program = Program::with(Config { kernel_races, ..Config::default() });
        let (from, to) = (zeroed(&program, 400), zeroed(&program, 4096));
        put(&program, from + 16, from + 32);
        clean(&program);
        put(&program, from, to + 8);
        let (finding, text) = only(&program);
        let place = finding.sides[0].place.as_ref().unwrap();
        assert_eq!((place.thread, place.block), ([3, 0, 0], [0, 0, 0]), "{text}");
        assert!(place.source.is_some() || text.contains("of the PTX"), "{text}");
        let allocation = finding.allocation.unwrap();
        assert_eq!((allocation.address, allocation.size, finding.offset), (to, 4096, Some(8)), "{text}");
        let expected = format!("keep within the 400 bytes at {from:#x}, made at ");
        assert!(text.contains(&expected), "{text}");
        assert!(text.contains(", to which argument 1 points: the store reaches another allocation"), "{text}");
    }
}

#[test]
fn pointer_to_an_allocation_reaches_no_allocation_before_it() {
    let program = Program::new();
    let (before, own) = (zeroed(&program, 4096), zeroed(&program, 4096));
    assert!(before < own, "addresses ascend");
    put(&program, own, own);
    clean(&program);
    put(&program, own, before + 4092);
    let (finding, text) = only(&program);
    assert_eq!(finding.allocation.unwrap().address, before, "{text}");
}

#[test]
fn index_that_is_one_too_large_is_found_for_a_size_of_whole_granules() {
    for size in [512, 4096] {
        let program = Program::new();
        let (own, _behind) = (zeroed(&program, size), zeroed(&program, size));
        put(&program, own, own + size as u64 - 4);
        clean(&program);
        launch(&program, module(&program), c"put", [own, size as u64, own]);
        let (finding, text) = only(&program);
        assert_eq!(finding.allocation.unwrap().address, own, "{text}");
    }
}

#[test]
fn pinned_and_managed_memory_are_allocations_of_their_own() {
    let new: [fn(&Program) -> CUdeviceptr; 2] = [
        |program| program.pinned(4096) as CUdeviceptr,
        |program| {
            let mut address = 0;
            ok!(program, cuMemAllocManaged(&mut address, 4096, CU_MEM_ATTACH_GLOBAL));
            address
        },
    ];
    for allocate in new {
        let program = Program::new();
        let memory = [allocate(&program), allocate(&program)];
        for memory in memory {
            ok!(program, cuMemsetD8_v2(memory, 0, 4096));
        }
        // The system may place the second in front of the first.
        for [own, to] in [memory, [memory[1], memory[0]]] {
            put(&program, own, own + 4092);
            clean(&program);
            put(&program, own, to);
            only(&program);
            program.sim.clear_findings();
        }
        let program = Program::new();
        let (device, to) = (zeroed(&program, 4096), allocate(&program));
        ok!(program, cuMemsetD8_v2(to, 0, 4096));
        put(&program, device, to);
        only(&program);
    }
}

#[test]
fn host_memory_that_is_registered_in_adjacent_pieces_is_one_allocation() {
    let program = Program::new();
    let pages = Box::leak(Box::new([[0_u8; 4096]; 8]));
    let first = (pages.as_mut_ptr() as CUdeviceptr).next_multiple_of(4096);
    for piece in [0, 1, 4] {
        ok!(program, cuMemHostRegister_v2((first + piece * 4096) as *mut c_void, 4096, 0));
    }
    ok!(program, cuMemsetD8_v2(first, 0, 4096));
    put(&program, first, first + 4096);
    put(&program, first + 4096, first);
    clean(&program);
    put(&program, first, first + 4 * 4096);
    only(&program);
}

/// Maps and opens memory at reserved addresses.
fn map(program: &Program, address: CUdeviceptr) {
    let location = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
    let props = CUmemAllocationProp {
        kind: CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: 0,
        location,
        win32HandleMetaData: std::ptr::null_mut(),
        compressionType: 0,
        gpuDirectRDMACapable: 0,
        usage: 0,
        reserved: [0; 4],
    };
    let mut handle = 0;
    ok!(program, cuMemCreate(&mut handle, UNIT, &props, 0));
    ok!(program, cuMemMap(address, UNIT, 0, handle, 0));
    let access = CUmemAccessDesc { location, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    ok!(program, cuMemSetAccess(address, UNIT, &access, 1));
    ok!(program, cuMemsetD8_v2(address, 0, UNIT));
}

fn reserve(program: &Program, size: usize, hint: CUdeviceptr) -> CUdeviceptr {
    let mut address = 0;
    ok!(program, cuMemAddressReserve(&mut address, size, 0, hint, 0));
    address
}

#[test]
fn mappings_of_one_reservation_are_one_allocation() {
    let program = Program::new();
    let first = reserve(&program, 4 * UNIT, 0);
    let last = first + 3 * UNIT as u64;
    map(&program, first);
    map(&program, last);
    put(&program, first, last);
    put(&program, last, first + 8);
    // A pointer to addresses between the mappings.
    put(&program, first + UNIT as u64, last + 16);
    clean(&program);
    // The system may choose addresses beside the first reservation.
    let other = reserve(&program, UNIT, 0);
    map(&program, other);
    put(&program, other, last);
    only(&program);
}

#[test]
fn reservation_that_extends_another_is_part_of_the_allocation() {
    let program = Program::new();
    // Addresses that were free a moment ago.
    let free = reserve(&program, 4 * UNIT, 0);
    ok!(program, cuMemAddressFree(free, 4 * UNIT));
    let first = reserve(&program, UNIT, free);
    let second = reserve(&program, 2 * UNIT, free + UNIT as u64);
    assert_eq!((first, second), (free, free + UNIT as u64));
    map(&program, first);
    map(&program, second + UNIT as u64);
    put(&program, first, second + UNIT as u64);
    clean(&program);
}

#[test]
fn store_beside_a_variable_of_the_module_is_found() {
    let program = Program::new();
    let module = module(&program);
    let (mut variable, mut another, mut size) = (0, 0, 0);
    ok!(program, cuModuleGetGlobal_v2(&mut variable, &mut size, module, c"variable".as_ptr()));
    ok!(program, cuModuleGetGlobal_v2(&mut another, &mut size, module, c"another".as_ptr()));
    launch(&program, module, c"put_in_variable", [0, 60, 0]);
    launch(&program, module, c"put", [another, 0, another]);
    clean(&program);
    launch(&program, module, c"put_in_variable", [0, another.wrapping_sub(variable), 0]);
    let (_, text) = only(&program);
    assert!(text.contains("keep within the variable of the module"), "{text}");
}
