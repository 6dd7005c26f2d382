use crate::driver::{ok, open};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::{v12, v13::*};
use std::ptr;

#[test]
fn each_library_has_the_version_of_its_major() {
    open();
    unsafe {
        let (mut runtime, mut driver) = (0, 0);
        ok(cudaRuntimeGetVersion(&mut runtime));
        assert_eq!(runtime / 1000, 13);
        ok(v12::cudaRuntimeGetVersion(&mut runtime));
        assert_eq!(runtime / 1000, 12);
        ok(cudaDriverGetVersion(&mut driver));
        assert!(driver >= 13000);
        assert_eq!(cudaDriverGetVersion(ptr::null_mut()), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn entry_points_of_the_driver_are_found_by_name() {
    open();
    unsafe {
        let (mut legacy, mut per_thread, mut status) = (ptr::null_mut(), ptr::null_mut(), 9);
        let name = c"cuMemcpy".as_ptr();
        ok(cudaGetDriverEntryPointByVersion(name, &mut legacy, 12000, 0, &mut status));
        assert_eq!((legacy.is_null(), status), (false, 0));
        ok(cudaGetDriverEntryPoint_ptsz(name, &mut per_thread, 0, &mut status));
        assert_ne!(legacy, per_thread);
        ok(cudaGetDriverEntryPoint(name, &mut per_thread, 0, ptr::null_mut()));
        assert_eq!(legacy, per_thread);
    }
}

#[test]
fn unknown_entry_point_is_no_error() {
    open();
    unsafe {
        let (mut function, mut status) = (ptr::dangling_mut(), 9);
        ok(cudaGetDriverEntryPoint(c"cuNothing".as_ptr(), &mut function, 0, &mut status));
        assert_eq!((function.is_null(), status), (true, 1));
        assert_eq!(
            cudaGetDriverEntryPoint(ptr::null(), &mut function, 0, &mut status),
            cudaError_t::cudaErrorInvalidValue
        );
    }
}
