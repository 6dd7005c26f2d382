//! The costs of a guard: its driver calls, and no allocation.

mod driver_fixture;

use cuarray::{
    AnyLayout, CContiguous, Dimension, Event, FContiguous, Interface, Ix1, Ix2, IxDyn, Layout, LayoutPolicy, RawView,
    Stream, StreamEntry, TypeStr, TypedView,
    driver::{Allocation, fill::fill_bytes},
};
use cuarray_sim::Config;
use driver_fixture::{Fixture, calls, entry};
use std::{
    alloc::{GlobalAlloc, Layout as Block, System},
    cell::Cell,
};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: forwards to the system's allocator, and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: this function's contract.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, at: *mut u8, block: Block) {
        // SAFETY: this function's contract.
        unsafe { System.dealloc(at, block) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn view<T: cuarray::Element, D: Dimension, L: LayoutPolicy>(
    fixture: &Fixture,
    memory: &Allocation,
    layout: Layout,
    stream: StreamEntry,
) -> cuarray::Result<TypedView<T, D, L>> {
    let interface = Interface::new(memory.device_ptr(), TypeStr::of::<T>(), layout)?.with_stream(stream);
    // SAFETY: the memory and the stream live as long as the view.
    unsafe { RawView::new(&fixture.driver, interface, None) }.unwrap().typed()
}

#[test]
fn guard_takes_two_events_two_waits_and_no_allocation() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 64).unwrap();
    let (producer, consumer) = (Stream::non_blocking(&context).unwrap(), Stream::non_blocking(&context).unwrap());
    let layout = Layout::c_contiguous(&[16], 4).unwrap();
    let once = |view: &TypedView<f32, Ix1>| view.acquire(&consumer).unwrap().release().unwrap();
    // The first guard fills the pool of events.
    once(&view(&fixture, &memory, layout.clone(), entry(&producer)).unwrap());
    let view: TypedView<f32, Ix1> = view(&fixture, &memory, layout, entry(&producer)).unwrap();
    let symbols = ["cuEventRecord", "cuStreamWaitEvent", "cuEventCreate", "cuEventDestroy_v2", "cuStreamSynchronize"];
    let before = symbols.map(|symbol| calls(&fixture.sim, symbol));
    once(&view);
    let after = symbols.map(|symbol| calls(&fixture.sim, symbol));
    let made: Vec<usize> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(made, [2, 2, 0, 0, 0]);

    // The simulator allocates in the calling thread, so the allocations of driver calls are counted separately.
    let count = |work: &dyn Fn()| {
        let before = COUNT.get();
        work();
        COUNT.get() - before
    };
    let event = Event::new(&context, false).unwrap();
    let edges = || {
        event.record(&producer).unwrap();
        consumer.wait(&event).unwrap();
        event.record(&consumer).unwrap();
        producer.wait(&event).unwrap();
    };
    (0..100).for_each(|_| edges());
    let drivers = (0..100).map(|_| count(&edges)).min();
    let guards = (0..100).map(|_| count(&|| once(&view))).min();
    assert_eq!(guards, drivers);
}

#[test]
fn guard_in_the_home_stream_makes_no_calls() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 64).unwrap();
    let producer = Stream::non_blocking(&context).unwrap();
    let layout = Layout::c_contiguous(&[16], 4).unwrap();
    let view: TypedView<f32, Ix1> = view(&fixture, &memory, layout, entry(&producer)).unwrap();
    // The first guard of the process allocates the registry of live guards.
    view.acquire(&producer).unwrap().release().unwrap();
    let (statistics, count) = (fixture.sim.statistics(), COUNT.get());
    let array = view.acquire(&producer).unwrap();
    assert_eq!(array.as_device_ptr(), memory.device_ptr());
    array.release().unwrap();
    assert_eq!(COUNT.get(), count);
    assert_eq!(fixture.sim.statistics(), statistics);
}

#[test]
fn later_guard_of_an_array_without_a_stream_waits_for_the_first() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 4).unwrap();
    let (first, second) = (Stream::non_blocking(&context).unwrap(), Stream::non_blocking(&context).unwrap());
    let layout = Layout::c_contiguous(&[1], 4).unwrap();
    let mut view: TypedView<f32, Ix1> = view(&fixture, &memory, layout, StreamEntry::None).unwrap();
    let waits = || calls(&fixture.sim, "cuStreamWaitEvent");
    let before = waits();
    let mut write_in = |stream: &Stream| {
        let guard = view.acquire_mut(stream).unwrap();
        // SAFETY: the memory has 4 bytes, and lives until the work is done.
        unsafe { fill_bytes(&context, guard.as_device_ptr(), &[1], 4, Some(stream)) }.unwrap();
        guard.release().unwrap();
    };
    write_in(&first);
    assert_eq!(waits(), before);
    write_in(&second);
    assert_eq!(waits(), before + 1);
    write_in(&first);
    assert_eq!(waits(), before + 2);
    context.synchronize().unwrap();
    write_in(&second);
    assert_eq!(waits(), before + 2, "an idle stream needs no wait");
    context.synchronize().unwrap();
}

#[test]
fn copies_follow_any_layout() {
    let fixture = Fixture::with(Config::default());
    let context = fixture.primary();
    let memory = Allocation::device(&context, 4 * 12).unwrap();
    let stream = Stream::new(&context).unwrap();
    let of = |layout: Layout| view::<u32, Ix2, AnyLayout>(&fixture, &memory, layout, StreamEntry::None).unwrap();
    let rows = Layout::c_contiguous(&[3, 4], 4).unwrap();
    let all: Vec<u32> = (0..12).collect();
    of(rows.clone()).acquire_mut(&stream).unwrap().copy_from_host(&all).unwrap();
    assert_eq!(of(rows.clone()).acquire(&stream).unwrap().copy_to_host().unwrap(), all);

    let columns = rows.transpose(None).unwrap();
    let read = of(columns.clone()).acquire(&stream).unwrap().copy_to_host().unwrap();
    assert_eq!(read, [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    of(columns).acquire_mut(&stream).unwrap().copy_from_host(&all).unwrap();
    let read = of(rows.clone()).acquire(&stream).unwrap().copy_to_host().unwrap();
    assert_eq!(read, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);

    let mut view = of(rows);
    let mut array = view.acquire_mut(&stream).unwrap();
    assert!(array.copy_from_host(&all[1..]).unwrap_err().to_string().contains("got 11 elements, and the array has 12"));
    array.release().unwrap();
    let mut broadcast = of(Layout::strided(&[3, 4], &[0, 4], 4).unwrap());
    assert!(broadcast.acquire_mut(&stream).unwrap().copy_from_host(&all).is_err());
}

#[test]
fn types_ndims_and_layouts_are_checked() {
    let fixture = Fixture::new();
    let memory = Allocation::device(&fixture.primary(), 64).unwrap();
    let square = || Layout::c_contiguous(&[2, 2], 4).unwrap();
    let none = StreamEntry::None;
    assert!(view::<f32, Ix2, CContiguous>(&fixture, &memory, square(), none).is_ok());
    assert!(view::<f32, IxDyn, AnyLayout>(&fixture, &memory, square(), none).is_ok());
    for refused in [
        view::<f32, Ix1, AnyLayout>(&fixture, &memory, square(), none).err(),
        view::<f32, Ix2, FContiguous>(&fixture, &memory, square(), none).err(),
    ] {
        assert!(refused.unwrap().is_unsupported());
    }
}

#[test]
fn element_addresses_follow_the_layout() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 64).unwrap();
    let stream = Stream::new(&context).unwrap();
    let reversed = Layout::strided(&[2, 3], &[-16, 4], 4).unwrap();
    let interface = Interface::new(memory.device_ptr() + 32, TypeStr::of::<f32>(), reversed).unwrap();
    // SAFETY: the memory lives as long as the view.
    let view =
        unsafe { RawView::new(&fixture.driver, interface, None) }.unwrap().typed::<f32, IxDyn, AnyLayout>().unwrap();
    let array = view.acquire(&stream).unwrap();
    assert_eq!(array.device_ptr_at(&[1, 2]).unwrap(), memory.device_ptr() + 32 - 16 + 8);
    assert_eq!(array.device_ptr_at(&[0, 0]).unwrap(), array.as_device_ptr());
    assert_eq!(array.element_strides().unwrap()[..], [-4, 1]);
    assert!(array.device_ptr_at(&[2, 0]).unwrap_err().is_out_of_bounds());
    assert!(array.device_ptr_at(&[1]).unwrap_err().is_unsupported());
    assert_eq!(view.interface().byte_range(), memory.device_ptr() + 16..memory.device_ptr() + 44);
}

#[test]
fn strides_of_length_one_or_empty_axes_may_be_any_number() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 64).unwrap();
    let stream = Stream::new(&context).unwrap();
    let strides_of = |shape: &[usize], strides: &[isize]| {
        let layout = Layout::strided(shape, strides, 4).unwrap();
        let view: TypedView<f32> = view(&fixture, &memory, layout, StreamEntry::None).unwrap();
        view.acquire(&stream).unwrap().element_strides()
    };
    assert_eq!(strides_of(&[1, 3], &[7, 8]).unwrap()[1], 2);
    assert_eq!(strides_of(&[1, 1], &[isize::MIN, isize::MAX]).unwrap().len(), 2);
    assert_eq!(strides_of(&[2, 0], &[3, 5]).unwrap().len(), 2);
    assert!(strides_of(&[1, 3], &[4, 7]).unwrap_err().is_unsupported());
}
