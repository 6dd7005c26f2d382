use crate::driver::{ok, open};
use cuarray_abi::{CUarray, CUstream};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ffi::c_void;
use std::ptr;

const KINDS: std::ops::RangeInclusive<cudaMemcpyKind> = 0..=4;
const NULL: cudaStream_t = cudaStream_t::NULL;

/// Memory of the device, which is freed at the end of a test.
struct Device(*mut c_void);

impl Device {
    fn new(size: usize) -> Device {
        let mut memory = ptr::null_mut();
        unsafe {
            ok(cudaMalloc(&mut memory, size));
            ok(cudaMemset(memory, 0, size));
        }
        Device(memory)
    }

    fn read(&self, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        unsafe { ok(cudaMemcpy(bytes.as_mut_ptr().cast(), self.0, size, 2)) };
        bytes
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        unsafe { ok(cudaFree(self.0)) };
    }
}

#[test]
fn bytes_are_copied_in_each_direction() {
    open();
    let (from, to) = (Device::new(4), Device::new(4));
    unsafe {
        let mut read = [0_u8; 4];
        ok(cudaMemcpy(from.0, [1_u8, 2, 3, 4].as_ptr().cast(), 4, 1));
        ok(cudaMemcpy(to.0, from.0, 4, 3));
        ok(cudaMemcpy(read.as_mut_ptr().cast(), to.0, 4, 2));
        assert_eq!(read, [1, 2, 3, 4]);
        ok(cudaMemcpy_ptds(to.0, [5_u8; 4].as_ptr().cast(), 4, 4));
        ok(cudaMemcpy(read.as_mut_ptr().cast(), to.0, 4, 4));
        assert_eq!(read, [5; 4]);
        ok(cudaMemcpy(read.as_mut_ptr().cast(), [6_u8; 4].as_ptr().cast(), 4, 0));
        assert_eq!(read, [6; 4]);
    }
}

#[test]
fn bytes_are_copied_in_each_direction_in_stream_order() {
    open();
    let (from, to) = (Device::new(4), Device::new(4));
    unsafe {
        let mut stream = NULL;
        ok(cudaStreamCreate(&mut stream));
        let (first, mut read, mut copied) = ([1_u8, 2, 3, 4], [0_u8; 4], [0_u8; 4]);
        ok(cudaMemcpyAsync(from.0, first.as_ptr().cast(), 4, 1, stream));
        ok(cudaMemcpyAsync(to.0, from.0, 4, 3, stream));
        ok(cudaMemcpyAsync(read.as_mut_ptr().cast(), to.0, 4, 2, stream));
        ok(cudaMemcpyAsync_ptsz(copied.as_mut_ptr().cast(), from.0, 4, 4, stream));
        ok(cudaStreamSynchronize(stream));
        assert_eq!((read, copied), ([1, 2, 3, 4], [1, 2, 3, 4]));
        ok(cudaStreamDestroy(stream));
    }
}

#[test]
fn empty_work_succeeds_with_null_pointers() {
    open();
    let (null, none) = (ptr::null_mut(), ptr::null());
    unsafe {
        for kind in KINDS {
            ok(cudaMemcpy(null, none, 0, kind));
            ok(cudaMemcpyAsync(null, none, 0, kind, NULL));
            ok(cudaMemcpy2D(null, 8, none, 8, 0, 4, kind));
            ok(cudaMemcpy2D(null, 8, none, 8, 8, 0, kind));
            ok(cudaMemcpy2DAsync(null, 8, none, 8, 8, 0, kind, NULL));
        }
        ok(cudaMemcpyPeer(null, 0, none, 1, 0));
        ok(cudaMemcpyPeerAsync(null, 0, none, 1, 0, NULL));
        ok(cudaMemset(null, 1, 0));
        ok(cudaMemsetAsync(null, 1, 0, NULL));
        ok(cudaMemset2D(null, 8, 1, 0, 8));
        ok(cudaMemset2DAsync(null, 8, 1, 8, 0, NULL));
        let (pitched, extent) = (pitched(null, 0, 0), cudaExtent { width: 0, height: 1, depth: 1 });
        ok(cudaMemset3D(pitched, 1, extent));
        ok(cudaMemset3DAsync(pitched, 1, extent, NULL));
        let memory = Device::new(8);
        let mut copy = copy_of(&memory, &memory, cudaExtent { width: 8, height: 1, depth: 0 });
        ok(cudaMemcpy3D(&copy));
        copy.extent = cudaExtent { width: 0, height: 1, depth: 1 };
        ok(cudaMemcpy3DAsync(&copy, NULL));
        ok(cudaGetLastError());
    }
}

#[test]
fn unknown_direction_is_refused_and_remembered() {
    open();
    let memory = Device::new(8);
    let at = memory.0;
    let invalid = cudaError_t::cudaErrorInvalidMemcpyDirection;
    unsafe {
        for kind in [5, u32::MAX] {
            assert_eq!(cudaMemcpy(at, at, 4, kind), invalid);
            assert_eq!(cudaGetLastError(), invalid);
            assert_eq!(cudaMemcpy(at, at, 0, kind), invalid);
            assert_eq!(cudaMemcpyAsync(at, at, 4, kind, NULL), invalid);
            assert_eq!(cudaMemcpy2D(at, 4, at, 4, 4, 1, kind), invalid);
            assert_eq!(cudaMemcpy2DAsync(at, 4, at, 4, 4, 1, kind, NULL), invalid);
            let extent = cudaExtent { width: 1, height: 1, depth: 1 };
            let copy = cudaMemcpy3DParms { kind, ..copy_of(&memory, &memory, extent) };
            assert_eq!(cudaMemcpy3D(&copy), invalid);
            assert_eq!(cudaMemcpy3DAsync(&copy, NULL), invalid);
        }
    }
}

#[test]
fn unknown_stream_is_an_invalid_handle() {
    open();
    let memory = Device::new(8);
    let (at, wrong) = (memory.0, CUstream(0x1234_5678));
    let invalid = cudaError_t::cudaErrorInvalidResourceHandle;
    unsafe {
        for kind in [3, 4] {
            assert_eq!(cudaMemcpyAsync(at, at, 4, kind, wrong), invalid);
            assert_eq!(cudaMemcpy2DAsync(at, 4, at, 4, 4, 1, kind, wrong), invalid);
        }
        assert_eq!(cudaMemcpyPeerAsync(at, 0, at, 0, 4, wrong), invalid);
        assert_eq!(cudaMemsetAsync(at, 0, 4, wrong), invalid);
        assert_eq!(cudaMemset2DAsync(at, 4, 0, 4, 1, wrong), invalid);
        let extent = cudaExtent { width: 1, height: 1, depth: 1 };
        assert_eq!(cudaMemset3DAsync(pitched(at, 4, 1), 0, extent, wrong), invalid);
        let copy = copy_of(&memory, &memory, extent);
        assert_eq!(cudaMemcpy3DAsync(&copy, wrong), invalid);
        let copy = peer_copy_of(&memory, &memory, extent);
        assert_eq!(cudaMemcpy3DPeerAsync(&copy, wrong), invalid);
        assert_eq!(cudaGetLastError(), invalid);
    }
}

#[test]
fn address_of_no_memory_is_an_invalid_value() {
    open();
    let memory = Device::new(8);
    let (at, null) = (memory.0, ptr::null_mut());
    let invalid = cudaError_t::cudaErrorInvalidValue;
    unsafe {
        assert_eq!(cudaMemcpy(null, at, 4, 3), invalid);
        assert_eq!(cudaMemcpy(at, null, 4, 1), invalid);
        assert_eq!(cudaMemset(null, 0, 4), invalid);
        assert_eq!(cudaMemset(at, 0, 9), invalid);
        assert_eq!(cudaMemset2D(at, 4, 0, 5, 2), invalid);
        assert_eq!(cudaMemcpy3D(ptr::null()), invalid);
        assert_eq!(cudaMemcpy3DAsync(ptr::null(), NULL), invalid);
        assert_eq!(cudaMemcpy3DPeer(ptr::null()), invalid);
        assert_eq!(cudaMemcpy3DPeerAsync(ptr::null(), NULL), invalid);
        let extent = cudaExtent { width: 1, height: 1, depth: 2 };
        assert_eq!(cudaMemset3D(pitched(null, 4, 1), 0, extent), invalid);
        let huge = cudaExtent { width: 1, height: 1, depth: usize::MAX };
        assert_eq!(cudaMemset3D(pitched(at, 4, 2), 0, huge), invalid);
        let higher = cudaExtent { width: 1, height: 3, depth: 2 };
        assert_eq!(cudaMemset3D(pitched(at, 4, 2), 0, higher), invalid);
    }
}

#[test]
fn rows_are_copied_between_pitches() {
    open();
    let memory = Device::new(16);
    let host: Vec<u8> = (1..=9).collect();
    unsafe {
        ok(cudaMemcpy2D(memory.0, 4, host.as_ptr().cast(), 3, 2, 3, 1));
        assert_eq!(memory.read(12), [1, 2, 0, 0, 4, 5, 0, 0, 7, 8, 0, 0]);
        let mut read = [0_u8; 6];
        ok(cudaMemcpy2DAsync(read.as_mut_ptr().cast(), 2, memory.0, 4, 2, 3, 2, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(read, [1, 2, 4, 5, 7, 8]);
        let mut read = [0_u8; 6];
        ok(cudaMemcpy2D_ptds(read.as_mut_ptr().cast(), 2, memory.0, 4, 2, 3, 4));
        assert_eq!(read, [1, 2, 4, 5, 7, 8]);
        let mut read = [0_u8; 4];
        ok(cudaMemcpy2D(read.as_mut_ptr().cast(), 2, host.as_ptr().cast(), 3, 2, 2, 0));
        assert_eq!(read, [1, 2, 4, 5]);
        let other = Device::new(16);
        ok(cudaMemcpy2D(other.0, 8, memory.0, 4, 2, 2, 3));
        assert_eq!(other.read(16), [1, 2, 0, 0, 0, 0, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn row_wider_than_a_pitch_is_an_invalid_pitch() {
    open();
    let memory = Device::new(64);
    let (at, invalid) = (memory.0, cudaError_t::cudaErrorInvalidPitchValue);
    unsafe {
        assert_eq!(cudaMemcpy2D(at, 4, at, 8, 5, 1, 3), invalid);
        assert_eq!(cudaMemcpy2DAsync(at, 8, at, 4, 5, 1, 3, NULL), invalid);
        let extent = cudaExtent { width: 5, height: 1, depth: 1 };
        let mut copy = copy_of(&memory, &memory, extent);
        copy.srcPtr.pitch = 4;
        assert_eq!(cudaMemcpy3D(&copy), invalid);
        copy.srcPtr.pitch = 8;
        copy.srcPos.x = 4;
        assert_eq!(cudaMemcpy3D(&copy), invalid);
        copy.srcPos.x = usize::MAX;
        assert_eq!(cudaMemcpy3D(&copy), invalid);
        assert_eq!(cudaGetLastError(), invalid);
    }
}

fn pitched(ptr: *mut c_void, pitch: usize, ysize: usize) -> cudaPitchedPtr {
    cudaPitchedPtr { ptr, pitch, xsize: pitch, ysize }
}

/// A copy between volumes of the device with rows of 8 bytes and slices of 2 rows.
fn copy_of(from: &Device, to: &Device, extent: cudaExtent) -> cudaMemcpy3DParms {
    cudaMemcpy3DParms {
        srcArray: cudaArray_t::NULL,
        srcPos: cudaPos::default(),
        srcPtr: pitched(from.0, 8, 2),
        dstArray: cudaArray_t::NULL,
        dstPos: cudaPos::default(),
        dstPtr: pitched(to.0, 8, 2),
        extent,
        kind: 3,
    }
}

fn peer_copy_of(from: &Device, to: &Device, extent: cudaExtent) -> cudaMemcpy3DPeerParms {
    let copy = copy_of(from, to, extent);
    cudaMemcpy3DPeerParms {
        srcArray: copy.srcArray,
        srcPos: copy.srcPos,
        srcPtr: copy.srcPtr,
        srcDevice: 0,
        dstArray: copy.dstArray,
        dstPos: copy.dstPos,
        dstPtr: copy.dstPtr,
        dstDevice: 0,
        extent,
    }
}

#[test]
fn part_of_a_volume_is_copied() {
    open();
    let (from, to) = (Device::new(32), Device::new(32));
    let bytes: Vec<u8> = (0..32).collect();
    unsafe {
        ok(cudaMemcpy(from.0, bytes.as_ptr().cast(), 32, 1));
        let mut copy = copy_of(&from, &to, cudaExtent { width: 2, height: 1, depth: 2 });
        copy.srcPos = cudaPos { x: 3, y: 1, z: 0 };
        copy.dstPos = cudaPos { x: 0, y: 0, z: 0 };
        ok(cudaMemcpy3D(&copy));
        let mut expected = vec![0; 32];
        expected[..2].copy_from_slice(&[11, 12]);
        expected[16..18].copy_from_slice(&[27, 28]);
        assert_eq!(to.read(32), expected);
        // The host receives that part.
        let mut read = [0_u8; 4];
        copy.kind = 2;
        copy.dstPtr = pitched(read.as_mut_ptr().cast(), 2, 1);
        ok(cudaMemcpy3DAsync(&copy, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(read, [11, 12, 27, 28]);
    }
}

#[test]
fn copy_names_one_source_and_one_target() {
    open();
    let memory = Device::new(32);
    let extent = cudaExtent { width: 1, height: 1, depth: 1 };
    unsafe {
        let mut copy = copy_of(&memory, &memory, extent);
        copy.srcPtr.ptr = ptr::null_mut();
        assert_eq!(cudaMemcpy3D(&copy), cudaError_t::cudaErrorInvalidValue, "no source");
        copy.srcArray = CUarray(0x1000);
        assert_eq!(cudaMemcpy3D(&copy), cudaError_t::cudaErrorInvalidValue, "an unknown array");
        let mut copy = peer_copy_of(&memory, &memory, extent);
        copy.dstPtr.ptr = ptr::null_mut();
        assert_eq!(cudaMemcpy3DPeer(&copy), cudaError_t::cudaErrorInvalidValue, "no target");
    }
}

#[test]
fn bytes_are_copied_between_devices() {
    open();
    unsafe {
        let near = Device::new(16);
        ok(cudaMemcpy(near.0, [7_u8; 16].as_ptr().cast(), 16, 1));
        ok(cudaSetDevice(1));
        let far = Device::new(16);
        ok(cudaSetDevice(0));
        ok(cudaMemcpyPeer(far.0, 1, near.0, 0, 4));
        ok(cudaMemcpyPeerAsync(far.0.byte_add(4), 1, near.0, 0, 4, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(far.read(16), [7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
        let mut copy = peer_copy_of(&near, &far, cudaExtent { width: 2, height: 1, depth: 1 });
        copy.dstDevice = 1;
        copy.dstPos.y = 1;
        ok(cudaMemcpy3DPeer(&copy));
        copy.dstPos.x = 4;
        ok(cudaMemcpy3DPeerAsync(&copy, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(far.read(16)[8..], [7, 7, 0, 0, 7, 7, 0, 0]);
        let invalid = cudaError_t::cudaErrorInvalidDevice;
        assert_eq!(cudaMemcpyPeer(far.0, 2, near.0, 0, 4), invalid);
        assert_eq!(cudaMemcpyPeerAsync(far.0, 1, near.0, -1, 4, NULL), invalid);
        copy.srcDevice = 99;
        assert_eq!(cudaMemcpy3DPeer(&copy), invalid);
    }
}

#[test]
fn parts_of_rows_and_slices_are_filled() {
    open();
    let memory = Device::new(16);
    unsafe {
        ok(cudaMemset2D(memory.0, 4, 0x101, 2, 2));
        assert_eq!(memory.read(16), [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        ok(cudaMemset2DAsync_ptsz(memory.0, 4, 2, 1, 4, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(memory.read(16), [2, 1, 0, 0, 2, 1, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]);
        // Each slice has two rows; one row of each is filled.
        ok(cudaMemset3D(pitched(memory.0, 4, 2), 3, cudaExtent { width: 3, height: 1, depth: 2 }));
        assert_eq!(memory.read(16), [3, 3, 3, 0, 2, 1, 0, 0, 3, 3, 3, 0, 2, 0, 0, 0]);
        ok(cudaMemset3DAsync(pitched(memory.0, 4, 2), 4, cudaExtent { width: 4, height: 2, depth: 2 }, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(memory.read(16), [4; 16]);
    }
}

#[test]
fn batches_copy_ranges_and_boxes() {
    use cuarray_abi::{CUextent3D, CUmemcpy3DOperand, CUmemcpy3DOperandValue, CUmemcpy3DPointer, CUmemcpyAttributes};
    use cuarray_cudart::v12;
    open();
    let (from, to, mut stream) = (Device::new(16), Device::new(16), NULL);
    let nowhere = cudaMemLocation { kind: 0, id: 0 };
    let side = |memory: &Device| {
        let ptr = CUmemcpy3DPointer { ptr: memory.0 as u64, rowLength: 4, layerHeight: 0, locHint: nowhere };
        CUmemcpy3DOperand { kind: 1, op: CUmemcpy3DOperandValue { ptr } }
    };
    let extent = CUextent3D { width: 2, height: 2, depth: 1 };
    let mut boxes = cudaMemcpy3DBatchOp { src: side(&from), dst: side(&to), extent, srcAccessOrder: 1, flags: 0 };
    let mut order = CUmemcpyAttributes { srcAccessOrder: 1, srcLocHint: nowhere, dstLocHint: nowhere, flags: 0 };
    let (mut targets, mut sources, mut sizes, mut first, mut failed) = ([to.0], [from.0], [4], [0], 9);
    let invalid = cudaError_t::cudaErrorInvalidValue;
    unsafe {
        ok(cudaStreamCreate(&mut stream));
        ok(cudaMemcpy(from.0, (0..16).collect::<Vec<u8>>().as_ptr().cast(), 16, 1));
        ok(cudaMemcpy3DBatchAsync(1, &mut boxes, 0, stream));
        ok(cudaStreamSynchronize(stream));
        assert_eq!(to.read(8), [0, 1, 0, 0, 4, 5, 0, 0]);
        let (all, read) = (targets.as_ptr(), sources.as_ptr().cast::<*const c_void>());
        ok(cudaMemcpyBatchAsync(all, read, sizes.as_ptr(), 1, &mut order, first.as_mut_ptr(), 1, stream));
        ok(cudaStreamSynchronize(stream));
        assert_eq!(to.read(4), [0, 1, 2, 3]);
        ok(cudaMemcpyWithAttributesAsync(to.0, from.0.cast::<u8>().add(8).cast(), 4, &mut order, NULL));
        ok(cudaMemcpy3DWithAttributesAsync(&mut boxes, 0, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(to.read(4), [0, 1, 10, 11]);
        let lists = (targets.as_mut_ptr(), sources.as_mut_ptr(), sizes.as_mut_ptr());
        let index = first.as_mut_ptr();
        ok(v12::cudaMemcpyBatchAsync(lists.0, lists.1, lists.2, 1, &mut order, index, 1, &mut failed, stream));
        ok(v12::cudaMemcpy3DBatchAsync(1, &mut boxes, &mut failed, 0, stream));
        boxes.srcAccessOrder = 0;
        assert_eq!(v12::cudaMemcpy3DBatchAsync(1, &mut boxes, &mut failed, 0, stream), invalid);
        assert_eq!(failed, 0);
        assert_eq!(cudaMemcpy3DWithAttributesAsync(ptr::null_mut(), 0, stream), invalid);
        assert_eq!(cudaMemcpyWithAttributesAsync(to.0, from.0, 4, ptr::null_mut(), stream), invalid);
        ok(cudaStreamSynchronize(stream));
        ok(cudaStreamDestroy(stream));
    }
}
