//! The module `driver` in several threads, and the event pool that they share.

use super::driver_fixture::{Alive, Fixture, calls};
use crate::driver::{Allocation, PooledEvent};
use crate::{Event, Stream};
use cuarray_abi::CUresult;
use std::{sync::Barrier, thread};

#[test]
fn threads_share_one_retained_context() {
    let fixture = Fixture::new();
    let (sim, driver) = (&fixture.sim, &fixture.driver);
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let _entered = sim.enter();
                barrier.wait();
                let context = driver.device(0).unwrap().primary_context().unwrap();
                assert_eq!(context, driver.default_context().unwrap());
                for _ in 0..20 {
                    let stream = Stream::new(&context).unwrap();
                    let event = context.event_pool().take().unwrap();
                    let memory = Allocation::stream_ordered(&stream, 100).unwrap();
                    event.record(&stream).unwrap();
                    Stream::per_thread_default(&context).wait(&event).unwrap();
                    drop((memory, event));
                    stream.synchronize().unwrap();
                }
                assert!(driver.current_context().unwrap().is_none());
                barrier.wait();
            });
        }
    });
    assert!(calls(sim, "cuDevicePrimaryCtxRetain") <= 2, "at most one for the context and one for the default");
    assert!(driver.take_drop_error().is_none());
    let default = driver.default_context().unwrap();
    assert_eq!(Alive { events: 0, ..fixture.alive() }, Alive { primaries: 1, ..Alive::NOTHING });
    assert_eq!(fixture.alive().events, default.event_pool().idle());
    assert!((1..=8).contains(&default.event_pool().idle()));
}

#[test]
fn objects_may_be_dropped_in_another_thread() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    let made = (Allocation::device(&context, 64).unwrap(), Event::new(&context, true).unwrap());
    let sim = fixture.sim.clone();
    thread::spawn(move || {
        let _entered = sim.enter();
        stream.synchronize().unwrap();
        drop((made, stream, context));
    })
    .join()
    .unwrap();
    assert_eq!(fixture.alive(), Alive::NOTHING);
    assert!(fixture.driver.take_drop_error().is_none());
}

#[test]
fn current_context_is_per_thread() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let _current = context.push().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _entered = fixture.sim.enter();
            assert!(fixture.driver.current_context().unwrap().is_none());
            context.synchronize().unwrap();
            assert!(fixture.driver.current_context().unwrap().is_none());
        });
    });
    assert_eq!(fixture.current(), context.handle().0);
}

#[test]
fn pool_reuses_events() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    let mut handles = Vec::new();
    for _ in 0..10 {
        let event = context.event_pool().take().unwrap();
        event.record(&stream).unwrap();
        handles.push(event.handle());
    }
    handles.dedup();
    assert_eq!(handles.len(), 1);
    assert_eq!(calls(&fixture.sim, "cuEventCreate"), 1);
    let (first, second) = (context.event_pool().take().unwrap(), context.event_pool().take().unwrap());
    assert_ne!(first.handle(), second.handle(), "the pool returned an event that is in use");
    assert_eq!(context.event_pool().idle(), 0);
    drop((first, second));
    assert_eq!(context.event_pool().idle(), 2);
    assert_eq!(fixture.alive().events, 2);
    drop((stream, context));
    assert_eq!(fixture.alive(), Alive::NOTHING);
}

#[test]
fn pool_is_bounded() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let burst: Vec<PooledEvent> = (0..100).map(|_| context.event_pool().take().unwrap()).collect();
    assert_eq!(fixture.alive().events, 100);
    drop(burst);
    let idle = context.event_pool().idle();
    assert!((1..100).contains(&idle));
    assert_eq!(fixture.alive().events, idle);
    drop(context);
    assert_eq!(fixture.alive(), Alive::NOTHING);
}

#[test]
fn pooled_events_measure_no_time() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    let (start, end) = (context.event_pool().take().unwrap(), context.event_pool().take().unwrap());
    start.record(&stream).unwrap();
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    let error = start.elapsed_time(&end).unwrap_err();
    assert_eq!(error.driver_code(), Some(CUresult::CUDA_ERROR_INVALID_HANDLE));
}

#[test]
fn event_of_a_failed_call_is_not_reused() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    let event = context.event_pool().take().unwrap();
    let handle = event.handle();
    fixture.sim.fail_next("cuEventRecord", CUresult::CUDA_ERROR_INVALID_HANDLE).unwrap();
    assert_eq!(event.record(&stream).unwrap_err().driver_call(), Some("cuEventRecord"));
    drop(event);
    assert_eq!((context.event_pool().idle(), fixture.alive().events), (0, 0));
    let event = context.event_pool().take().unwrap();
    assert_ne!(event.handle(), handle);
    fixture.sim.fail_next("cuStreamWaitEvent", CUresult::CUDA_ERROR_INVALID_HANDLE).unwrap();
    assert!(stream.wait(&event).is_err());
    drop(event);
    assert_eq!((context.event_pool().idle(), fixture.alive().events), (0, 0));
    assert!(fixture.driver.take_drop_error().is_none());
}
