//! Memory of somebody else's: its owner goes once, after the work, and whatever it does then harms nobody.

mod driver_fixture;

use cuarray::{
    Context, DeviceArray, Driver, Interface, Layout, Owner, RawDeviceArray, Stream, TypeStr,
    driver::{Allocation, fill::fill_bytes},
    sync::Access,
};
use driver_fixture::{Fixture, streams};
use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

const LEN: usize = 16;

/// A library's slab, which says when it goes and does something then.
struct Slab {
    /// The test has it too: to free memory is to wait for all work.
    memory: Arc<Allocation>,
    gone: Arc<AtomicUsize>,
    at_the_end: fn(&Context),
}

impl Drop for Slab {
    fn drop(&mut self) {
        self.gone.fetch_add(1, SeqCst);
        (self.at_the_end)(self.memory.context());
    }
}

fn array(
    memory: &Arc<Allocation>,
    home: Option<&Stream>,
    gone: &Arc<AtomicUsize>,
    at_the_end: fn(&Context),
) -> RawDeviceArray {
    let slab = Slab { memory: memory.clone(), gone: gone.clone(), at_the_end };
    let context = memory.context();
    of(context, slab.memory.device_ptr(), Arc::new(slab), home).unwrap()
}

fn of(
    context: &Context,
    address: u64,
    owner: Arc<dyn Any + Send + Sync>,
    home: Option<&Stream>,
) -> cuarray::Result<RawDeviceArray> {
    let interface = Interface::new(address, TypeStr::of::<u8>(), Layout::c_contiguous(&[LEN], 1)?)?;
    // SAFETY: the owner has the memory.
    unsafe { RawDeviceArray::from_owner(context, interface, Owner::new(owner), home) }
}

/// Leaves work on the array in a stream, and lets go of it. The simulator does a piece of it each time that it is asked how far it is.
fn drop_busy(array: RawDeviceArray, stream: &Stream) {
    let context = stream.work_context().unwrap();
    for _ in 0..100 {
        // SAFETY: the array has that many bytes.
        unsafe { fill_bytes(&context, array.interface().data(), &[7], LEN, Some(stream)) }.unwrap();
    }
    array.record_stream(stream, Access::Write).unwrap();
}

fn dropped(driver: &Driver) -> String {
    driver.take_drop_error().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn an_owner_that_panics_is_reported_and_the_others_go_after_their_work() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [one, two] = streams(&context);
    let (memory, gone) = (Arc::new(Allocation::device(&context, LEN).unwrap()), Arc::new(AtomicUsize::new(0)));
    drop_busy(array(&memory, None, &gone, |_| panic!("as owners do")), &one);
    drop_busy(array(&memory, None, &gone, |_| ()), &two);
    drop_busy(array(&memory, Some(&two), &gone, |_| panic!("with a home")), &two);
    assert_eq!((gone.load(SeqCst), dropped(&fixture.driver)), (0, String::new()));

    // One is done, and is given back in an allocation that has nothing to do with it.
    one.synchronize().unwrap();
    drop(DeviceArray::<u8, _>::empty([4], &one).unwrap());
    assert_eq!(gone.load(SeqCst), 1);
    assert!(dropped(&fixture.driver).contains("panicked"));

    assert!(fixture.driver.reclaim(true));
    assert_eq!(gone.load(SeqCst), 3);
    assert!(dropped(&fixture.driver).contains("panicked"));
    assert!(!fixture.driver.reclaim(true), "nothing is put by any more");
}

#[test]
fn an_owner_may_use_the_library_when_it_goes() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [stream] = streams(&context);
    let (memory, gone) = (Arc::new(Allocation::device(&context, LEN).unwrap()), Arc::new(AtomicUsize::new(0)));
    let reenter: fn(&Context) = |context| {
        let stream = Stream::non_blocking(context).unwrap();
        let array = DeviceArray::from_host(&[1u8, 2], [2], &stream).unwrap();
        assert_eq!(array.acquire(&stream).unwrap().copy_to_host().unwrap(), [1, 2]);
        context.driver().reclaim(true);
    };
    drop_busy(array(&memory, None, &gone, reenter), &stream);
    drop_busy(array(&memory, None, &gone, reenter), &stream);
    assert_eq!(gone.load(SeqCst), 0);
    fixture.driver.reclaim(true);
    fixture.driver.reclaim(true);
    assert_eq!((gone.load(SeqCst), dropped(&fixture.driver)), (2, String::new()));
}

#[test]
fn the_home_is_a_stream_of_the_memorys_context() {
    let fixture = Fixture::with(cuarray_sim::Config { devices: 2, ..cuarray_sim::Config::default() });
    let (first, second) = (fixture.primary(), fixture.driver.device(1).unwrap().primary_context().unwrap());
    let memory = Arc::new(Allocation::device(&first, LEN).unwrap());
    let of = |home: &Stream| of(&first, memory.device_ptr(), memory.clone(), Some(home));
    for home in [Stream::non_blocking(&second).unwrap(), Stream::legacy_default(&second)] {
        assert!(of(&home).unwrap_err().to_string().contains("another context"));
    }
    assert_eq!(Arc::strong_count(&memory), 1, "a refused owner is let go of");
    of(&Stream::non_blocking(&first).unwrap()).unwrap();
}
