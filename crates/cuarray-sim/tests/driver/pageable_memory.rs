//! Pageable memory that devices access (`Config::pageable_memory`): kernels and calls use any memory of the process.

use crate::program::*;
use cuarray_sim::finding::{AccessKind, Finding, Kind};

/// Whole pages, and more than the threshold from which `malloc` maps each block by itself.
const SIZE: usize = 1 << 20;

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64
.visible .entry store(.param .u64 target, .param .u64 count)
{
    .reg .pred %p1; .reg .b32 %r<5>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [target]; ld.param.u64 %rd2, [count];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
    cvt.u64.u32 %rd3, %r4;
    setp.ge.u64 %p1, %rd3, %rd2; @%p1 ret;
    shl.b64 %rd4, %rd3, 2; add.u64 %rd1, %rd1, %rd4; st.u32 [%rd1], %r4;
    ret;
}
.visible .entry load(.param .u64 source, .param .u64 target)
{
    .reg .b32 %r1; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [source]; ld.param.u64 %rd2, [target];
    ld.u32 %r1, [%rd1]; st.u32 [%rd2], %r1;
    ret;
}
.visible .entry follow(.param .u64 table, .param .u64 index)
{
    .reg .b32 %r1; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [table]; ld.param.u64 %rd2, [index];
    shl.b64 %rd2, %rd2, 3; add.u64 %rd1, %rd1, %rd2; ld.u64 %rd1, [%rd1];
    mov.u32 %r1, 77; st.u32 [%rd1], %r1;
    ret;
}";

struct Kernels {
    program: Program,
    module: CUmodule,
    stream: CUstream,
}

impl Kernels {
    fn new() -> Kernels {
        Kernels::with(Config::default())
    }

    fn with(config: Config) -> Kernels {
        Kernels::over(Program::with(Config { pageable_memory: true, ..config }))
    }

    fn over(program: Program) -> Kernels {
        let mut module = CUmodule::NULL;
        ok!(program, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
        let stream = program.stream(CU_STREAM_NON_BLOCKING);
        Kernels { program, module, stream }
    }

    /// Launches a kernel with two arguments, for at least `threads` threads.
    fn launch(&self, name: &std::ffi::CStr, [mut one, mut two]: [u64; 2], threads: usize) {
        let (mut function, none) = (CUfunction::NULL, std::ptr::null_mut());
        ok!(self.program, cuModuleGetFunction(&mut function, self.module, name.as_ptr()));
        let mut params = [(&raw mut one).cast::<c_void>(), (&raw mut two).cast()];
        let blocks = threads.div_ceil(256) as u32;
        let block = threads.min(256) as u32;
        let place = self.stream;
        ok!(self.program, cuLaunchKernel(function, blocks, 1, 1, block, 1, 1, 0, place, params.as_mut_ptr(), none));
    }

    /// Lets a kernel write each word of memory.
    fn store(&self, memory: *mut u8, size: usize) {
        self.launch(c"store", [address(memory), size as u64 / 4], size / 4);
    }

    fn wait(&self) -> CUresult {
        call!(self.program, cuStreamSynchronize(self.stream))
    }

    fn clean(&self) {
        assert_eq!(self.program.sim.report().text(false), "");
    }
}

fn address<T>(memory: *mut T) -> u64 {
    memory.expose_provenance() as u64
}

/// A block of `malloc`.
struct Block(*mut u8);

impl Block {
    fn new(size: usize) -> Block {
        // SAFETY: the call has no preconditions.
        let memory: *mut u8 = unsafe { libc::calloc(size, 1) }.cast();
        assert!(!memory.is_null());
        Block(memory)
    }

    fn word(&self, index: usize) -> u32 {
        // SAFETY: the tests pass indices within the block.
        unsafe { self.0.cast::<u32>().add(index).read_volatile() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the block is freed once.
        unsafe { libc::free(self.0.cast()) };
    }
}

/// Pages that nothing else maps after their end.
struct Pages(*mut u8);

impl Pages {
    fn new(access: libc::c_int) -> Pages {
        use std::sync::atomic::{AtomicUsize, Ordering};
        // The system chooses no such address itself, so no other thread gets it after the end of the mapping.
        static NEXT: AtomicUsize = AtomicUsize::new(0x3000_0000_0000);
        let place = std::ptr::without_provenance_mut(NEXT.fetch_add(1 << 32, Ordering::Relaxed));
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: a new mapping, which replaces no other.
        let start = unsafe { libc::mmap(place, SIZE, access, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Pages(start.cast())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this test owns the mapping.
        unsafe { libc::munmap(self.0.cast(), SIZE) };
    }
}

const OPEN: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Runs a program under each schedule.
fn each(run: impl Fn(&Kernels)) {
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(7)] {
        run(&Kernels::with(Config { schedule, ..Config::default() }));
    }
}

/// Returns the only finding: a race between a kernel and the host.
fn race(kernels: &Kernels) -> Finding {
    let report = kernels.program.sim.report();
    assert_eq!(report.findings.len(), 1, "{}", report.text(false));
    let finding = report.findings[0].clone();
    assert_eq!((finding.kind, finding.sides[0].call), (Kind::DataRace, "cuLaunchKernel"), "{}", report.text(false));
    assert!(finding.sides[1].site.native.is_some());
    finding
}

fn attribute(program: &Program, attribute: CUdevice_attribute) -> i32 {
    let mut value = -1;
    ok!(program, cuDeviceGetAttribute(&mut value, attribute, 0));
    value
}

#[test]
fn without_the_setting_kernels_and_calls_refuse_pageable_memory() {
    let kernels = Kernels::over(Program::new());
    let (p, block) = (&kernels.program, Block::new(SIZE));
    assert_eq!(attribute(p, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS), 0);
    let (place, device) = (address(block.0), p.alloc(64));
    fails!(p, INVALID_VALUE, cuMemcpyDtoD_v2(place, device, 64));
    fails!(p, INVALID_VALUE, cuMemsetD8_v2(place, 1, 64));
    fails!(p, INVALID_VALUE, cuMemPrefetchAsync(place, 4096, 0, CUstream::NULL));
    fails!(p, INVALID_VALUE, cuMemAdvise(place, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    kernels.store(block.0, 4096);
    assert_eq!(kernels.wait(), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(block.word(5), 0);
}

#[test]
fn attributes_say_that_devices_access_pageable_memory_by_their_own_page_tables() {
    let kernels = Kernels::new();
    let of = |number| attribute(&kernels.program, number);
    assert_eq!(of(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS), 1);
    const USES_HOST_PAGE_TABLES: CUdevice_attribute = 100;
    assert_eq!(of(USES_HOST_PAGE_TABLES), 0);
}

#[test]
fn kernel_uses_the_heap_the_stack_and_static_memory() {
    static STATIC: [std::sync::atomic::AtomicU32; 64] = [const { std::sync::atomic::AtomicU32::new(0) }; 64];
    each(|kernels| {
        let (large, small, mut local) = (Block::new(SIZE), Block::new(64), [0_u32; 64]);
        kernels.store(large.0, SIZE);
        kernels.store(small.0, 64);
        kernels.store((&raw mut local).cast(), 256);
        kernels.store(STATIC.as_ptr().cast_mut().cast(), 256);
        kernels.launch(c"load", [address(large.0) + 40, address(small.0)], 1);
        assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
        assert_eq!((large.word(SIZE / 4 - 1), small.word(15), small.word(0)), (SIZE as u32 / 4 - 1, 15, 10));
        // SAFETY: the array is live; the driver has written it through its address.
        assert_eq!(unsafe { (&raw const local[63]).read_volatile() }, 63);
        assert_eq!(STATIC[63].load(std::sync::atomic::Ordering::Relaxed), 63);
        kernels.clean();
    });
}

#[test]
fn kernel_follows_pointers_between_device_memory_and_the_heap() {
    let kernels = Kernels::new();
    let (p, block, table) = (&kernels.program, Block::new(64), kernels.program.alloc(16));
    let entries = [0, address(block.0) + 8];
    ok!(p, cuMemcpyHtoD_v2(table, entries.as_ptr().cast(), 16));
    kernels.launch(c"follow", [table, 1], 1);
    assert_eq!((kernels.wait(), block.word(2)), (CUresult::CUDA_SUCCESS, 77));
    kernels.clean();
}

#[test]
fn host_access_while_a_kernel_writes_a_block_is_a_race() {
    for writes in [false, true] {
        each(|kernels| {
            let block = Block::new(SIZE);
            kernels.store(block.0, SIZE);
            match writes {
                true => write(block.0.wrapping_add(SIZE / 2 + 4), 3),
                false => _ = read(block.0.wrapping_add(SIZE / 2 + 4)),
            }
            assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
            let finding = race(kernels);
            let access = if writes { AccessKind::Write } else { AccessKind::Read };
            assert_eq!((finding.sides[0].access, finding.sides[1].access), (AccessKind::Write, access));
        });
    }
}

#[test]
fn host_access_after_the_wait_has_no_findings() {
    each(|kernels| {
        let (block, event) = (Block::new(SIZE), kernels.program.event());
        for _ in 0..3 {
            write(block.0.wrapping_add(5000), 3);
            kernels.store(block.0, SIZE);
            ok!(kernels.program, cuEventRecord(event, kernels.stream));
            ok!(kernels.program, cuEventSynchronize(event));
            assert_eq!(block.word(1250), 1250);
            write(block.0, 4);
        }
        kernels.clean();
    });
}

#[test]
fn host_read_beside_a_kernel_that_only_reads_has_no_findings() {
    each(|kernels| {
        let (block, target) = (Block::new(SIZE), kernels.program.alloc(4));
        kernels.launch(c"load", [address(block.0), target], 1);
        read(block.0);
        read(block.0.wrapping_add(SIZE / 2));
        assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
        kernels.clean();
    });
}

#[test]
fn mapped_pages_are_watched_from_the_end_of_the_kernel_on() {
    let kernels = Kernels::with(Config { schedule: Schedule::Eager, ..Config::default() });
    let pages = Pages::new(OPEN);
    kernels.store(pages.0, SIZE);
    write(pages.0.wrapping_add(9000), 1);
    assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
    race(&kernels);
}

#[test]
fn two_kernels_race_in_a_block() {
    each(|kernels| {
        let (p, block) = (&kernels.program, Block::new(256));
        kernels.store(block.0, 256);
        let other = Kernels { program: Program::over(&p.sim), module: kernels.module, stream: p.stream(1) };
        other.store(block.0, 256);
        ok!(p, cuCtxSynchronize());
        let report = p.sim.report();
        assert_eq!(report.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [Kind::DataRace]);
    });
}

#[test]
fn address_that_is_not_mapped_is_illegal() {
    for wild in [8, 0xdead_beec, 0x3fff_0000_0000, 0x7fff_ffff_f000] {
        let kernels = Kernels::new();
        kernels.launch(c"store", [wild, 1], 1);
        assert_eq!(kernels.wait(), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, "{wild:#x}");
        assert_eq!(kernels.program.sim.report().findings.len(), 1);
    }
}

#[test]
fn memory_that_is_unmapped_before_the_kernel_runs_is_illegal() {
    let kernels = Kernels::new();
    let pages = Pages::new(OPEN);
    kernels.store(pages.0, SIZE);
    drop(pages);
    assert_eq!(kernels.wait(), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let kinds: Vec<Kind> = kernels.program.sim.report().findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::OutOfBounds]);
}

#[test]
fn block_that_is_freed_before_the_kernel_runs_is_illegal() {
    let kernels = Kernels::new();
    // `free` unmaps a block of this size at once: the threshold is at most 32 MiB.
    let block = Block::new(64 << 20);
    kernels.launch(c"store", [address(block.0), 1], 1);
    drop(block);
    assert_eq!(kernels.wait(), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
}

#[test]
fn kernel_reads_read_only_memory_and_may_not_write_it() {
    let kernels = Kernels::new();
    let (pages, target) = (Pages::new(libc::PROT_READ), kernels.program.alloc(4));
    kernels.launch(c"load", [address(pages.0), target], 1);
    assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
    kernels.clean();
    kernels.store(pages.0, 4);
    assert_eq!(kernels.wait(), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let text = kernels.program.sim.report().text(false);
    assert!(text.contains("make this memory writable with mprotect"), "{text}");
}

#[test]
fn bounds_of_driver_memory_still_hold() {
    for bytes in [64_usize, 4096, 5000] {
        let kernels = Kernels::new();
        let host = kernels.program.pinned(bytes);
        kernels.launch(c"load", [address(host) + bytes as u64, kernels.program.alloc(4)], 1);
        assert_eq!(kernels.wait(), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, "{bytes}");
    }
}

#[test]
fn registered_block_lies_within_pageable_memory() {
    let kernels = Kernels::new();
    let block = Block::new(SIZE);
    ok!(kernels.program, cuMemHostRegister_v2(block.0.wrapping_add(8192).cast(), 4096, 0));
    kernels.launch(c"load", [address(block.0) + 8192, address(block.0) + 12288], 1);
    kernels.launch(c"load", [address(block.0) + 8188, address(block.0) + 64], 1);
    assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
    ok!(kernels.program, cuMemHostUnregister(block.0.wrapping_add(8192).cast()));
}

#[test]
fn copies_and_fills_take_pageable_memory_as_device_memory_in_the_order_of_their_stream() {
    each(|kernels| {
        let (p, block, other) = (&kernels.program, Block::new(SIZE), Block::new(SIZE));
        let (place, device, pinned) = (address(block.0), p.alloc(SIZE), p.pinned(SIZE));
        kernels.store(block.0, SIZE);
        ok!(p, cuMemcpyDtoHAsync_v2(pinned.cast(), place, SIZE, kernels.stream));
        ok!(p, cuMemcpyDtoDAsync_v2(device, place, SIZE, kernels.stream));
        ok!(p, cuMemcpyHtoDAsync_v2(address(other.0), pinned.cast(), SIZE, kernels.stream));
        ok!(p, cuMemsetD32Async(place, 9, 3, kernels.stream));
        assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
        // SAFETY: the host has waited for the copy into this memory.
        assert_eq!(unsafe { pinned.cast::<u32>().add(1000).read() }, 1000);
        assert_eq!((other.word(2000), block.word(2), block.word(3)), (2000, 9, 3));
        ok!(p, cuMemcpyDtoD_v2(address(other.0), device + 400, 4));
        ok!(p, cuMemcpyHtoD_v2(place, (&raw const *pinned).cast(), 400));
        ok!(p, cuMemcpy(place, address(other.0), 4));
        assert_eq!((block.word(0), block.word(2), other.word(0)), (100, 2, 100));
        kernels.clean();
        fails!(p, INVALID_VALUE, cuMemcpyDtoD_v2(8, device, 4));
    });
}

#[test]
fn host_access_while_a_fill_of_a_block_is_pending_is_a_race() {
    each(|kernels| {
        let block = Block::new(SIZE);
        ok!(kernels.program, cuMemsetD8Async(address(block.0), 9, SIZE, kernels.stream));
        read(block.0.wrapping_add(SIZE / 2));
        assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
        let findings = kernels.program.sim.report().findings;
        assert_eq!(findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [Kind::DataRace]);
    });
}

#[test]
fn pageable_memory_has_advice_and_prefetches_but_no_attributes() {
    let kernels = Kernels::new();
    let (p, block) = (&kernels.program, Block::new(SIZE));
    let place = address(block.0);
    for advice in [CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_SET_ACCESSED_BY] {
        ok!(p, cuMemAdvise(place, 4096, advice, 0));
        fails!(p, INVALID_VALUE, cuMemAdvise(8, 4096, advice, 0));
    }
    fails!(p, INVALID_DEVICE, cuMemAdvise(place, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 7));
    ok!(p, cuMemPrefetchAsync(place, 4096, 0, kernels.stream));
    fails!(p, INVALID_VALUE, cuMemPrefetchAsync(place, 0, 0, kernels.stream));
    fails!(p, INVALID_VALUE, cuMemPrefetchAsync(0xdead_b000, 4096, 0, kernels.stream));
    let mut value = 0_i32;
    let data = (&raw mut value).cast();
    fails!(p, INVALID_VALUE, cuMemRangeGetAttribute(data, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, place, 4096));
    // By the manual, the driver does not know such a pointer.
    fails!(p, INVALID_VALUE, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, place));
    assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
    kernels.clean();
}

#[test]
fn launch_without_pageable_addresses_does_not_read_the_list_of_mapped_memory() {
    let kernels = Kernels::with(Config { schedule: Schedule::Eager, ..Config::default() });
    let device = kernels.program.alloc(64);
    let reads = || {
        let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
        text.lines().find_map(|line| line.strip_prefix("syscr: "))?.parse::<u64>().ok()
    };
    kernels.launch(c"store", [device, 16], 16);
    let before = reads();
    (0..100).for_each(|_| kernels.launch(c"store", [device, 16], 16));
    if let Some((before, after)) = before.zip(reads()) {
        assert!(after - before < 100, "{} reads", after - before);
    }
    assert_eq!(kernels.wait(), CUresult::CUDA_SUCCESS);
    kernels.clean();
}
