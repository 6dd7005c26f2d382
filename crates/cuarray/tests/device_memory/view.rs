//! A view gives its address only through a guard, which orders the work.

use crate::driver_fixture::{Fixture, calls, entry};
use cuarray::{
    Context, Interface, Layout, Mask, RawView, Stream, StreamEntry, TypeStr,
    driver::{Allocation, copy, fill},
};

fn write(context: &Context, memory: &Allocation, value: u8, stream: &Stream) {
    // SAFETY: the memory has 4 bytes.
    unsafe { fill::fill_bytes(context, memory.device_ptr(), &[value], 4, Some(stream)) }.unwrap();
}

fn read(context: &Context, memory: &Allocation, stream: &Stream) -> u8 {
    let mut bytes = [0; 4];
    // SAFETY: the memory has 4 bytes; the host's bytes are read after the stream is synchronized.
    unsafe { copy::copy_device_to_host(context, bytes.as_mut_ptr(), memory.device_ptr(), 4, Some(stream)) }.unwrap();
    stream.synchronize().unwrap();
    bytes[0]
}

fn interface(memory: &Allocation, stream: StreamEntry) -> Interface {
    let layout = Layout::c_contiguous(&[4], 1).unwrap();
    Interface::new(memory.device_ptr(), TypeStr::of::<u8>(), layout).unwrap().with_stream(stream)
}

#[test]
fn released_or_dropped_guard_orders_in_both_directions() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 4).unwrap();
    let (producer, consumer) = (Stream::non_blocking(&context).unwrap(), Stream::non_blocking(&context).unwrap());
    // SAFETY: the memory and the stream live as long as the view.
    let mut view = unsafe { RawView::new(&fixture.driver, interface(&memory, entry(&producer)), None) }.unwrap();
    for (value, release) in [(2, true), (4, false)] {
        write(&context, &memory, value, &producer);
        let array = view.acquire_mut(&consumer).unwrap();
        assert_eq!((array.as_device_ptr(), array.stream()), (memory.device_ptr(), &consumer));
        assert_eq!(read(&context, &memory, &consumer), value);
        write(&context, &memory, value + 1, &consumer);
        match release {
            true => array.release().unwrap(),
            false => drop(array),
        }
        assert_eq!(read(&context, &memory, &producer), value + 1);
    }
    let array = view.acquire(&consumer).unwrap();
    let again = view.acquire(&consumer).unwrap();
    assert_eq!((array.as_device_ptr(), array.layout()), (again.as_device_ptr(), again.layout()));
}

#[test]
fn default_streams_belong_to_the_device_of_the_memory() {
    let fixture = Fixture::with(cuarray_sim::Config { devices: 2, ..cuarray_sim::Config::default() });
    let second = fixture.driver.device(1).unwrap().primary_context().unwrap();
    let memory = Allocation::device(&second, 4).unwrap();
    let consumer = Stream::non_blocking(&second).unwrap();
    for stream in [StreamEntry::LegacyDefault, StreamEntry::PerThreadDefault] {
        // SAFETY: the memory lives as long as the view.
        let view = unsafe { RawView::new(&fixture.driver, interface(&memory, stream), None) }.unwrap();
        let producer = match stream {
            StreamEntry::LegacyDefault => Stream::legacy_default(&second),
            _ => Stream::per_thread_default(&second),
        };
        write(&second, &memory, 7, &producer);
        let array = view.acquire(&consumer).unwrap();
        assert_eq!(read(&second, &memory, &consumer), 7);
        array.release().unwrap();
    }
}

#[test]
fn guard_orders_the_stream_of_a_mask_and_nothing_without_streams() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 4).unwrap();
    let (producer, consumer) = (Stream::non_blocking(&context).unwrap(), Stream::non_blocking(&context).unwrap());
    let array = interface(&memory, StreamEntry::None);
    let mask = Mask::new(interface(&memory, entry(&producer)), array.layout()).unwrap();
    for (array, edges) in [(array.clone().with_mask(mask).unwrap(), 2), (array, 0)] {
        let before = calls(&fixture.sim, "cuStreamWaitEvent");
        // SAFETY: the memory and the stream live as long as the view.
        let view = unsafe { RawView::new(&fixture.driver, array, None) }.unwrap();
        view.acquire(&consumer).unwrap().release().unwrap();
        assert_eq!(calls(&fixture.sim, "cuStreamWaitEvent") - before, edges);
    }
}

#[test]
fn writing_a_read_only_view_is_refused() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let memory = Allocation::device(&context, 4).unwrap();
    let stream = Stream::new(&context).unwrap();
    let interface = interface(&memory, StreamEntry::None).with_read_only(true);
    // SAFETY: the memory lives as long as the view.
    let mut view = unsafe { RawView::new(&fixture.driver, interface, None) }.unwrap();
    assert!(view.acquire_mut(&stream).unwrap_err().is_unsupported());
    view.acquire(&stream).unwrap().release().unwrap();
}
