//! A simulated CUDA driver over host memory.
//!
//! The crate is built twice. As a shared library it *is* `libcuda.so.1`: it exports the documented driver API, and real
//! programs run on it unchanged on machines without a GPU. As a Rust library it gives each test its own driver, in
//! process:
//!
//! ```
//! use cuarray_sim::{Config, Sim};
//!
//! let sim = Sim::new(Config { devices: 2, ..Config::default() });
//! let api = sim.api();
//! let _entered = sim.enter(); // this thread's calls now use this driver
//! let mut count = 0;
//! // SAFETY: the arguments are those that the driver's manual requires.
//! unsafe {
//!     assert!(api.cuInit.unwrap()(0).is_success());
//!     assert!(api.cuDeviceGetCount.unwrap()(&mut count).is_success());
//! }
//! assert_eq!(count, 2);
//! ```
//!
//! The simulated driver is deliberately *late*: enqueued work waits until a call forces it ([`Schedule::Lazy`]). So a
//! program that forgets a synchronization is wrong on every run instead of on some. Unsupported features, such as
//! textures, are refused with the driver's own codes.
//!
//! The folders are the nouns of the driver's manual: `stream`, `event`, `memory`, `pool`, `module`, `launch`, `copy`, `texture`,
//! `graph`, `context`. Each has its C functions and their effects. They share the floor below: `objects`, the `state` of a driver,
//! `happens_before`, which feeds [`cuarray_races`], and the `execution`, which decides by the `schedule` when pending work runs.
//! Above, `effects` has the effect of each kind of work, and `exports` wraps every C function.

mod capture;
mod config;
mod context;
mod copy;
mod driver;
mod effects;
mod error_log;
mod event;
mod execution;
mod explore;
mod exports;
mod fork;
mod graph;
mod graph_structure;
mod handle;
mod happens_before;
mod host_access;
mod launch;
mod memory;
mod memory_operations;
mod module;
mod objects;
mod ordering_calls;
mod pages;
mod parameters;
mod pool;
mod process;
mod process_status;
mod schedule;
mod signals;
mod site;
mod state;
mod stream;
mod texture;
mod thread;
mod trace;

pub use config::{Config, Fault, HostOrder};
pub use cuarray_races::finding;
pub use explore::{Bounds, Exploration, Failure, explore};
pub use schedule::Schedule;
pub use schedule::choices::{Choice, Choices};

use crate::execution::chosen;
use crate::process::exports::faults;
use crate::process::report;
use cuarray_abi::{Api, CUresult};
use driver::Driver;
use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

/// A simulated driver, separate from the driver of the process.
#[derive(Clone)]
pub struct Sim {
    driver: Arc<Driver>,
}

impl Sim {
    /// Creates a driver that is not yet initialized. Settings that [`Config::check`] refuses make `cuInit` fail.
    pub fn new(config: Config) -> Sim {
        Sim { driver: Driver::new(Ok(config), effects::execute) }
    }

    /// The entry points, which all drivers share. A call uses the driver that the calling thread has
    /// [entered](Sim::enter).
    pub fn api(&self) -> Api {
        exports::api()
    }

    /// Makes the calling thread's driver calls use this driver, until the guard is dropped.
    pub fn enter(&self) -> Entered {
        thread::with(|thread| thread.entered.borrow_mut().push(self.driver.clone()));
        Entered { number: self.driver.number, not_send: PhantomData }
    }

    /// Makes the next call of `symbol` (as exported: `cuMemAlloc_v2`) fail with `result`, without other effects.
    ///
    /// # Errors
    /// If no entry point has that symbol.
    pub fn fail_next(&self, symbol: &str, result: CUresult) -> Result<(), String> {
        self.fail_nth(symbol, 1, result)
    }

    /// As [`Sim::fail_next`], for call number `call` from now on, counted from 1.
    ///
    /// ```
    /// use cuarray_abi::CUresult;
    /// use cuarray_sim::{Config, Sim};
    ///
    /// let sim = Sim::new(Config::default());
    /// let (api, _entered) = (sim.api(), sim.enter());
    /// let (mut context, mut memory) = (Default::default(), 0);
    /// // SAFETY: the arguments are those that the driver's manual requires.
    /// unsafe {
    ///     api.cuInit.unwrap()(0);
    ///     api.cuCtxCreate_v2.unwrap()(&mut context, 0, 0);
    ///     sim.fail_nth("cuMemAlloc_v2", 2, CUresult::CUDA_ERROR_OUT_OF_MEMORY).unwrap();
    ///     assert!(api.cuMemAlloc_v2.unwrap()(&mut memory, 64).is_success());
    ///     assert_eq!(api.cuMemAlloc_v2.unwrap()(&mut memory, 64), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    ///     assert!(api.cuMemAlloc_v2.unwrap()(&mut memory, 64).is_success());
    /// }
    /// ```
    ///
    /// # Errors
    /// If no entry point has that symbol, or `call` is 0.
    pub fn fail_nth(&self, symbol: &str, call: u64, result: CUresult) -> Result<(), String> {
        faults::inject(&self.driver, Fault { symbol: symbol.to_owned(), call, result })
    }

    /// Removes the injected faults that no call has reached, and returns their number.
    pub fn clear_faults(&self) -> usize {
        self.driver.clear_faults()
    }

    /// Changes the schedule. Pending work runs first, so that the new schedule begins with empty streams.
    pub fn set_schedule(&self, schedule: &Schedule) {
        chosen::set_schedule(&self.driver, schedule);
    }

    /// The choices made since the schedule was set; none under the lazy and the eager schedule.
    pub fn choices(&self) -> Choices {
        self.driver.lock().mode.choices()
    }

    /// Returns why a replayed schedule does not fit the program: the program made different choices, or fewer. `None` if it fits.
    /// From the first difference on, calls fail with `CUDA_ERROR_ILLEGAL_STATE`.
    pub fn schedule_mismatch(&self) -> Option<String> {
        chosen::mismatch(&self.driver)
    }

    /// The findings so far. Pending work whose accesses are not known yet runs first.
    ///
    /// ```
    /// use cuarray_sim::{Config, Sim, finding::Kind};
    ///
    /// let sim = Sim::new(Config::default());
    /// let (api, _entered) = (sim.api(), sim.enter());
    /// let (mut context, mut memory) = (Default::default(), 0);
    /// let mut streams = [Default::default(); 2];
    /// // SAFETY: the arguments are those that the driver's manual requires.
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
        report::make(&self.driver, false, true)
    }

    /// The findings so far, with all live objects as leaks.
    pub fn report_with_leaks(&self) -> finding::Report {
        report::make(&self.driver, true, true)
    }

    /// Discards the findings so far.
    pub fn clear_findings(&self) {
        report::clear_findings(&self.driver);
    }

    /// Counts ordering calls from now on (`cuEventRecord`, `cuStreamWaitEvent`, `cuStreamSynchronize`,
    /// `cuEventSynchronize`, `cuCtxSynchronize`), and drops call number `nth`: it only returns success. 0 drops none.
    pub fn drop_ordering(&self, nth: u64) {
        self.driver.ordering_calls.drop_nth(nth, None);
    }

    /// The number of ordering calls since [`Sim::drop_ordering`], including a dropped one.
    pub fn ordering_calls(&self) -> u64 {
        self.driver.ordering_calls.made().0
    }

    /// Under [`HostOrder::Driver`], orders the calling thread's earlier calls before the calls of any thread that
    /// later [takes over](Sim::take_over) the same key.
    pub fn hand_over(&self, key: u64) {
        if let Some(thread) = thread::with(|thread| thread.number) {
            self.driver.lock().detector.hand_over(key, thread);
        }
    }

    /// The counterpart of [`Sim::hand_over`].
    pub fn take_over(&self, key: u64) {
        if let Some(thread) = thread::with(|thread| thread.number) {
            self.driver.lock().detector.take_over(key, thread);
        }
    }

    /// Live objects, pending work, and counts of calls and refusals, as JSON (see `docs/reference/simulator.md`).
    pub fn statistics(&self) -> String {
        process::statistics::json(&self.driver)
    }
}

/// A guard. While it lives, the calling thread's driver calls use one [`Sim`]; see [`Sim::enter`].
#[derive(Debug)]
#[must_use = "dropping this guard leaves the driver"]
pub struct Entered {
    number: u64,
    /// Ties the guard to the thread that created it.
    not_send: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        thread::with(|thread| {
            let mut entered = thread.entered.borrow_mut();
            let is_own = |driver: &Arc<dyn Any + Send + Sync>| {
                driver.downcast_ref::<Driver>().is_some_and(|driver| driver.number == self.number)
            };
            if let Some(index) = entered.iter().rposition(is_own) {
                entered.remove(index);
            }
        });
    }
}

/// The README's example is a test too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
