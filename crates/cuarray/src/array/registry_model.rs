//! Model tests of the registry of guards, under every interleaving of a few threads. `make loom` runs them.

use super::registry::{Edges, Entries, Leaked, Order, Others};
use crate::{
    Interface, Layout, TypeStr,
    driver::{Api, CUresult, Driver, Stream},
    sync::{Access, Begun, Home, SyncState},
};
use loom::{cell::UnsafeCell, model, sync::Arc, thread};
use std::{ffi::c_uint, ptr};

/// A view and the stream of its work. All views in these tests are over the same memory.
struct Data {
    interface: Interface,
    stream: Stream,
    entries: Entries,
}

/// A live guard. A drop releases it, and leaves no entry.
struct Guard {
    view: std::sync::Arc<Data>,
    access: Access,
    begun: Option<Begun>,
    order: Option<Order>,
    /// The handles of the streams to wait for.
    others: Vec<usize>,
}

/// Creates views, each with its own stream. Their driver is never called.
fn views<const N: usize>() -> [std::sync::Arc<Data>; N] {
    views_of([(0x1000, 4); N])
}

/// Creates views of some floats from an address.
fn views_of<const N: usize>(places: [(u64, usize); N]) -> [std::sync::Arc<Data>; N] {
    extern "C" fn init(_flags: c_uint) -> CUresult {
        CUresult::CUDA_SUCCESS
    }
    let resolve =
        |symbol: &std::ffi::CStr| if symbol == c"cuInit" { init as *const () as *const _ } else { ptr::null() };
    // SAFETY: the table's only function behaves as the manual says.
    let driver = unsafe { Driver::from_api(Api::resolve_with(resolve)) }.unwrap();
    std::array::from_fn(|index| {
        let (start, length) = places[index];
        let layout = Layout::c_contiguous(&[length], 4).unwrap();
        let interface = Interface::new(start, TypeStr::of::<f32>(), layout).unwrap();
        // SAFETY: no call uses the handle.
        let stream = unsafe { Stream::from_raw(&driver, 0x100 + index, None) };
        std::sync::Arc::new(Data { interface, stream, entries: Entries::default() })
    })
}

/// Registers a guard; `None` if another guard conflicts.
fn acquire(view: &std::sync::Arc<Data>, access: Access) -> Option<Guard> {
    let mut others = Others::new();
    view.entries.register(&view.stream, &view.interface, access, &mut others).ok()?;
    let others = others.iter().map(|(state, ..)| state.home_stream().unwrap().handle()).collect();
    Some(Guard { view: view.clone(), access, begun: None, order: None, others })
}

impl Guard {
    /// Adds edges to make at the end.
    fn with_edges(mut self) -> Guard {
        let (stream, begun, access) = (self.view.stream.clone(), Begun::default(), self.access);
        self.view.entries.set_begun(Edges { stream, begun, access });
        self.begun = Some(begun);
        self
    }

    /// Releases the guard. Other views are ordered after its work.
    fn release(mut self) {
        self.order = Some(Order::InState(SyncState::in_home(Home::lasting(self.view.stream.clone())), None));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let begun = self.begun.map(|begun| (&self.view.stream, begun));
        self.view.entries.release(self.access, begun, self.order.take().map(|order| || order));
    }
}

/// Drops a view.
fn forget(view: std::sync::Arc<Data>) -> Option<Leaked> {
    std::sync::Arc::into_inner(view).expect("no guard uses the view").entries.forget()
}

/// The shared memory. The model reports accesses to it that are not ordered.
struct Memory(UnsafeCell<u32>);

// SAFETY: the model checks each access.
unsafe impl Sync for Memory {}

impl Memory {
    fn new() -> Arc<Memory> {
        Arc::new(Memory(UnsafeCell::new(0)))
    }

    fn write(&self) {
        // SAFETY: the model checks that no other access is concurrent.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    fn read(&self) -> u32 {
        // SAFETY: the model checks that no write is concurrent.
        self.0.with(|number| unsafe { *number })
    }
}

#[test]
fn writers_exclude_each_other() {
    model(|| {
        let ([one, two], memory) = (views(), Memory::new());
        let other = {
            let memory = memory.clone();
            thread::spawn(move || {
                let acquired = acquire(&two, Access::Write);
                acquired.iter().for_each(|_| memory.write());
                acquired.is_some()
            })
        };
        let acquired = acquire(&one, Access::Write);
        acquired.iter().for_each(|_| memory.write());
        let first = acquired.is_some();
        drop(acquired);
        let second = other.join().unwrap();
        assert!(first || second, "one of two guards is granted");
        assert_eq!(memory.read(), u32::from(first) + u32::from(second));
        assert!(acquire(&one, Access::Write).is_some(), "ended guards leave no entry");
    });
}

#[test]
fn readers_share_and_exclude_a_writer() {
    model(|| {
        let ([one, two, three], memory) = (views(), Memory::new());
        let readers = [one, two].map(|view| {
            let memory = memory.clone();
            thread::spawn(move || {
                let acquired = acquire(&view, Access::Read);
                acquired.iter().for_each(|_| assert!(memory.read() <= 1));
            })
        });
        let acquired = acquire(&three, Access::Write);
        acquired.iter().for_each(|_| memory.write());
        drop(acquired);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn later_view_waits_for_the_stream_of_the_earlier_view() {
    model(|| {
        let [one, two, last] = views();
        let handles = [one.stream.handle(), two.stream.handle()];
        let work = |view: &std::sync::Arc<Data>| {
            let guard = acquire(view, Access::Write)?.with_edges();
            let others = guard.others.clone();
            guard.release();
            Some(others)
        };
        let other = {
            let two = two.clone();
            thread::spawn(move || work(&two))
        };
        let (first, second) = (work(&one), other.join().unwrap());
        match (first, second) {
            (Some(first), Some(second)) => match (&first[..], &second[..]) {
                ([], [earlier]) => assert_eq!(*earlier, handles[0]),
                ([earlier], []) => assert_eq!(*earlier, handles[1]),
                both => panic!("exactly one view waits for the other: {both:?}"),
            },
            (Some(only), None) | (None, Some(only)) => assert_eq!(only, [0; 0]),
            (None, None) => panic!("one of two guards is granted"),
        }
        assert!(forget(one).is_none() && forget(two).is_none());
        assert_eq!(acquire(&last, Access::Write).unwrap().others, [0; 0], "dropped views leave no entry");
    });
}

#[test]
fn leaked_guard_excludes_others_until_its_view_is_dropped() {
    model(|| {
        let ([mut one, two], memory) = (views(), Memory::new());
        // No guard of this test releases the entry.
        one.entries.register(&one.stream, &one.interface, Access::Write, &mut Others::new()).unwrap();
        let edges = Edges { stream: one.stream.clone(), begun: Begun::default(), access: Access::Write };
        one.entries.set_begun(edges);
        let other = {
            let memory = memory.clone();
            thread::spawn(move || acquire(&two, Access::Write).iter().for_each(|_| memory.write()))
        };
        // The work of the leaked guard goes on until the drop of its view has ordered it.
        memory.write();
        let one = std::sync::Arc::get_mut(&mut one).unwrap();
        let leaked = one.entries.forget().unwrap();
        assert!(matches!(&leaked.edges[..], [Edges { stream, access: Access::Write, .. }] if *stream == one.stream));
        drop(leaked);
        assert!(one.entries.forget().is_none());
        other.join().unwrap();
    });
}

#[test]
fn acquisition_during_the_drop_of_another_view_waits_for_its_stream_or_finds_no_entry() {
    model(|| {
        let [one, two, last] = views();
        acquire(&one, Access::Write).unwrap().release();
        let handle = one.stream.handle();
        let dropped = thread::spawn(move || forget(one).is_none());
        let guard = acquire(&two, Access::Write).unwrap();
        assert!(guard.others.is_empty() || guard.others == [handle]);
        guard.release();
        assert!(dropped.join().unwrap());
        assert!(forget(two).is_none());
        assert_eq!(acquire(&last, Access::Read).unwrap().others, [0; 0]);
    });
}

#[test]
fn guard_excludes_others_while_its_region_is_joined_with_another() {
    model(|| {
        // The third view reaches into the regions of the first two.
        let places = [(0x1000, 4), (0x1010, 4), (0x1008, 4), (0x1000, 8)];
        let ([one, two, three, last], memory) = (views_of(places), Memory::new());
        let first = acquire(&one, Access::Write).unwrap();
        let second = acquire(&two, Access::Read).unwrap();
        let other = {
            let memory = memory.clone();
            thread::spawn(move || acquire(&three, Access::Write).iter().for_each(|_| memory.write()))
        };
        memory.write();
        drop(first);
        second.release();
        other.join().unwrap();
        assert!(forget(one).is_none() && forget(two).is_none());
        assert_eq!(acquire(&last, Access::Write).unwrap().others, [0; 0]);
    });
}

#[test]
fn views_that_find_their_region_at_the_same_time_exclude_each_other() {
    model(|| {
        let ([one, two], memory) = (views_of([(0x1000, 4), (0x1008, 4)]), Memory::new());
        let other = {
            let memory = memory.clone();
            thread::spawn(move || {
                let guard = acquire(&two, Access::Write);
                guard.iter().for_each(|_| memory.write());
                guard.is_some()
            })
        };
        let guard = acquire(&one, Access::Write);
        guard.iter().for_each(|_| memory.write());
        let first = guard.is_some();
        drop(guard);
        assert!(other.join().unwrap() || first, "one of two guards is granted");
    });
}
