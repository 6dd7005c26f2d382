//! Tests that safe code can neither race nor use freed memory. The only `unsafe` code is a launch whose kernel keeps to its arrays, a
//! constructor whose contract is met, or a graph that a program makes and launches.
//!
//! The simulated driver reports races and uses after free. Its frees do not wait for pending work. The first test checks that it reports
//! work that no guard orders.

use super::driver_fixture::{Alive, Fixture, entry, streams};
use crate::{
    Context, DeviceArray, DevicePtr, Interface, Ix1, Layout, Owner, RawView, Stream, StreamEntry, TypeStr,
    driver::{Allocation, Event},
    kernel::{Function, LaunchConfig, Module},
    sync::{self, Memory},
};
use cuarray_abi::{CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUgraphExec, CUresult, CUstream};
use cuarray_sim::{Config, finding::Kind};
use std::{mem, sync::Arc, thread};

const N: usize = 64;

/// The kernel `set` writes a value to each of the numbers of a block.
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry set(.param .u64 data, .param .u32 value)
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

struct Program {
    fixture: Fixture,
}

impl Program {
    fn new() -> Program {
        Program::with(Config::default())
    }

    fn with(config: Config) -> Program {
        // Work stays pending until the program waits for it, and a free does not wait.
        Program { fixture: Fixture::with(Config { free_synchronizes: false, ..config }) }
    }

    fn context(&self) -> Context {
        self.fixture.primary()
    }

    /// Waits for all work. Checks that there are no findings and no live objects.
    #[track_caller]
    fn finish(self) {
        let driver = &self.fixture.driver;
        for device in driver.devices().unwrap() {
            device.primary_context().unwrap().synchronize().unwrap();
        }
        driver.reclaim(true);
        let report = self.fixture.sim.report();
        assert_eq!(report.findings.len(), 0, "{}", report.text(false));
        if let Some(error) = driver.take_drop_error() {
            panic!("a drop failed: {error}");
        }
        let sim = self.fixture.sim.clone();
        drop(self.fixture);
        let _entered = sim.enter();
        assert_eq!(Alive::of(&sim), Alive::NOTHING);
    }
}

fn set(context: &Context) -> Function {
    Module::load_ptx(context, PTX).unwrap().function("set").unwrap()
}

fn numbers(stream: &Stream) -> DeviceArray<u32, Ix1> {
    DeviceArray::zeros([N], stream).unwrap()
}

/// Launches the kernel on a guard, in its stream.
macro_rules! launch {
    ($kernel:expr, $guard:expr) => {{
        let stream = $guard.stream().clone();
        // SAFETY: the kernel writes N numbers, and the array has as many.
        unsafe { $kernel.launch(&stream, LaunchConfig::new([1, 1, 1], [N as u32, 1, 1]), (&mut $guard, 1u32)) }
    }};
}

fn interface(data: DevicePtr) -> Interface {
    Interface::new(data, TypeStr::of::<u32>(), Layout::c_contiguous(&[N], 4).unwrap()).unwrap()
}

/// A view of memory that is freed at once when its owner is dropped.
fn view(program: &Program, memory: &Arc<Allocation>, stream: StreamEntry) -> RawView {
    let interface = interface(memory.device_ptr()).with_stream(stream);
    // SAFETY: the memory and the streams live as long as the view.
    unsafe { RawView::new(&program.fixture.driver, interface, Some(Owner::new(memory.clone()))) }.unwrap()
}

fn allocation(context: &Context) -> Arc<Allocation> {
    Arc::new(Allocation::device(context, 4 * N).unwrap())
}

fn begin_capture(program: &Program, stream: &Stream) {
    let begin = program.fixture.driver.api().cuStreamBeginCapture_v2.unwrap();
    let context = program.context();
    let _current = context.push().unwrap();
    // SAFETY: the stream is alive.
    assert!(unsafe { begin(CUstream(stream.handle()), CU_STREAM_CAPTURE_MODE_RELAXED) }.is_success());
}

fn end_capture(program: &Program, stream: &Stream) -> CUgraph {
    let mut graph = CUgraph::NULL;
    let context = program.context();
    let _current = context.push().unwrap();
    // SAFETY: the stream is alive; the driver writes one handle.
    let ended =
        unsafe { program.fixture.driver.api().cuStreamEndCapture.unwrap()(CUstream(stream.handle()), &mut graph) };
    assert!(ended.is_success(), "{ended:?}");
    graph
}

fn destroy(program: &Program, graph: CUgraph) {
    // SAFETY: the graph has not been destroyed.
    assert!(unsafe { program.fixture.driver.api().cuGraphDestroy.unwrap()(graph) }.is_success());
}

/// Launches a graph once and destroys it when its work is done.
fn launch_graph(program: &Program, graph: CUgraph, stream: &Stream) {
    let (api, context) = (program.fixture.driver.api(), program.context());
    let _current = context.push().unwrap();
    let mut exec = CUgraphExec::NULL;
    // SAFETY: the graph and the stream are alive; the driver writes one handle.
    unsafe {
        assert!(api.cuGraphInstantiateWithFlags.unwrap()(&mut exec, graph, 0).is_success());
        assert!(api.cuGraphDestroy.unwrap()(graph).is_success());
        assert!(api.cuGraphLaunch.unwrap()(exec, CUstream(stream.handle())).is_success());
    }
    stream.synchronize().unwrap();
    // SAFETY: the graph has been launched, and its work is done.
    assert!(unsafe { api.cuGraphExecDestroy.unwrap()(exec) }.is_success());
}

#[test]
fn the_simulator_finds_work_that_no_guard_orders() {
    let program = Program::new();
    let context = program.context();
    let [home, other] = streams(&context);
    let (kernel, mut array) = (set(&context), numbers(&home));
    let address = array.acquire_mut(&home).unwrap().as_device_ptr();
    // SAFETY: the kernel writes N numbers, and the array has as many. The work is not ordered: the simulator should report that.
    unsafe { kernel.launch(&other, LaunchConfig::new([1, 1, 1], [N as u32, 1, 1]), (address, 1u32)) }.unwrap();
    context.synchronize().unwrap();
    assert_eq!(program.fixture.sim.report().findings[0].kind, Kind::DataRace);
}

// A leaked guard.

#[test]
fn a_leaked_guard_of_an_array_is_released_when_the_array_is_dropped() {
    let program = Program::new();
    let context = program.context();
    let [home, other] = streams(&context);
    let kernel = set(&context);
    let mut array = numbers(&home);
    home.synchronize().unwrap();
    let later = array.clone().into_raw();
    let mut guard = array.acquire_mut(&other).unwrap();
    launch!(kernel, guard).unwrap();
    mem::forget(guard);
    drop((array, other));
    // The last array over the memory: its drop makes the edge back.
    drop(later);
    let again = numbers(&home);
    assert_eq!(again.to_host().unwrap(), [0; N]);
    drop((again, home, kernel, context));
    program.finish();
}

#[test]
fn a_leaked_guard_of_a_part_keeps_its_elements_acquired_until_the_part_is_dropped() {
    let program = Program::new();
    let context = program.context();
    let [home, other] = streams(&context);
    let kernel = set(&context);
    let array = numbers(&home);
    let mut part = array.slice(crate::s![..]).unwrap();
    let mut guard = part.acquire_mut(&other).unwrap();
    launch!(kernel, guard).unwrap();
    mem::forget(guard);
    assert!(array.to_host().unwrap_err().is_already_acquired());
    drop(part);
    assert_eq!(array.to_host().unwrap(), [1; N]);
    drop((array, home, other, kernel, context));
    program.finish();
}

#[test]
fn a_leaked_guard_of_a_view_is_released_before_the_owner_is_dropped() {
    for named in [true, false] {
        let program = Program::new();
        let context = program.context();
        let [home, other] = streams(&context);
        let (kernel, memory) = (set(&context), allocation(&context));
        let mut view = view(&program, &memory, if named { entry(&home) } else { StreamEntry::None });
        let mut guard = view.acquire_mut(&other).unwrap();
        launch!(kernel, guard).unwrap();
        mem::forget(guard);
        drop((view, other));
        if named {
            // Stands for the producer's later work in the stream that the interface names.
            home.synchronize().unwrap();
        }
        drop(memory);
        drop((home, kernel, context));
        program.finish();
    }
}

#[test]
fn guards_in_a_cycle_are_released_when_the_array_is_dropped() {
    use std::{
        cell::RefCell,
        rc::Rc,
        sync::atomic::{AtomicPtr, Ordering::Relaxed},
    };
    static LEAKED: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
    struct Cycle<'v>(RefCell<Option<Rc<Cycle<'v>>>>, #[allow(dead_code)] crate::AcquiredMut<'v, u32, Ix1>);
    let program = Program::new();
    let context = program.context();
    let [home, other] = streams(&context);
    let kernel = set(&context);
    let mut array = numbers(&home);
    home.synchronize().unwrap();
    {
        let mut guard = array.acquire_mut(&other).unwrap();
        launch!(kernel, guard).unwrap();
        let cycle = Rc::new(Cycle(RefCell::new(None), guard));
        *cycle.0.borrow_mut() = Some(cycle.clone());
        // The leak sanitizer does not report memory that a pointer in a static reaches.
        LEAKED.store(Rc::as_ptr(&cycle).cast_mut().cast(), Relaxed);
    }
    drop(array);
    drop((home, other, kernel, context));
    program.finish();
}

#[test]
fn a_deferred_guard_ends_once_although_another_guard_was_leaked() {
    let program = Program::new();
    let context = program.context();
    let [home, other, captures] = streams(&context);
    let (array, mut unrelated) = (numbers(&home), numbers(&home));
    let mut also_unrelated = unrelated.slice(crate::s![..]).unwrap();
    home.synchronize().unwrap();
    mem::forget(array.acquire(&other).unwrap());
    let deferred = array.acquire(&captures).unwrap();
    begin_capture(&program, &captures);
    assert!(deferred.release().unwrap_err().is_unsupported());
    drop(array);
    let guard = unrelated.acquire_mut(&other).unwrap();
    let graph = end_capture(&program, &captures);
    destroy(&program, graph);
    program.fixture.driver.reclaim(true);
    // The deferred end has not removed the entry of this guard.
    assert!(also_unrelated.acquire_mut(&other).unwrap_err().is_already_acquired());
    drop(guard);
    drop((unrelated, also_unrelated, home, other, captures, context));
    program.finish();
}

// Arrays over the same memory with different home streams.

#[test]
fn arrays_over_one_memory_with_two_home_streams_are_ordered() {
    for second_has_home in [true, false] {
        let program = Program::new();
        let context = program.context();
        let [one, two] = streams(&context);
        let kernel = set(&context);
        let memory = Arc::new(Memory::new(&context, || Allocation::device(&context, 4 * N)).unwrap());
        let mut first = RawView::from_memory(&memory, interface(memory.allocation().device_ptr()), Some(&one)).unwrap();
        let home = second_has_home.then_some(&two);
        let mut second = RawView::from_memory(&memory, interface(memory.allocation().device_ptr()), home).unwrap();
        for _ in 0..2 {
            let mut guard = first.acquire_mut(&one).unwrap();
            launch!(kernel, guard).unwrap();
            guard.release().unwrap();
            let mut guard = second.acquire_mut(&two).unwrap();
            launch!(kernel, guard).unwrap();
            guard.release().unwrap();
        }
        drop((first, second, memory));
        drop((one, two, kernel, context));
        program.finish();
    }
}

#[test]
fn views_of_one_memory_are_ordered_while_both_live() {
    for (first_entry, second_entry) in [(true, true), (true, false), (false, true), (false, false)] {
        let program = Program::new();
        let context = program.context();
        let [one, two, work, more] = streams(&context);
        let (kernel, memory) = (set(&context), allocation(&context));
        let named = |named: bool, stream: &Stream| if named { entry(stream) } else { StreamEntry::None };
        let mut first = view(&program, &memory, named(first_entry, &one));
        let mut second = view(&program, &memory, named(second_entry, &two));
        for _ in 0..2 {
            let mut guard = first.acquire_mut(&work).unwrap();
            launch!(kernel, guard).unwrap();
            guard.release().unwrap();
            let mut guard = second.acquire_mut(&more).unwrap();
            launch!(kernel, guard).unwrap();
            guard.release().unwrap();
        }
        drop((first, second));
        one.synchronize().unwrap();
        two.synchronize().unwrap();
        program.fixture.driver.reclaim(true);
        drop(memory);
        drop((one, two, work, more, kernel, context));
        program.finish();
    }
}

#[test]
fn an_array_and_a_view_of_its_memory_are_ordered_while_both_live() {
    let program = Program::new();
    let context = program.context();
    let [home, two, work] = streams(&context);
    let kernel = set(&context);
    let mut array = numbers(&home);
    home.synchronize().unwrap();
    let interface = array.interface().clone().with_stream(entry(&two));
    // SAFETY: the memory and the stream live as long as the view.
    let mut view =
        unsafe { RawView::new(&program.fixture.driver, interface, Some(Owner::new(Arc::new(array.clone())))) }.unwrap();
    for _ in 0..2 {
        let mut guard = array.acquire_mut(&home).unwrap();
        launch!(kernel, guard).unwrap();
        guard.release().unwrap();
        let mut guard = view.acquire_mut(&work).unwrap();
        launch!(kernel, guard).unwrap();
        guard.release().unwrap();
    }
    two.synchronize().unwrap();
    drop((view, array));
    drop((home, two, work, kernel, context));
    program.finish();
}

#[test]
fn arrays_of_one_owner_are_ordered_while_both_live() {
    for recorded in [true, false] {
        let program = Program::new();
        let context = program.context();
        let [one, two] = streams(&context);
        let (kernel, memory) = (set(&context), allocation(&context));
        let array = || {
            let interface = interface(memory.device_ptr());
            // SAFETY: the owner keeps the memory.
            unsafe { crate::RawDeviceArray::from_owner(&context, interface, Owner::new(memory.clone()), None) }.unwrap()
        };
        let (mut first, mut second) = (array(), array());
        match recorded {
            true => {
                let config = LaunchConfig::new([1, 1, 1], [N as u32, 1, 1]);
                // SAFETY: the memory has N numbers, and the work is recorded.
                unsafe { kernel.launch(&one, config, (memory.device_ptr(), 1u32)) }.unwrap();
                first.record_stream(&one, crate::sync::Access::Write).unwrap();
            }
            false => {
                let mut guard = first.acquire_mut(&one).unwrap();
                launch!(kernel, guard).unwrap();
                guard.release().unwrap();
            }
        }
        let mut guard = second.acquire_mut(&two).unwrap();
        launch!(kernel, guard).unwrap();
        guard.release().unwrap();
        drop((first, second));
        drop((one, two, kernel, memory, context));
        program.finish();
    }
}

// Stream-ordered memory.

#[test]
fn stream_ordered_memory_is_ordered_after_its_allocation() {
    for home in [Some(true), Some(false), None] {
        let program = Program::new();
        let context = program.context();
        let [one, two] = streams(&context);
        let kernel = set(&context);
        let memory = Memory::new(&context, || Allocation::stream_ordered(&one, 4 * N)).unwrap();
        let interface = interface(memory.allocation().device_ptr());
        let home = home.map(|own| if own { &one } else { &two });
        let mut array = crate::RawDeviceArray::from_memory(Arc::new(memory), interface, home).unwrap();
        let mut guard = array.acquire_mut(&two).unwrap();
        launch!(kernel, guard).unwrap();
        guard.release().unwrap();
        drop(array);
        drop((one, two, kernel, context));
        program.finish();
    }
}

// Per-thread default streams.

#[test]
fn a_view_without_stream_is_ordered_between_per_thread_default_streams() {
    let program = Program::new();
    let context = program.context();
    let stream = Stream::per_thread_default(&context);
    let (kernel, memory) = (set(&context), allocation(&context));
    let mut view = view(&program, &memory, StreamEntry::None);
    let mut guard = view.acquire_mut(&stream).unwrap();
    launch!(kernel, guard).unwrap();
    guard.release().unwrap();
    thread::scope(|scope| {
        let handle = scope.spawn(|| {
            let _entered = program.fixture.sim.enter();
            let mut guard = view.acquire_mut(&stream).unwrap();
            launch!(kernel, guard).unwrap();
            guard.release().unwrap();
        });
        handle.join().unwrap();
    });
    drop(view);
    program.fixture.driver.reclaim(true);
    drop(memory);
    drop((stream, kernel, context));
    program.finish();
}

#[test]
fn a_view_of_a_per_thread_default_stream_is_ordered_with_its_own_thread() {
    let program = Program::new();
    let context = program.context();
    let (kernel, memory) = (set(&context), allocation(&context));
    let producer = Stream::per_thread_default(&context);
    let address = memory.device_ptr();
    let config = LaunchConfig::new([1, 1, 1], [N as u32, 1, 1]);
    // SAFETY: the memory has N numbers. The producer's work is in the stream that the interface names.
    unsafe { kernel.launch(&producer, config, (address, 1u32)) }.unwrap();
    let mut view = view(&program, &memory, StreamEntry::PerThreadDefault);
    thread::scope(|scope| {
        let handle = scope.spawn(|| {
            let _entered = program.fixture.sim.enter();
            for stream in [Stream::per_thread_default(&context), Stream::non_blocking(&context).unwrap()] {
                let mut guard = view.acquire_mut(&stream).unwrap();
                launch!(kernel, guard).unwrap();
                guard.release().unwrap();
            }
        });
        handle.join().unwrap();
    });
    // SAFETY: the memory has N numbers; the guards have ordered their work before the producer's.
    unsafe { kernel.launch(&producer, config, (address, 1u32)) }.unwrap();
    drop(view);
    context.synchronize().unwrap();
    drop((memory, producer, kernel, context));
    program.finish();
}

// A C structure with an event and a stream.

#[test]
fn a_second_guard_of_a_view_with_an_event_waits_for_the_first() {
    let program = Program::new();
    let context = program.context();
    let [home, one, two] = streams(&context);
    let (kernel, memory) = (set(&context), allocation(&context));
    let event = Event::new(&context, false).unwrap();
    event.record(&home).unwrap();
    let mut view = view(&program, &memory, entry(&home)).with_events(Some(Arc::new(event)), None);
    for stream in [&one, &two] {
        let mut guard = view.acquire_mut(stream).unwrap();
        launch!(kernel, guard).unwrap();
        guard.release().unwrap();
    }
    drop(view);
    // The producer waits for the stream that its interface names, and frees the memory.
    home.synchronize().unwrap();
    drop(memory);
    drop((home, one, two, kernel, context));
    program.finish();
}

// A default stream without a context.

#[test]
fn a_default_stream_without_context_is_resolved_to_the_context_of_the_memory() {
    let program = Program::with(Config { devices: 2, ..Config::default() });
    let driver = &program.fixture.driver;
    let contexts = [0, 1].map(|device| driver.device(device).unwrap().primary_context().unwrap());
    let kernels = contexts.each_ref().map(set);
    let [home] = streams(&contexts[1]);
    let mut array = numbers(&home);
    // SAFETY: 1 is the legacy default stream.
    let stream = unsafe { Stream::from_raw(driver, 1, None) };
    let current = contexts[0].push().unwrap();
    let mut guard = array.acquire_mut(&stream).unwrap();
    assert_eq!(guard.stream().context().unwrap().as_ref(), Some(&contexts[1]));
    // SAFETY: the launch is refused.
    let refused = unsafe {
        kernels[0].launch(&stream, LaunchConfig::new([1, 1, 1], [N as u32, 1, 1]), (&mut guard, 1u32)).unwrap_err()
    };
    assert!(refused.is_invalid_argument() && refused.to_string().contains("argument 0"), "{refused}");
    // SAFETY: the kernel writes N numbers, and the array has as many.
    unsafe { kernels[1].launch(&stream, LaunchConfig::new([1, 1, 1], [N as u32, 1, 1]), (&mut guard, 1u32)) }.unwrap();
    guard.release().unwrap();
    assert_eq!(array.to_host().unwrap(), [1; N]);
    drop(current);
    drop((array, home, stream, kernels, contexts));
    program.finish();
}

// A capture that begins while a guard lives.

#[test]
fn work_before_a_capture_is_ordered_when_the_capture_has_ended() {
    for ends_by_drop in [true, false] {
        let program = Program::new();
        let context = program.context();
        let [home, other] = streams(&context);
        let kernel = set(&context);
        let mut array = numbers(&home);
        home.synchronize().unwrap();
        let mut guard = array.acquire_mut(&other).unwrap();
        launch!(kernel, guard).unwrap();
        begin_capture(&program, &other);
        if ends_by_drop {
            drop(guard);
            assert!(program.fixture.driver.take_drop_error().unwrap().is_unsupported());
        } else {
            assert!(guard.release().unwrap_err().is_unsupported());
        }
        assert!(array.acquire_mut(&home).unwrap_err().is_already_acquired());
        let graph = end_capture(&program, &other);
        destroy(&program, graph);
        let mut guard = array.acquire_mut(&home).unwrap();
        launch!(kernel, guard).unwrap();
        guard.release().unwrap();
        assert_eq!(array.to_host().unwrap(), [1; N]);
        drop((array, home, other, kernel, context));
        program.finish();
    }
}

#[test]
fn memory_is_kept_while_a_stream_with_work_on_it_captures() {
    for home_captures in [true, false] {
        let program = Program::new();
        let context = program.context();
        let [home, other] = streams(&context);
        let kernel = set(&context);
        let mut array = numbers(&home);
        let on = if home_captures { &home } else { &other };
        let mut guard = array.acquire_mut(on).unwrap();
        launch!(kernel, guard).unwrap();
        begin_capture(&program, on);
        drop(guard);
        drop(array);
        program.fixture.driver.reclaim(true);
        drop(program.fixture.driver.take_drop_error());
        let graph = end_capture(&program, on);
        destroy(&program, graph);
        drop((home, other, kernel, context));
        program.finish();
    }
}

#[test]
fn the_owner_of_a_view_without_stream_is_kept_after_a_deferred_end() {
    for leaked in [true, false] {
        let program = Program::new();
        let context = program.context();
        let (legacy, captures) = (Stream::legacy_default(&context), Stream::new(&context).unwrap());
        let (kernel, memory) = (set(&context), allocation(&context));
        let mut view = view(&program, &memory, StreamEntry::None);
        drop(memory);
        let mut guard = view.acquire_mut(&legacy).unwrap();
        launch!(kernel, guard).unwrap();
        // A blocking stream that captures makes the legacy default stream unusable.
        begin_capture(&program, &captures);
        match leaked {
            true => mem::forget(guard),
            false => assert!(guard.release().unwrap_err().is_unsupported()),
        }
        drop(view);
        let graph = end_capture(&program, &captures);
        destroy(&program, graph);
        // The deferred end records the work, which is pending.
        program.fixture.driver.reclaim(false);
        drop(program.fixture.driver.take_drop_error());
        drop((legacy, captures, kernel, context));
        program.finish();
    }
}

#[test]
fn the_owner_of_a_view_without_stream_is_kept_if_a_deferred_guard_ends_during_the_next() {
    for leaked in [true, false] {
        let program = Program::new();
        let context = program.context();
        let (legacy, captures) = (Stream::legacy_default(&context), Stream::new(&context).unwrap());
        let stream = Stream::new(&context).unwrap();
        let (kernel, memory) = (set(&context), allocation(&context));
        let mut view = view(&program, &memory, StreamEntry::None);
        drop(memory);
        let deferred = view.acquire_mut(&legacy).unwrap();
        begin_capture(&program, &captures);
        assert!(deferred.release().unwrap_err().is_unsupported());
        let graph = end_capture(&program, &captures);
        destroy(&program, graph);
        let mut guard = view.acquire_mut(&stream).unwrap();
        // The work that the deferred end has recorded is done, and the guard has none yet.
        context.synchronize().unwrap();
        program.fixture.driver.reclaim(false);
        launch!(kernel, guard).unwrap();
        match leaked {
            true => mem::forget(guard),
            false => guard.release().unwrap(),
        }
        drop(view);
        drop((legacy, captures, stream, kernel, context));
        program.finish();
    }
}

#[test]
fn memory_of_an_owner_is_kept_while_a_stream_with_work_on_it_captures() {
    let program = Program::new();
    let context = program.context();
    let [stream, home] = streams(&context);
    let kernel = set(&context);
    // SAFETY: the owner keeps the stream.
    let external =
        unsafe { Stream::from_raw(&program.fixture.driver, home.handle(), Some(Owner::new(Arc::new(home.clone())))) };
    for (home, on) in [(None, &stream), (Some(&external), &external)] {
        let memory = allocation(&context);
        let interface = interface(memory.device_ptr());
        // SAFETY: the owner keeps the memory.
        let mut array =
            unsafe { crate::RawDeviceArray::from_owner(&context, interface, Owner::new(memory), home) }.unwrap();
        let mut guard = array.acquire_mut(on).unwrap();
        launch!(kernel, guard).unwrap();
        begin_capture(&program, on);
        assert!(guard.release().unwrap_err().is_unsupported());
        drop(array);
        let graph = end_capture(&program, on);
        destroy(&program, graph);
        program.fixture.driver.reclaim(false);
    }
    drop((stream, home, external, kernel, context));
    program.finish();
}

#[test]
fn a_guard_acquired_before_a_capture_is_refused_during_it() {
    let program = Program::new();
    let context = program.context();
    let [stream, other] = streams(&context);
    let kernel = set(&context);
    let mut array = numbers(&other);
    other.synchronize().unwrap();
    let mut before = array.acquire_mut(&stream).unwrap();
    begin_capture(&program, &stream);
    let refused = launch!(kernel, before).unwrap_err();
    assert!(refused.to_string().contains("before the stream began to capture a graph"), "{refused}");
    let graph = end_capture(&program, &stream);
    destroy(&program, graph);
    launch!(kernel, before).unwrap();
    before.release().unwrap();
    assert_eq!(array.to_host().unwrap(), [1; N]);
    drop((array, stream, other, kernel, context));
    program.finish();
}

// A graph that is launched after the arrays of its launches were dropped.

#[test]
fn a_graph_keeps_the_arrays_and_the_module_of_its_launches() {
    let program = Program::new();
    let context = program.context();
    let [stream] = streams(&context);
    let (kernel, mut array) = (set(&context), numbers(&stream));
    stream.synchronize().unwrap();
    begin_capture(&program, &stream);
    let mut guard = array.acquire_mut(&stream).unwrap();
    launch!(kernel, guard).unwrap();
    guard.release().unwrap();
    let filled = numbers(&stream);
    let graph = end_capture(&program, &stream);
    drop((array, filled, kernel));
    program.fixture.driver.reclaim(true);
    launch_graph(&program, graph, &stream);
    drop((stream, context));
    program.finish();
}

// A view without a stream, dropped after the release of its guard.

#[test]
fn the_owner_of_a_view_without_stream_is_kept_until_its_work_is_done() {
    for kind in ["owned stream", "legacy default stream", "per-thread default stream"] {
        let program = Program::new();
        let context = program.context();
        let [one, two] = streams(&context);
        let kernel = set(&context);
        let memory = Arc::new(Allocation::stream_ordered(&one, 4 * N).unwrap());
        one.synchronize().unwrap();
        let mut view = view(&program, &memory, StreamEntry::None);
        drop(memory);
        let stream = match kind {
            "owned stream" => two.clone(),
            "legacy default stream" => Stream::legacy_default(&context),
            _ => Stream::per_thread_default(&context),
        };
        let mut guard = view.acquire_mut(&stream).unwrap();
        launch!(kernel, guard).unwrap();
        guard.release().unwrap();
        drop(view);
        drop((one, two, stream, kernel, context));
        program.finish();
    }
}

// Streams of launches.

#[test]
fn a_module_keeps_no_stream_whose_launches_are_done() {
    let program = Program::new();
    let context = program.context();
    let [home] = streams(&context);
    let (kernel, mut array) = (set(&context), numbers(&home));
    for _ in 0..20 {
        let [stream] = streams(&context);
        let mut guard = array.acquire_mut(&stream).unwrap();
        launch!(kernel, guard).unwrap();
        guard.release().unwrap();
        stream.synchronize().unwrap();
    }
    assert!(program.fixture.alive().streams <= 2);
    drop((array, home, kernel, context));
    program.finish();
}

// The driver's own order between the legacy default stream and blocking streams.

#[test]
fn host_wait_for_a_blocking_home_stream_waits_for_a_guard_in_the_legacy_default_stream() {
    let program = Program::new();
    let context = program.context();
    let (home, legacy) = (Stream::new(&context).unwrap(), Stream::legacy_default(&context));
    let (kernel, memory) = (set(&context), allocation(&context));
    let mut view = view(&program, &memory, entry(&home));
    let mut guard = view.acquire_mut(&legacy).unwrap();
    launch!(kernel, guard).unwrap();
    guard.release().unwrap();
    drop(view);
    // The producer waits for the stream that its interface names, and frees the memory.
    home.synchronize().unwrap();
    drop(memory);
    drop((home, legacy, kernel, context));
    program.finish();
}

#[test]
fn a_guard_that_ends_in_another_thread_leaves_a_capture_intact() {
    let program = Program::new();
    let context = program.context();
    let [home, captures] = streams(&context);
    let (kernel, mut array) = (set(&context), numbers(&home));
    let stream = Stream::per_thread_default(&context);
    begin_capture(&program, &captures);
    let mut guard = array.acquire_mut(&stream).unwrap();
    launch!(kernel, guard).unwrap();
    let sim = &program.fixture.sim;
    thread::scope(|scope| {
        scope.spawn(move || {
            let _entered = sim.enter();
            guard.release().unwrap();
        });
    });
    let graph = end_capture(&program, &captures);
    destroy(&program, graph);
    assert_eq!(array.to_host().unwrap(), [1; N]);
    drop((array, home, captures, stream, kernel, context));
    program.finish();
}

// Failing driver calls.

#[test]
fn stream_ordered_memory_is_freed_after_its_work_if_the_stream_ordered_free_fails() {
    let program = Program::new();
    let context = program.context();
    let [stream] = streams(&context);
    let kernel = set(&context);
    let memory = Allocation::stream_ordered(&stream, 4 * N).unwrap();
    let config = LaunchConfig::new([1, 1, 1], [N as u32, 1, 1]);
    // SAFETY: the memory has N numbers, and its stream orders the work.
    unsafe { kernel.launch(&stream, config, (memory.device_ptr(), 1u32)) }.unwrap();
    program.fixture.sim.fail_next("cuMemFreeAsync", CUresult::CUDA_ERROR_UNKNOWN).unwrap();
    drop(memory);
    drop((stream, kernel, context));
    program.finish();
}

#[test]
fn stream_ordered_memory_is_freed_after_the_legacy_default_stream_if_the_stream_ordered_free_fails() {
    let program = Program::new();
    let context = program.context();
    let (home, legacy) = (Stream::new(&context).unwrap(), Stream::legacy_default(&context));
    let kernel = set(&context);
    let memory = Allocation::stream_ordered(&home, 4 * N).unwrap();
    let config = LaunchConfig::new([1, 1, 1], [N as u32, 1, 1]);
    sync::edge(&home, &legacy).unwrap();
    // SAFETY: the memory has N numbers, and the edges order the work after the allocation and before the free.
    unsafe { kernel.launch(&legacy, config, (memory.device_ptr(), 1u32)) }.unwrap();
    sync::edge(&legacy, &home).unwrap();
    program.fixture.sim.fail_next("cuMemFreeAsync", CUresult::CUDA_ERROR_UNKNOWN).unwrap();
    drop(memory);
    drop((home, legacy, kernel, context));
    program.finish();
}

#[test]
fn a_failing_query_frees_no_memory_early_and_leaves_a_capture_intact() {
    let program = Program::new();
    let context = program.context();
    let [home, other] = streams(&context);
    let array = numbers(&home);
    begin_capture(&program, &other);
    program.fixture.sim.fail_next("cuStreamQuery", CUresult::CUDA_ERROR_UNKNOWN).unwrap();
    drop(array);
    assert!(program.fixture.driver.take_drop_error().is_some());
    let graph = end_capture(&program, &other);
    destroy(&program, graph);
    drop((home, other, context));
    program.finish();
}

#[test]
fn a_guard_whose_end_fails_twice_is_ordered_by_a_wait_for_the_context() {
    let program = Program::new();
    let context = program.context();
    let [home, other] = streams(&context);
    let (kernel, mut array) = (set(&context), numbers(&home));
    home.synchronize().unwrap();
    let mut guard = array.acquire_mut(&other).unwrap();
    launch!(kernel, guard).unwrap();
    let (symbol, code) = ("cuStreamIsCapturing", CUresult::CUDA_ERROR_INVALID_VALUE);
    program.fixture.sim.fail_next(symbol, code).unwrap();
    assert!(guard.release().is_err());
    program.fixture.sim.fail_next(symbol, code).unwrap();
    program.fixture.driver.reclaim(true);
    assert_eq!(array.to_host().unwrap(), [1; N]);
    drop(program.fixture.driver.take_drop_error());
    drop((array, home, other, kernel, context));
    program.finish();
}

// A home stream of another library.

#[test]
fn memory_is_freed_after_the_work_that_consumers_order_in_an_external_home_stream() {
    let program = Program::new();
    let context = program.context();
    let [theirs, other] = streams(&context);
    let kernel = set(&context);
    // SAFETY: the stream outlives the array.
    let home = unsafe { Stream::from_raw(&program.fixture.driver, theirs.handle(), None) };
    let array = DeviceArray::<u32, _>::empty([N], &home).unwrap();
    let owner = Owner::new(Arc::new(array.clone()));
    // SAFETY: the owner keeps the array.
    let mut view = unsafe { RawView::new(&program.fixture.driver, array.interface().clone(), Some(owner)) }.unwrap();
    drop(array);
    let mut guard = view.acquire_mut(&other).unwrap();
    launch!(kernel, guard).unwrap();
    guard.release().unwrap();
    drop((view, home));
    drop((theirs, other, kernel, context));
    program.finish();
}
