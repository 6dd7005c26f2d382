//! Host reads and writes of memory that devices use. Unordered ones are findings, and all of them succeed.

use crate::program::*;
use cuarray_sim::finding::{AccessKind, Finding, Kind, LaneKind};
use std::sync::atomic::{AtomicUsize, Ordering};

const SIZE: usize = 10_000;

/// A kind of memory that host and devices share.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Shared {
    Pinned,
    Managed,
    Registered,
}

const ALL: [Shared; 3] = [Shared::Pinned, Shared::Managed, Shared::Registered];

/// The size of a page, which is not the same on all systems.
fn page() -> usize {
    // SAFETY: the call has no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Allocates three pages of the program's own memory.
fn program_memory() -> *mut u8 {
    // SAFETY: the size is not zero and the alignment is a power of two.
    let memory = unsafe { std::alloc::alloc_zeroed(std::alloc::Layout::from_size_align(3 * page(), page()).unwrap()) };
    assert!(!memory.is_null());
    keep(memory)
}

fn shared(program: &Program, kind: Shared) -> *mut u8 {
    match kind {
        Shared::Pinned => program.pinned(SIZE),
        Shared::Managed => {
            let mut address = 0;
            ok!(program, cuMemAllocManaged(&mut address, SIZE, CU_MEM_ATTACH_GLOBAL));
            address as *mut u8
        }
        Shared::Registered => {
            let memory = program_memory();
            ok!(program, cuMemHostRegister_v2(memory.cast(), 3 * page(), 0));
            memory
        }
    }
}

/// The bytes that the tests use of each kind; registered memory is used in whole pages.
fn size(kind: Shared) -> usize {
    if kind == Shared::Registered { 3 * page() } else { SIZE }
}

/// Device memory that has been written.
fn written(program: &Program, size: usize) -> CUdeviceptr {
    let device = program.alloc(size);
    ok!(program, cuMemsetD8_v2(device, 7, size));
    ok!(program, cuCtxSynchronize());
    device
}

/// Runs a program with each kind of memory under each schedule.
fn each(run: impl Fn(&Program, Shared)) {
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(7)] {
        for kind in ALL {
            let schedule = schedule.clone();
            let program = Program::with(Config { schedule, ..Config::default() });
            run(&program, kind);
        }
    }
}

/// Returns the only finding: a race between a call in a stream and a host access.
fn race(program: &Program) -> Finding {
    let report = program.sim.report();
    assert_eq!(report.findings.len(), 1, "{}", report.text(false));
    let finding = report.findings[0].clone();
    assert_eq!(finding.kind, Kind::DataRace);
    let kinds: Vec<LaneKind> = finding
        .sides
        .iter()
        .map(|side| report.lanes.iter().find(|lane| lane.number == side.lane).unwrap().kind)
        .collect();
    assert_eq!(kinds[1], LaneKind::Host, "{}", report.text(false));
    assert_ne!(kinds[0], LaneKind::Host);
    finding
}

fn clean(program: &Program) {
    assert_eq!(program.sim.report().text(false), "");
}

#[test]
fn host_read_before_the_copy_is_waited_for_is_a_race() {
    each(|program, kind| {
        let (host, stream, device) = (shared(program, kind), program.stream(1), written(program, size(kind)));
        program.fill(device, 7, size(kind), stream);
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, size(kind), stream));
        read(host.wrapping_add(5000));
        let finding = race(program);
        assert_eq!((finding.sides[0].call, finding.sides[0].access), ("cuMemcpyDtoHAsync_v2", AccessKind::Write));
        assert_eq!((finding.sides[1].call, finding.sides[1].access), ("host read", AccessKind::Read));
        assert_eq!(finding.offset, Some(5000));
        assert!(finding.sides[1].site.native.is_some());
    });
}

#[test]
fn access_by_a_function_of_the_c_library_has_the_place_of_its_call() {
    let program = Program::new();
    for writes in [false, true] {
        let (host, stream, device) = (program.pinned(1 << 16), program.stream(1), written(&program, 1 << 16));
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, 1 << 16, stream));
        let size = std::hint::black_box(40_000);
        let mut copy = vec![0_u8; size];
        // SAFETY: both ranges have this size.
        unsafe {
            match writes {
                true => libc::memset(host.cast(), 1, size),
                false => libc::memcpy(copy.as_mut_ptr().cast(), host.cast(), size),
            };
        }
        std::hint::black_box(&copy);
        ok!(program, cuStreamSynchronize(stream));
        let findings = program.sim.report().findings;
        let native = findings.last().unwrap().sides[1].site.native.clone().unwrap();
        assert!(is_this_program(&native.object) && native.is_return_address, "{writes}: {native:?}");
    }
}

#[test]
fn host_access_after_synchronization_has_no_findings() {
    each(|program, kind| {
        let (host, stream, device) = (shared(program, kind), program.stream(1), written(program, size(kind)));
        program.fill(device, 7, size(kind), stream);
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, size(kind), stream));
        ok!(program, cuStreamSynchronize(stream));
        assert_eq!(read(host.wrapping_add(5000)), 7);
        write(host, 3);
        let event = program.event();
        ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), size(kind), stream));
        ok!(program, cuEventRecord(event, stream));
        assert_eq!(read(host), 3, "two reads do not race");
        ok!(program, cuEventSynchronize(event));
        write(host, 4);
        clean(program);
    });
}

#[test]
fn host_write_to_the_source_of_a_pending_copy_is_a_race() {
    each(|program, kind| {
        let (host, stream, device) = (shared(program, kind), program.stream(1), written(program, size(kind)));
        ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), size(kind), stream));
        read(host);
        write(host, 1);
        let finding = race(program);
        assert_eq!((finding.sides[0].call, finding.sides[0].access), ("cuMemcpyHtoDAsync_v2", AccessKind::Read));
        assert_eq!((finding.sides[1].call, finding.sides[1].access), ("host write", AccessKind::Write));
        assert!(finding.missing.unwrap().contains("synchronize"));
    });
}

#[test]
fn repeated_host_access_in_a_loop_is_one_finding() {
    let program = Program::new();
    let (host, stream, device) = (program.pinned(SIZE), program.stream(1), written(&program, SIZE));
    for _ in 0..5 {
        ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), SIZE, stream));
        write(host, 1);
    }
    assert_eq!(race(&program).count, 5);
}

#[test]
fn accesses_by_the_driver_are_not_host_accesses() {
    each(|program, kind| {
        let (host, device) = (shared(program, kind), written(program, size(kind)));
        let (one, two) = (program.stream(1), program.stream(1));
        let event = program.event();
        program.fill(device, 9, size(kind), one);
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, size(kind), one));
        ok!(program, cuEventRecord(event, one));
        ok!(program, cuStreamWaitEvent(two, event, 0));
        ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), size(kind), two));
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, size(kind), two));
        ok!(program, cuStreamSynchronize(two));
        assert_eq!(read(host), 9);
        clean(program);
    });
}

#[test]
fn host_access_beside_a_copy_on_one_page_has_no_findings() {
    let program = Program::new();
    let (size, copied) = (page() * 5 / 2, page() * 5 / 4);
    let (host, stream, device) = (program.pinned(size), program.stream(1), written(&program, size));
    ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), copied, stream));
    write(host.wrapping_add(copied), 1);
    clean(&program);
    write(host.wrapping_add(page() - 1), 1);
    race(&program);
}

#[test]
fn read_only_registered_memory_keeps_its_protection() {
    let program = Program::new();
    let (stream, device) = (program.stream(1), written(&program, page()));
    let memory = program_memory();
    // SAFETY: the page belongs to this test.
    assert_eq!(unsafe { libc::mprotect(memory.cast(), page(), libc::PROT_READ) }, 0);
    ok!(program, cuMemHostRegister_v2(memory.cast(), page(), CU_MEMHOSTREGISTER_READ_ONLY));
    ok!(program, cuMemcpyHtoDAsync_v2(device, memory.cast(), page(), stream));
    ok!(program, cuStreamSynchronize(stream));
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.starts_with(&format!("{:x}-", memory as usize))).unwrap();
    assert!(line.contains(" r--p "), "{line}");
    // SAFETY: as above.
    assert_eq!(unsafe { libc::mprotect(memory.cast(), page(), libc::PROT_READ | libc::PROT_WRITE) }, 0);
}

#[test]
fn disabled_host_access_checks_find_nothing() {
    let program = Program::with(Config { host_accesses: false, ..Config::default() });
    let (host, stream, device) = (program.pinned(SIZE), program.stream(1), written(&program, SIZE));
    ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), SIZE, stream));
    write(host, 1);
    clean(&program);
}

static SEEN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn read_byte(data: *mut c_void) {
    SEEN.store(usize::from(read(data.cast())), Ordering::SeqCst);
    write(data.cast(), 8);
}

#[test]
fn accesses_of_a_host_function_are_ordered_in_its_stream() {
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(7)] {
        let program = Program::with(Config { schedule, ..Config::default() });
        let (host, device) = (program.pinned(SIZE), written(&program, SIZE));
        let (one, two) = (program.stream(1), program.stream(1));
        program.fill(device, 7, SIZE, one);
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, SIZE, one));
        ok!(program, cuLaunchHostFunc(one, Some(read_byte), host.cast()));
        ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), SIZE, one));
        ok!(program, cuStreamSynchronize(one));
        assert_eq!((SEEN.swap(0, Ordering::SeqCst), program.peek(device)), (7, 8));
        clean(&program);

        // Two streams without an edge between them.
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, SIZE, one));
        ok!(program, cuLaunchHostFunc(two, Some(read_byte), host.cast()));
        ok!(program, cuStreamSynchronize(two));
        let report = program.sim.report();
        let calls: Vec<_> = report.findings.iter().map(|finding| finding.sides[1].call).collect();
        assert_eq!(calls, ["host read", "host write"], "{}", report.text(false));
        ok!(program, cuCtxSynchronize());
    }
}

#[test]
fn freeing_or_unregistering_memory_ends_the_watch() {
    each(|program, kind| {
        let (host, stream, device) = (shared(program, kind), program.stream(1), written(program, size(kind)));
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, size(kind), stream));
        match kind {
            Shared::Pinned => ok!(program, cuMemFreeHost(host.cast())),
            Shared::Managed => ok!(program, cuMemFree_v2(host as u64)),
            Shared::Registered => {
                ok!(program, cuMemHostUnregister(host.cast()));
                write(host, 1); // the program's own memory again
            }
        }
        clean(program);
    });
}

#[test]
fn freeing_memory_with_pending_work_is_a_finding() {
    for kind in [Shared::Pinned, Shared::Registered] {
        let program = Program::with(Config { free_synchronizes: false, ..Config::default() });
        let (host, stream, device) = (shared(&program, kind), program.stream(1), written(&program, size(kind)));
        ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), size(kind), stream));
        match kind {
            Shared::Pinned => ok!(program, cuMemFreeHost(host.cast())),
            _ => ok!(program, cuMemHostUnregister(host.cast())),
        }
        let findings = program.sim.report().findings;
        assert_eq!(findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [Kind::FreeBeforePendingWork]);
    }
}

#[test]
fn host_access_of_another_thread_is_a_race() {
    let program = Program::new();
    let (host, stream, device) = (program.pinned(SIZE), program.stream(1), written(&program, SIZE));
    ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, SIZE, stream));
    let address = host as usize;
    std::thread::spawn(move || read(address as *const u8)).join().unwrap();
    race(&program);
}

/// A kernel that writes the first byte of its argument.
const KERNEL: &std::ffi::CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 target)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [target];
    mov.u32 %r1, 1;
    st.global.u8 [%rd1], %r1;
    ret;
}
";

#[test]
fn kernel_leaves_untouched_memory_free_for_the_host() {
    for schedule in [Schedule::Lazy, Schedule::Eager] {
        let program = Program::with(Config { schedule, ..Config::default() });
        let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
        ok!(program, cuModuleLoadData(&mut module, KERNEL.as_ptr().cast()));
        ok!(program, cuModuleGetFunction(&mut function, module, c"first".as_ptr()));
        let (stream, host) = (program.stream(1), program.pinned(SIZE));
        let mut address = host as u64;
        let mut parameters = [(&raw mut address).cast::<c_void>()];
        let none = std::ptr::null_mut();
        ok!(program, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_mut_ptr(), none));
        write(host.wrapping_add(5000), 1);
        clean(&program);
        // The kernel has run and the host has not waited for it: only the first byte is in use.
        write(host.wrapping_add(5000), 2);
        read(host.wrapping_add(4096));
        clean(&program);
        assert_eq!(read(program.pinned(SIZE)), 0);
    }
}

/// The findings of a host access of type `T` at an offset, while a copy of the whole memory is pending.
fn of_access<T: Default>(offset: usize, writes: bool) -> Finding {
    let program = Program::new();
    let (host, stream, device) = (program.pinned(SIZE), program.stream(1), written(&program, SIZE));
    ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, SIZE, stream));
    let place = host.wrapping_add(offset).cast::<T>();
    // SAFETY: the place lies in the pinned memory.
    unsafe {
        if writes {
            place.write_volatile(T::default());
        } else {
            place.read_volatile();
        }
    }
    let finding = race(&program);
    ok!(program, cuCtxSynchronize());
    finding
}

#[test]
fn host_access_has_the_size_of_its_instruction() {
    fn check<T: Default>() {
        for (offset, writes) in [(64, true), (64, false), (4096, true)] {
            let finding = of_access::<T>(offset, writes);
            let bytes = finding.sides[1].bytes.unwrap();
            assert_eq!(bytes.length, size_of::<T>() as u64, "{offset} {writes}");
            assert_eq!(finding.bytes, Some(bytes));
            assert_eq!(finding.offset, Some(offset as u64));
        }
    }
    check::<u8>();
    check::<u16>();
    check::<u32>();
    check::<u64>();
    check::<f32>();
    check::<f64>();
}

#[test]
#[cfg(target_arch = "x86_64")]
fn host_copy_by_one_instruction_covers_its_bytes_within_the_allocation() {
    for (count, expected) in [(3000_usize, 3000), (SIZE - 100, SIZE as u64 - 100)] {
        let program = Program::new();
        let (host, stream, device) = (program.pinned(SIZE), program.stream(1), written(&program, SIZE));
        ok!(program, cuMemcpyDtoHAsync_v2(host.cast(), device, SIZE, stream));
        // SAFETY: the bytes lie in the pinned memory.
        unsafe {
            let target = host.add(100);
            std::arch::asm!("rep stosb", inout("rcx") count => _, inout("rdi") target => _, in("al") 3_u8);
        }
        assert_eq!(race(&program).sides[1].bytes.unwrap().length, expected);
        ok!(program, cuCtxSynchronize());
    }
}

#[test]
fn slices_of_one_page_are_watched_while_pending_work_uses_all_of_them() {
    for (offset, side) in [(100, 1), (3000, 2)] {
        let program = Program::new();
        let (host, device) = (program.pinned(4096), written(&program, 4096));
        let (one, two) = (program.stream(1), program.stream(1));
        ok!(program, cuMemcpyHtoDAsync_v2(device, host.cast(), 2048, one));
        ok!(program, cuMemcpyHtoDAsync_v2(device + 2048, host.wrapping_add(2048).cast(), 2048, two));
        write(host.wrapping_add(offset), 1);
        assert!(race(&program).missing.unwrap().contains(&format!("stream {side}")), "{offset}");
        // Half of the page is free again, so the page stays open.
        ok!(program, cuStreamSynchronize(one));
        write(host.wrapping_add(100), 1);
        write(host.wrapping_add(3001), 1);
        assert_eq!(race(&program).count, 1);
    }
}
