//! Copies between two devices, without peer access.

use super::driver_fixture::{Fixture, calls, download, upload};
use crate::driver::{
    Allocation,
    copy::{Copy3d, CopyAddress, CopySide, copy_3d_peer, copy_peer},
};
use crate::{Context, Stream};
use cuarray_abi::CUresult;
use cuarray_sim::Config;

fn devices() -> (Fixture, Context, Context) {
    let fixture = Fixture::with(Config { devices: 2, ..Config::default() });
    let of = |ordinal| fixture.driver.device(ordinal).unwrap().primary_context().unwrap();
    let (first, second) = (of(0), of(1));
    (fixture, first, second)
}

#[test]
fn bytes_cross_devices_in_blocking_and_stream_copies() {
    let (fixture, first, second) = devices();
    let (here, there) = (Allocation::device(&first, 64).unwrap(), Allocation::device(&second, 64).unwrap());
    let bytes: Vec<u8> = (0..64).collect();
    upload(&here, &bytes);
    // SAFETY: both have that many bytes.
    unsafe { copy_peer((&second, there.device_ptr()), (&first, here.device_ptr()), 64, None) }.unwrap();
    assert_eq!(download(&there), bytes);
    assert_eq!(calls(&fixture.sim, "cuMemcpyPeer"), 1);

    upload(&here, &[9; 64]);
    let stream = Stream::non_blocking(&second).unwrap();
    // SAFETY: both have that many bytes, and live until the stream is synchronized.
    unsafe { copy_peer((&first, here.device_ptr()), (&second, there.device_ptr()), 32, Some(&stream)) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(download(&here), [&bytes[..32], &[9; 32]].concat());
    // SAFETY: an empty copy accesses nothing.
    unsafe { copy_peer((&first, 0), (&second, 0), 0, None) }.unwrap();
    assert_eq!(calls(&fixture.sim, "cuMemcpyPeer"), 1);
    assert_eq!(fixture.current(), 0);
}

#[test]
fn boxes_cross_devices_in_blocking_and_stream_copies() {
    let (fixture, first, second) = devices();
    let (here, there) = (Allocation::device(&first, 24).unwrap(), Allocation::device(&second, 64).unwrap());
    let bytes: Vec<u8> = (0..24).collect();
    upload(&here, &bytes);
    // Two slices of three rows of two bytes, from rows of four bytes. Slices of 12 bytes become slices of 30 bytes,
    // which is not a whole number of rows of 8, so that each slice is a separate copy.
    let side = |memory: &Allocation, pitch, slice_pitch| CopySide {
        address: CopyAddress::Device(memory.device_ptr()),
        pitch,
        slice_pitch,
    };
    let copy = |slice_pitch| Copy3d {
        src: side(&here, 4, 12),
        dst: side(&there, 8, slice_pitch),
        width: 2,
        height: 3,
        depth: 2,
    };
    let expected = |slice_pitch: usize| {
        let mut expected = vec![0xaa; 64];
        for slice in 0..2 {
            for row in 0..3 {
                let to = slice * slice_pitch + row * 8;
                expected[to..to + 2].copy_from_slice(&bytes[slice * 12 + row * 4..][..2]);
            }
        }
        expected
    };
    upload(&there, &[0xaa; 64]);
    // SAFETY: the boxes lie within both.
    unsafe { copy_3d_peer(&second, &first, &copy(30), None) }.unwrap();
    assert_eq!(download(&there), expected(30));
    assert_eq!(calls(&fixture.sim, "cuMemcpy3DPeer"), 2);

    upload(&there, &[0xaa; 64]);
    let stream = Stream::new(&first).unwrap();
    // SAFETY: the boxes lie within both, which live until the stream is synchronized.
    unsafe { copy_3d_peer(&second, &first, &copy(24), Some(&stream)) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(download(&there), expected(24));
    assert_eq!(calls(&fixture.sim, "cuMemcpy3DPeerAsync"), 1);
    assert_eq!(fixture.current(), 0);
}

#[test]
fn peer_copy_with_swapped_contexts_is_a_driver_error() {
    let (_fixture, first, second) = devices();
    let (here, there) = (Allocation::device(&first, 64).unwrap(), Allocation::device(&second, 64).unwrap());
    // SAFETY: both have that many bytes, and the driver refuses the copy.
    let error = unsafe { copy_peer((&first, there.device_ptr()), (&second, here.device_ptr()), 64, None) }.unwrap_err();
    assert_eq!(error.driver_code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
}
