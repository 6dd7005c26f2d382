//! Each object of the module `driver` from creation to drop: nothing leaks, and the thread's current context is unchanged.

use super::driver_fixture::{Alive, Fixture, calls};
use crate::driver::{Allocation, CaptureStatus, MemoryKind, PointerAttributes};
use crate::{Context, DeviceArray, Driver, Event, Ix1, Owner, RawView, Stream, StreamEntry, s, sync::Access};
use cuarray_abi::CUresult;
use cuarray_sim::Config;
use std::sync::Arc;

#[test]
fn driver_reports_its_version_and_devices() {
    let fixture = Fixture::with(Config { devices: 3, driver_version: 12040, ..Config::default() });
    let driver = &fixture.driver;
    assert_eq!(driver.version().unwrap(), 12040);
    assert_eq!(driver.device_count().unwrap(), 3);
    let devices = driver.devices().unwrap();
    assert_eq!(devices.iter().map(|device| device.ordinal()).collect::<Vec<_>>(), [0, 1, 2]);
    for device in &devices {
        assert!(!device.name().unwrap().is_empty());
        assert_eq!(device.total_memory().unwrap() as u64, Config::default().memory);
        assert_eq!(device.compute_capability().unwrap(), (9, 0));
        assert_eq!(device.attribute(75).unwrap(), 9);
    }
    assert_ne!(devices[0].uuid().unwrap(), devices[1].uuid().unwrap());
    assert_eq!(devices[0].uuid().unwrap(), driver.device(0).unwrap().uuid().unwrap());
    assert_eq!(devices[0].driver(), driver);
    let error = driver.device(3).unwrap_err();
    assert_eq!(
        (error.driver_call(), error.driver_code()),
        (Some("cuDeviceGet"), Some(CUresult::CUDA_ERROR_INVALID_DEVICE))
    );
    assert_eq!(fixture.alive(), Alive::NOTHING, "device queries create no context");
}

#[test]
fn primary_context_is_retained_once_and_released_with_its_last_clone() {
    let fixture = Fixture::new();
    let device = fixture.driver.device(0).unwrap();
    let first = device.primary_context().unwrap();
    let second = device.primary_context().unwrap();
    let clone = first.clone();
    assert!(first == second && first == clone);
    assert_eq!(calls(&fixture.sim, "cuDevicePrimaryCtxRetain"), 1);
    assert_eq!(first.device().unwrap(), device);
    assert_eq!(first.driver(), &fixture.driver);
    drop((first, second));
    assert_eq!(fixture.alive().primaries, 1);
    drop(clone);
    assert_eq!(fixture.alive(), Alive::NOTHING);
    let again = device.primary_context().unwrap();
    assert_eq!(calls(&fixture.sim, "cuDevicePrimaryCtxRetain"), 2);
    drop(again);
    assert_eq!(fixture.alive(), Alive::NOTHING);
    assert_eq!(fixture.current(), 0);
}

#[test]
fn each_device_has_its_own_primary_context() {
    let fixture = Fixture::with(Config { devices: 2, ..Config::default() });
    let contexts: Vec<Context> =
        fixture.driver.devices().unwrap().iter().map(|device| device.primary_context().unwrap()).collect();
    assert_ne!(contexts[0], contexts[1]);
    assert_eq!(contexts[1].device().unwrap().ordinal(), 1);
    assert_eq!(fixture.alive().primaries, 2);
    drop(contexts);
    assert_eq!(fixture.alive(), Alive::NOTHING);
}

#[test]
fn default_context_is_the_current_one_or_that_of_device_0() {
    let fixture = Fixture::with(Config { devices: 2, ..Config::default() });
    let driver = &fixture.driver;
    assert!(driver.current_context().unwrap().is_none());

    let second = driver.device(1).unwrap().primary_context().unwrap();
    {
        let _current = second.push().unwrap();
        assert_eq!(driver.current_context().unwrap().unwrap(), second);
        assert_eq!(driver.default_context().unwrap(), second);
    }
    assert_eq!(fixture.current(), 0);
    drop(second);

    let default = driver.default_context().unwrap();
    assert_eq!(default.device().unwrap().ordinal(), 0);
    drop(default);
    assert_eq!(fixture.alive().primaries, 1, "the driver keeps its default context");
    for _ in 0..5 {
        drop(driver.default_context().unwrap());
    }
    assert_eq!(calls(&fixture.sim, "cuDevicePrimaryCtxRetain"), 2);
    assert_eq!(fixture.current(), 0);

    let Fixture { sim, driver, .. } = &fixture;
    let clone = driver.clone();
    assert_eq!(Alive::of(sim).primaries, 1);
    drop(clone);
    assert_eq!(Alive::of(sim).primaries, 1);
}

#[test]
fn default_context_is_released_with_the_driver() {
    let fixture = Fixture::new();
    // SAFETY: the simulator behaves as a driver.
    let driver = unsafe { Driver::from_api(fixture.sim.api()) }.unwrap();
    let stream = Stream::new(&driver.default_context().unwrap()).unwrap();
    drop(driver);
    assert_eq!(
        fixture.alive(),
        Alive { streams: 1, primaries: 1, ..Alive::NOTHING },
        "the stream keeps the driver alive"
    );
    drop(stream);
    assert_eq!(fixture.alive(), Alive::NOTHING);
}

#[test]
fn foreign_current_context_is_borrowed() {
    let fixture = Fixture::with(Config { devices: 2, ..Config::default() });
    let api = fixture.sim.api();
    let mut raw = cuarray_abi::CUcontext::NULL;
    // SAFETY: the driver writes one handle, and makes that context current.
    assert!(unsafe { api.cuCtxCreate_v2.unwrap()(&mut raw, 0, 1) }.is_success());
    let context = fixture.driver.current_context().unwrap().unwrap();
    assert_eq!(context.handle(), raw);
    assert_eq!(context.device().unwrap().ordinal(), 1);
    let event = context.event_pool().take().unwrap();
    drop(event);
    assert_eq!(fixture.alive().events, 1);
    assert_eq!(
        fixture.driver.current_context().unwrap().unwrap().event_pool().idle(),
        1,
        "all objects of the context share the pool"
    );
    drop(context);
    assert_eq!(fixture.alive().events, 0);
    assert_eq!(fixture.current(), raw.0, "a foreign context is not popped");
    assert_eq!(calls(&fixture.sim, "cuDevicePrimaryCtxRetain"), 0);

    // Objects that outlive a destroyed context are dropped without an error and without a free.
    let context = fixture.driver.current_context().unwrap().unwrap();
    let (event, stream) = (Event::new(&context, true).unwrap(), Stream::new(&context).unwrap());
    let memory = Allocation::device(&context, 64).unwrap();
    // SAFETY: the context is alive.
    assert!(unsafe { api.cuCtxDestroy_v2.unwrap()(raw) }.is_success());
    let error = memory.context().synchronize().unwrap_err();
    assert!(matches!(
        error.driver_code(),
        Some(CUresult::CUDA_ERROR_INVALID_CONTEXT | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)
    ));
    let freed = calls(&fixture.sim, "cuMemFree_v2");
    drop((event, stream, memory, context));
    assert_eq!(calls(&fixture.sim, "cuMemFree_v2"), freed);
    assert!(fixture.driver.take_drop_error().is_none());
    assert_eq!(fixture.alive(), Alive::NOTHING);
}

#[test]
fn pushes_nest_and_pop_restores_the_previous_context() {
    let fixture = Fixture::with(Config { devices: 2, ..Config::default() });
    let contexts: Vec<Context> =
        fixture.driver.devices().unwrap().iter().map(|device| device.primary_context().unwrap()).collect();
    let (first, second) = (&contexts[0], &contexts[1]);
    {
        let _outer = first.push().unwrap();
        assert_eq!(fixture.current(), first.handle().0);
        {
            let _inner = second.push().unwrap();
            assert_eq!(fixture.current(), second.handle().0);
            let pushes = calls(&fixture.sim, "cuCtxPushCurrent_v2");
            drop(second.push().unwrap());
            assert_eq!(calls(&fixture.sim, "cuCtxPushCurrent_v2"), pushes, "the context is current already");
            assert_eq!(fixture.current(), second.handle().0);
        }
        assert_eq!(fixture.current(), first.handle().0);
        let (free, total) = second.memory_info().unwrap();
        assert!(free <= total && total as u64 == Config::default().memory);
        assert_eq!(fixture.current(), first.handle().0);
    }
    assert_eq!(fixture.current(), 0);
}

#[test]
fn only_owned_streams_are_destroyed() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let blocking = Stream::new(&context).unwrap();
    let free = Stream::non_blocking(&context).unwrap();
    let flags = |stream: &Stream| {
        let _current = context.push().unwrap();
        let mut flags = 0;
        // SAFETY: the stream is alive and the driver writes one int.
        let code =
            unsafe { fixture.sim.api().cuStreamGetFlags.unwrap()(cuarray_abi::CUstream(stream.handle()), &mut flags) };
        assert!(code.is_success());
        flags
    };
    assert_eq!((flags(&blocking), flags(&free)), (0, 1));
    assert!(blocking.is_owned() && free.is_owned());
    assert_ne!(blocking, free);
    assert_eq!(blocking, blocking.clone());
    assert_eq!(fixture.alive().streams, 2);

    let (legacy, per_thread) = (Stream::legacy_default(&context), Stream::per_thread_default(&context));
    assert_eq!((legacy.handle(), per_thread.handle()), (1, 2));
    let owner = Arc::new(());
    // SAFETY: `blocking` outlives the external stream.
    let external = unsafe { Stream::from_raw(&fixture.driver, blocking.handle(), Some(Owner::new(owner.clone()))) };
    // SAFETY: the default streams always exist.
    let (zero, one, two) = unsafe {
        let external = |handle| Stream::from_raw(&fixture.driver, handle, None);
        (external(0), external(1), external(2))
    };
    assert_eq!((zero.handle(), one.handle(), two.handle()), (1, 1, 2));
    assert_eq!(external, blocking);
    for stream in [&blocking, &free, &legacy, &per_thread, &external, &zero, &one, &two] {
        stream.synchronize().unwrap();
        assert!(stream.is_done().unwrap());
        assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
        assert_eq!(fixture.current(), 0, "{stream:?} left a context current");
    }
    for stream in [&blocking, &free, &legacy, &per_thread, &external] {
        assert_eq!(stream.context().unwrap().as_ref(), Some(&context), "{stream:?}");
    }
    assert_eq!(zero.context().unwrap(), None, "no context is current");
    for stream in [&legacy, &per_thread, &external, &zero, &one, &two] {
        assert!(!stream.is_owned());
    }
    assert_eq!(Arc::strong_count(&owner), 2);
    let clone = external.clone();
    drop(external);
    assert_eq!(Arc::strong_count(&owner), 2);
    drop(clone);
    assert_eq!(Arc::strong_count(&owner), 1);
    assert_eq!(fixture.alive().streams, 2, "an external stream is not destroyed");
    let clone = free.clone();
    drop((blocking, free));
    assert_eq!(fixture.alive().streams, 1);
    drop((clone, legacy, per_thread, context));
    assert_eq!(fixture.alive().streams, 0);
    assert_eq!(fixture.current(), 0);
}

#[test]
fn invalid_stream_handle_is_a_driver_error() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let handle = Stream::new(&context).unwrap().handle();
    // SAFETY: violated on purpose: the stream is destroyed. The simulator recognizes such a handle; a real driver need not.
    let stream = unsafe { Stream::from_raw(&fixture.driver, handle, None) };
    let _current = context.push().unwrap();
    let error = stream.synchronize().unwrap_err();
    assert_eq!(error.driver_call(), Some("cuStreamGetCtx"), "the stream's context is queried first");
    assert!(error.driver_code().is_some_and(|code| code.name().is_some()), "{error}");
}

#[test]
fn events_order_streams_and_measure_time() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    let (start, end) = (Event::new(&context, true).unwrap(), Event::new(&context, true).unwrap());
    assert!(start.is_done().unwrap(), "an unrecorded event is done");
    assert_ne!(start.handle(), end.handle());
    assert_eq!(fixture.alive().events, 2);
    start.record(&stream).unwrap();
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    assert!(end.is_done().unwrap());
    assert!(start.elapsed_time(&end).unwrap() >= 0.0);
    let untimed = Event::new(&context, false).unwrap();
    untimed.record(&Stream::legacy_default(&context)).unwrap();
    stream.wait(&untimed).unwrap();
    stream.synchronize().unwrap();
    let error = start.elapsed_time(&untimed).unwrap_err();
    assert_eq!(error.driver_call(), Some("cuEventElapsedTime"));
    assert_eq!(error.driver_code(), Some(CUresult::CUDA_ERROR_INVALID_HANDLE));
    // SAFETY: the legacy default stream always exists.
    let bare = unsafe { Stream::from_raw(&fixture.driver, 0, None) };
    start.record(&bare).unwrap();
    assert_eq!(fixture.current(), 0);
    assert_eq!(calls(&fixture.sim, "cuDevicePrimaryCtxRetain"), 1, "the event's own context was used");
    drop((start, end, untimed));
    assert_eq!(fixture.alive().events, 0);
    drop((stream, bare, context));
    assert_eq!(fixture.alive(), Alive::NOTHING);
}

#[test]
fn memory_of_each_kind_is_accessible_and_freed() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    let len = 1000;
    let all = [
        (Allocation::device(&context, len).unwrap(), MemoryKind::Device, MemoryKind::Device),
        (Allocation::pinned(&context, len).unwrap(), MemoryKind::Pinned, MemoryKind::Pinned),
        (Allocation::mapped(&context, len).unwrap(), MemoryKind::Mapped, MemoryKind::Pinned),
        (Allocation::managed(&context, len).unwrap(), MemoryKind::Managed, MemoryKind::Managed),
        (Allocation::stream_ordered(&stream, len).unwrap(), MemoryKind::StreamOrdered, MemoryKind::Device),
    ];
    assert_eq!(fixture.alive().allocations, 5);
    for (memory, kind, reported) in &all {
        assert_eq!((memory.kind(), memory.len(), memory.is_empty()), (*kind, len, false));
        assert_eq!(memory.context(), &context);
        assert_eq!(memory.stream().is_some(), *kind == MemoryKind::StreamOrdered);
        assert_ne!(memory.device_ptr(), 0);
        let on_host = matches!(kind, MemoryKind::Pinned | MemoryKind::Mapped | MemoryKind::Managed);
        assert_eq!(memory.host_ptr().is_some(), on_host);

        // The driver reports the device address for the current context.
        let current = context.push().unwrap();
        let attributes = PointerAttributes::query(&fixture.driver, memory.device_ptr()).unwrap().unwrap();
        assert_eq!(attributes.kind, *reported, "{memory:?}");
        assert_eq!(attributes.is_host_accessible(), on_host, "{memory:?}");
        assert_eq!(attributes.device_ptr, memory.device_ptr());
        assert_eq!(attributes.host_ptr, memory.host_ptr().map(|host| host.addr() as u64));
        let range = attributes.range.clone().unwrap();
        assert!(range.start == memory.device_ptr() && range.end - range.start >= len as u64, "{memory:?}");
        let inside = PointerAttributes::query(&fixture.driver, memory.device_ptr() + 999).unwrap().unwrap();
        assert_eq!((inside.device_ptr, inside.range), (memory.device_ptr() + 999, attributes.range), "{memory:?}");
        drop(current);
        assert_eq!(fixture.current(), 0);
    }
    for (memory, ..) in &all {
        let Some(host) = memory.host_ptr() else { continue };
        // SAFETY: the host may use all of these bytes, and nothing else does.
        unsafe {
            host.write_bytes(0x5a, len);
            assert_eq!(host.add(len - 1).read(), 0x5a);
        }
    }
    drop(all);
    stream.synchronize().unwrap();
    assert_eq!(fixture.alive().allocations, 0);
    assert_eq!(fixture.current(), 0);
    assert!(fixture.driver.take_drop_error().is_none());
}

#[test]
fn empty_memory_makes_no_driver_calls() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    for memory in [
        Allocation::device(&context, 0),
        Allocation::pinned(&context, 0),
        Allocation::mapped(&context, 0),
        Allocation::managed(&context, 0),
        Allocation::stream_ordered(&stream, 0),
    ] {
        let memory = memory.unwrap();
        assert!(memory.is_empty() && memory.device_ptr() == 0 && memory.host_ptr().is_none());
    }
    for symbol in
        ["cuMemAlloc_v2", "cuMemHostAlloc", "cuMemAllocManaged", "cuMemAllocAsync", "cuMemFree_v2", "cuMemFreeAsync"]
    {
        assert_eq!(calls(&fixture.sim, symbol), 0, "{symbol}");
    }
}

#[test]
fn stream_ordered_memory_works_without_pools() {
    let fixture = Fixture::altered(Config::default(), |api| api.cuMemAllocAsync = None);
    let stream = Stream::new(&fixture.primary()).unwrap();
    let memory = Allocation::stream_ordered(&stream, 64).unwrap();
    assert_eq!(memory.kind(), MemoryKind::Device);
    drop(memory);
    assert_eq!(fixture.alive().allocations, 0);

    let fixture = Fixture::new();
    let stream = Stream::new(&fixture.primary()).unwrap();
    fixture.sim.fail_next("cuMemAllocAsync", CUresult::CUDA_ERROR_NOT_SUPPORTED).unwrap();
    let memory = Allocation::stream_ordered(&stream, 64).unwrap();
    assert_eq!((memory.kind(), fixture.alive().allocations), (MemoryKind::Device, 1));
}

#[test]
fn stream_ordered_memory_works_on_streams_without_a_known_context() {
    let fixture = Fixture::new();
    // SAFETY: the default streams always exist.
    let bare = unsafe { Stream::from_raw(&fixture.driver, 2, None) };
    let memory = Allocation::stream_ordered(&bare, 64).unwrap();
    assert_eq!(memory.context(), &fixture.driver.default_context().unwrap());
    let owned = Stream::new(memory.context()).unwrap();
    // SAFETY: `owned` outlives the external stream.
    let external = unsafe { Stream::from_raw(&fixture.driver, owned.handle(), None) };
    let other = Allocation::stream_ordered(&external, 64).unwrap();
    assert_eq!(other.context(), memory.context());
    drop((memory, other));
    bare.synchronize().unwrap();
    external.synchronize().unwrap();
    assert_eq!(fixture.alive().allocations, 0);
    assert_eq!(fixture.current(), 0);
}

#[test]
fn unattributes_address_has_no_attributes() {
    let fixture = Fixture::new();
    let _context = fixture.primary();
    let host_memory = [1u8; 64];
    for address in [0, 1, host_memory.as_ptr().addr() as u64, u64::MAX] {
        assert_eq!(PointerAttributes::query(&fixture.driver, address).unwrap(), None, "{address:#x}");
    }
}

#[test]
fn failed_allocation_names_the_requested_size() {
    let fixture = Fixture::with(Config { memory: 1 << 20, ..Config::default() });
    let context = fixture.primary();
    let error = Allocation::device(&context, 2 << 20).unwrap_err();
    assert_eq!(
        (error.driver_call(), error.driver_code()),
        (Some("cuMemAlloc"), Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY))
    );
    assert_eq!(error.to_string(), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory): 2097152 bytes were requested");
    let stream = Stream::non_blocking(&context).unwrap();
    for allocated in [
        Allocation::pinned(&context, 1 << 60),
        Allocation::managed(&context, 1 << 60),
        Allocation::stream_ordered(&stream, 1 << 60),
    ] {
        let error = allocated.unwrap_err().to_string();
        assert!(error.ends_with(": 1152921504606846976 bytes were requested"), "{error}");
    }
    assert!(Allocation::device(&context, usize::MAX).is_err());
    assert_eq!(fixture.alive().allocations, 0);
}

#[test]
fn last_object_keeps_the_context_and_the_driver_alive() {
    let Fixture { driver, sim, .. } = &Fixture::new();
    // SAFETY: the simulator behaves as a driver.
    let second_driver = unsafe { Driver::from_api(sim.api()) }.unwrap();
    let context = second_driver.device(0).unwrap().primary_context().unwrap();
    let memory = Allocation::device(&context, 64).unwrap();
    drop((second_driver, context));
    assert_eq!(Alive::of(sim), Alive { allocations: 1, primaries: 1, ..Alive::NOTHING });
    memory.context().synchronize().unwrap();
    drop(memory);
    assert_eq!(Alive::of(sim), Alive::NOTHING);
    assert!(driver.take_drop_error().is_none());
}

#[test]
fn handles_of_another_driver_are_refused() {
    let one = Fixture::new();
    let context = one.primary();
    let (stream, event) = (Stream::new(&context).unwrap(), Event::new(&context, true).unwrap());
    let array: DeviceArray<f32, Ix1> = DeviceArray::zeros([4], &stream).unwrap();
    // SAFETY: the memory lives as long as the view.
    let view =
        unsafe { RawView::new(&one.driver, array.interface().clone().with_stream(StreamEntry::None), None) }.unwrap();
    let two = Fixture::new();
    let context = two.primary();
    let (other, other_event) = (Stream::new(&context).unwrap(), Event::new(&context, true).unwrap());
    let refused = [
        other.wait(&event),
        event.record(&other),
        event.elapsed_time(&other_event).map(drop),
        array.acquire(&other).map(drop),
        array.clone().acquire_mut(&other).map(drop),
        array.slice(s![1..]).and_then(|part| part.acquire(&other).map(drop)),
        array.record_stream(&other, Access::Read),
        view.acquire(&other).map(drop),
        view.acquire(&Stream::legacy_default(&context)).map(drop),
    ];
    for (index, refused) in refused.into_iter().enumerate() {
        let error = refused.expect_err("a handle of another driver was used");
        assert!(error.is_invalid_argument(), "{index}: {error}");
        assert!(error.to_string().contains("belongs to another driver"), "{index}: {error}");
    }
}
