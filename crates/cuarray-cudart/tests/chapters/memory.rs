use crate::driver::{ok, open};
use cuarray_abi::CUstream;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use cuarray_cudart::{cudaError_t, v12};
use std::ffi::{c_int, c_void};
use std::ptr;

const DEVICE_0: cudaMemLocation = cudaMemLocation { kind: 1, id: 0 };
const HOST: cudaMemLocation = cudaMemLocation { kind: 2, id: 0 };
const NULL: cudaStream_t = cudaStream_t::NULL;

#[test]
fn empty_allocation_is_null_and_null_is_freed() {
    open();
    unsafe {
        let mut memory = ptr::dangling_mut();
        ok(cudaMalloc(&mut memory, 0));
        assert!(memory.is_null());
        ok(cudaFree(memory));
        ok(cudaFreeHost(memory));
        let (mut memory, mut pitch) = (ptr::dangling_mut(), 1);
        ok(cudaMallocPitch(&mut memory, &mut pitch, 0, 4));
        assert!(memory.is_null());
        ok(cudaMallocPitch(&mut memory, &mut pitch, 4, 0));
        assert!(memory.is_null());
        let mut memory = ptr::dangling_mut();
        ok(cudaMallocHost(&mut memory, 0));
        assert!(memory.is_null());
    }
}

#[test]
fn null_output_is_an_invalid_value_and_allocates_nothing() {
    open();
    let invalid = cudaError_t::cudaErrorInvalidValue;
    let (mut memory, mut size) = (ptr::null_mut(), 0);
    unsafe {
        assert_eq!(cudaMalloc(ptr::null_mut(), 16), invalid);
        assert_eq!(cudaGetLastError(), invalid);
        assert_eq!(cudaMallocHost(ptr::null_mut(), 16), invalid);
        assert_eq!(cudaHostAlloc(ptr::null_mut(), 16, 0), invalid);
        assert_eq!(cudaMallocManaged(ptr::null_mut(), 16, 1), invalid);
        assert_eq!(cudaMallocPitch(ptr::null_mut(), &mut size, 16, 1), invalid);
        assert_eq!(cudaMallocPitch(&mut memory, ptr::null_mut(), 16, 1), invalid);
        assert!(memory.is_null());
        assert_eq!(cudaMalloc3D(ptr::null_mut(), cudaExtent { width: 1, height: 1, depth: 1 }), invalid);
        assert_eq!(cudaHostGetDevicePointer(ptr::null_mut(), memory, 0), invalid);
        assert_eq!(cudaHostGetFlags(ptr::null_mut(), memory), invalid);
        assert_eq!(cudaMemGetInfo(ptr::null_mut(), &mut size), invalid);
        assert_eq!(cudaMemGetInfo(&mut size, ptr::null_mut()), invalid);
        assert_eq!(cudaMemRangeGetAttribute(ptr::null_mut(), 4, 1, memory, 1), invalid);
        let nulls = ptr::null_mut();
        assert_eq!(cudaMemRangeGetAttributes(nulls, &mut size, &mut 1, 1, memory, 1), invalid);
    }
}

#[test]
fn more_memory_than_the_device_has_is_an_allocation_error() {
    open();
    let error = cudaError_t::cudaErrorMemoryAllocation;
    let mut memory = ptr::null_mut();
    unsafe {
        assert_eq!(cudaMalloc(&mut memory, 1 << 50), error);
        assert_eq!(cudaGetLastError(), error);
        assert_eq!(cudaMallocPitch(&mut memory, &mut 0, 1 << 25, 1 << 25), error);
        assert!(memory.is_null());
        let mut pitched = cudaPitchedPtr { ptr: memory, pitch: 0, xsize: 0, ysize: 0 };
        let extent = cudaExtent { width: 1, height: usize::MAX, depth: 2 };
        assert_eq!(cudaMalloc3D(&mut pitched, extent), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn address_inside_an_allocation_is_not_freed() {
    open();
    unsafe {
        let mut memory = ptr::null_mut();
        ok(cudaMalloc(&mut memory, 16));
        assert_eq!(cudaFree(memory.byte_add(4)), cudaError_t::cudaErrorInvalidValue);
        ok(cudaFree(memory));
        assert_eq!(cudaFree(memory), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(cudaFreeHost(memory), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(cudaGetLastError(), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn pitch_holds_the_row_and_all_rows_are_memory() {
    open();
    unsafe {
        let (mut memory, mut pitch) = (ptr::null_mut(), 0);
        ok(cudaMallocPitch(&mut memory, &mut pitch, 100, 3));
        assert!(pitch >= 100 && pitch % 16 == 0, "{pitch}");
        ok(cudaMemset(memory, 1, pitch * 3));
        ok(cudaFree(memory));
        let mut volume = cudaPitchedPtr { ptr: ptr::null_mut(), pitch: 0, xsize: 0, ysize: 0 };
        ok(cudaMalloc3D(&mut volume, cudaExtent { width: 100, height: 3, depth: 2 }));
        assert_eq!((volume.xsize, volume.ysize), (100, 3));
        ok(cudaMemset(volume.ptr, 1, volume.pitch * 6));
        ok(cudaFree(volume.ptr));
    }
}

#[test]
fn free_memory_is_at_most_the_total() {
    open();
    unsafe {
        let (mut free, mut total) = (0, 0);
        ok(cudaMemGetInfo(&mut free, &mut total));
        assert!(free <= total && total > 0, "{free} of {total}");
    }
}

#[test]
fn managed_memory_is_read_by_the_host() {
    open();
    unsafe {
        let mut memory = ptr::null_mut();
        ok(cudaMallocManaged(&mut memory, 16, 1));
        ok(cudaMemset(memory, 5, 16));
        ok(cudaDeviceSynchronize());
        assert_eq!(memory.cast::<u8>().read(), 5);
        ok(cudaFree(memory));
        let mut memory = ptr::null_mut();
        let invalid = cudaError_t::cudaErrorInvalidValue;
        assert_eq!(cudaMallocManaged(&mut memory, 0, 1), invalid);
        assert_eq!(cudaMallocManaged(&mut memory, 16, 0x80), invalid);
        assert!(memory.is_null());
    }
}

#[test]
fn advice_and_prefetch_are_range_attributes() {
    open();
    unsafe {
        let mut memory = ptr::null_mut();
        ok(cudaMallocManaged(&mut memory, 4096, 1));
        let attribute = |number| {
            let mut value: c_int = -9;
            ok(cudaMemRangeGetAttribute((&raw mut value).cast(), 4, number, memory, 4096));
            value
        };
        assert_eq!(attribute(1), 0);
        ok(cudaMemAdvise(memory, 4096, 1, DEVICE_0));
        assert_eq!(attribute(1), 1);
        ok(v12::cudaMemAdvise(memory, 4096, 2, 0));
        assert_eq!(attribute(1), 0);
        ok(v12::cudaMemAdvise_v2(memory, 4096, 3, HOST));
        assert_eq!(attribute(2), -1);
        ok(cudaMemPrefetchAsync(memory, 4096, DEVICE_0, 0, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(attribute(4), 0);
        ok(v12::cudaMemPrefetchAsync(memory, 4096, -1, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(attribute(4), -1);
        ok(v12::cudaMemPrefetchAsync_v2(memory, 4096, DEVICE_0, 0, NULL));
        let (mut first, mut second): (c_int, c_int) = (0, 0);
        let mut data: [*mut c_void; 2] = [(&raw mut first).cast(), (&raw mut second).cast()];
        ok(cudaMemRangeGetAttributes(data.as_mut_ptr(), [4, 4].as_mut_ptr(), [2, 4].as_mut_ptr(), 2, memory, 4096));
        assert_eq!((first, second), (-1, 0));
        let (wrong, stream) = (cudaMemLocation { kind: 1, id: 99 }, CUstream(0x1234_5678));
        assert_eq!(cudaMemAdvise(memory, 4096, 3, wrong), cudaError_t::cudaErrorInvalidDevice);
        assert_eq!(cudaMemAdvise(memory, 4096, 77, DEVICE_0), cudaError_t::cudaErrorInvalidValue);
        let error = cudaMemPrefetchAsync(memory, 4096, DEVICE_0, 0, stream);
        assert_eq!(error, cudaError_t::cudaErrorInvalidResourceHandle);
        ok(cudaFree(memory));
        assert_eq!(cudaMemPrefetchAsync(memory, 4096, DEVICE_0, 0, NULL), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn allocated_host_memory_has_flags_and_a_device_pointer() {
    open();
    unsafe {
        let (mut memory, mut flags, mut device) = (ptr::null_mut(), 0, ptr::null_mut());
        ok(cudaHostAlloc(&mut memory, 64, 3));
        ok(cudaHostGetFlags(&mut flags, memory));
        assert_eq!(flags & 3, 3);
        ok(cudaHostGetDevicePointer(&mut device, memory, 0));
        ok(cudaMemset(device, 9, 64));
        ok(cudaDeviceSynchronize());
        assert_eq!(memory.cast::<u8>().read(), 9);
        ok(cudaFreeHost(memory));
        let invalid = cudaError_t::cudaErrorInvalidValue;
        assert_eq!(cudaHostAlloc(&mut memory, 64, 0x1000), invalid);
        assert_eq!(cudaHostGetFlags(&mut flags, memory), invalid);
        assert_eq!(cudaHostGetDevicePointer(&mut device, memory, 0), invalid);
        assert_eq!(cudaFreeHost(memory), invalid);
    }
}

#[test]
fn registered_host_memory_is_registered_once() {
    open();
    let mut bytes = vec![0_u8; 8192];
    let memory = bytes.as_mut_ptr().cast::<c_void>();
    unsafe {
        ok(cudaHostRegister(memory, 8192, 0));
        let again = cudaHostRegister(memory, 8192, 0);
        assert_eq!(again, cudaError_t::cudaErrorHostMemoryAlreadyRegistered);
        let mut device = ptr::null_mut();
        ok(cudaHostGetDevicePointer(&mut device, memory, 0));
        assert_eq!(cudaHostUnregister(memory.wrapping_byte_add(80)), cudaError_t::cudaErrorInvalidValue);
        ok(cudaHostUnregister(memory));
        let again = cudaHostUnregister(memory);
        assert_eq!(again, cudaError_t::cudaErrorHostMemoryNotRegistered);
        assert_eq!(cudaGetLastError(), again);
        assert_eq!(cudaHostRegister(memory, 0, 0), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(cudaHostRegister(ptr::null_mut(), 16, 0), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(cudaHostRegister(memory, 8192, 0x1000), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn batches_of_managed_memory_are_prefetched_and_discarded() {
    open();
    unsafe {
        let (mut memory, mut stream) = (ptr::null_mut(), NULL);
        ok(cudaMallocManaged(&mut memory, 4096, 1));
        ok(cudaStreamCreate(&mut stream));
        let (mut ranges, mut sizes, mut place, mut first) = ([memory], [4096], [DEVICE_0], [0]);
        let (ranges, sizes) = (ranges.as_mut_ptr(), sizes.as_mut_ptr());
        let mut found = [HOST];
        ok(cudaMemPrefetchBatchAsync(ranges, sizes, 1, place.as_mut_ptr(), first.as_mut_ptr(), 1, 0, stream));
        ok(cudaMemGetLocationInfo(memory, 4096, 4096, 0, found.as_mut_ptr()));
        assert_eq!(found[0], DEVICE_0);
        ok(cudaMemsetAsync(memory, 7, 4096, stream));
        ok(cudaMemDiscardBatchAsync(ranges, sizes, 1, 0, stream));
        ok(cudaStreamSynchronize(stream));
        assert_ne!(memory.cast::<u8>().read(), 7);
        place = [HOST];
        ok(cudaMemDiscardAndPrefetchBatchAsync(ranges, sizes, 1, place.as_mut_ptr(), first.as_mut_ptr(), 1, 0, stream));
        let invalid = cudaError_t::cudaErrorInvalidValue;
        assert_eq!(cudaMemDiscardBatchAsync(ranges, sizes, 0, 0, stream), invalid);
        assert_eq!(cudaMemDiscardBatchAsync(ranges, sizes, 1, 0, NULL), invalid);
        assert_eq!(cudaMemGetLocationInfo(memory, 4096, 0, 0, found.as_mut_ptr()), invalid);
        assert_eq!(cudaMemGetLocationInfo(memory, 4096, 4096, 0, ptr::null_mut()), invalid);
        ok(cudaStreamDestroy(stream));
        ok(cudaFree(memory));
    }
}
