//! Model tests of the registry of guards, under every interleaving of a few threads. `make loom` runs them.

use super::registry::{Entries, Leaked, Others, Registration, forget};
use crate::{
    Interface, Layout, TypeStr,
    driver::{Api, CUresult, Driver, Stream},
    sync::{Access, Begun, SyncState},
};
use loom::{cell::UnsafeCell, model, sync::Arc, thread};
use std::{ffi::c_uint, ptr};

/// A view and the stream of its work. All views in these tests are over the same memory.
struct Data {
    interface: Interface,
    stream: Stream,
    entries: Entries,
}

/// Creates views, each with its own stream. Their driver is never called.
fn views<const N: usize>() -> [std::sync::Arc<Data>; N] {
    extern "C" fn init(_flags: c_uint) -> CUresult {
        CUresult::CUDA_SUCCESS
    }
    let resolve =
        |symbol: &std::ffi::CStr| if symbol == c"cuInit" { init as *const () as *const _ } else { ptr::null() };
    // SAFETY: the table's only function behaves as the manual says.
    let driver = unsafe { Driver::from_api(Api::resolve_with(resolve)) }.unwrap();
    std::array::from_fn(|index| {
        let layout = Layout::c_contiguous(&[4], 4).unwrap();
        let interface = Interface::new(0x1000, TypeStr::of::<f32>(), layout).unwrap();
        // SAFETY: no call uses the handle.
        let stream = unsafe { Stream::from_raw(&driver, 0x100 + index, None) };
        std::sync::Arc::new(Data { interface, stream, entries: Entries::default() })
    })
}

impl Data {
    /// Registers a guard. Returns the registration and the handles of the streams to wait for; `None` if another guard conflicts.
    fn acquire(&self, access: Access) -> Option<(Registration, Vec<usize>)> {
        self.register(access, None)
    }

    /// As `acquire`, for a guard in the home stream, which ends without the lock.
    fn acquire_unlocked(&self, access: Access) -> Option<(Registration, Vec<usize>)> {
        self.register(access, Some(self.stream.handle()))
    }

    fn register(&self, access: Access, home: Option<usize>) -> Option<(Registration, Vec<usize>)> {
        let mut others = Others::new();
        let registration = self.entries.register(&self.stream, &self.interface, access, home, &mut others).ok()?;
        Some((registration, others.iter().map(|(state, ..)| state.home_stream().unwrap().handle()).collect()))
    }

    fn state(&self) -> SyncState {
        SyncState::in_home(self.stream.clone(), None)
    }
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
                let acquired = two.acquire(Access::Write);
                acquired.iter().for_each(|_| memory.write());
                acquired.is_some()
            })
        };
        let acquired = one.acquire(Access::Write);
        acquired.iter().for_each(|_| memory.write());
        let first = acquired.is_some();
        drop(acquired);
        let second = other.join().unwrap();
        assert!(first || second, "one of two guards is granted");
        assert_eq!(memory.read(), u32::from(first) + u32::from(second));
        assert!(one.acquire(Access::Write).is_some(), "ended guards leave no entry");
    });
}

#[test]
fn readers_share_and_exclude_a_writer() {
    model(|| {
        let ([one, two, three], memory) = (views(), Memory::new());
        let readers = [one, two].map(|view| {
            let memory = memory.clone();
            thread::spawn(move || {
                let acquired = view.acquire(Access::Read);
                acquired.iter().for_each(|_| assert!(memory.read() <= 1));
            })
        });
        let acquired = three.acquire(Access::Write);
        acquired.iter().for_each(|_| memory.write());
        drop(acquired);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn later_view_waits_for_the_stream_of_the_earlier_view() {
    model(|| {
        let [one, two]: [_; 2] = views();
        let work = |view: std::sync::Arc<Data>| {
            let (mut registration, others) = view.acquire(Access::Write)?;
            registration.set_begun(&view.stream, Begun::default());
            registration.release(&view.state(), None);
            Some(others)
        };
        let other = {
            let two = two.clone();
            thread::spawn(move || work(two))
        };
        let (first, second) = (work(one.clone()), other.join().unwrap());
        let handles = [one.stream.handle(), two.stream.handle()];
        match (first, second) {
            (Some(first), Some(second)) => match (&first[..], &second[..]) {
                ([], [earlier]) => assert_eq!(*earlier, handles[0]),
                ([earlier], []) => assert_eq!(*earlier, handles[1]),
                both => panic!("exactly one view waits for the other: {both:?}"),
            },
            (Some(only), None) | (None, Some(only)) => assert_eq!(only, [0; 0]),
            (None, None) => panic!("one of two guards is granted"),
        }
        forget(&one.interface);
        forget(&two.interface);
        assert_eq!(one.acquire(Access::Write).unwrap().1, [0; 0], "dropped views leave no entry");
    });
}

#[test]
fn leaked_guard_excludes_others_until_its_view_is_dropped() {
    model(|| {
        let ([one, two], memory) = (views(), Memory::new());
        let (mut registration, _) = one.acquire(Access::Write).unwrap();
        registration.set_begun(&one.stream, Begun::default());
        std::mem::forget(registration);
        let other = {
            let memory = memory.clone();
            thread::spawn(move || two.acquire(Access::Write).iter().for_each(|_| memory.write()))
        };
        // The work of the leaked guard goes on until the drop of its view has ordered it.
        memory.write();
        let found: Vec<Leaked> = forget(&one.interface);
        assert_eq!(found.len(), 1);
        let (stream, _) = found[0].edges.as_ref().unwrap();
        assert!(*stream == one.stream && found[0].access == Access::Write);
        drop(found);
        assert!(forget(&one.interface).is_empty());
        other.join().unwrap();
    });
}

#[test]
fn acquisition_during_the_drop_of_another_view_waits_for_its_stream_or_finds_no_entry() {
    model(|| {
        let [one, two]: [_; 2] = views();
        one.acquire(Access::Write).unwrap().0.release(&one.state(), None);
        let handle = one.stream.handle();
        let dropped = thread::spawn(move || forget(&one.interface));
        let (registration, others) = two.acquire(Access::Write).unwrap();
        assert!(others.is_empty() || others == [handle]);
        registration.release(&two.state(), None);
        dropped.join().unwrap();
        forget(&two.interface);
        assert_eq!(two.acquire(Access::Read).unwrap().1, [0; 0]);
    });
}

#[test]
fn guard_that_ends_without_the_lock_excludes_others_until_its_release() {
    model(|| {
        let ([one, two], memory) = (views(), Memory::new());
        let handle = one.stream.handle();
        let (mut registration, _) = one.acquire_unlocked(Access::Write).unwrap();
        let other = {
            let memory = memory.clone();
            thread::spawn(move || {
                let acquired = two.acquire(Access::Write);
                acquired.iter().for_each(|(_, others)| {
                    assert_eq!(*others, [handle]);
                    memory.write();
                });
            })
        };
        memory.write();
        assert!(registration.release_unlocked(&one.entries));
        other.join().unwrap();
        assert_eq!(forget(&one.interface).len(), 0);
    });
}

#[test]
fn view_that_is_dropped_without_the_lock_leaves_no_entry() {
    model(|| {
        let ([one, two, three], memory) = (views(), Memory::new());
        let handle = one.stream.handle();
        let (mut registration, _) = one.acquire_unlocked(Access::Write).unwrap();
        let other = {
            let memory = memory.clone();
            thread::spawn(move || {
                // This guard may use the entry of the dropped view again.
                let Some((mut registration, others)) = two.acquire_unlocked(Access::Write) else { return };
                assert!(others.is_empty() || others == [handle]);
                memory.write();
                assert!(three.acquire(Access::Write).is_none(), "the guard is live");
                assert!(registration.release_unlocked(&two.entries));
                let (_, others) = three.acquire(Access::Write).unwrap();
                assert!(others.contains(&two.stream.handle()));
                assert!(!std::sync::Arc::into_inner(two).unwrap().entries.must_be_forgotten());
            })
        };
        memory.write();
        assert!(registration.release_unlocked(&one.entries));
        assert!(!std::sync::Arc::into_inner(one).unwrap().entries.must_be_forgotten());
        other.join().unwrap();
        let [last] = views();
        assert_eq!(last.acquire(Access::Write).unwrap().1, [0; 0]);
    });
}

#[test]
fn leaked_guard_that_would_end_without_the_lock_is_found_by_the_drop_of_its_view() {
    model(|| {
        let [mut one, two]: [_; 2] = views();
        std::mem::forget(one.acquire_unlocked(Access::Write).unwrap().0);
        let other = thread::spawn(move || two.acquire(Access::Write).map(|(_, others)| others));
        let one = std::sync::Arc::get_mut(&mut one).unwrap();
        assert!(one.entries.must_be_forgotten());
        let found = forget(&one.interface);
        assert!(found.len() == 1 && found[0].edges.is_none());
        drop(found);
        assert!(other.join().unwrap().is_none_or(|others| others.is_empty()));
    });
}

#[test]
fn second_guard_of_a_view_ends_under_the_lock() {
    model(|| {
        let [mut one, two]: [_; 2] = views();
        let handle = one.stream.handle();
        let (mut first, _) = one.acquire_unlocked(Access::Read).unwrap();
        let (mut second, _) = one.acquire_unlocked(Access::Read).unwrap();
        let other = thread::spawn(move || two.acquire(Access::Write).map(|(_, others)| others));
        assert!(first.release_unlocked(&one.entries));
        assert!(!second.release_unlocked(&one.entries));
        second.release(&one.state(), None);
        let others = other.join().unwrap();
        assert!(others.is_none_or(|others| others == [handle]));
        let one = std::sync::Arc::get_mut(&mut one).unwrap();
        assert!(one.entries.must_be_forgotten());
        assert!(forget(&one.interface).is_empty());
    });
}
