use crate::driver::{ok, open};
use cuarray_abi::CUasyncCallbackHandle;
use cuarray_cudart::cudaError_t;
use cuarray_cudart::v13::*;
use std::ffi::c_void;
use std::ptr;

#[test]
fn device_of_a_thread_is_its_own() {
    open();
    unsafe {
        let (mut count, mut device) = (0, -1);
        ok(cudaGetDeviceCount(&mut count));
        assert_eq!(count, 2);
        ok(cudaSetDevice(1));
        ok(cudaGetDevice(&mut device));
        assert_eq!(device, 1);
        let other = std::thread::spawn(|| {
            let mut device = -1;
            ok(cudaGetDevice(&mut device));
            device
        });
        assert_eq!(other.join().unwrap(), 0);
    }
}

#[test]
fn null_output_is_an_invalid_value() {
    open();
    unsafe {
        assert_eq!(cudaGetDeviceCount(ptr::null_mut()), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(cudaGetDevice(ptr::null_mut()), cudaError_t::cudaErrorInvalidValue);
    }
}

/// Reads an integer of a structure of properties.
fn word(prop: &[u8], offset: usize) -> i32 {
    i32::from_ne_bytes(prop[offset..offset + 4].try_into().unwrap())
}

#[test]
fn properties_have_the_layout_of_each_major() {
    open();
    let attribute = |attribute| {
        let mut value = 0;
        unsafe { ok(cudaDeviceGetAttribute(&mut value, attribute, 1)) };
        value
    };
    // A guard behind each structure shows that no byte is written there.
    let mut prop = [0xaa_u8; 1100];
    unsafe { ok(cudaGetDeviceProperties(prop.as_mut_ptr().cast(), 1)) };
    assert!(prop.starts_with(b"CUDA") || prop[0].is_ascii_graphic());
    assert_eq!((word(&prop, 308), word(&prop, 360), word(&prop, 364)), (32, attribute(75), attribute(76)));
    assert_eq!((word(&prop, 1008 - 57 * 4), prop[1007], prop[1008]), (attribute(143), 0, 0xaa));

    let mut prop = [0xaa_u8; 1100];
    unsafe { ok(cuarray_cudart::v12::cudaGetDeviceProperties_v2(prop.as_mut_ptr().cast(), 1)) };
    assert_eq!((word(&prop, 720), prop[1031], prop[1032]), (attribute(111), 0, 0xaa));

    let mut prop = [0xaa_u8; 1100];
    unsafe { ok(cuarray_cudart::v12::cudaGetDeviceProperties(prop.as_mut_ptr().cast(), 1)) };
    assert_eq!((word(&prop, 720), prop[728]), (attribute(111), 0xaa));

    unsafe {
        assert_eq!(cudaGetDeviceProperties(prop.as_mut_ptr().cast(), 9), cudaError_t::cudaErrorInvalidDevice);
        assert_eq!(cudaGetDeviceProperties(ptr::null_mut(), 0), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn chosen_device_satisfies_the_wanted_properties() {
    open();
    let (mut prop, mut device) = ([0_u8; 1008], 9);
    unsafe {
        ok(cudaChooseDevice(&mut device, prop.as_ptr().cast()));
        assert_eq!(device, 0);
        ok(cudaGetDeviceProperties(prop.as_mut_ptr().cast(), 1));
        ok(cudaChooseDevice(&mut device, prop.as_ptr().cast()));
        // The second device has a greater PCI bus or device number.
        assert_eq!(device, 1);
    }
}

#[test]
fn limits_and_names_of_a_device_are_the_driver_s() {
    open();
    unsafe {
        let (mut limit, mut device, mut name) = (0, 9, [0; 32]);
        ok(cudaDeviceSetLimit(1, 1 << 20));
        ok(cudaDeviceGetLimit(&mut limit, 1));
        assert_eq!(limit, 1 << 20);
        ok(cudaDeviceGetPCIBusId(name.as_mut_ptr(), 32, 1));
        ok(cudaDeviceGetByPCIBusId(&mut device, name.as_ptr()));
        assert_eq!(device, 1);
        assert_eq!(cudaDeviceGetLimit(ptr::null_mut(), 1), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn peers_are_enabled_once() {
    open();
    std::thread::spawn(|| unsafe {
        let mut can = 0;
        ok(cudaDeviceCanAccessPeer(&mut can, 0, 1));
        assert_eq!(can, 1);
        ok(cudaDeviceEnablePeerAccess(1, 0));
        assert_eq!(cudaDeviceEnablePeerAccess(1, 0), cudaError_t::cudaErrorPeerAccessAlreadyEnabled);
        ok(cudaDeviceDisablePeerAccess(1));
        assert_eq!(cudaDeviceDisablePeerAccess(1), cudaError_t::cudaErrorPeerAccessNotEnabled);
    })
    .join()
    .unwrap();
}

#[test]
fn atomic_capabilities_are_those_of_the_driver() {
    open();
    let (operations, mut found, invalid) = ([0, 1], [9_u32; 2], cudaError_t::cudaErrorInvalidValue);
    unsafe {
        ok(cudaDeviceGetHostAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 2, 0));
        assert!(!found.contains(&9));
        assert_eq!(cudaDeviceGetHostAtomicCapabilities(ptr::null_mut(), operations.as_ptr(), 2, 0), invalid);
        assert_eq!(cudaDeviceGetHostAtomicCapabilities(found.as_mut_ptr(), ptr::null(), 2, 0), invalid);
        let wrong = cudaDeviceGetHostAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 2, 99);
        assert_eq!(wrong, cudaError_t::cudaErrorInvalidDevice);
        found = [9; 2];
        ok(cudaDeviceGetP2PAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 2, 0, 1));
        assert!(!found.contains(&9));
        assert_eq!(cudaDeviceGetP2PAtomicCapabilities(ptr::null_mut(), operations.as_ptr(), 2, 0, 1), invalid);
        let same = cudaDeviceGetP2PAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 2, 0, 0);
        assert_eq!(same, cudaError_t::cudaErrorInvalidDevice);
    }
}

#[test]
fn receiver_of_a_device_s_notifications_is_unregistered_by_its_handle() {
    unsafe extern "C" fn notified(_: *mut c_void, _: *mut c_void, _: CUasyncCallbackHandle) {}
    open();
    let (mut handle, none) = (CUasyncCallbackHandle::NULL, ptr::null_mut());
    let invalid = cudaError_t::cudaErrorInvalidValue;
    unsafe {
        ok(cudaDeviceRegisterAsyncNotification(1, Some(notified), none, &mut handle));
        assert_eq!(cudaDeviceUnregisterAsyncNotification(0, handle), invalid);
        ok(cudaDeviceUnregisterAsyncNotification(1, handle));
        assert_eq!(cudaDeviceUnregisterAsyncNotification(1, handle), invalid);
        assert_eq!(cudaDeviceRegisterAsyncNotification(1, None, none, &mut handle), invalid);
        assert_eq!(cudaDeviceRegisterAsyncNotification(1, Some(notified), none, ptr::null_mut()), invalid);
        let wrong = cudaDeviceRegisterAsyncNotification(99, Some(notified), none, &mut handle);
        assert_eq!(wrong, cudaError_t::cudaErrorInvalidDevice);
    }
}

#[test]
fn flush_of_remote_writes_checks_its_target_and_scope() {
    open();
    unsafe {
        ok(cudaDeviceFlushGPUDirectRDMAWrites(0, 100));
        ok(cudaDeviceFlushGPUDirectRDMAWrites(0, 200));
        assert_eq!(cudaDeviceFlushGPUDirectRDMAWrites(1, 100), cudaError_t::cudaErrorInvalidValue);
        assert_eq!(cudaDeviceFlushGPUDirectRDMAWrites(0, 150), cudaError_t::cudaErrorInvalidValue);
    }
}
