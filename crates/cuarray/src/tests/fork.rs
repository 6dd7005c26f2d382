//! Children of `fork`, made while other threads of the parent hold locks: calls fail with an error that names the fork, and none hangs.

use crate::{
    DeviceArray, Driver, Error, Ix1, Stream,
    lock::{Lock, SharedLock},
    s,
};
use cuarray_sim::{Config, Sim};
use std::{
    process,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

/// Runs `work` in a child of `fork`. Returns whether it returned `true` in time.
fn in_child(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs `work` alone, and ends without destructors of the parent's threads.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: the alarm ends a child that hangs.
            unsafe { libc::alarm(30) };
            let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
            // SAFETY: the call has no preconditions.
            unsafe { libc::_exit(if passed { 0 } else { 1 }) }
        }
        child => {
            let mut status = 0;
            // SAFETY: the call writes one int, which outlives it.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            status == 0
        }
    }
}

/// A simulated driver. Once it is initialized, this process knows its children.
fn simulated() -> (Driver, Sim, cuarray_sim::Entered) {
    let sim = Sim::new(Config { quiet: true, ..Config::default() });
    let entered = sim.enter();
    // SAFETY: the simulator behaves as a driver.
    let driver = unsafe { Driver::from_api(sim.api()) }.unwrap();
    (driver, sim, entered)
}

/// Runs `work` in a child, while another thread holds a lock that `hold` takes.
fn while_held<G>(hold: impl FnOnce() -> G + Send, work: impl FnOnce() -> bool) -> bool {
    let _driver = simulated();
    let (held, done) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = hold();
            held.wait();
            done.wait();
            drop(guard);
        });
        held.wait();
        let passed = in_child(work);
        done.wait();
        passed
    })
}

#[test]
fn lock_that_a_lost_thread_holds_is_empty_in_a_child() {
    let lock = Lock::new(vec![1, 2]);
    let in_child = || lock.lock().is_empty() && lock.try_lock().is_none();
    assert!(while_held(|| lock.lock(), in_child));
    assert_eq!(*lock.lock(), [1, 2], "the parent keeps its lock");
}

#[test]
fn lock_that_no_thread_holds_keeps_its_value_in_a_child() {
    let (lock, other) = (Lock::new(vec![1, 2]), Lock::new(()));
    assert!(while_held(|| other.lock(), || *lock.lock() == [1, 2]));
}

#[test]
fn shared_lock_that_a_lost_thread_holds_is_empty_in_a_child() {
    let lock = SharedLock::new(vec![1, 2]);
    assert!(while_held(|| lock.write(), || lock.read().is_empty() && lock.write().is_empty()));
    assert!(while_held(|| lock.read(), || *lock.read() == [1, 2]), "another reader shares the lock");
    assert!(while_held(|| lock.read(), || lock.write().is_empty()));
}

/// Whether an error names the fork.
fn names_the_fork(error: &Error) -> bool {
    let message = format!("{error:#}");
    message.contains("was forked from process") && message.contains(&process::id().to_string())
}

#[test]
fn calls_in_children_fail_with_the_reason_while_threads_of_the_parent_use_all_locks() {
    let (driver, sim, _entered) = simulated();
    let context = driver.device(0).unwrap().primary_context().unwrap();
    let [home, other] = [(); 2].map(|()| Stream::non_blocking(&context).unwrap());
    let shared: DeviceArray<f32, Ix1> = DeviceArray::zeros([64], &home).unwrap();
    shared.interface();
    let stop = AtomicBool::new(false);
    let busy = || {
        let _entered = sim.enter();
        let stream = Stream::non_blocking(&context).unwrap();
        while !stop.load(Relaxed) {
            // Regions, their table, recorded work, deferred releases, event pools and contexts.
            let array: DeviceArray<f32, Ix1> = DeviceArray::zeros([64], &stream).unwrap();
            array.interface();
            array.slice(s![8..]).unwrap().acquire(&home).unwrap().release().unwrap();
            shared.acquire(&stream).unwrap().release().unwrap();
            driver.reclaim(false);
            assert!(driver.take_drop_error().is_none());
        }
    };
    thread::scope(|scope| {
        scope.spawn(busy);
        scope.spawn(busy);
        for _ in 0..40 {
            let passed = in_child(|| {
                let acquired = shared.acquire(&other).and_then(|guard| guard.copy_to_host());
                let created = DeviceArray::<f32, Ix1>::zeros([64], &home);
                let kernel = context.kernel("", "none");
                let named = [acquired.err(), created.err(), kernel.err(), driver.devices().err()];
                driver.reclaim(false);
                // Drops take locks too.
                drop(shared.clone());
                drop(shared.slice(s![..4]).and_then(|part| part.acquire(&home).map(drop)));
                named.iter().all(|error| error.as_ref().is_some_and(names_the_fork))
            });
            assert!(passed, "a child hung, or an error did not name the fork");
        }
        stop.store(true, Relaxed);
    });
}
