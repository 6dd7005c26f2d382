use crate::driver::{ok, open};
use cuarray_abi::{CUmemoryPool, CUstream};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ffi::c_void;
use std::ptr;

const NULL: cudaStream_t = cudaStream_t::NULL;

/// The properties of a pool of pinned memory of device 0.
const PROPERTIES: cudaMemPoolProps = cudaMemPoolProps {
    allocType: 1,
    handleTypes: 0,
    location: cudaMemLocation { kind: 1, id: 0 },
    win32SecurityAttributes: ptr::null_mut(),
    maxSize: 0,
    usage: 0,
    reserved: [0; 54],
};

/// `cudaMemHandleTypePosixFileDescriptor`.
const FILE: cudaMemAllocationHandleType = 1;

fn create() -> cudaMemPool_t {
    let mut pool = cudaMemPool_t::NULL;
    unsafe { ok(cudaMemPoolCreate(&mut pool, &PROPERTIES)) };
    pool
}

#[test]
fn memory_is_allocated_and_freed_in_stream_order() {
    open();
    unsafe {
        let (mut stream, mut memory, mut byte) = (NULL, ptr::null_mut(), 0_u8);
        ok(cudaStreamCreate(&mut stream));
        ok(cudaMallocAsync(&mut memory, 64, stream));
        ok(cudaMemsetAsync(memory, 7, 64, stream));
        ok(cudaMemcpyAsync((&raw mut byte).cast(), memory, 1, 2, stream));
        ok(cudaFreeAsync(memory, stream));
        ok(cudaStreamSynchronize(stream));
        assert_eq!(byte, 7);
        ok(cudaMallocAsync_ptsz(&mut memory, 64, NULL));
        ok(cudaFreeAsync_ptsz(memory, NULL));
        ok(cudaStreamDestroy(stream));
    }
}

#[test]
fn empty_allocation_is_null_and_null_is_freed() {
    open();
    unsafe {
        let mut memory = ptr::dangling_mut();
        ok(cudaMallocAsync(&mut memory, 0, NULL));
        assert!(memory.is_null());
        ok(cudaFreeAsync(memory, NULL));
        let (pool, mut memory) = (create(), ptr::dangling_mut());
        ok(cudaMallocFromPoolAsync(&mut memory, 0, pool, NULL));
        assert!(memory.is_null());
        ok(cudaMemPoolDestroy(pool));
        assert_eq!(cudaMallocFromPoolAsync(&mut memory, 0, pool, NULL), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn current_pool_of_a_device_is_the_one_that_was_set() {
    open();
    unsafe {
        let (mut default, mut current, pool) = (cudaMemPool_t::NULL, cudaMemPool_t::NULL, create());
        // No other test uses the pools of device 1.
        ok(cudaDeviceGetDefaultMemPool(&mut default, 1));
        ok(cudaDeviceGetMemPool(&mut current, 1));
        assert_eq!(current, default);
        assert_eq!(cudaDeviceSetMemPool(1, pool), cudaError_t::cudaErrorInvalidValue, "a pool of device 0");
        ok(cudaDeviceSetMemPool(1, default));
        let mut near = cudaMemPool_t::NULL;
        ok(cudaDeviceGetMemPool(&mut near, 0));
        assert_ne!(near, default);
        assert_eq!(cudaDeviceGetMemPool(&mut current, 9), cudaError_t::cudaErrorInvalidDevice);
        assert_eq!(cudaDeviceGetDefaultMemPool(&mut current, -1), cudaError_t::cudaErrorInvalidDevice);
        ok(cudaMemPoolDestroy(pool));
    }
}

#[test]
fn pool_counts_its_memory_and_keeps_its_attributes() {
    open();
    unsafe {
        let pool = create();
        let attribute = |number| {
            let mut value = 0_u64;
            ok(cudaMemPoolGetAttribute(pool, number, (&raw mut value).cast()));
            value
        };
        let mut threshold = 1_u64 << 20;
        ok(cudaMemPoolSetAttribute(pool, 4, (&raw mut threshold).cast()));
        assert_eq!(attribute(4), 1 << 20);
        let mut memory = ptr::null_mut();
        ok(cudaMallocFromPoolAsync(&mut memory, 4096, pool, NULL));
        assert!(attribute(7) >= 4096);
        ok(cudaFreeAsync(memory, NULL));
        ok(cudaDeviceSynchronize());
        assert_eq!(attribute(7), 0);
        ok(cudaMemPoolTrimTo(pool, 0));
        assert_eq!(attribute(5), 0);
        let unknown = cudaMemPoolGetAttribute(pool, 77, (&raw mut threshold).cast());
        assert_eq!(unknown, cudaError_t::cudaErrorInvalidValue);
        assert_eq!(cudaGetLastError(), unknown);
        ok(cudaMemPoolDestroy(pool));
    }
}

#[test]
fn pool_is_accessible_to_its_own_device() {
    open();
    unsafe {
        let pool = create();
        let (mut flags, mut here) = (0, PROPERTIES.location);
        ok(cudaMemPoolGetAccess(&mut flags, pool, &mut here));
        assert_eq!(flags, 3);
        let mut there = cudaMemLocation { kind: 1, id: 1 };
        ok(cudaMemPoolGetAccess(&mut flags, pool, &mut there));
        assert_eq!(flags, 0);
        let access = cudaMemAccessDesc { location: there, flags: 3 };
        ok(cudaMemPoolSetAccess(pool, &access, 1));
        ok(cudaMemPoolGetAccess(&mut flags, pool, &mut there));
        assert_eq!(flags, 3);
        ok(cudaMemPoolDestroy(pool));
    }
}

#[test]
fn null_pointers_are_invalid_values() {
    open();
    let (invalid, pool) = (cudaError_t::cudaErrorInvalidValue, create());
    unsafe {
        assert_eq!(cudaMallocAsync(ptr::null_mut(), 16, NULL), invalid);
        assert_eq!(cudaMallocFromPoolAsync(ptr::null_mut(), 16, pool, NULL), invalid);
        assert_eq!(cudaMemPoolCreate(ptr::null_mut(), &PROPERTIES), invalid);
        assert_eq!(cudaMemPoolCreate(&mut { cudaMemPool_t::NULL }, ptr::null()), invalid);
        assert_eq!(cudaMemPoolGetAttribute(pool, 4, ptr::null_mut()), invalid);
        assert_eq!(cudaMemPoolSetAttribute(pool, 4, ptr::null_mut()), invalid);
        assert_eq!(cudaMemPoolGetAccess(ptr::null_mut(), pool, &mut { PROPERTIES.location }), invalid);
        assert_eq!(cudaMemPoolGetAccess(&mut 0, pool, ptr::null_mut()), invalid);
        assert_eq!(cudaMemPoolSetAccess(pool, ptr::null(), 1), invalid);
        assert_eq!(cudaDeviceGetDefaultMemPool(ptr::null_mut(), 0), invalid);
        assert_eq!(cudaDeviceGetMemPool(ptr::null_mut(), 0), invalid);
        assert_eq!(cudaGetLastError(), invalid);
        ok(cudaMemPoolDestroy(pool));
    }
}

#[test]
fn wrong_handles_and_addresses_are_refused() {
    open();
    let (invalid, wrong, stream) = (cudaError_t::cudaErrorInvalidValue, CUmemoryPool(0x1230), CUstream(0x1234_5678));
    let (mut memory, mut value): (*mut c_void, u64) = (ptr::null_mut(), 0);
    unsafe {
        assert_eq!(cudaMallocFromPoolAsync(&mut memory, 16, wrong, NULL), invalid);
        assert_eq!(cudaMemPoolDestroy(wrong), invalid);
        assert_eq!(cudaMemPoolTrimTo(wrong, 0), invalid);
        assert_eq!(cudaMemPoolGetAttribute(wrong, 4, (&raw mut value).cast()), invalid);
        assert_eq!(cudaDeviceSetMemPool(0, wrong), invalid);
        assert_eq!(cudaMallocAsync(&mut memory, 16, stream), cudaError_t::cudaErrorInvalidResourceHandle);
        assert!(memory.is_null());
        assert_eq!(cudaFreeAsync(ptr::without_provenance_mut(0x40), NULL), invalid);
    }
}

#[test]
fn allocation_of_an_exported_pool_is_imported() {
    open();
    let (mut pool, mut imported, mut file) = (cudaMemPool_t::NULL, cudaMemPool_t::NULL, -1_i32);
    let mut data = cudaMemPoolPtrExportData { reserved: [0; 64] };
    let (mut memory, mut there, mut byte) = (ptr::null_mut(), ptr::null_mut(), 0_u8);
    unsafe {
        ok(cudaMemPoolCreate(&mut pool, &cudaMemPoolProps { handleTypes: FILE, ..PROPERTIES }));
        ok(cudaMallocFromPoolAsync(&mut memory, 16, pool, NULL));
        ok(cudaMemsetAsync(memory, 7, 16, NULL));
        ok(cudaDeviceSynchronize());
        ok(cudaMemPoolExportToShareableHandle((&raw mut file).cast(), pool, FILE, 0));
        ok(cudaMemPoolExportPointer(&mut data, memory));
        ok(cudaMemPoolImportFromShareableHandle(&mut imported, ptr::without_provenance_mut(file as usize), FILE, 0));
        assert_eq!(libc::close(file), 0);
        assert_ne!(imported, pool);
        ok(cudaMemPoolImportPointer(&mut there, imported, &mut data));
        ok(cudaMemcpy((&raw mut byte).cast(), there, 1, 2));
        assert_eq!(byte, 7);
        ok(cudaFree(there));
        ok(cudaMemPoolDestroy(imported));
        ok(cudaFree(memory));
        ok(cudaMemPoolDestroy(pool));
    }
}

#[test]
fn wrong_exports_and_imports_of_pools_are_refused() {
    open();
    // The pool was not created for export.
    let (pool, invalid) = (create(), cudaError_t::cudaErrorInvalidValue);
    let (mut handle, mut other, mut memory) = (0_i32, cudaMemPool_t::NULL, ptr::null_mut());
    let (file, mut data) = ((&raw mut handle).cast::<c_void>(), cudaMemPoolPtrExportData { reserved: [0; 64] });
    unsafe {
        assert_eq!(cudaMemPoolExportToShareableHandle(file, pool, FILE, 0), invalid);
        assert_eq!(cudaMemPoolImportFromShareableHandle(&mut other, ptr::null_mut(), FILE, 1), invalid);
        assert_eq!(cudaMemPoolExportPointer(&mut data, file), invalid);
        assert_eq!(cudaMemPoolImportPointer(&mut memory, pool, &mut data), invalid);
        assert_eq!(cudaGetLastError(), invalid);
        assert_eq!(cudaMemPoolExportToShareableHandle(ptr::null_mut(), pool, FILE, 0), invalid);
        assert_eq!(cudaMemPoolImportFromShareableHandle(ptr::null_mut(), file, FILE, 0), invalid);
        assert_eq!(cudaMemPoolExportPointer(ptr::null_mut(), file), invalid);
        assert_eq!(cudaMemPoolImportPointer(ptr::null_mut(), pool, &mut data), invalid);
        assert_eq!(cudaMemPoolImportPointer(&mut memory, pool, ptr::null_mut()), invalid);
        ok(cudaMemPoolDestroy(pool));
    }
}

#[test]
fn pools_of_host_memory_are_found_by_location() {
    open();
    let (mut default, mut current) = (cudaMemPool_t::NULL, cudaMemPool_t::NULL);
    let (mut host, pinned, invalid) = (cudaMemLocation { kind: 2, id: 0 }, 1, cudaError_t::cudaErrorInvalidValue);
    unsafe {
        ok(cudaMemGetDefaultMemPool(&mut default, &mut host, pinned));
        ok(cudaMemSetMemPool(&mut host, pinned, default));
        ok(cudaMemGetMemPool(&mut current, &mut host, pinned));
        assert_eq!(current, default);
        let (mut own, mut memory) = (cudaMemPool_t::NULL, ptr::null_mut());
        ok(cudaMemPoolCreate(&mut own, &cudaMemPoolProps { location: host, ..PROPERTIES }));
        ok(cudaMallocFromPoolAsync(&mut memory, 64, own, NULL));
        ok(cudaMemsetAsync(memory, 7, 64, NULL));
        ok(cudaStreamSynchronize(NULL));
        assert_eq!(memory.cast::<u8>().read(), 7);
        ok(cudaFreeAsync(memory, NULL));
        ok(cudaMemPoolDestroy(own));
        assert_eq!(cudaMemGetMemPool(&mut current, &mut host, 9), invalid);
        assert_eq!(cudaMemGetMemPool(ptr::null_mut(), &mut host, pinned), invalid);
        assert_eq!(cudaMemGetDefaultMemPool(&mut current, ptr::null_mut(), pinned), invalid);
        assert_eq!(cudaMemSetMemPool(ptr::null_mut(), pinned, default), invalid);
    }
}
