use crate::driver::{ok, open};
use cuarray_abi::{CUarray, CUgraph, CUgraphExec, CUgraphNode, CUmipmappedArray};
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use cuarray_cudart::{cudaError_t, v12};
use std::ffi::c_void;
use std::ptr;

const INVALID: cudaError_t = cudaError_t::cudaErrorInvalidValue;
const TO_DEVICE: cudaMemcpyKind = 1;
const TO_HOST: cudaMemcpyKind = 2;
const WITHIN_DEVICE: cudaMemcpyKind = 3;
const DEFAULT: cudaMemcpyKind = 4;
const NO_ARRAY: cudaArray_t = cudaArray_t::NULL;

/// A channel descriptor of `channels` floats.
fn floats(channels: usize) -> cudaChannelFormatDesc {
    let bits = |channel| if channel < channels { 32 } else { 0 };
    cudaChannelFormatDesc { x: bits(0), y: bits(1), z: bits(2), w: bits(3), f: 2 }
}

fn bytes() -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x: 8, y: 0, z: 0, w: 0, f: 1 }
}

/// An array of bytes of two dimensions.
fn array(width: usize, height: usize) -> cudaArray_t {
    let mut array = CUarray(0);
    unsafe { ok(cudaMallocArray(&mut array, &bytes(), width, height, 0)) };
    array
}

fn pitched(ptr: *mut c_void, pitch: usize, height: usize) -> cudaPitchedPtr {
    cudaPitchedPtr { ptr, pitch, xsize: pitch, ysize: height }
}

/// Reads all bytes of an array of bytes.
fn read<const N: usize>(array: cudaArray_t, width: usize) -> [u8; N] {
    let mut bytes = [0_u8; N];
    let out = bytes.as_mut_ptr().cast();
    unsafe { ok(cudaMemcpy2DFromArray(out, width, array, 0, 0, width, N / width, TO_HOST)) };
    bytes
}

#[test]
fn array_is_described_as_it_was_allocated() {
    open();
    let (mut array, extent) = (CUarray(0), cudaExtent { width: 8, height: 4, depth: 3 });
    let (mut desc, mut read, mut flags) = (bytes(), cudaExtent::default(), 9);
    unsafe {
        ok(cudaMalloc3DArray(&mut array, &floats(4), extent, 1));
        ok(cudaArrayGetInfo(&mut desc, &mut read, &mut flags, array));
        assert_eq!((desc, read, flags), (floats(4), extent, 1));
        ok(cudaArrayGetInfo(ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), array));
        ok(cudaGetChannelDesc(&mut desc, array));
        assert_eq!(desc, floats(4));
        ok(cudaFreeArray(array));
        assert_eq!(cudaFreeArray(array), INVALID);
        assert_eq!(cudaArrayGetInfo(&mut desc, &mut read, &mut flags, array), INVALID);
        ok(cudaFreeArray(NO_ARRAY));
    }
}

#[test]
fn descriptors_that_no_array_has_are_refused() {
    open();
    let mut array = CUarray(0);
    unsafe {
        let uneven = cudaError_t::cudaErrorInvalidChannelDescriptor;
        assert_eq!(cudaMallocArray(&mut array, &floats(3), 4, 4, 0), uneven);
        assert_eq!(cudaMallocArray(&mut array, ptr::null(), 4, 4, 0), INVALID);
        assert_eq!(cudaMallocArray(ptr::null_mut(), &bytes(), 4, 4, 0), INVALID);
        assert_eq!(cudaMallocArray(&mut array, &bytes(), 0, 4, 0), INVALID);
        let sparse = 0x40;
        assert_eq!(cudaMallocArray(&mut array, &bytes(), 4, 4, sparse), cudaError_t::cudaErrorNotSupported);
        let (mut memory, mut properties) = Default::default();
        ok(cudaMallocArray(&mut array, &bytes(), 4, 4, 0));
        assert_eq!(cudaArrayGetMemoryRequirements(&mut memory, array, 0), INVALID);
        assert_eq!(cudaArrayGetSparseProperties(&mut properties, array), INVALID);
        assert_eq!(cudaArrayGetPlane(&mut CUarray(0), array, 0), INVALID);
        ok(cudaFreeArray(array));
    }
}

#[test]
fn levels_of_a_mipmapped_array_have_halved_extents() {
    open();
    let (mut mipmapped, mut level) = (CUmipmappedArray(0), CUarray(0));
    let (mut desc, mut extent, mut flags) = (bytes(), cudaExtent::default(), 0);
    unsafe {
        let whole = cudaExtent { width: 8, height: 4, depth: 0 };
        ok(cudaMallocMipmappedArray(&mut mipmapped, &floats(1), whole, 3, 0));
        ok(cudaGetMipmappedArrayLevel(&mut level, mipmapped, 2));
        ok(cudaArrayGetInfo(&mut desc, &mut extent, &mut flags, level));
        assert_eq!((extent.width, extent.height), (2, 1));
        assert_eq!(cudaGetMipmappedArrayLevel(&mut level, mipmapped, 3), INVALID);
        let null = CUmipmappedArray(0);
        let handle = cudaError_t::cudaErrorInvalidResourceHandle;
        assert_eq!(cudaGetMipmappedArrayLevel(&mut level, null, 0), handle);
        ok(cudaFreeMipmappedArray(mipmapped));
        assert_eq!(cudaFreeMipmappedArray(mipmapped), INVALID);
        ok(cudaFreeMipmappedArray(null));
    }
}

#[test]
fn rows_are_copied_to_from_and_between_arrays() {
    open();
    let (one, other) = (array(4, 3), array(4, 3));
    let given: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    unsafe {
        ok(cudaMemcpy2DToArray(one, 0, 0, given.as_ptr().cast(), 4, 4, 3, TO_DEVICE));
        ok(cudaMemcpy2DToArrayAsync(other, 0, 0, given.as_ptr().cast(), 4, 4, 3, DEFAULT, cudaStream_t::NULL));
        ok(cudaMemcpy2DArrayToArray(other, 1, 0, one, 2, 1, 2, 2, WITHIN_DEVICE));
        assert_eq!(read::<12>(other, 4), [1, 7, 8, 4, 5, 11, 12, 8, 9, 10, 11, 12]);
        let mut part = [0_u8; 4];
        let out = part.as_mut_ptr().cast();
        ok(cudaMemcpy2DFromArrayAsync(out, 2, one, 1, 1, 2, 2, TO_HOST, cudaStream_t::NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(part, [6, 7, 10, 11]);
        let wrong = cudaError_t::cudaErrorInvalidMemcpyDirection;
        assert_eq!(cudaMemcpy2DToArray(one, 0, 0, given.as_ptr().cast(), 4, 4, 3, TO_HOST), wrong);
        assert_eq!(cudaMemcpy2DFromArray(out, 2, one, 0, 0, 2, 1, TO_DEVICE), wrong);
        let pitch = cudaError_t::cudaErrorInvalidPitchValue;
        assert_eq!(cudaMemcpy2DToArray(one, 0, 0, given.as_ptr().cast(), 3, 4, 3, TO_DEVICE), pitch);
        assert_eq!(cudaMemcpy2DToArray(one, 1, 0, given.as_ptr().cast(), 4, 4, 3, TO_DEVICE), INVALID);
        ok(cudaMemcpy2DToArray(one, 0, 0, ptr::null(), 0, 0, 3, TO_DEVICE));
        ok(cudaFreeArray(one));
        ok(cudaFreeArray(other));
    }
}

#[test]
fn consecutive_bytes_continue_in_the_next_row() {
    open();
    let (one, wide) = (array(4, 4), array(5, 4));
    let given: [u8; 16] = std::array::from_fn(|index| index as u8);
    unsafe {
        ok(cudaMemcpyToArray(one, 0, 0, given.as_ptr().cast(), 16, TO_DEVICE));
        assert_eq!(read::<16>(one, 4), given);
        // Part of a row, two rows, and part of a row.
        ok(cudaMemcpyToArrayAsync(one, 3, 0, given.as_ptr().cast(), 11, TO_DEVICE, cudaStream_t::NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(read::<16>(one, 4), [0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15]);
        let mut part = [0_u8; 6];
        ok(cudaMemcpyFromArray(part.as_mut_ptr().cast(), one, 2, 1, 6, TO_HOST));
        assert_eq!(part, [3, 4, 5, 6, 7, 8]);
        ok(v12::cudaMemcpyFromArrayAsync(part.as_mut_ptr().cast(), one, 0, 3, 2, TO_HOST, cudaStream_t::NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(part[..2], [9, 10]);
        ok(cudaMemcpyToArray(wide, 0, 0, [0_u8; 20].as_ptr().cast(), 20, TO_DEVICE));
        // Rows of other lengths.
        ok(cudaMemcpyArrayToArray(wide, 3, 0, one, 2, 2, 6, WITHIN_DEVICE));
        assert_eq!(read::<20>(wide, 5)[..10], [0, 0, 0, 7, 8, 9, 10, 14, 15, 0]);
        assert_eq!(cudaMemcpyToArray(one, 0, 3, given.as_ptr().cast(), 5, TO_DEVICE), INVALID);
        assert_eq!(cudaMemcpyToArray(one, 4, 0, given.as_ptr().cast(), 1, TO_DEVICE), INVALID);
        ok(cudaFreeArray(one));
        ok(cudaFreeArray(wide));
    }
}

#[test]
fn slices_of_an_array_are_counted_in_texels() {
    open();
    let (mut array, extent) = (CUarray(0), cudaExtent { width: 4, height: 2, depth: 2 });
    let mut numbers: [f32; 16] = std::array::from_fn(|index| index as f32);
    unsafe {
        ok(cudaMalloc3DArray(&mut array, &floats(1), extent, 0));
        let mut copy = cudaMemcpy3DParms {
            srcArray: NO_ARRAY,
            srcPos: cudaPos::default(),
            srcPtr: pitched(numbers.as_mut_ptr().cast(), 16, 2),
            dstArray: array,
            dstPos: cudaPos::default(),
            dstPtr: pitched(ptr::null_mut(), 0, 0),
            extent,
            kind: TO_DEVICE,
        };
        ok(cudaMemcpy3D(&copy));
        let mut part = [0.0_f32; 2];
        copy.srcArray = array;
        copy.srcPos = cudaPos { x: 2, y: 1, z: 1 };
        copy.srcPtr = pitched(ptr::null_mut(), 0, 0);
        copy.dstArray = NO_ARRAY;
        copy.dstPtr = pitched(part.as_mut_ptr().cast(), 8, 1);
        copy.extent = cudaExtent { width: 2, height: 1, depth: 1 };
        assert_eq!(cudaMemcpy3D(&copy), cudaError_t::cudaErrorInvalidMemcpyDirection);
        copy.kind = TO_HOST;
        ok(cudaMemcpy3DAsync(&copy, cudaStream_t::NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(part, [14.0, 15.0]);
        copy.srcPos.x = 3;
        assert_eq!(cudaMemcpy3D(&copy), INVALID, "behind the end of a row");
        ok(cudaFreeArray(array));
    }
}

#[test]
fn node_of_a_graph_copies_an_array_and_has_its_parameters() {
    open();
    let (mut array, mut graph, mut node, mut exec) = (CUarray(0), CUgraph(0), CUgraphNode(0), CUgraphExec(0));
    let mut numbers = [1.0_f32, 2.0, 3.0, 4.0];
    unsafe {
        ok(cudaMallocArray(&mut array, &floats(1), 8, 0, 0));
        let copy = cudaMemcpy3DParms {
            srcArray: NO_ARRAY,
            srcPos: cudaPos::default(),
            srcPtr: pitched(numbers.as_mut_ptr().cast(), 16, 1),
            dstArray: array,
            dstPos: cudaPos { x: 3, y: 0, z: 0 },
            dstPtr: pitched(ptr::null_mut(), 0, 0),
            extent: cudaExtent { width: 4, height: 1, depth: 1 },
            kind: TO_DEVICE,
        };
        ok(cudaGraphCreate(&mut graph, 0));
        ok(cudaGraphAddMemcpyNode(&mut node, graph, ptr::null(), 0, &copy));
        let mut found = cudaMemcpy3DParms { dstArray: NO_ARRAY, extent: cudaExtent::default(), ..copy };
        ok(cudaGraphMemcpyNodeGetParams(node, &mut found));
        assert_eq!((found.dstArray, found.dstPos, found.extent), (array, copy.dstPos, copy.extent));
        assert!(found.dstPtr.ptr.is_null());
        ok(cudaGraphInstantiate(&mut exec, graph, 0));
        ok(cudaGraphLaunch(exec, cudaStream_t::NULL));
        ok(cudaDeviceSynchronize());
        let mut read = [0.0_f32; 2];
        ok(cudaMemcpyFromArray(read.as_mut_ptr().cast(), array, 20, 0, 8, TO_HOST));
        assert_eq!(read, [3.0, 4.0]);
        ok(cudaGraphExecDestroy(exec));
        ok(cudaGraphDestroy(graph));
        ok(cudaFreeArray(array));
    }
}
