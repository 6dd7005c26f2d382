use crate::driver::{ok, open};
use cuarray_abi::CUarray;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use cuarray_cudart::{cudaError_t, v12};
use std::ptr;

const INVALID: cudaError_t = cudaError_t::cudaErrorInvalidValue;
const LINEAR: u32 = 2;
const PITCH2D: u32 = 3;

fn halves() -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x: 16, y: 16, z: 0, w: 0, f: 2 }
}

/// The words of a channel descriptor in a resource.
fn words(desc: &cudaChannelFormatDesc) -> [u64; 3] {
    let pair = |low: i32, high: i32| u64::from(low as u32) | u64::from(high as u32) << 32;
    [pair(desc.x, desc.y), pair(desc.z, desc.w), u64::from(desc.f)]
}

fn of_array(array: cudaArray_t) -> cudaResourceDesc_of_13 {
    let mut resource = cudaResourceDesc_of_13::default();
    resource.res[0] = array.0 as u64;
    resource
}

fn texture() -> cudaTextureDesc {
    cudaTextureDesc {
        addressMode: [1, 0, 2],
        filterMode: 1,
        readMode: 1,
        sRGB: 1,
        borderColor: [1.0, 2.0, 3.0, 4.0],
        normalizedCoords: 1,
        maxAnisotropy: 4,
        mipmapFilterMode: 1,
        mipmapLevelBias: 0.5,
        minMipmapLevelClamp: 1.0,
        maxMipmapLevelClamp: 2.0,
        disableTrilinearOptimization: 1,
        seamlessCubemap: 0,
    }
}

#[test]
fn texture_object_of_cuda_13_has_its_descriptors() {
    open();
    let (mut array, mut object) = (CUarray(0), 0);
    unsafe {
        ok(cudaMallocArray(&mut array, &halves(), 8, 4, 0));
        let resource = of_array(array);
        let view = cudaResourceViewDesc_of_13 { width: 8, height: 4, ..Default::default() };
        ok(cudaCreateTextureObject(&mut object, &resource, &texture(), &view));
        let mut read = (cudaResourceDesc_of_13::default(), cudaTextureDesc::default(), view);
        read.2.width = 0;
        ok(cudaGetTextureObjectResourceDesc(&mut read.0, object));
        ok(cudaGetTextureObjectTextureDesc(&mut read.1, object));
        ok(cudaGetTextureObjectResourceViewDesc(&mut read.2, object));
        assert_eq!(read, (resource, texture(), view));
        ok(cudaDestroyTextureObject(object));
        assert_eq!(cudaDestroyTextureObject(object), INVALID);
        let flags = cudaResourceDesc_of_13 { flags: 1, ..resource };
        assert_eq!(cudaCreateTextureObject(&mut object, &flags, &texture(), ptr::null()), INVALID);
        let mode = cudaTextureDesc { readMode: 2, ..texture() };
        assert_eq!(cudaCreateTextureObject(&mut object, &resource, &mode, ptr::null()), INVALID);
        assert_eq!(cudaCreateTextureObject(&mut object, ptr::null(), &texture(), ptr::null()), INVALID);
        assert_eq!(cudaCreateTextureObject(&mut object, &resource, ptr::null(), ptr::null()), INVALID);
        assert_eq!(cudaCreateTextureObject(ptr::null_mut(), &resource, &texture(), ptr::null()), INVALID);
        ok(cudaFreeArray(array));
    }
}

#[test]
fn texture_object_of_cuda_12_has_shorter_descriptors() {
    open();
    let (mut array, mut object, mut memory) = (CUarray(0), 0, ptr::null_mut());
    unsafe {
        ok(v12::cudaMallocArray(&mut array, &halves(), 8, 4, 0));
        let mut resource = cudaResourceDesc_of_12::default();
        resource.res[0] = array.0 as u64;
        let view = cudaResourceViewDesc_of_12 { width: 8, height: 4, ..Default::default() };
        ok(v12::cudaCreateTextureObject(&mut object, &resource, &texture(), &view));
        let mut read = (cudaResourceDesc_of_12::default(), cudaResourceViewDesc_of_12::default());
        ok(v12::cudaGetTextureObjectResourceDesc(&mut read.0, object));
        ok(v12::cudaGetTextureObjectResourceViewDesc(&mut read.1, object));
        assert_eq!(read, (resource, view));
        ok(v12::cudaDestroyTextureObject(object));
        ok(v12::cudaMalloc(&mut memory, 1024));
        let [one, two, three] = words(&halves());
        for (kind, sizes) in [(LINEAR, [1024, 0, 0]), (PITCH2D, [8, 4, 256])] {
            let [a, b, c] = sizes;
            let resource =
                cudaResourceDesc_of_12 { resType: kind, res: [memory.addr() as u64, one, two, three, a, b, c] };
            let texture = cudaTextureDesc { addressMode: [1; 3], ..texture() };
            ok(v12::cudaCreateTextureObject(&mut object, &resource, &texture, ptr::null()));
            ok(v12::cudaGetTextureObjectResourceDesc(&mut read.0, object));
            assert_eq!(read.0, resource);
            assert_eq!(v12::cudaGetTextureObjectResourceViewDesc(&mut read.1, object), INVALID);
            ok(v12::cudaDestroyTextureObject(object));
        }
        ok(v12::cudaFree(memory));
        ok(v12::cudaFreeArray(array));
    }
}

#[test]
fn surface_object_needs_an_array_for_surfaces() {
    open();
    let (mut plain, mut array, mut object) = (CUarray(0), CUarray(0), 0);
    unsafe {
        ok(cudaMallocArray(&mut plain, &halves(), 8, 4, 0));
        ok(cudaMallocArray(&mut array, &halves(), 8, 4, 2));
        ok(cudaCreateSurfaceObject(&mut object, &of_array(array)));
        let mut read = cudaResourceDesc_of_13::default();
        ok(cudaGetSurfaceObjectResourceDesc(&mut read, object));
        assert_eq!(read, of_array(array));
        ok(cudaDestroySurfaceObject(object));
        assert_eq!(cudaDestroySurfaceObject(object), INVALID);
        assert_eq!(cudaCreateSurfaceObject(&mut object, &of_array(plain)), INVALID);
        let mut shorter = cudaResourceDesc_of_12::default();
        shorter.res[0] = array.0 as u64;
        ok(v12::cudaCreateSurfaceObject(&mut object, &shorter));
        let mut read = cudaResourceDesc_of_12::default();
        ok(v12::cudaGetSurfaceObjectResourceDesc(&mut read, object));
        assert_eq!(read, shorter);
        ok(v12::cudaDestroySurfaceObject(object));
        ok(cudaFreeArray(plain));
        ok(cudaFreeArray(array));
    }
}

#[test]
fn channels_are_described_and_limit_linear_textures() {
    open();
    unsafe {
        assert_eq!(cudaCreateChannelDesc(16, 16, 0, 0, 2), halves());
        let mut width = 0;
        ok(cudaDeviceGetTexture1DLinearMaxWidth(&mut width, &halves(), 0));
        assert_eq!(width, 1 << 28);
        assert_eq!(cudaDeviceGetTexture1DLinearMaxWidth(&mut width, ptr::null(), 0), INVALID);
        let uneven = cudaChannelFormatDesc { x: 16, y: 8, z: 0, w: 0, f: 2 };
        let error = cudaError_t::cudaErrorInvalidChannelDescriptor;
        assert_eq!(cudaDeviceGetTexture1DLinearMaxWidth(&mut width, &uneven, 0), error);
    }
}
