//! Batches of 3-D copies, discards of managed memory, and the locations of memory.

use crate::program::*;
use cuarray_sim::finding::Kind;

const DURING: u32 = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
const STREAM: u32 = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
const NOWHERE: CUmemLocation = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_NONE, id: 0 };

fn memory(ptr: CUdeviceptr, row_length: usize, layer_height: usize) -> CUmemcpy3DOperand {
    let ptr = CUmemcpy3DPointer { ptr, rowLength: row_length, layerHeight: layer_height, locHint: NOWHERE };
    CUmemcpy3DOperand { kind: CU_MEMCPY_OPERAND_TYPE_POINTER, op: CUmemcpy3DOperandValue { ptr } }
}

fn array(array: CUarray, x: usize, y: usize) -> CUmemcpy3DOperand {
    let array = CUmemcpy3DArray { array, offset: CUoffset3D { x, y, z: 0 } };
    CUmemcpy3DOperand { kind: CU_MEMCPY_OPERAND_TYPE_ARRAY, op: CUmemcpy3DOperandValue { array } }
}

fn copy(dst: CUmemcpy3DOperand, src: CUmemcpy3DOperand, extent: [usize; 3]) -> CUDA_MEMCPY3D_BATCH_OP {
    let extent = CUextent3D { width: extent[0], height: extent[1], depth: extent[2] };
    CUDA_MEMCPY3D_BATCH_OP { src, dst, extent, srcAccessOrder: STREAM, flags: 0 }
}

/// An array of 4 by 2 texels of 4 bytes.
fn texels(p: &Program) -> CUarray {
    let format = CU_AD_FORMAT_UNSIGNED_INT32;
    let (mut made, of) = (CUarray::NULL, CUDA_ARRAY_DESCRIPTOR { Width: 4, Height: 2, Format: format, NumChannels: 1 });
    ok!(p, cuArrayCreate_v2(&mut made, &of));
    made
}

#[test]
fn batch_copies_boxes_of_memory_with_row_lengths() {
    let p = Program::new();
    let stream = p.stream(CU_STREAM_NON_BLOCKING);
    let (from, to, bytes) = (p.alloc(64), p.alloc(64), (0..64).collect::<Vec<u8>>());
    ok!(p, cuMemcpyHtoD_v2(from, bytes.as_ptr().cast(), 64));
    // Two rows of 3 bytes, 8 apart, become dense; a second copy takes one byte of the third layer of 2 rows.
    let mut list = [
        copy(memory(to, 0, 0), memory(from + 1, 8, 0), [3, 2, 1]),
        copy(memory(to + 32, 0, 0), memory(from, 8, 2), [1, 1, 3]),
    ];
    list[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    ok!(p, cuMemcpy3DBatchAsync_v2(2, list.as_mut_ptr(), 0, stream));
    ok!(p, cuStreamSynchronize(stream));
    let mut got = [0_u8; 6];
    ok!(p, cuMemcpyDtoH_v2(got.as_mut_ptr().cast(), to, 6));
    assert_eq!(got, [1, 2, 3, 9, 10, 11]);
    assert_eq!([p.peek(to + 32), p.peek(to + 33), p.peek(to + 34)], [0, 16, 32]);
    assert!(p.sim.report().findings.is_empty());
}

#[test]
fn boxes_of_one_batch_that_share_bytes_are_a_race() {
    for (second, races) in [(8, false), (7, true)] {
        let p = Program::new();
        let (stream, from, to) = (p.stream(CU_STREAM_NON_BLOCKING), p.alloc(64), p.alloc(256));
        p.fill(from, 7, 64, stream);
        // Two columns of 8 bytes and 4 rows, with 64 bytes from one row to the next.
        let column = |x: u64| copy(memory(to + x, 64, 0), memory(from, 8, 0), [8, 4, 1]);
        ok!(p, cuMemcpy3DBatchAsync_v2(2, [column(0), column(second)].as_mut_ptr(), 0, stream));
        ok!(p, cuStreamSynchronize(stream));
        let kinds: Vec<Kind> = p.sim.report().findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, vec![Kind::DataRace; usize::from(races)]);
    }
}

#[test]
fn extents_and_offsets_of_arrays_are_texels() {
    let p = Program::new();
    let (texels, stream, to) = (texels(&p), p.stream(0), p.alloc(64));
    let words: Vec<u32> = (0..8).collect();
    let source = memory(words.as_ptr() as u64, 0, 0);
    let mut whole = copy(array(texels, 0, 0), source, [4, 2, 1]);
    whole.srcAccessOrder = DURING;
    ok!(p, cuMemcpy3DWithAttributesAsync(&mut whole, 0, CUstream::NULL));
    ok!(p, cuCtxSynchronize());
    let mut part = copy(memory(to, 0, 0), array(texels, 2, 1), [2, 1, 1]);
    ok!(p, cuMemcpy3DBatchAsync_v2(1, &mut part, 0, stream));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!((p.peek(to), p.peek(to + 4)), (6, 7));
}

#[test]
fn source_read_during_the_call_may_change_after_it() {
    let p = Program::new();
    let (stream, to, from) = (p.stream(CU_STREAM_NON_BLOCKING), p.alloc(1), p.pinned(1));
    write(from, 7);
    let mut one = copy(memory(to, 0, 0), memory(from as u64, 0, 0), [1, 1, 1]);
    one.srcAccessOrder = DURING;
    ok!(p, cuMemcpy3DBatchAsync_v2(1, &mut one, 0, stream));
    write(from, 9);
    assert_eq!(p.peek(to), 7);
    assert!(p.sim.report().findings.is_empty());
}

#[test]
fn invalid_boxes_are_refused_before_any_copy() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let (stream, from, to, texels) = (p.stream(0), p.alloc(64), p.alloc(64), texels(&p));
    p.fill(from, 7, 64, stream);
    p.fill(to, 1, 64, stream);
    let right = copy(memory(to, 0, 0), memory(from, 0, 0), [8, 1, 1]);
    let mut without_order = right;
    without_order.srcAccessOrder = 0;
    let mut unknown_flag = right;
    unknown_flag.flags = 2;
    let mut unknown_kind = right;
    unknown_kind.src.kind = 3;
    for wrong in [
        copy(right.dst, right.src, [0, 1, 1]),
        copy(right.dst, right.src, [8, 0, 1]),
        copy(right.dst, right.src, [8, 1, 0]),
        copy(right.dst, memory(from, 7, 0), [8, 1, 1]),
        copy(right.dst, memory(from, 0, 1), [8, 2, 1]),
        copy(right.dst, memory(0, 0, 0), [8, 1, 1]),
        copy(right.dst, array(CUarray::NULL, 0, 0), [1, 1, 1]),
        copy(array(texels, 3, 0), right.src, [2, 1, 1]),
        copy(right.dst, right.src, [usize::MAX, 2, 2]),
        without_order,
        unknown_flag,
        unknown_kind,
    ] {
        let (mut list, mut failed) = ([right, wrong], 0);
        fails!(p, INVALID_VALUE, cuMemcpy3DBatchAsync(2, list.as_mut_ptr(), &mut failed, 0, stream));
        assert_eq!(failed, 1);
        fails!(p, INVALID_VALUE, cuMemcpy3DWithAttributesAsync(&mut list[1], 0, stream));
    }
    let (mut list, mut failed) = ([right], 0);
    fails!(p, INVALID_VALUE, cuMemcpy3DBatchAsync(1, list.as_mut_ptr(), &mut failed, 0, CUstream::NULL));
    assert_eq!(failed, usize::MAX);
    fails!(p, INVALID_VALUE, cuMemcpy3DBatchAsync_v2(1, list.as_mut_ptr(), 1, stream));
    fails!(p, INVALID_VALUE, cuMemcpy3DBatchAsync_v2(0, list.as_mut_ptr(), 0, stream));
    fails!(p, INVALID_VALUE, cuMemcpy3DBatchAsync_v2(1, std::ptr::null_mut(), 0, stream));
    fails!(p, INVALID_HANDLE, cuMemcpy3DWithAttributesAsync(&mut list[0], 0, CUstream(12345)));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!(p.peek(to), 1, "nothing was copied");
}

#[test]
fn arrays_of_different_texels_are_not_copied_to_each_other() {
    let p = Program::new();
    let (one, mut other) = (texels(&p), CUarray::NULL);
    let of = CUDA_ARRAY_DESCRIPTOR { Width: 4, Height: 2, Format: CU_AD_FORMAT_UNSIGNED_INT8, NumChannels: 1 };
    ok!(p, cuArrayCreate_v2(&mut other, &of));
    let mut wrong = copy(array(one, 0, 0), array(other, 0, 0), [1, 1, 1]);
    fails!(p, INVALID_VALUE, cuMemcpy3DWithAttributesAsync(&mut wrong, 0, p.stream(0)));
}

fn managed(p: &Program, size: usize) -> CUdeviceptr {
    let mut address = 0;
    ok!(p, cuMemAllocManaged(&mut address, size, CU_MEM_ATTACH_GLOBAL));
    address
}

#[test]
fn discarded_memory_loses_its_contents_in_stream_order() {
    let p = Program::new();
    let (stream, address) = (p.stream(CU_STREAM_NON_BLOCKING), managed(&p, 64));
    p.fill(address, 7, 64, stream);
    let (mut addresses, mut sizes) = ([address, address + 32], [8, 8]);
    ok!(p, cuMemDiscardBatchAsync(addresses.as_mut_ptr(), sizes.as_mut_ptr(), 2, 0, stream));
    ok!(p, cuStreamSynchronize(stream));
    assert_ne!((p.peek(address), p.peek(address + 39)), (7, 7));
    assert_eq!(p.peek(address + 8), 7);
    ok!(p, cuCtxSynchronize());
    // A copy in another stream that is not ordered with the discard is a race.
    ok!(p, cuMemDiscardBatchAsync(addresses.as_mut_ptr(), sizes.as_mut_ptr(), 1, 0, stream));
    let (other, target) = (p.stream(CU_STREAM_NON_BLOCKING), p.alloc(8));
    ok!(p, cuMemcpyAsync(target, address, 8, other));
    ok!(p, cuCtxSynchronize());
    let report = p.sim.report();
    assert_eq!(
        report.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(),
        [Kind::DataRace],
        "{}",
        report.text(false)
    );
}

#[test]
fn discards_check_all_ranges_first() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let (stream, address, device) = (p.stream(0), managed(&p, 64), p.alloc(64));
    p.fill(address, 7, 64, stream);
    for (wrong, size) in [(device, 8), (address + 60, 8), (address, 0), (0, 8)] {
        let (mut addresses, mut sizes) = ([address, wrong], [64, size]);
        let lists = (addresses.as_mut_ptr(), sizes.as_mut_ptr());
        fails!(p, INVALID_VALUE, cuMemDiscardBatchAsync(lists.0, lists.1, 2, 0, stream));
    }
    let (mut addresses, mut sizes) = ([address], [64]);
    let lists = (addresses.as_mut_ptr(), sizes.as_mut_ptr());
    fails!(p, INVALID_VALUE, cuMemDiscardBatchAsync(lists.0, lists.1, 1, 1, stream));
    fails!(p, INVALID_VALUE, cuMemDiscardBatchAsync(lists.0, lists.1, 0, 0, stream));
    fails!(p, INVALID_VALUE, cuMemDiscardBatchAsync(lists.0, lists.1, 1, 0, CU_STREAM_LEGACY));
    ok!(p, cuStreamSynchronize(stream));
    assert_eq!(read(address as *const u8), 7);
    ok!(p, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    fails!(p, STREAM_CAPTURE_UNSUPPORTED, cuMemDiscardBatchAsync(lists.0, lists.1, 1, 0, stream));
}

#[test]
fn locations_follow_prefetches_and_discards_with_a_location() {
    let p = Program::new();
    let (stream, address) = (p.stream(0), managed(&p, 1 << 20));
    let mut found = [CUmemLocation { kind: 9, id: 9 }; 5];
    let place = |location: CUmemLocation| (location.kind, location.id);
    ok!(p, cuMemGetLocationInfo(address, 1 << 20, 1 << 18, 0, found.as_mut_ptr()));
    assert!(found[..4].iter().all(|location| place(*location) == (CU_MEM_LOCATION_TYPE_HOST, 0)));
    assert_eq!(place(found[4]), (9, 9));
    let mut device = CUmemLocation { kind: CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
    let (mut addresses, mut sizes, mut first) = ([address], [1 << 20], [0]);
    let lists = (addresses.as_mut_ptr(), sizes.as_mut_ptr());
    p.fill(address, 7, 1, stream);
    ok!(p, cuMemDiscardAndPrefetchBatchAsync(lists.0, lists.1, 1, &mut device, first.as_mut_ptr(), 1, 0, stream));
    ok!(p, cuStreamSynchronize(stream));
    assert_ne!(p.peek(address), 7);
    ok!(p, cuMemGetLocationInfo(address, 3, 2, 1, found.as_mut_ptr()));
    assert_eq!([place(found[0]), place(found[1])], [(CU_MEM_LOCATION_TYPE_DEVICE, 0); 2]);
    let own = [0_u8; 16];
    ok!(p, cuMemGetLocationInfo(own.as_ptr() as u64, 16, 16, 16, found.as_mut_ptr()));
    assert_eq!(place(found[0]), (CU_MEM_LOCATION_TYPE_HOST, 0));
    let pinned = p.pinned(16) as u64;
    for (start, size, summary, sampling) in
        [(address, 8, 0, 0), (address, 8, 9, 0), (address, 8, 4, 5), (address, 2 << 20, 8, 0), (pinned, 8, 8, 0)]
    {
        fails!(p, INVALID_VALUE, cuMemGetLocationInfo(start, size, summary, sampling, found.as_mut_ptr()));
    }
    fails!(p, INVALID_VALUE, cuMemGetLocationInfo(address, 8, 8, 0, std::ptr::null_mut()));
}
