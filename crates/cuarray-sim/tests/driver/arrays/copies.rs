//! Copies between arrays, the host and device memory.

use super::*;
use proptest::prelude::*;

/// A model of an array: its bytes, and its extents in bytes, rows and slices.
struct Model {
    bytes: Vec<u8>,
    extents: [usize; 3],
}

impl Model {
    fn new(extents: [usize; 3], seed: u8) -> Model {
        let count = extents.iter().product::<usize>();
        let bytes = (0..count).map(|index| (index as u8).wrapping_mul(37).wrapping_add(seed)).collect();
        Model { bytes, extents }
    }

    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.extents[1] + y) * self.extents[0] + x
    }

    /// Copies a box from another model.
    fn copy(&mut self, to: [usize; 3], source: &Model, from: [usize; 3], extents: [usize; 3]) {
        for z in 0..extents[2] {
            for y in 0..extents[1] {
                let at = self.index([to[0], to[1] + y, to[2] + z]);
                let start = source.index([from[0], from[1] + y, from[2] + z]);
                self.bytes[at..at + extents[0]].copy_from_slice(&source.bytes[start..start + extents[0]]);
            }
        }
    }
}

/// The extents of a box, and its corners in two arrays, all within 12 bytes by 6 rows by 4 slices.
fn boxes() -> impl Strategy<Value = ([usize; 3], [usize; 3], [usize; 3])> {
    let axis = |extent: usize| {
        (1..=extent).prop_flat_map(move |length| (Just(length), 0..=extent - length, 0..=extent - length))
    };
    (axis(12), axis(6), axis(4)).prop_map(|(x, y, z)| ([x.0, y.0, z.0], [x.1, y.1, z.1], [x.2, y.2, z.2]))
}

const EXTENTS: [usize; 3] = [12, 6, 4];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn copied_boxes_are_those_of_a_plain_model((extents, to, from) in boxes(), kinds in prop::array::uniform2(0..3_u8)) {
        let program = Program::new();
        let mut models = [Model::new(EXTENTS, 1), Model::new(EXTENTS, 2)];
        let arrays = [0, 1].map(|_| bytes(&program, EXTENTS, 0));
        let mut hosts = [0, 1].map(|index: usize| models[index].bytes.clone());
        let devices = [0, 1].map(|_| program.alloc(hosts[0].len()));
        for index in [0, 1] {
            upload(&program, arrays[index], EXTENTS, &hosts[index]);
            ok!(program, cuMemcpyHtoD_v2(devices[index], hosts[index].as_ptr().cast(), hosts[index].len()));
        }
        let end = |index: usize, origin, host: *mut u8| match kinds[index] {
            0 => End::of_array(arrays[index], origin),
            kind => {
                let (kind, address) = if kind == 1 { (CU_MEMORYTYPE_HOST, host as u64) } else { (CU_MEMORYTYPE_DEVICE, devices[index]) };
                End { origin, pitch: EXTENTS[0], height: EXTENTS[1], ..End::of_memory(kind, address) }
            }
        };
        let (target, source) = (end(0, to, hosts[0].as_mut_ptr()), end(1, from, hosts[1].as_mut_ptr()));
        ok!(program, cuMemcpy3D_v2(&copy(target, source, extents)));
        ok!(program, cuCtxSynchronize());
        let [model, other] = &mut models;
        model.copy(to, other, from, extents);
        let copied = match kinds[0] {
            0 => download(&program, arrays[0], EXTENTS),
            1 => hosts[0].clone(),
            _ => {
                let mut bytes = vec![0_u8; model.bytes.len()];
                ok!(program, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), devices[0], bytes.len()));
                bytes
            }
        };
        prop_assert_eq!(&copied, &model.bytes);
        prop_assert_eq!(program.sim.report().text(false), "");
    }
}

#[test]
fn contiguous_copies_move_texels_of_an_array_of_one_dimension() {
    let program = Program::new();
    let mut line = CUarray::NULL;
    let descriptor = CUDA_ARRAY_DESCRIPTOR { Width: 8, Height: 0, Format: CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1 };
    ok!(program, cuArrayCreate_v2(&mut line, &descriptor));
    let mut other = CUarray::NULL;
    ok!(program, cuArrayCreate_v2(&mut other, &descriptor));
    let (numbers, device) = ([1_u32, 2, 3, 4, 5, 6, 7, 8], program.alloc(32));
    ok!(program, cuMemcpyHtoA_v2(line, 0, numbers.as_ptr().cast(), 32));
    ok!(program, cuMemcpyAtoD_v2(device, line, 0, 32));
    ok!(program, cuMemcpyDtoA_v2(other, 0, device, 32));
    ok!(program, cuMemcpyAtoA_v2(other, 8, line, 16, 16));
    let (mut read, stream) = ([0_u32; 8], program.stream(0));
    ok!(program, cuMemcpyAtoH_v2(read.as_mut_ptr().cast(), other, 0, 32));
    assert_eq!(read, [1, 2, 5, 6, 7, 8, 7, 8]);
    let pinned = program.pinned(32).cast::<u32>();
    ok!(program, cuMemcpyHtoAAsync_v2(line, 4, numbers.as_ptr().cast(), 28, stream));
    ok!(program, cuMemcpyAtoHAsync_v2(pinned.cast(), line, 0, 32, stream));
    ok!(program, cuStreamSynchronize(stream));
    // SAFETY: the driver has written these numbers, and no work is pending.
    assert_eq!(unsafe { pinned.cast::<[u32; 8]>().read() }, [1, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(program.sim.report().text(false), "");
}

#[test]
fn contiguous_copies_of_rows_cover_part_of_a_row_or_whole_rows() {
    let program = Program::new();
    let extents = [4, 3, 2];
    let array = bytes(&program, extents, 0);
    let given: Vec<u8> = (0..24).collect();
    ok!(program, cuMemcpyHtoA_v2(array, 0, given.as_ptr().cast(), 12));
    ok!(program, cuMemcpyHtoA_v2(array, 12, given[12..].as_ptr().cast(), 12));
    assert_eq!(download(&program, array, extents), given);
    let mut read = [0_u8; 4];
    ok!(program, cuMemcpyAtoH_v2(read.as_mut_ptr().cast(), array, 17, 3));
    assert_eq!(read, [17, 18, 19, 0]);
    for (offset, count) in [(2, 4), (0, 6), (0, 24), (24, 1), (usize::MAX, 1), (0, usize::MAX)] {
        fails!(program, INVALID_VALUE, cuMemcpyAtoH_v2(read.as_mut_ptr().cast(), array, offset, count));
    }
}

#[test]
fn boxes_outside_of_an_array_and_parts_of_texels_are_invalid() {
    let program = Program::new();
    let mut array = CUarray::NULL;
    let descriptor = described(CU_AD_FORMAT_FLOAT, 1, [4, 4, 4], 0);
    ok!(program, cuArray3DCreate_v2(&mut array, &descriptor));
    let device = End::of_memory(CU_MEMORYTYPE_DEVICE, program.alloc(1024));
    let wrong = [
        ([4, 0, 0], [16, 1, 1]),
        ([0, 1, 0], [16, 4, 1]),
        ([0, 0, 4], [16, 1, 1]),
        ([2, 0, 0], [4, 1, 1]),
        ([0, 0, 0], [6, 1, 1]),
        ([usize::MAX - 3, 0, 0], [4, 1, 1]),
    ];
    for (origin, extents) in wrong {
        let end = End::of_array(array, origin);
        fails!(program, INVALID_VALUE, cuMemcpy3D_v2(&copy(end, device, extents)));
        fails!(program, INVALID_VALUE, cuMemcpy3D_v2(&copy(device, end, extents)));
    }
    let level = CUDA_MEMCPY3D { dstLOD: 1, ..copy(End::of_array(array, [0; 3]), device, [16, 1, 1]) };
    fails!(program, INVALID_VALUE, cuMemcpy3D_v2(&level));
    let unknown = copy(End::of_array(CUarray(77), [0; 3]), device, [16, 1, 1]);
    fails!(program, INVALID_VALUE, cuMemcpy3D_v2(&unknown));
}

#[test]
fn copies_of_two_dimensions_read_and_write_arrays() {
    let program = Program::new();
    let array = bytes(&program, [4, 3, 0], 0);
    let given: Vec<u8> = (0..32).collect();
    let mut flat = CUDA_MEMCPY2D {
        srcXInBytes: 1,
        srcY: 1,
        srcMemoryType: CU_MEMORYTYPE_HOST,
        srcHost: given.as_ptr().cast(),
        srcDevice: 0,
        srcArray: CUarray::NULL,
        srcPitch: 8,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CU_MEMORYTYPE_ARRAY,
        dstHost: std::ptr::null_mut(),
        dstDevice: 0,
        dstArray: array,
        dstPitch: 0,
        WidthInBytes: 4,
        Height: 3,
    };
    ok!(program, cuMemcpy2DUnaligned_v2(&flat));
    assert_eq!(download(&program, array, [4, 3, 1]), [9, 10, 11, 12, 17, 18, 19, 20, 25, 26, 27, 28]);
    flat.dstXInBytes = 1;
    fails!(program, INVALID_VALUE, cuMemcpy2DAsync_v2(&flat, CUstream::NULL));
}

#[test]
fn peer_copy_moves_an_array_to_another_device() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let peer = program.primary(1);
    let here = bytes(&program, [4, 2, 0], 0);
    upload(&program, here, [4, 2, 1], &[1, 2, 3, 4, 5, 6, 7, 8]);
    ok!(program, cuCtxSetCurrent(peer));
    let there = bytes(&program, [4, 2, 0], 0);
    let plain = copy(End::of_array(there, [0; 3]), End::of_array(here, [0; 3]), [4, 2, 1]);
    // Both descriptors have one layout, with the contexts in place of two reserved pointers.
    // SAFETY: both are plain data of the same size.
    let mut peers: CUDA_MEMCPY3D_PEER = unsafe { std::mem::transmute(plain) };
    (peers.dstContext, peers.srcContext) = (peer, program.context);
    ok!(program, cuMemcpy3DPeer(&peers));
    assert_eq!(download(&program, there, [4, 2, 1]), [1, 2, 3, 4, 5, 6, 7, 8]);
    ok!(program, cuMemcpy3DPeerAsync(&peers, CUstream::NULL));
    peers.dstContext = CUcontext(9);
    fails!(program, INVALID_CONTEXT, cuMemcpy3DPeer(&peers));
}

#[test]
fn memory_of_an_array_has_no_address_for_programs() {
    let program = Program::new();
    let (before, array) = (program.alloc(512), bytes(&program, [512, 0, 0], 0));
    let text = program.sim.statistics();
    let (_, rest) = text.split_once("\"kind\":\"array\",\"address\":").unwrap();
    let address: u64 = rest[..rest.find(',').unwrap()].parse().unwrap();
    let (mut base, mut size, mut kind) = (0, 0, 0_u32);
    fails!(program, INVALID_VALUE, cuMemFree_v2(address));
    fails!(program, INVALID_VALUE, cuMemsetD8_v2(address, 0, 16));
    fails!(program, INVALID_VALUE, cuMemcpyDtoD_v2(before, address, 16));
    fails!(program, NOT_FOUND, cuMemGetAddressRange_v2(&mut base, &mut size, address));
    let data = (&raw mut kind).cast();
    fails!(program, INVALID_VALUE, cuPointerGetAttribute(data, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    ok!(program, cuArrayDestroy(array));
}
