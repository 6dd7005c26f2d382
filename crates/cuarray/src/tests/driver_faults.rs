//! Every driver call of the module `driver` fails once: the error has the call's name and code, nothing leaks, and the
//! thread's current context is unchanged.

use super::driver_fixture::{Alive, Fixture, calls};
use crate::{Driver, Event, Result, Stream};
use crate::{
    driver::{
        Allocation, PointerAttributes,
        copy::{
            Copy3d, CopyAddress, CopySide, copy_3d, copy_device_to_device, copy_device_to_host, copy_host_to_device,
        },
        fill::fill_bytes,
    },
    kernel::{LaunchConfig, Module},
};
use cuarray_abi::{CUcontext, CUresult, CUstream, ENTRY_POINTS};
use cuarray_sim::{Config, Fault, Sim};

/// Uses every part of the module `driver` once.
fn use_everything(driver: &Driver) -> Result<()> {
    driver.version()?;
    for device in driver.devices()? {
        device.name()?;
        device.total_memory()?;
        device.compute_capability()?;
        device.uuid()?;
    }
    let default = driver.default_context()?;
    let context = driver.device(0)?.primary_context()?;
    context.device()?;
    context.memory_info()?;
    let second = driver.device(1)?.primary_context()?;
    let _nested = second.push()?;
    driver.current_context()?;

    let stream = Stream::new(&context)?;
    let other = Stream::non_blocking(&context)?;
    // SAFETY: `other` outlives it; the default streams always exist.
    let (external, bare) =
        unsafe { (Stream::from_raw(driver, other.handle(), None), Stream::from_raw(driver, 0, None)) };
    external.context()?;
    bare.synchronize()?;
    stream.is_done()?;
    stream.capture_status()?;

    let module = Module::load_ptx(
        &context,
        ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing(.param .u32 of) { ret; }",
    )?;
    module.function_names()?;
    let nothing = module.function("nothing")?;
    nothing.set_max_dynamic_shared(64)?;
    // SAFETY: the kernel does nothing.
    unsafe { nothing.launch(&stream, LaunchConfig::new([1, 1, 1], [32, 1, 1]), (1u32,)) }?;

    let memory = Allocation::device(&context, 256)?;
    let target = Allocation::stream_ordered(&stream, 256)?;
    let pinned = Allocation::pinned(&context, 256)?;
    let _mapped = Allocation::mapped(&context, 256)?;
    let _managed = Allocation::managed(&context, 256)?;
    PointerAttributes::query(driver, memory.device_ptr())?;

    let Some(host) = pinned.host_ptr() else { return Ok(()) };
    let boxed = Copy3d {
        src: CopySide { address: CopyAddress::Host(host), pitch: 8, slice_pitch: 64 },
        dst: CopySide { address: CopyAddress::Device(memory.device_ptr()), pitch: 8, slice_pitch: 64 },
        width: 8,
        height: 8,
        depth: 4,
    };
    // SAFETY: all memory has 256 bytes and lives until the context is synchronized, or is freed in its stream's order.
    let enqueued = unsafe {
        let (device, target) = (memory.device_ptr(), target.device_ptr());
        (|| {
            for on in [None, Some(&stream)] {
                fill_bytes(&context, device, &[1], 256, on)?;
                fill_bytes(&context, device, &[1, 2], 128, on)?;
                fill_bytes(&context, device, &[1, 2, 3, 4], 64, on)?;
                copy_host_to_device(&context, device, host, 256, on)?;
                copy_device_to_device(&context, target, device, 256, on)?;
                copy_device_to_host(&context, host, target, 256, on)?;
                copy_3d(&context, &boxed, on)?;
            }
            let event = context.event_pool().take()?;
            event.record(&stream)?;
            other.wait(&event)?;
            let (start, end) = (Event::new(&context, true)?, Event::new(&context, true)?);
            start.record(&other)?;
            end.record(&other)?;
            end.synchronize()?;
            end.is_done()?;
            start.elapsed_time(&end)?;
            Ok(())
        })()
    };
    let (streams, contexts) = (stream.synchronize(), default.synchronize());
    enqueued.and(streams).and(contexts)
}

#[test]
fn every_failing_call_is_named_and_leaks_nothing() {
    let config = Config { devices: 2, quiet: true, ..Config::default() };
    let counting = Fixture::with(config.clone());
    use_everything(&counting.driver).unwrap();
    assert!(counting.driver.take_drop_error().is_none());
    let sim = counting.sim.clone();
    let made: Vec<(&str, usize)> = ENTRY_POINTS
        .iter()
        .map(|entry| (entry.symbol, calls(&sim, entry.symbol)))
        .filter(|(_, made)| *made > 0)
        .collect();
    drop(counting);
    assert!(made.len() > 45, "{made:?}");

    for (symbol, times) in made {
        for call in 1..=times as u64 {
            // A result that every part of the module `driver` treats as a failure.
            let result = CUresult::CUDA_ERROR_ECC_UNCORRECTABLE;
            let faults = vec![Fault { symbol: symbol.to_owned(), call, result }];
            let sim = Sim::new(Config { faults, ..config.clone() });
            let _entered = sim.enter();
            let case = format!("call {call} of {symbol}");
            // SAFETY: the simulator behaves as a driver.
            let driver = match unsafe { Driver::from_api(sim.api()) } {
                Ok(driver) => driver,
                Err(error) => {
                    assert_eq!(
                        (symbol, error.driver_call(), error.driver_code()),
                        ("cuInit", Some("cuInit"), Some(result))
                    );
                    continue;
                }
            };
            let returned = use_everything(&driver).err();
            // Objects that could not be released after a failure are released here.
            driver.reclaim(true);
            let dropped = driver.take_drop_error();
            let name = ENTRY_POINTS.iter().find(|entry| entry.symbol == symbol).unwrap().name;
            for error in returned.iter().chain(&dropped) {
                assert_eq!((error.driver_call(), error.driver_code()), (Some(name), Some(result)), "{case}: {error}");
            }
            let mut current = CUcontext::NULL;
            // SAFETY: the driver writes one handle.
            assert!(unsafe { sim.api().cuCtxGetCurrent.unwrap()(&mut current) }.is_success());
            assert!(current.is_null(), "{case} left a context set");
            drop(driver);
            let alive = Alive::of(&sim);
            let left = alive.allocations + alive.streams + alive.events + alive.primaries;
            match (returned, dropped) {
                (Some(_), None) => assert_eq!(alive, Alive::NOTHING, "{case} leaked"),
                // Only an object whose drop failed is still alive.
                (_, Some(_)) => assert!(left <= 1, "{case} leaked: {alive:?}"),
                // A failure may go unreported if another call frees the memory, or if the call is repeated: a pop, the restore of the
                // thread's capture mode, and the push of a context for a release.
                (None, None) => {
                    let harmless = [
                        "cuCtxGetCurrent",
                        "cuCtxPopCurrent_v2",
                        "cuCtxPushCurrent_v2",
                        "cuMemFreeAsync",
                        "cuThreadExchangeStreamCaptureMode",
                    ]
                    .contains(&symbol);
                    assert_eq!((harmless, alive), (true, Alive::NOTHING), "{case} was not reported");
                }
            }
        }
    }
}

#[test]
fn mapped_memory_without_a_device_address_is_freed() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    fixture.sim.fail_next("cuMemHostGetDevicePointer_v2", CUresult::CUDA_ERROR_NOT_SUPPORTED).unwrap();
    let error = Allocation::mapped(&context, 64).unwrap_err();
    assert_eq!(error.driver_call(), Some("cuMemHostGetDevicePointer"));
    assert_eq!(fixture.alive().allocations, 0);
    assert_eq!(calls(&fixture.sim, "cuMemFreeHost"), 1);
}

#[test]
fn memory_is_freed_if_its_stream_ordered_free_fails() {
    let fixture = Fixture::new();
    let stream = Stream::new(&fixture.primary()).unwrap();
    let memory = Allocation::stream_ordered(&stream, 64).unwrap();
    fixture.sim.fail_next("cuMemFreeAsync", CUresult::CUDA_ERROR_INVALID_HANDLE).unwrap();
    drop(memory);
    stream.synchronize().unwrap();
    assert_eq!(fixture.alive().allocations, 0);
    assert!(fixture.driver.take_drop_error().is_none());
}

#[test]
fn only_the_first_drop_error_is_kept() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    assert!(fixture.driver.take_drop_error().is_none());
    for code in [CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, CUresult::CUDA_ERROR_INVALID_VALUE] {
        let memory = Allocation::device(&context, 64).unwrap();
        fixture.sim.fail_next("cuMemFree_v2", code).unwrap();
        drop(memory);
    }
    let error = fixture.driver.take_drop_error().unwrap();
    assert_eq!(
        (error.driver_call(), error.driver_code()),
        (Some("cuMemFree"), Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS))
    );
    assert!(fixture.driver.take_drop_error().is_none());
}

extern "C" fn shut_down_destroy(_stream: CUstream) -> CUresult {
    CUresult::CUDA_ERROR_DEINITIALIZED
}

#[test]
fn drops_after_driver_shutdown_report_no_error() {
    let fixture = Fixture::altered(Config::default(), |api| api.cuStreamDestroy_v2 = Some(shut_down_destroy));
    let context = fixture.primary();
    let (stream, event) = (Stream::new(&context).unwrap(), Event::new(&context, false).unwrap());
    let memory = Allocation::device(&context, 64).unwrap();
    drop(context.event_pool().take().unwrap());
    drop(stream);
    for symbol in ["cuEventDestroy_v2", "cuMemFree_v2", "cuDevicePrimaryCtxRelease_v2"] {
        fixture.sim.fail_next(symbol, CUresult::CUDA_ERROR_DEINITIALIZED).unwrap();
    }
    drop(event);
    drop(memory);
    drop(context);
    assert!(fixture.driver.take_drop_error().is_none());

    // Even the query of the current context fails here.
    let fixture = Fixture::new();
    let memory = Allocation::device(&fixture.primary(), 64).unwrap();
    fixture.sim.fail_next("cuCtxGetCurrent", CUresult::CUDA_ERROR_DEINITIALIZED).unwrap();
    drop(memory);
    assert!(fixture.driver.take_drop_error().is_none());
}

#[test]
fn older_calls_replace_missing_newer_ones() {
    let fixture = Fixture::altered(Config::default(), |api| {
        api.cuEventElapsedTime_v2 = None;
        api.cuDeviceGetUuid_v2 = None;
        api.cuStreamIsCapturing = None;
    });
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    let (start, end) = (Event::new(&context, true).unwrap(), Event::new(&context, true).unwrap());
    start.record(&stream).unwrap();
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    assert!(start.elapsed_time(&end).unwrap() >= 0.0);
    assert_eq!(calls(&fixture.sim, "cuEventElapsedTime"), 1);
    let uuid = fixture.driver.device(0).unwrap().uuid().unwrap();
    assert_ne!(uuid, [0; 16]);
    assert_eq!(calls(&fixture.sim, "cuDeviceGetUuid"), 1);
    assert_eq!(stream.capture_status().unwrap(), crate::driver::CaptureStatus::None);
}

/// A driver that returns a stream's context only to threads with a current context.
extern "C" fn context_if_one_is_current(stream: CUstream, context: *mut CUcontext) -> CUresult {
    let api = Sim::new(Config::default()).api(); // the same functions for every simulated driver
    let mut current = CUcontext::NULL;
    // SAFETY: the driver writes one handle to each.
    unsafe {
        let _ = api.cuCtxGetCurrent.unwrap()(&mut current);
        if current.is_null() {
            CUresult::CUDA_ERROR_INVALID_CONTEXT
        } else {
            api.cuStreamGetCtx.unwrap()(stream, context)
        }
    }
}

#[test]
fn context_of_a_stream_is_found_from_a_thread_without_a_context() {
    let fixture = Fixture::altered(Config { devices: 2, ..Config::default() }, |api| {
        api.cuStreamGetCtx = Some(context_if_one_is_current);
    });
    let second = fixture.driver.device(1).unwrap().primary_context().unwrap();
    let stream = Stream::new(&second).unwrap();
    // SAFETY: `stream` outlives it.
    let external = unsafe { Stream::from_raw(&fixture.driver, stream.handle(), None) };
    assert_eq!(external.context().unwrap(), Some(second));
    external.synchronize().unwrap();
    let mut current = CUcontext::NULL;
    // SAFETY: the driver writes one handle.
    assert!(unsafe { fixture.sim.api().cuCtxGetCurrent.unwrap()(&mut current) }.is_success() && current.is_null());
}

#[test]
fn creation_with_missing_calls_is_an_error() {
    let fixture = Fixture::altered(Config::default(), |api| {
        api.cuStreamCreate = None;
        api.cuMemAllocManaged = None;
        api.cuEventCreate = None;
    });
    let context = fixture.primary();
    for (error, symbol) in [
        (Stream::new(&context).unwrap_err(), "cuStreamCreate"),
        (Allocation::managed(&context, 1).unwrap_err(), "cuMemAllocManaged"),
        (Event::new(&context, false).unwrap_err(), "cuEventCreate"),
        (context.event_pool().take().unwrap_err(), "cuEventCreate"),
    ] {
        assert_eq!((error.driver_call(), error.driver_code()), (Some(symbol), None));
    }
    assert_eq!(fixture.current(), 0);
}

#[test]
fn a_failed_pop_is_repeated_and_leaves_no_context_current() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    fixture.sim.fail_next("cuCtxPopCurrent_v2", CUresult::CUDA_ERROR_UNKNOWN).unwrap();
    drop(context.push().unwrap());
    assert_eq!(fixture.current(), 0);
    assert!(fixture.driver.take_drop_error().is_none());
    for nth in [1, 2] {
        fixture.sim.fail_nth("cuCtxPopCurrent_v2", nth, CUresult::CUDA_ERROR_UNKNOWN).unwrap();
    }
    drop(context.push().unwrap());
    assert_eq!(fixture.driver.take_drop_error().unwrap().driver_call(), Some("cuCtxPopCurrent"));
}

#[test]
fn objects_are_destroyed_if_their_context_cannot_be_pushed_at_first() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    for symbol in ["cuCtxGetCurrent", "cuCtxPushCurrent_v2"] {
        let (stream, event) = (Stream::new(&context).unwrap(), Event::new(&context, false).unwrap());
        let memory = Allocation::device(&context, 16).unwrap();
        let objects: [Box<dyn FnOnce()>; 3] =
            [Box::new(|| drop(stream)), Box::new(|| drop(event)), Box::new(|| drop(memory))];
        for release in objects {
            fixture.sim.fail_next(symbol, CUresult::CUDA_ERROR_UNKNOWN).unwrap();
            release();
            assert_eq!(fixture.sim.clear_faults(), 0);
        }
        let alive = fixture.alive();
        assert_eq!((alive.allocations, alive.streams, alive.events), (0, 0, 0), "{symbol}");
    }
    assert!(fixture.driver.take_drop_error().is_none());
}

#[test]
fn memory_of_a_capture_is_not_waited_for_if_its_stream_ordered_free_fails() {
    let fixture = Fixture::new();
    let stream = Stream::non_blocking(&fixture.primary()).unwrap();
    let context = stream.work_context().unwrap();
    let _current = context.push().unwrap();
    let api = fixture.sim.api();
    // SAFETY: the stream is alive, and its context is current.
    assert!(unsafe { api.cuStreamBeginCapture_v2.unwrap()(stream.cu_stream(), 0) }.is_success());
    let memory = Allocation::stream_ordered(&stream, 64).unwrap();
    fixture.sim.fail_next("cuMemFreeAsync", CUresult::CUDA_ERROR_UNKNOWN).unwrap();
    drop(memory);
    assert_eq!(fixture.driver.take_drop_error().unwrap().driver_call(), Some("cuMemFreeAsync"));
    assert_eq!(stream.capture_status().unwrap(), crate::driver::CaptureStatus::Active, "the capture is intact");
    let mut graph = cuarray_abi::CUgraph::NULL;
    // SAFETY: the stream is alive, and its context is current; the driver writes one handle.
    unsafe {
        assert!(api.cuStreamEndCapture.unwrap()(stream.cu_stream(), &mut graph).is_success());
        assert!(api.cuGraphDestroy.unwrap()(graph).is_success());
    }
}

#[test]
fn failed_pointer_query_is_an_error_for_known_memory_only() {
    let fixture = Fixture::new();
    let memory = Allocation::device(&fixture.primary(), 64).unwrap();
    let query = |ptr| {
        fixture.sim.fail_next("cuPointerGetAttributes", CUresult::CUDA_ERROR_INVALID_VALUE).unwrap();
        PointerAttributes::query(&fixture.driver, ptr)
    };
    let error = query(memory.device_ptr()).unwrap_err();
    assert_eq!(
        (error.driver_call(), error.driver_code()),
        (Some("cuPointerGetAttributes"), Some(CUresult::CUDA_ERROR_INVALID_VALUE))
    );
    // Some drivers return this result for memory that a graph has yet to allocate.
    assert_eq!(query(4096).unwrap(), None);
}
