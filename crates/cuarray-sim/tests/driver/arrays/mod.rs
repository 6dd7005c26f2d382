//! Arrays and mipmapped arrays: their creation and limits, copies, and findings about their memory.

mod copies;
mod creation;
mod findings;
mod graphs;

use crate::program::*;

/// A descriptor of an array of this format, extents and flags.
fn described(format: CUarray_format, channels: u32, extents: [usize; 3], flags: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    let [width, height, depth] = extents;
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: format,
        NumChannels: channels,
        Flags: flags,
    }
}

/// An array of bytes.
fn bytes(program: &Program, extents: [usize; 3], flags: u32) -> CUarray {
    let descriptor = described(CU_AD_FORMAT_UNSIGNED_INT8, 1, extents, flags);
    let mut array = CUarray::NULL;
    ok!(program, cuArray3DCreate_v2(&mut array, &descriptor));
    array
}

/// One side of a copy, as a descriptor of a 3-D copy describes it.
#[derive(Clone, Copy)]
struct End {
    kind: CUmemorytype,
    address: u64,
    array: CUarray,
    origin: [usize; 3],
    pitch: usize,
    height: usize,
}

impl End {
    fn of_array(array: CUarray, origin: [usize; 3]) -> End {
        End { kind: CU_MEMORYTYPE_ARRAY, address: 0, array, origin, pitch: 0, height: 0 }
    }

    fn of_memory(kind: CUmemorytype, address: u64) -> End {
        End { kind, address, array: CUarray::NULL, origin: [0; 3], pitch: 0, height: 0 }
    }
}

fn copy(target: End, source: End, extents: [usize; 3]) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcXInBytes: source.origin[0],
        srcY: source.origin[1],
        srcZ: source.origin[2],
        srcLOD: 0,
        srcMemoryType: source.kind,
        srcHost: source.address as *const _,
        srcDevice: source.address,
        srcArray: source.array,
        reserved0: std::ptr::null_mut(),
        srcPitch: source.pitch,
        srcHeight: source.height,
        dstXInBytes: target.origin[0],
        dstY: target.origin[1],
        dstZ: target.origin[2],
        dstLOD: 0,
        dstMemoryType: target.kind,
        dstHost: target.address as *mut _,
        dstDevice: target.address,
        dstArray: target.array,
        reserved1: std::ptr::null_mut(),
        dstPitch: target.pitch,
        dstHeight: target.height,
        WidthInBytes: extents[0],
        Height: extents[1],
        Depth: extents[2],
    }
}

/// Writes all bytes of an array of bytes, in the order of rows and slices.
fn upload(program: &Program, array: CUarray, extents: [usize; 3], bytes: &[u8]) {
    assert_eq!(bytes.len(), extents.iter().product::<usize>());
    let source = End::of_memory(CU_MEMORYTYPE_HOST, bytes.as_ptr() as u64);
    ok!(program, cuMemcpy3D_v2(&copy(End::of_array(array, [0; 3]), source, extents)));
}

/// Reads all bytes of an array of bytes.
fn download(program: &Program, array: CUarray, extents: [usize; 3]) -> Vec<u8> {
    let mut bytes = vec![0; extents.iter().product()];
    let target = End::of_memory(CU_MEMORYTYPE_HOST, bytes.as_mut_ptr() as u64);
    ok!(program, cuMemcpy3D_v2(&copy(target, End::of_array(array, [0; 3]), extents)));
    bytes
}
