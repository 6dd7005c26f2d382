//! Copies that read pageable memory in the order of their stream, and host accesses to memory whose address a kernel loads.

use crate::program::*;
use cuarray_sim::finding::{AccessKind, Finding, Kind};

const BYTES: usize = 4096;

fn attributes(order: CUmemcpySrcAccessOrder) -> CUmemcpyAttributes {
    let place = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_INVALID, id: 0 };
    CUmemcpyAttributes { srcAccessOrder: order, srcLocHint: place, dstLocHint: place, flags: 0 }
}

/// The findings of a copy with attributes from pageable memory that `change` treats before the wait, and the first copied byte.
fn copied(schedule: Schedule, order: CUmemcpySrcAccessOrder, change: impl FnOnce(*mut u8)) -> (Vec<Finding>, u8) {
    let p = Program::with(Config { schedule, ..Config::default() });
    let (stream, to) = (p.stream(CU_STREAM_NON_BLOCKING), p.alloc(BYTES));
    let layout = std::alloc::Layout::from_size_align(BYTES, BYTES).unwrap();
    // SAFETY: the size is not zero.
    let from = unsafe { std::alloc::alloc_zeroed(layout) };
    write(from, 7);
    let mut attributes = attributes(order);
    ok!(p, cuMemcpyWithAttributesAsync(to, from as u64, BYTES, &mut attributes, stream));
    change(from);
    ok!(p, cuStreamSynchronize(stream));
    // The host has waited, so it may change the memory.
    write(from, 1);
    ok!(p, cuStreamSynchronize(stream));
    let first = p.peek(to);
    // SAFETY: the memory is live, and of this layout.
    unsafe { std::alloc::dealloc(from, layout) };
    (p.sim.report().findings, first)
}

#[test]
fn source_in_stream_order_may_not_change_before_the_copy() {
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random(3)] {
        for order in [CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMCPY_SRC_ACCESS_ORDER_ANY] {
            let (findings, _) = copied(schedule.clone(), order, |from| write(from.wrapping_add(9), 3));
            let [finding] = &findings[..] else { panic!("{findings:?}") };
            assert_eq!((finding.kind, finding.bytes.map(|bytes| bytes.length)), (Kind::DataRace, Some(1)));
            let sides: Vec<_> = finding.sides.iter().map(|side| (side.call, side.access)).collect();
            let expected = [("cuMemcpyWithAttributesAsync", AccessKind::Read), ("host write", AccessKind::Write)];
            assert_eq!(sides, expected);
            assert_eq!(copied(schedule.clone(), order, |_| {}), (vec![], 7));
        }
        let during = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
        assert_eq!(copied(schedule, during, |from| write(from, 3)), (vec![], 7));
    }
}

#[test]
fn late_copy_reads_the_memory_when_it_runs() {
    let (_, first) = copied(Schedule::Lazy, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, |from| write(from, 5));
    assert_eq!(first, 5);
}

/// Writes a word through a pointer that it loads behind `depth` tables.
const KERNEL: &std::ffi::CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .entry through(.param .u64 table, .param .u32 depth)
{
    .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [table];
    ld.param.u32 %r1, [depth];
LOOP:
    ld.global.u64 %rd1, [%rd1];
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra LOOP;
    st.global.u32 [%rd1], %r1;
    ret;
}

// Reads a word through the last entry of a table.
.visible .entry last(.param .u64 table, .param .u32 count, .param .u64 out)
{
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [table];
    ld.param.u32 %r1, [count];
    ld.param.u64 %rd3, [out];
    mul.wide.u32 %rd2, %r1, 8;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u64 %rd1, [%rd1+-8];
    ld.global.u32 %r2, [%rd1];
    st.global.u32 [%rd3], %r2;
    ret;
}
";

#[test]
fn host_access_to_memory_whose_address_a_kernel_loads_is_compared() {
    for (pinned, depth) in [(false, 1), (true, 1), (true, 3)] {
        let p = Program::with(Config { schedule: Schedule::Lazy, ..Config::default() });
        let (mut module, mut function, mut managed) = (CUmodule::NULL, CUfunction::NULL, 0);
        ok!(p, cuModuleLoadData(&mut module, KERNEL.as_ptr().cast()));
        ok!(p, cuModuleGetFunction(&mut function, module, c"through".as_ptr()));
        ok!(p, cuMemAllocManaged(&mut managed, BYTES, CU_MEM_ATTACH_GLOBAL));
        let target = if pinned { p.pinned(BYTES) } else { managed as *mut u8 };
        let mut address = target as u64;
        for _ in 0..depth {
            let table = p.alloc(8);
            ok!(p, cuMemcpyHtoD_v2(table, (&raw const address).cast(), 8));
            address = table;
        }
        let launch = |access: &dyn Fn()| {
            let (mut table, mut count) = (address, depth);
            let mut parameters = [(&raw mut table).cast::<c_void>(), (&raw mut count).cast::<c_void>()];
            let (stream, none) = (p.stream(CU_STREAM_NON_BLOCKING), std::ptr::null_mut());
            ok!(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_mut_ptr(), none));
            access();
            ok!(p, cuCtxSynchronize());
            p.sim.report().findings.iter().map(|finding| finding.kind).collect::<Vec<_>>()
        };
        assert_eq!(launch(&|| write(target.wrapping_add(100), 1)), [], "other bytes");
        assert_eq!(launch(&|| write(target, 1)), [Kind::DataRace], "{pinned} {depth}");
    }
}

#[test]
fn host_access_to_memory_that_a_variable_of_the_module_names_is_compared() {
    for space in ["global", "const"] {
        let source = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .{space} .align 8 .b64 place;\n.visible .entry k()\n\
             {{ .reg .b64 %a; ld.{space}.u64 %a, [place]; st.global.u32 [%a], 1; ret; }}\n\0"
        );
        let p = Program::with(Config { schedule: Schedule::Lazy, ..Config::default() });
        let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
        ok!(p, cuModuleLoadData(&mut module, source.as_ptr().cast()));
        ok!(p, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
        let (mut variable, mut size) = (0, 0);
        ok!(p, cuModuleGetGlobal_v2(&mut variable, &mut size, module, c"place".as_ptr()));
        let target = p.pinned(BYTES);
        let address = target as u64;
        ok!(p, cuMemcpyHtoD_v2(variable, (&raw const address).cast(), 8));
        let (stream, none) = (p.stream(CU_STREAM_NON_BLOCKING), std::ptr::null_mut());
        ok!(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, none, none));
        write(target, 2);
        ok!(p, cuCtxSynchronize());
        let kinds: Vec<_> = p.sim.report().findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [Kind::DataRace], "{space}");
    }
}

#[test]
fn host_write_of_memory_that_a_kernel_reads_through_a_large_table_is_compared() {
    let p = Program::with(Config { schedule: Schedule::Lazy, ..Config::default() });
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(p, cuModuleLoadData(&mut module, KERNEL.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"last".as_ptr()));
    let (others, target, mut out) = (p.alloc(BYTES), p.pinned(BYTES), p.alloc(4));
    write(target, 0);
    let mut entries = vec![others; 20_000];
    *entries.last_mut().unwrap() = target as u64;
    let (mut table, mut count) = (p.alloc(size_of_val(&*entries)), entries.len() as u32);
    ok!(p, cuMemcpyHtoD_v2(table, entries.as_ptr().cast(), size_of_val(&*entries)));
    let mut launch = |access: &dyn Fn()| {
        let mut parameters =
            [(&raw mut table).cast::<c_void>(), (&raw mut count).cast::<c_void>(), (&raw mut out).cast::<c_void>()];
        let (stream, none) = (p.stream(CU_STREAM_NON_BLOCKING), std::ptr::null_mut());
        ok!(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_mut_ptr(), none));
        access();
        ok!(p, cuCtxSynchronize());
        p.sim.report().findings.iter().map(|finding| finding.kind).collect::<Vec<_>>()
    };
    assert_eq!(launch(&|| write(target.wrapping_add(100), 1)), [], "other bytes");
    assert_eq!(launch(&|| write(target, 1)), [Kind::DataRace]);
}
