//! Every driver call of every public operation fails once, with one of three results, or with each of them. The error has the driver's name and call,
//! nothing leaks, and a second attempt succeeds.
//!
//! The list of operations is checked against `public-api.txt`: a new public function that returns a `Result` needs an entry here.

mod driver_fixture;

use cuarray::{
    CArray, Context, DeviceArray, Driver, Event, Interface, Ix1, Owner, PinnedArray, RawDeviceArray, RawView, Result,
    Stream, StreamEntry,
    driver::{
        Allocation, PointerAttributes,
        copy::{copy_device_to_device, copy_device_to_host, copy_host_to_device},
        fill::fill_bytes,
    },
    kernel::{Function, LaunchConfig, Module},
    s,
    sync::{self, Access},
};
use cuarray_abi::{CUcontext, CUresult, ENTRY_POINTS};
use cuarray_sim::{Config, Sim};
use driver_fixture::Alive;
use std::{collections::BTreeSet, sync::Arc};

const N: usize = 8;

const PTX: &str = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing(.param .u32 of) { ret; }";

/// A result for a resource that ran out, for a kernel that failed earlier, and one that tells nothing.
const RESULTS: [CUresult; 3] =
    [CUresult::CUDA_ERROR_OUT_OF_MEMORY, CUresult::CUDA_ERROR_LAUNCH_FAILED, CUresult::CUDA_ERROR_UNKNOWN];

/// Calls whose failure an operation may survive without an error. `docs/results/faults.md` has the reasons.
const HANDLED: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuEventQuery",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuModuleUnload",
    "cuStreamIsCapturing",
    "cuStreamQuery",
    "cuThreadExchangeStreamCaptureMode",
];

/// Calls that release an object, which stays with the driver after a failure.
const RELEASES: &[&str] = &[
    "cuDevicePrimaryCtxRelease_v2",
    "cuEventDestroy_v2",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuModuleUnload",
    "cuStreamDestroy_v2",
];

/// The objects that operations use.
struct World {
    driver: Driver,
    context: Context,
    streams: [Stream; 2],
    array: DeviceArray<u32, Ix1>,
    kernel: Function,
    memory: [Allocation; 2],
    event: Event,
}

impl World {
    fn new(driver: Driver) -> Result<World> {
        let context = driver.device(0)?.primary_context()?;
        let streams = [Stream::non_blocking(&context)?, Stream::new(&context)?];
        let array = DeviceArray::from_host(&[1; N], [N], &streams[0])?;
        let kernel = Module::load_ptx(&context, PTX)?.function("nothing")?;
        let memory = [Allocation::device(&context, 4 * N)?, Allocation::device(&context, 4 * N)?];
        let event = Event::new(&context, true)?;
        event.record(&streams[0])?;
        Ok(World { driver, context, streams, array, kernel, memory, event })
    }

    /// The array as another library's view.
    fn view(&self) -> Result<RawView> {
        let interface = self.array.interface().clone().with_stream(self.entry());
        // SAFETY: the owner keeps the array.
        unsafe { RawView::new(&self.driver, interface, Some(Owner::new(Arc::new(self.array.clone())))) }
    }

    fn entry(&self) -> StreamEntry {
        StreamEntry::try_from(self.streams[0].handle() as i128).unwrap()
    }

    fn interface(&self) -> Interface {
        self.array.interface().clone()
    }
}

struct Operation {
    name: &'static str,
    /// The public functions that it calls, as `public-api.txt` names them, without the crate and parameters.
    covers: &'static [&'static str],
    run: fn(&mut World) -> Result<()>,
}

macro_rules! operations {
    ($($(#[$attribute:meta])* $name:literal [$($covered:literal)*] |$world:ident| $body:expr;)*) => {
        const OPERATIONS: &[Operation] = &[$($(#[$attribute])* Operation {
            name: $name,
            covers: &[$($covered),*],
            run: |$world| { $body; Ok(()) },
        }),*];
    };
}

operations! {
    "copies of memory" ["driver::copy::copy_device_to_device" "driver::copy::copy_device_to_host" "driver::copy::copy_host_to_device"] |world| {
        let (mut host, [first, second]) = ([0u8; 4 * N], &world.memory);
        for stream in [None, Some(&world.streams[1])] {
            // SAFETY: each side has that many bytes, and the host array lives until the stream is synchronized.
            let copied = unsafe {
                copy_host_to_device(&world.context, first.device_ptr(), host.as_ptr(), 4 * N, stream)
                    .and_then(|()| copy_device_to_device(&world.context, second.device_ptr(), first.device_ptr(), 4 * N, stream))
                    .and_then(|()| copy_device_to_host(&world.context, host.as_mut_ptr(), second.device_ptr(), 4 * N, stream))
            };
            // The host array must outlive what was enqueued, also after an error.
            let waited = world.streams[1].synchronize().or_else(|error| world.streams[1].synchronize().and(Err(error)));
            copied.and(waited)?;
        }
    };
    "fills of memory" ["driver::fill::fill_bytes"] |world| {
        for stream in [None, Some(&world.streams[1])] {
            for element in [&[1][..], &[1, 2], &[1, 2, 3, 4]] {
                // SAFETY: the memory has that many bytes.
                unsafe { fill_bytes(&world.context, world.memory[0].device_ptr(), element, N, stream) }?;
            }
        }
    };
    "Allocation::device" ["driver::Allocation::device"] |world| Allocation::device(&world.context, 64)?;
    "Allocation::managed" ["driver::Allocation::managed"] |world| Allocation::managed(&world.context, 64)?;
    "Allocation::mapped" ["driver::Allocation::mapped"] |world| Allocation::mapped(&world.context, 64)?;
    "Allocation::pinned" ["driver::Allocation::pinned"] |world| Allocation::pinned(&world.context, 64)?;
    "Allocation::stream_ordered" ["driver::Allocation::stream_ordered"] |world| Allocation::stream_ordered(&world.streams[0], 64)?;
    "PointerAttributes::query" ["driver::PointerAttributes::query"] |world| {
        PointerAttributes::query(&world.driver, world.memory[0].device_ptr())?
    };
    "kernel" ["kernel::Module::load_ptx" "kernel::Module::load_image" "kernel::Module::function"] |world| {
        Module::load_ptx(&world.context, PTX)?.function("nothing")?;
        let image = [PTX.as_bytes(), &[0]].concat();
        // SAFETY: the image is PTX that ends with a nul.
        unsafe { Module::load_image(&world.context, &image) }?;
    };
    "kernel of a context" ["Context::kernel"] |world| world.context.kernel(PTX, "nothing")?;
    "launch" ["kernel::Function::launch" "kernel::Function::set_max_dynamic_shared" "kernel::LaunchConfig::for_elements"] |world| {
        world.kernel.set_max_dynamic_shared(64)?;
        // SAFETY: the kernel does nothing.
        unsafe { world.kernel.launch(&world.streams[0], LaunchConfig::for_elements(N, 32)?, (1u32,)) }?;
    };
    "sync::edge" ["sync::edge"] |world| sync::edge(&world.streams[0], &world.streams[1])?;
    "sync::synchronize" ["sync::synchronize"] |world| sync::synchronize(&world.streams[0])?;
    "acquire" ["DeviceArray::acquire" "Acquired::release" "Acquired::copy_to_host" "Acquired::device_ptr_at" "Acquired::element_strides"] |world| {
        let guard = world.array.acquire(&world.streams[1])?;
        guard.device_ptr_at(&[1])?;
        guard.element_strides()?;
        guard.copy_to_host()?;
        guard.release()?;
    };
    "acquire_mut" ["DeviceArray::acquire_mut" "AcquiredMut::release" "AcquiredMut::copy_from_host" "AcquiredMut::copy_to_host"
                   "AcquiredMut::device_ptr_at" "AcquiredMut::element_strides"] |world| {
        let World { array, streams, .. } = world;
        let mut guard = array.acquire_mut(&streams[1])?;
        guard.device_ptr_at(&[1])?;
        guard.element_strides()?;
        guard.copy_from_host(&[1; N])?;
        guard.copy_to_host()?;
        guard.release()?;
    };
    "PinnedArray" ["PinnedArray::from_slice" "PinnedArray::zeros" "PinnedCopy::is_done" "PinnedCopy::wait" "Acquired::copy_to_pinned"
                   "AcquiredMut::copy_from_pinned" "AcquiredMut::copy_to_pinned"] |world| {
        let World { array, streams, context, .. } = world;
        let host = PinnedArray::from_slice(&[1; N], context)?;
        let sent = array.with_mut(&streams[1], |guard| guard.copy_from_pinned(host))?;
        sent.is_done()?;
        let target = sent.wait()?;
        array.with(&streams[0], |guard| guard.copy_to_pinned(target))?.wait()?;
    };
    #[cfg(feature = "ndarray")]
    "arrays of ndarray" ["DeviceArray::from_ndarray" "DeviceArray::to_ndarray" "Acquired::copy_to_ndarray"
                         "AcquiredMut::copy_to_ndarray"] |world| {
        let World { streams, .. } = world;
        let host = ndarray::Array::from_elem((2, 3), 1u32);
        let mut array = DeviceArray::from_ndarray(&host.t(), &streams[0])?;
        array.to_ndarray()?;
        array.with(&streams[1], |guard| guard.copy_to_ndarray())?;
        array.with_mut(&streams[1], |guard| guard.copy_to_ndarray())?;
    };
    "a dropped guard" ["DeviceArray::acquire_mut"] |world| {
        let World { array, streams, .. } = world;
        drop(array.acquire_mut(&streams[1])?);
    };
    "with" ["DeviceArray::with" "DeviceArray::with_mut"] |world| {
        let World { array, streams, .. } = world;
        array.with(&streams[1], |guard| guard.copy_to_host())?;
        array.with_mut(&streams[1], |guard| guard.copy_from_host(&[1; N]))?;
    };
    "DeviceArray::empty" ["DeviceArray::empty"] |world| DeviceArray::<f32, _>::empty([N], &world.streams[0])?;
    "DeviceArray::zeros" ["DeviceArray::zeros"] |world| DeviceArray::<f32, _>::zeros([N], &world.streams[0])?;
    "DeviceArray::full" ["DeviceArray::full"] |world| DeviceArray::full([N], 1.5f64, &world.streams[0])?;
    "DeviceArray::from_host" ["DeviceArray::from_host"] |world| DeviceArray::from_host(&[1.5f32; N], [N], &world.streams[0])?;
    "DeviceArray::to_host" ["DeviceArray::to_host"] |world| world.array.to_host()?;
    "DeviceArray::record_stream" ["DeviceArray::record_stream"] |world| {
        let array = DeviceArray::<u8, _>::zeros([N], &world.streams[0])?;
        array.record_stream(&world.streams[1], Access::Write)?;
    };
    "DeviceArray::to_shape" ["DeviceArray::to_shape"] |world| {
        let matrix = world.array.reshape([2, 4])?;
        matrix.t().to_shape([N])?.to_host()?;
    };
    "views of an array" ["DeviceArray::axis_iter" "DeviceArray::broadcast" "DeviceArray::into_dimensionality" "DeviceArray::reshape" "DeviceArray::slice" "DeviceArray::transpose"] |world| {
        world.array.reshape([2, 4])?.transpose(None)?.into_dimensionality::<cuarray::Ix2>()?;
        world.array.broadcast([3, N])?;
        world.array.axis_iter(0)?.last();
        world.array.slice(s![1..3])?.to_host()?;
    };
    "RawDeviceArray" ["RawDeviceArray::from_owner" "RawDeviceArray::acquire" "RawDeviceArray::acquire_mut" "RawDeviceArray::record_stream"
                      "RawDeviceArray::typed" "RawDeviceArray::broadcast" "RawDeviceArray::index" "RawDeviceArray::reshape"
                      "RawDeviceArray::transpose"] |world| {
        let owner = Owner::new(Arc::new(world.array.clone()));
        // SAFETY: the owner keeps the array.
        let mut raw = unsafe { RawDeviceArray::from_owner(&world.context, world.interface(), owner, Some(&world.streams[0])) }?;
        raw.acquire(&world.streams[1])?.release()?;
        raw.acquire_mut(&world.streams[1])?.release()?;
        raw.record_stream(&world.streams[1], Access::Read)?;
        raw.reshape(&[2, 4])?.transpose(None)?.index(&[])?;
        raw.broadcast(&[2, N])?;
        raw.typed::<u32, Ix1>()?;
    };
    "RawView" ["RawView::new" "RawView::acquire" "RawView::acquire_mut"] |world| {
        let mut view = world.view()?;
        view.acquire(&world.streams[1])?.release()?;
        view.acquire_mut(&world.streams[1])?.release()?;
    };
    "TypedView" ["RawView::typed" "TypedView::acquire" "TypedView::acquire_mut" "TypedView::with" "TypedView::with_mut"] |world| {
        let mut view = world.view()?.typed::<u32, Ix1, cuarray::AnyLayout>()?;
        view.acquire(&world.streams[1])?.release()?;
        view.acquire_mut(&world.streams[1])?.release()?;
        view.with(&world.streams[1], |guard| guard.copy_to_host())?;
        view.with_mut(&world.streams[1], |guard| guard.copy_from_host(&[1; N]))?;
    };
    "CArray" ["CArray::new" "CArray::describe" "CArray::from_raw" "CArray::into_view"] |world| {
        let array = CArray::new(world.interface(), Some(Owner::new(Arc::new(world.array.clone()))))?;
        array.describe()?;
        // SAFETY: the pointer came from `into_raw`, and the owner keeps the array.
        unsafe { CArray::from_raw(array.into_raw())?.into_view(&world.driver) }?;
    };
    "Context" ["Context::device" "Context::memory_info" "Context::push" "Context::synchronize"] |world| {
        world.context.device()?;
        world.context.memory_info()?;
        drop(world.context.push()?);
        world.context.synchronize()?;
    };
    "Device" ["Device::compute_capability" "Device::name" "Device::primary_context" "Device::total_memory"] |world| {
        let device = world.driver.device(1)?;
        device.compute_capability()?;
        device.name()?;
        device.total_memory()?;
        device.primary_context()?;
    };
    "Driver" ["Driver::version" "Driver::current_context" "Driver::default_context" "Driver::device" "Driver::devices"] |world| {
        world.driver.version()?;
        world.driver.devices()?;
        world.driver.current_context()?;
        world.driver.default_context()?;
    };
    "Event" ["Event::new" "Event::record" "Event::synchronize" "Event::is_done" "Event::elapsed_time"] |world| {
        let event = Event::new(&world.context, true)?;
        event.record(&world.streams[0])?;
        event.synchronize()?;
        event.is_done()?;
        world.event.elapsed_time(&event)?;
    };
    "Stream" ["Stream::new" "Stream::non_blocking" "Stream::context" "Stream::is_done" "Stream::synchronize" "Stream::wait" "Stream::work_context"] |world| {
        let stream = Stream::new(&world.context)?;
        Stream::non_blocking(&world.context)?;
        stream.wait(&world.event)?;
        // SAFETY: the stream outlives it.
        let external = unsafe { Stream::from_raw(&world.driver, stream.handle(), None) };
        external.context()?;
        external.work_context()?;
        stream.is_done()?;
        stream.synchronize()?;
    };
}

/// Functions that make no driver call: plain data, and errors of initialization, which `driver_load.rs` tests.
const WITHOUT_CALLS: &[&str] = &[
    "Descr::",
    "Driver::from_api",
    "Driver::load",
    "Driver::open",
    "Interface::",
    "Layout::",
    "Mask::",
    "NamedType::",
    "PinnedArray::as_ndarray",
    "StreamEntry::",
    "TypeStr::",
];

/// The public functions that return a `Result`, from the list that `make api` writes.
fn fallible() -> BTreeSet<String> {
    let functions = include_str!("../public-api.txt").lines().filter(|line| {
        line.contains("-> cuarray::Result<") && (cfg!(feature = "ndarray") || !line.contains("ndarray"))
    });
    let name = |line: &str| {
        let path = line.split_once("fn cuarray::")?.1.split_once('(')?.0;
        let (mut name, mut depth) = (String::new(), 0);
        for letter in path.chars() {
            depth += i32::from(letter == '<');
            if depth == 0 {
                name.push(letter);
            }
            depth -= i32::from(letter == '>');
        }
        Some(name)
    };
    functions.map(|line| name(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

#[test]
fn every_public_function_that_can_fail_has_an_operation() {
    let covered: BTreeSet<&str> = OPERATIONS.iter().flat_map(|operation| operation.covers).copied().collect();
    let public = fallible();
    assert!(public.len() > 80, "{public:?}");
    let missing: Vec<&String> = public
        .iter()
        .filter(|name| !covered.contains(name.as_str()) && !WITHOUT_CALLS.iter().any(|known| name.starts_with(known)))
        .collect();
    assert!(missing.is_empty(), "add an operation for {missing:?}");
    let unknown: Vec<&&str> = covered.iter().filter(|name| !public.contains(**name)).collect();
    assert!(unknown.is_empty(), "no such public function: {unknown:?}");
}

/// The calls of an operation, by symbol.
fn calls(sim: &Sim) -> Vec<(&'static str, usize)> {
    ENTRY_POINTS.iter().map(|entry| (entry.symbol, driver_fixture::calls(sim, entry.symbol))).collect()
}

/// The number of faults by outcome.
#[derive(Debug, Default)]
struct Outcomes {
    calls: usize,
    raised: usize,
    reported: usize,
    handled: usize,
}

fn config() -> Config {
    Config { devices: 2, quiet: true, free_synchronizes: false, ..Config::default() }
}

/// Runs an operation with a fault, and counts whether it was raised, reported or handled.
///
/// # Errors
/// A description of what is wrong.
fn survive(
    operation: &Operation,
    symbol: &'static str,
    call: u64,
    result: CUresult,
    outcomes: &mut Outcomes,
) -> Result<(), String> {
    let require = |holds: bool, what: &dyn std::fmt::Debug| if holds { Ok(()) } else { Err(format!("{what:?}")) };
    let sim = Sim::new(config());
    let _entered = sim.enter();
    // SAFETY: the simulator behaves as a driver.
    let driver = unsafe { Driver::from_api(sim.api()) }.unwrap();
    let mut world = World::new(driver.clone()).unwrap();
    (operation.run)(&mut world).unwrap();
    sim.fail_nth(symbol, call, result).unwrap();
    let raised = (operation.run)(&mut world).err();
    require(sim.clear_faults() == 0, &"the call was not made")?;
    let reported = driver.take_drop_error();
    let name = ENTRY_POINTS.iter().find(|entry| entry.symbol == symbol).unwrap().name;
    for error in raised.iter().chain(&reported) {
        require((error.driver_call(), error.driver_code()) == (Some(name), Some(result)), error)?;
    }
    match (&raised, &reported) {
        (Some(_), _) => outcomes.raised += 1,
        (None, Some(_)) => outcomes.reported += 1,
        (None, None) => {
            require(HANDLED.contains(&symbol), &"no error")?;
            outcomes.handled += 1;
        }
    }
    let mut current = CUcontext::NULL;
    // SAFETY: the driver writes one handle.
    let queried = unsafe { sim.api().cuCtxGetCurrent.unwrap()(&mut current) };
    require(queried.is_success() && current.is_null(), &"a context is left current")?;
    (operation.run)(&mut world).map_err(|error| format!("the second attempt failed: {error}"))?;
    // The world has bare allocations, which are freed at once.
    world.context.synchronize().unwrap();
    drop(world);
    driver.reclaim(true);
    require(driver.take_drop_error().is_none(), &"a later drop failed")?;
    drop(driver);
    let alive = Alive::of(&sim);
    // Only an object whose release failed is still alive.
    let allowed = usize::from(reported.is_some() && RELEASES.contains(&symbol));
    require(alive.allocations + alive.streams + alive.events + alive.primaries <= allowed, &alive)?;
    let report = sim.report();
    require(report.findings.is_empty(), &report.text(false))
}

#[test]
fn every_operation_survives_each_of_its_faults() {
    // `make faults` asks for all three results of each call; other runs try one.
    let all = std::env::var_os("CUARRAY_FAULTS").is_some_and(|value| value == "all");
    let (mut outcomes, mut wrong) = (Outcomes::default(), Vec::new());
    for operation in OPERATIONS {
        let counting = Sim::new(config());
        let made: Vec<(&str, u64)> = {
            let _entered = counting.enter();
            // SAFETY: the simulator behaves as a driver.
            let driver = unsafe { Driver::from_api(counting.api()) }.unwrap();
            let mut world = World::new(driver).unwrap();
            (operation.run)(&mut world).unwrap();
            let before = calls(&counting);
            (operation.run)(&mut world).unwrap();
            let made = before.into_iter().zip(calls(&counting));
            made.map(|((symbol, before), (_, after))| (symbol, (after - before) as u64)).collect()
        };
        for (symbol, count) in made {
            outcomes.calls += count as usize;
            for call in 1..=count {
                let results = if all { &RESULTS[..] } else { &RESULTS[call as usize % RESULTS.len()..][..1] };
                for &result in results {
                    if let Err(what) = survive(operation, symbol, call, result, &mut outcomes) {
                        wrong.push(format!("{}: call {call} of {symbol} with {result:?}: {what}", operation.name));
                    }
                }
            }
        }
    }
    println!("{} operations, {outcomes:?}", OPERATIONS.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(outcomes.raised > 300, "{outcomes:?}");
}
