//! A simulated CUDA driver over host memory.
//!
//! The crate is built twice. As a shared library it *is* `libcuda.so.1`: it exports the documented driver API, and real
//! programs run on it unchanged, on machines without a GPU. As a Rust library it gives tests a driver each, in process:
//!
//! ```
//! use cuarray_sim::{Config, Sim};
//!
//! let sim = Sim::new(Config { devices: 2, ..Config::default() });
//! let api = sim.api();
//! let _entered = sim.enter(); // this thread's calls now mean this driver
//! let mut count = 0;
//! // SAFETY: the entry points are given what the driver's manual asks for.
//! unsafe {
//!     assert!(api.cuInit.unwrap()(0).is_success());
//!     assert!(api.cuDeviceGetCount.unwrap()(&mut count).is_success());
//! }
//! assert_eq!(count, 2);
//! ```
//!
//! What it is for is to be *late*: enqueued work waits until something forces it ([`Schedule::Lazy`]), so a program that
//! forgets a synchronization is wrong on every run instead of on some. What it does not have (textures, virtual memory management)
//! it refuses with the driver's own codes; nothing pretends to have worked.
//!
//! From top to bottom: `exports` are the C functions, each a shield (panics, faults, trace, counts) around a plain function
//! over the `state`; `schedule` decides when pending work runs; `copy` and the crate `cuarray-ptx` run it; `memory` and `arena` know where bytes lie;
//! `check` computes what is ordered with what, and `report` tells what is not.

mod allocator;
mod arena;
mod capture;
mod check;
mod code;
mod config;
mod context;
mod copy;
mod device;
mod driver;
mod event;
mod exit;
mod exports;
pub mod finding;
mod fork;
mod graph;
mod handle;
mod host_access;
mod host_pages;
mod ipc;
mod launch;
mod memory;
mod ordering_calls;
mod pool;
mod report;
mod schedule;
pub mod site;
mod state;
mod statistics;
mod stream;
pub mod suppression;
mod thread;
mod trace;

pub use config::{Config, Fault, HostOrder, Schedule};
pub use schedule::choices::{Choice, Choices};
pub use schedule::explore::{Bounds, Exploration, Failure, explore};

use cuarray_abi::{Api, CUresult};
use driver::Driver;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// A simulated driver of its own, apart from the process's.
#[derive(Clone)]
pub struct Sim {
    driver: Arc<Driver>,
}

impl Sim {
    /// A driver with these settings, not yet initialized. Settings that [`Config::check`] refuses make `cuInit` fail.
    pub fn new(config: Config) -> Sim {
        Sim { driver: Driver::new(Ok(config)) }
    }

    /// The entry points. They are the same functions for every driver: which one a call means is what the calling thread
    /// has [entered](Sim::enter).
    pub fn api(&self) -> Api {
        exports::api()
    }

    /// Makes the calling thread's driver calls mean this driver, until the guard goes.
    pub fn enter(&self) -> Entered {
        thread::with(|thread| thread.entered.borrow_mut().push(self.driver.clone()));
        Entered { number: self.driver.number, of_this_thread: PhantomData }
    }

    /// Makes the next call of `symbol` (as exported: `cuMemAlloc_v2`) fail with `result`, without doing anything.
    ///
    /// # Errors
    /// If no entry point has that symbol.
    pub fn fail_next(&self, symbol: &str, result: CUresult) -> Result<(), String> {
        let index = exports::index_of(symbol).ok_or_else(|| format!("no entry point has the symbol {symbol}"))?;
        let call = self.driver.calls_of[index].load(Ordering::Relaxed) + 1;
        let mut faults = self.driver.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.push(Fault { symbol: symbol.to_owned(), call, result });
        self.driver.has_faults.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Changes the schedule. What is pending runs first, so that the new one begins with nothing.
    pub fn set_schedule(&self, schedule: &Schedule) {
        self.driver.set_schedule(schedule);
    }

    /// The choices that were made since the schedule was set; none under the lazy and the eager one.
    pub fn choices(&self) -> Choices {
        self.driver.lock().mode.choices()
    }

    /// Why the schedule does not fit the program, if one is replayed and does not: the program made other choices than it,
    /// or fewer. From the first choice that differs, calls fail with `CUDA_ERROR_ILLEGAL_STATE`.
    pub fn misfit(&self) -> Option<String> {
        self.driver.misfit()
    }

    /// What is wrong with the program so far. Pending work runs first if it is not known yet what it touches.
    ///
    /// ```
    /// use cuarray_sim::{Config, Sim, finding::Kind};
    ///
    /// let sim = Sim::new(Config::default());
    /// let (api, _entered) = (sim.api(), sim.enter());
    /// let (mut context, mut memory) = (Default::default(), 0);
    /// let mut streams = [Default::default(); 2];
    /// // SAFETY: the entry points are given what the driver's manual asks for.
    /// unsafe {
    ///     api.cuInit.unwrap()(0);
    ///     api.cuCtxCreate_v2.unwrap()(&mut context, 0, 0);
    ///     api.cuMemAlloc_v2.unwrap()(&mut memory, 64);
    ///     for stream in &mut streams {
    ///         api.cuStreamCreate.unwrap()(stream, 0);
    ///         api.cuMemsetD8Async.unwrap()(memory, 1, 64, *stream); // nothing orders the two
    ///     }
    /// }
    /// let report = sim.report();
    /// assert_eq!(report.findings.len(), 1);
    /// assert_eq!(report.findings[0].kind, Kind::DataRace);
    /// ```
    pub fn report(&self) -> finding::Report {
        self.driver.report(false)
    }

    /// The same with what is alive now: what a program that ends here has leaked.
    pub fn report_with_leaks(&self) -> finding::Report {
        self.driver.report(true)
    }

    /// Forgets what was found so far.
    pub fn clear_findings(&self) {
        self.driver.clear_findings();
    }

    /// Counts ordering calls from now on (`cuEventRecord`, `cuStreamWaitEvent`, `cuStreamSynchronize`, `cuEventSynchronize`,
    /// `cuCtxSynchronize`), and lets the `nth` do nothing but answer success; none for 0.
    pub fn drop_ordering(&self, nth: u64) {
        self.driver.ordering_calls.drop_nth(nth, None);
    }

    /// How many ordering calls were made since [`Sim::drop_ordering`], the one that was left out included.
    pub fn ordering_calls(&self) -> u64 {
        self.driver.ordering_calls.made().0
    }

    /// Under [`HostOrder::Driver`]: what the calling thread has done comes before what a thread does after it has
    /// [taken over](Sim::take_over) under the same key.
    pub fn hand_over(&self, key: u64) {
        if let Some(thread) = thread::with(|thread| thread.number) {
            self.driver.lock().checks.hand_over(key, thread);
        }
    }

    /// The other half of [`Sim::hand_over`].
    pub fn take_over(&self, key: u64) {
        if let Some(thread) = thread::with(|thread| thread.number) {
            self.driver.lock().checks.take(key, thread);
        }
    }

    /// What is alive, what is pending, what was called and what was refused, as JSON (see `docs/reference/simulator.md`).
    pub fn statistics(&self) -> String {
        statistics::json(&self.driver)
    }
}

/// The calling thread's driver calls mean one [`Sim`] while this lives; see [`Sim::enter`].
#[derive(Debug)]
#[must_use = "the driver is left again when this guard is dropped"]
pub struct Entered {
    number: u64,
    /// A guard belongs to the thread that made it.
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        thread::with(|thread| {
            let mut entered = thread.entered.borrow_mut();
            if let Some(index) = entered.iter().rposition(|driver| driver.number == self.number) {
                entered.remove(index);
            }
        });
    }
}

/// The README's example is a test too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
