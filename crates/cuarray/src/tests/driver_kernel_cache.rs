//! `Context::kernel`: PTX is loaded once in each context, in any number of threads, and unloaded with the context.

use super::driver_fixture::{Alive, Fixture, calls};
use crate::{
    Context, Driver, Stream,
    kernel::{LaunchConfig, Module},
};
use cuarray_abi::{CUcontext, CUresult};
use cuarray_sim::Config;
use std::{cell::Cell, sync::Barrier, thread};

const PTX: &str = ".version 8.0 .target sm_80 .address_size 64
    .visible .entry one() { ret; }
    .visible .entry two(.param .u64 x) { ret; }";
const OTHER: &str = ".version 8.0 .target sm_80 .address_size 64 .visible .entry one(.param .u32 x) { ret; }";

fn loads(fixture: &Fixture) -> usize {
    calls(&fixture.sim, "cuModuleLoadDataEx")
}

fn unloads(fixture: &Fixture) -> usize {
    calls(&fixture.sim, "cuModuleUnload")
}

fn created(fixture: &Fixture, device: i32) -> CUcontext {
    let mut raw = CUcontext::NULL;
    // SAFETY: the driver writes one handle.
    assert!(unsafe { fixture.sim.api().cuCtxCreate_v2.unwrap()(&mut raw, 0, device) }.is_success());
    raw
}

fn destroy(fixture: &Fixture, raw: CUcontext) {
    // SAFETY: the context is alive.
    assert!(unsafe { fixture.sim.api().cuCtxDestroy_v2.unwrap()(raw) }.is_success());
}

#[test]
fn ptx_is_loaded_once_for_each_context() {
    let fixture = Fixture::with(Config { devices: 2, ..Config::default() });
    let contexts: Vec<Context> =
        fixture.driver.devices().unwrap().iter().map(|device| device.primary_context().unwrap()).collect();
    for _ in 0..3 {
        for context in &contexts {
            let kernel = context.kernel(PTX, "one").unwrap();
            assert_eq!((kernel.name(), kernel.module().context()), ("one", context));
            assert_eq!(context.kernel(PTX, "two").unwrap().parameters(), Some(&[8][..]));
            // Equal text at another address is the same code.
            assert_eq!(context.kernel(PTX.to_owned(), "one").unwrap().module(), kernel.module());
        }
    }
    assert_eq!(loads(&fixture), 2);
    assert_eq!(contexts[0].kernel(OTHER, "one").unwrap().parameters(), Some(&[4][..]));
    assert_eq!(loads(&fixture), 3);
}

#[test]
fn a_context_keeps_a_bounded_number_of_modules() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let text = |number: usize| format!("{OTHER} // {number}");
    for number in 0..300 {
        assert_eq!(context.kernel(text(number), "one").unwrap().name(), "one");
    }
    assert_eq!(
        (loads(&fixture), unloads(&fixture)),
        (300, 300 - 256),
        "functions that are dropped unload further modules"
    );
    context.kernel(text(0), "one").unwrap();
    assert_eq!(loads(&fixture), 300, "the first modules stay loaded");
    context.kernel(text(299), "one").unwrap();
    assert_eq!((loads(&fixture), unloads(&fixture)), (301, 301 - 256));
}

#[test]
fn threads_load_ptx_once() {
    let fixture = Fixture::new();
    let (context, start) = (fixture.primary(), Barrier::new(8));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let _entered = fixture.sim.enter();
                start.wait();
                for name in ["one", "two", "one"] {
                    let kernel = context.kernel(PTX, name).unwrap();
                    assert_eq!(kernel.name(), name);
                }
            });
        }
    });
    assert_eq!(loads(&fixture), 1);
}

#[test]
fn failed_load_is_not_cached() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    assert!(context.kernel("not PTX", "one").is_err());
    let error = context.kernel(PTX, "three").unwrap_err();
    assert_eq!(error.driver_code(), Some(CUresult::CUDA_ERROR_NOT_FOUND));
    assert!(error.to_string().contains("one"), "{error}");
    fixture.sim.fail_next("cuFuncGetAttribute", CUresult::CUDA_ERROR_UNKNOWN).unwrap();
    assert!(context.kernel(PTX, "one").is_err());
    context.kernel(PTX, "one").unwrap();
    drop(context);
    assert_eq!(unloads(&fixture), 1);
}

#[test]
fn modules_of_a_retained_context_are_unloaded_with_its_last_object() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::new(&context).unwrap();
    let kernel = context.kernel(PTX, "one").unwrap();
    // SAFETY: the kernel has no parameters.
    unsafe { kernel.launch(&stream, LaunchConfig::new([1, 1, 1], [1, 1, 1]), ()) }.unwrap();
    drop((context, kernel));
    assert_eq!(unloads(&fixture), 0, "the stream keeps the context");
    drop(stream);
    assert_eq!((loads(&fixture), unloads(&fixture)), (1, 1));
    assert!(fixture.driver.take_drop_error().is_none());
    assert_eq!(fixture.alive(), Alive::NOTHING);
    assert_eq!(fixture.sim.report_with_leaks().findings, []);
}

#[test]
fn borrowed_context_keeps_its_kernels_between_calls() {
    let fixture = Fixture::new();
    let raw = created(&fixture, 0);
    for _ in 0..3 {
        // No object of the context is alive between two iterations.
        let context = fixture.driver.current_context().unwrap().unwrap();
        assert_eq!(context.handle(), raw);
        context.kernel(PTX, "one").unwrap();
    }
    assert_eq!((loads(&fixture), unloads(&fixture)), (1, 0));
    let Fixture { driver, sim, .. } = &fixture;
    assert!(driver.take_drop_error().is_none());
    // SAFETY: the simulator behaves as a driver.
    let other = unsafe { Driver::from_api(sim.api()) }.unwrap();
    other.current_context().unwrap().unwrap().kernel(PTX, "one").unwrap();
    assert_eq!(loads(&fixture), 2, "each driver object has a cache");
    drop(other);
    assert_eq!(unloads(&fixture), 1, "a driver object unloads its modules");
    destroy(&fixture, raw);
}

#[test]
fn module_of_a_destroyed_context_is_not_unloaded() {
    let fixture = Fixture::new();
    let raw = created(&fixture, 0);
    // SAFETY: the simulator behaves as a driver.
    let driver = unsafe { Driver::from_api(fixture.sim.api()) }.unwrap();
    driver.current_context().unwrap().unwrap().kernel(PTX, "one").unwrap();
    destroy(&fixture, raw);
    drop(driver);
    assert_eq!(unloads(&fixture), 0);
}

thread_local! {
    static GENERATION: Cell<u64> = const { Cell::new(0) };
}

#[test]
fn context_with_a_reused_handle_has_kernels_of_its_own() {
    // The id tells contexts apart; the handle does not.
    unsafe extern "C" fn id(_: CUcontext, id: *mut u64) -> CUresult {
        // SAFETY: the caller's pointer, by the driver's contract.
        unsafe { *id = GENERATION.get() };
        CUresult::CUDA_SUCCESS
    }
    let fixture = Fixture::altered(Config::default(), |api| api.cuCtxGetId = Some(id));
    let context = fixture.primary();
    let first = context.kernel(PTX, "one").unwrap();
    GENERATION.set(1);
    let second = context.kernel(PTX, "one").unwrap();
    assert_ne!(first.module(), second.module());
    assert_eq!(loads(&fixture), 2);
    drop((first, second, context));
    assert_eq!(unloads(&fixture), 1, "the modules of the earlier context ended with it");
}

#[test]
fn driver_without_context_ids_loads_at_each_call() {
    let fixture = Fixture::altered(Config::default(), |api| api.cuCtxGetId = None);
    let context = fixture.primary();
    let kernels = [context.kernel(PTX, "one").unwrap(), context.kernel(PTX, "one").unwrap()];
    assert_eq!((loads(&fixture), unloads(&fixture)), (2, 0));
    drop(kernels);
    assert_eq!(unloads(&fixture), 2);
}

#[test]
fn clone_of_a_function_keeps_its_module_loaded() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let function = Module::load_ptx(&context, PTX).unwrap().function("one").unwrap();
    let cloned = function.clone();
    drop(function);
    assert_eq!(unloads(&fixture), 0);
    // SAFETY: the kernel has no parameters.
    unsafe {
        cloned.launch(&Stream::legacy_default(&context), LaunchConfig::new([1, 1, 1], [1, 1, 1]), ()).unwrap();
    }
    context.synchronize().unwrap();
    drop(cloned);
    assert_eq!(unloads(&fixture), 1);
}
