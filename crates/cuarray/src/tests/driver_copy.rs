//! Copies and fills: the bytes arrive in stream order and no earlier, and the thread's current context is unchanged.

use super::driver_fixture::{Fixture, calls, download, upload};
use crate::driver::{
    Allocation, PooledEvent,
    copy::{Copy3d, CopyAddress, CopySide, copy_3d, copy_device_to_device, copy_device_to_host, copy_host_to_device},
    fill::fill_bytes,
};
use crate::{Context, Stream};
use cuarray_abi::CUresult;

fn counting(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 7 + index / 256) as u8).collect()
}

#[test]
fn blocking_copies_transfer_all_bytes() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let (first, second) = (Allocation::device(&context, 1000).unwrap(), Allocation::device(&context, 1000).unwrap());
    let bytes = counting(1000);
    upload(&first, &bytes);
    // SAFETY: both have that many bytes.
    unsafe { copy_device_to_device(&context, second.device_ptr(), first.device_ptr(), 1000, None) }.unwrap();
    assert_eq!(download(&second), bytes);
    assert_eq!(fixture.current(), 0);
}

#[test]
fn copies_in_every_kind_of_stream_transfer_all_bytes() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let owned = Stream::new(&context).unwrap();
    // SAFETY: `owned` outlives the external stream; the default streams always exist.
    let external = |handle| unsafe { Stream::from_raw(&fixture.driver, handle, None) };
    let streams = [
        owned.clone(),
        Stream::non_blocking(&context).unwrap(),
        Stream::legacy_default(&context),
        Stream::per_thread_default(&context),
        external(owned.handle()),
        external(0),
        external(1),
        external(2),
    ];
    for stream in &streams {
        let (first, second) = (Allocation::device(&context, 300).unwrap(), Allocation::device(&context, 300).unwrap());
        let pinned = Allocation::pinned(&context, 300).unwrap();
        let bytes = counting(300);
        let mut back = vec![0; 300];
        // SAFETY: all have that many bytes and live until the stream is synchronized; the host can access the pinned
        // memory too.
        unsafe {
            pinned.host_ptr().unwrap().copy_from(bytes.as_ptr(), 300);
            copy_host_to_device(&context, first.device_ptr(), pinned.host_ptr().unwrap(), 300, Some(stream)).unwrap();
            copy_device_to_device(&context, second.device_ptr(), first.device_ptr(), 300, Some(stream)).unwrap();
            copy_device_to_host(&context, back.as_mut_ptr(), second.device_ptr(), 300, Some(stream)).unwrap();
        }
        assert_eq!(fixture.current(), 0, "{stream:?} left a context current");
        stream.synchronize().unwrap();
        assert_eq!(back, bytes, "{stream:?}");
    }
}

#[test]
fn empty_copies_need_no_addresses_and_make_no_call() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let empty = Copy3d {
        src: CopySide { address: CopyAddress::Host(std::ptr::null_mut()), pitch: 0, slice_pitch: 0 },
        dst: CopySide { address: CopyAddress::Device(0), pitch: 0, slice_pitch: 0 },
        width: 4,
        height: 0,
        depth: 4,
    };
    // SAFETY: nothing is read or written.
    unsafe {
        copy_host_to_device(&context, 0, std::ptr::null(), 0, None).unwrap();
        copy_device_to_host(&context, std::ptr::null_mut(), 0, 0, None).unwrap();
        copy_device_to_device(&context, 0, 0, 0, None).unwrap();
        fill_bytes(&context, 0, &[1, 2], 0, None).unwrap();
        fill_bytes(&context, 0, &[], 7, None).unwrap();
        copy_3d(&context, &empty, None).unwrap();
    }
    for symbol in
        ["cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemsetD8_v2", "cuMemsetD16_v2", "cuMemcpy3D_v2"]
    {
        assert_eq!(calls(&fixture.sim, symbol), 0, "{symbol}");
    }
}

#[test]
fn copy_from_an_unknown_address_is_a_driver_error() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let mut bytes = [0u8; 8];
    // SAFETY: the driver does not know this address and refuses it.
    let error = unsafe { copy_device_to_host(&context, bytes.as_mut_ptr(), 0x10, 8, None) }.unwrap_err();
    assert_eq!(error.driver_call(), Some("cuMemcpyDtoH"));
    assert!(error.to_string().contains("CUDA_ERROR_"), "{error}");
    assert_eq!(fixture.current(), 0);
}

#[test]
fn consumer_stream_waits_for_the_event_of_the_producer() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let (producer, consumer) = (Stream::non_blocking(&context).unwrap(), Stream::non_blocking(&context).unwrap());
    let memory = Allocation::device(&context, 64).unwrap();
    let mut back = [0u8; 64];
    // SAFETY: everything lives until the consumer, which is ordered after the producer, is synchronized.
    unsafe {
        fill_bytes(&context, memory.device_ptr(), &[1], 64, Some(&producer)).unwrap();
        producer.synchronize().unwrap();
        fill_bytes(&context, memory.device_ptr(), &[2], 64, Some(&producer)).unwrap();
        let event: PooledEvent = context.event_pool().take().unwrap();
        event.record(&producer).unwrap();
        consumer.wait(&event).unwrap();
        drop(event);
        copy_device_to_host(&context, back.as_mut_ptr(), memory.device_ptr(), 64, Some(&consumer)).unwrap();
    }
    assert!(!consumer.is_done().unwrap() || back == [2; 64], "work completes in order");
    consumer.synchronize().unwrap();
    assert_eq!(back, [2; 64]);
    assert!(producer.is_done().unwrap());
}

#[test]
fn fills_use_the_call_of_the_element_size() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    for on in [None, Some(&stream)] {
        let elements: [(&[u8], &str, &str); 6] = [
            (&[9], "cuMemsetD8_v2", "cuMemsetD8Async"),
            (&[1, 2], "cuMemsetD16_v2", "cuMemsetD16Async"),
            (&[1, 2, 3, 4], "cuMemsetD32_v2", "cuMemsetD32Async"),
            (&[7, 7], "cuMemsetD8_v2", "cuMemsetD8Async"),
            (&[0; 8], "cuMemsetD8_v2", "cuMemsetD8Async"),
            (&[0; 16], "cuMemsetD8_v2", "cuMemsetD8Async"),
        ];
        for (element, blocking, queued) in elements {
            let memory = Allocation::device(&context, 50 * element.len()).unwrap();
            upload(&memory, &vec![0xcc; memory.len()]);
            let symbol = if on.is_some() { queued } else { blocking };
            let before = calls(&fixture.sim, symbol);
            // SAFETY: the memory has that many elements and lives until the stream is synchronized.
            unsafe { fill_bytes(&context, memory.device_ptr(), element, 49, on) }.unwrap();
            assert_eq!(calls(&fixture.sim, symbol), before + 1, "{symbol}");
            stream.synchronize().unwrap();
            let bytes = download(&memory);
            let (filled, rest) = bytes.split_at(49 * element.len());
            assert!(filled.chunks(element.len()).all(|chunk| chunk == element), "{element:?}");
            assert!(rest.iter().all(|byte| *byte == 0xcc), "{element:?} was filled too far");
        }
    }
    let memory = Allocation::device(&context, 64).unwrap();
    // SAFETY: refused before anything is written.
    let error = unsafe { fill_bytes(&context, memory.device_ptr(), &[1, 2, 3], 4, None) }.unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("3 bytes, unless all are equal"), "{error}");
    // SAFETY: refused before anything is written.
    let error = unsafe { fill_bytes(&context, memory.device_ptr(), &[1, 2], usize::MAX, None) }.unwrap_err();
    assert!(error.driver_code().is_none(), "{error}");
    // SAFETY: the driver refuses an address that is not aligned.
    let error = unsafe { fill_bytes(&context, memory.device_ptr() + 1, &[1, 2], 4, None) }.unwrap_err();
    assert_eq!(
        (error.driver_call(), error.driver_code()),
        (Some("cuMemsetD16"), Some(CUresult::CUDA_ERROR_INVALID_VALUE))
    );
}

/// Compares copies of a box between host and device, with different pitches on each side, with a plain loop.
fn check_box(
    context: &Context,
    stream: Option<&Stream>,
    [depth, height, width]: [usize; 3],
    src: [usize; 2],
    dst: [usize; 2],
) {
    let extent = |[pitch, slice_pitch]: [usize; 2]| (depth - 1) * slice_pitch + (height - 1) * pitch + width;
    let from = counting(extent(src));
    let mut expected = vec![0xee; extent(dst)];
    for slice in 0..depth {
        for row in 0..height {
            let (to, at) = (slice * dst[1] + row * dst[0], slice * src[1] + row * src[0]);
            expected[to..to + width].copy_from_slice(&from[at..at + width]);
        }
    }
    let side = |address, [pitch, slice_pitch]: [usize; 2]| CopySide { address, pitch, slice_pitch };
    let case = format!("{depth}x{height}x{width} from {src:?} to {dst:?}");

    let (near, far) =
        (Allocation::device(context, extent(src)).unwrap(), Allocation::device(context, extent(dst)).unwrap());
    let device = |memory: &Allocation| CopyAddress::Device(memory.device_ptr());
    let wait = || stream.map_or_else(|| context.synchronize(), Stream::synchronize).unwrap();

    // Host to device.
    upload(&far, &vec![0xee; far.len()]);
    let copy = Copy3d {
        src: side(CopyAddress::Host(from.as_ptr().cast_mut()), src),
        dst: side(device(&far), dst),
        width,
        height,
        depth,
    };
    // SAFETY: both sides contain every row of the box, and live until it is waited for.
    unsafe { copy_3d(context, &copy, stream) }.unwrap();
    wait();
    assert_eq!(download(&far), expected, "host to device, {case}");

    // Device to device.
    upload(&near, &from);
    upload(&far, &vec![0xee; far.len()]);
    // SAFETY: both sides contain every row of the box, and live until it is waited for.
    unsafe { copy_3d(context, &Copy3d { src: side(device(&near), src), ..copy }, stream) }.unwrap();
    wait();
    assert_eq!(download(&far), expected, "device to device, {case}");

    // Device to host.
    let mut back = vec![0xee; extent(dst)];
    let host = side(CopyAddress::Host(back.as_mut_ptr()), dst);
    // SAFETY: both sides contain every row of the box, and live until it is waited for.
    unsafe { copy_3d(context, &Copy3d { src: side(device(&near), src), dst: host, ..copy }, stream) }.unwrap();
    wait();
    assert_eq!(back, expected, "device to host, {case}");
}

#[test]
fn box_copies_of_any_pitch_match_a_plain_loop() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    for on in [None, Some(&stream)] {
        check_box(&context, on, [1, 1, 10], [10, 10], [10, 10]);
        check_box(&context, on, [1, 4, 10], [16, 64], [10, 40]);
        check_box(&context, on, [3, 4, 10], [16, 64], [10, 40]);
        check_box(&context, on, [3, 4, 10], [16, 80], [12, 96]);
        check_box(&context, on, [3, 4, 10], [16, 67], [10, 40]); // slices that are not a whole number of rows apart
        check_box(&context, on, [3, 4, 10], [10, 40], [13, 50]);
        check_box(&context, on, [2, 3, 5], [7, 19], [5, 17]);
        check_box(&context, on, [3, 1, 4], [4, 9], [4, 4]);
        check_box(&context, on, [2, 3, 10], [16, 42], [16, 48]); // slices closer than whole rows, without overlap
        assert_eq!(fixture.current(), 0);
    }
}

#[test]
fn box_with_overlapping_rows_is_refused() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 4096).unwrap();
    let mut host = vec![0u8; 4096];
    let good = Copy3d {
        src: CopySide { address: CopyAddress::Host(host.as_mut_ptr()), pitch: 16, slice_pitch: 64 },
        dst: CopySide { address: CopyAddress::Device(memory.device_ptr()), pitch: 16, slice_pitch: 64 },
        width: 10,
        height: 4,
        depth: 4,
    };
    let bad = [
        Copy3d { src: CopySide { pitch: 9, ..good.src }, ..good },
        Copy3d { dst: CopySide { slice_pitch: 57, ..good.dst }, ..good },
        Copy3d { dst: CopySide { slice_pitch: usize::MAX / 2, ..good.dst }, ..good },
        Copy3d { src: CopySide { address: CopyAddress::Device(u64::MAX - 100), ..good.src }, ..good },
        Copy3d { height: usize::MAX, ..good },
    ];
    for copy in bad {
        // SAFETY: refused before anything is read or written.
        let error = unsafe { copy_3d(&context, &copy, None) }.unwrap_err();
        assert!(error.is_unsupported(), "{copy:?}: {error}");
    }
    assert_eq!(calls(&fixture.sim, "cuMemcpy3D_v2"), 0);
    // SAFETY: both sides contain every row of the box.
    unsafe { copy_3d(&context, &good, None) }.unwrap();
    assert_eq!(calls(&fixture.sim, "cuMemcpy3D_v2"), 1);
}
