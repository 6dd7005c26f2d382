//! A driver: its configuration, its state, and which one a C function means.
//!
//! The driver API's functions carry no driver argument, because a process has one driver. Tests want many. So a
//! thread can *enter* a driver, and its calls then mean that one; every other call means the process's own driver, which is
//! made from the environment by the first call that needs it.

use crate::config::{Config, Fault, HostOrder, Schedule};
use crate::exit;
use crate::fork;
use crate::host_access::HostAccess;
use crate::ordering_calls::OrderingCalls;
use crate::schedule::chosen::Mode;
use crate::state::State;
use crate::thread;
use crate::trace::Trace;
use cuarray_abi::*;
use cuarray_races::finding::Report;
use cuarray_races::site::Site;
use cuarray_races::{Detector, HostThreads};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// A driver's state, locked.
pub(crate) type Guard<'a> = MutexGuard<'a, State>;
/// What an entry point's implementation answers.
pub(crate) type Answer = Result<(), CUresult>;

/// One driver.
pub(crate) struct Driver {
    /// A number that no other driver of this process has had.
    pub number: u64,
    /// What the driver was set up with, or what was wrong with that.
    pub config: Result<Config, String>,
    state: Mutex<State>,
    /// Whether pages are to be closed to the host, or opened, when the call that is being answered ends.
    pub host_access_changed: Arc<AtomicBool>,
    /// Whether a kernel has failed in some context.
    kernel_failed: Arc<AtomicBool>,
    /// A host function has returned.
    pub finished: Condvar,
    /// The generation of the process (see [`fork`]) in which `cuInit` succeeded; 0 before.
    initialized: AtomicU64,
    /// How many calls were made of each entry point, by its place in the list.
    pub calls_of: Vec<AtomicU64>,
    /// Names that were asked for or called and that this driver does not implement, and how often.
    pub refused: Mutex<BTreeMap<String, u64>>,
    /// Whether the schedule makes choices.
    pub chooses: AtomicBool,
    pub has_faults: AtomicBool,
    pub faults: Mutex<Vec<Fault>>,
    pub trace: Option<Trace>,
    explained: AtomicBool,
    pub ordering_calls: OrderingCalls,
}

/// The driver that a call means. The process's own stays, so that none of its calls has to hold it.
pub(crate) enum Meant {
    OfTheProcess(&'static Arc<Driver>),
    Entered(Arc<Driver>),
}

impl Deref for Meant {
    type Target = Arc<Driver>;

    fn deref(&self) -> &Arc<Driver> {
        match self {
            Meant::OfTheProcess(driver) => driver,
            Meant::Entered(driver) => driver,
        }
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);
static OF_THE_PROCESS: OnceLock<Arc<Driver>> = OnceLock::new();

impl Driver {
    pub(crate) fn new(config: Result<Config, String>) -> Arc<Driver> {
        let config = config.and_then(|config| config.check().map(|()| config));
        let (config, trace) = match config {
            Ok(config) => match config.trace.as_deref().map(Trace::create).transpose() {
                Ok(trace) => (Ok(config), trace),
                Err(wrong) => (Err(wrong), None),
            },
            Err(wrong) => (Err(wrong), None),
        };
        let detector = match &config {
            Ok(Config { findings: true, host_order: HostOrder::Driver, .. }) => Detector::new(HostThreads::Apart),
            Ok(Config { findings: true, .. }) => Detector::new(HostThreads::InOrderOfCalls),
            _ => Detector::off(),
        };
        let faults = config.as_ref().map(|config| config.faults.clone()).unwrap_or_default();
        let schedule = config.as_ref().map(|config| config.schedule.clone()).unwrap_or_default();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let watched = config.as_ref().is_ok_and(|config| config.findings && config.host_accesses);
        let host_access_changed = Arc::new(AtomicBool::new(false));
        let host_access = HostAccess::new(watched.then_some(number), host_access_changed.clone());
        let state = State::new(Mode::of(&schedule), detector, host_access);
        Arc::new(Driver {
            number,
            config,
            kernel_failed: state.code.failed.clone(),
            state: Mutex::new(state),
            host_access_changed,
            finished: Condvar::new(),
            initialized: AtomicU64::new(0),
            calls_of: ENTRY_POINTS.iter().map(|_| AtomicU64::new(0)).collect(),
            refused: Mutex::default(),
            chooses: AtomicBool::new(!matches!(schedule, Schedule::Lazy | Schedule::Eager)),
            has_faults: AtomicBool::new(!faults.is_empty()),
            faults: Mutex::new(faults),
            trace,
            explained: AtomicBool::new(false),
            ordering_calls: OrderingCalls::default(),
        })
    }

    /// The driver that the calling thread's calls mean; `None` where the thread is past its end.
    pub(crate) fn of_this_thread() -> Option<Meant> {
        let entered = thread::with(|thread| thread.entered.borrow().last().cloned())?;
        let process = || Meant::OfTheProcess(OF_THE_PROCESS.get_or_init(Driver::of_the_process));
        Some(entered.map_or_else(process, Meant::Entered))
    }

    /// The process's own driver, as its environment sets it up.
    fn of_the_process() -> Arc<Driver> {
        let driver = Driver::new(Config::from_env());
        exit::tell_seed(&driver);
        exit::watch();
        driver
    }

    /// The process's own driver, if it has one.
    pub(crate) fn of_the_process_if_any() -> Option<&'static Arc<Driver>> {
        OF_THE_PROCESS.get()
    }

    pub(crate) fn lock(&self) -> Guard<'_> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `cuInit`.
    pub(crate) fn initialize(&self) -> Answer {
        let config = self.config.as_ref().map_err(|wrong| {
            eprintln!("cuarray-sim: {wrong}");
            CUresult::CUDA_ERROR_INVALID_VALUE
        })?;
        let generation = fork::generation();
        match self.initialized.load(Ordering::Acquire) {
            0 => {}
            own if own == generation => return Ok(()),
            _ => return Err(CUresult::CUDA_ERROR_NOT_INITIALIZED),
        }
        if config.visible.as_ref().is_some_and(Vec::is_empty) {
            return Err(CUresult::CUDA_ERROR_NO_DEVICE);
        }
        let mut state = self.lock();
        if state.devices.is_empty() {
            fork::watch();
            state.make_devices(config).map_err(|error| {
                eprintln!(
                    "cuarray-sim: no address space for {} devices of {} bytes: {error}",
                    config.devices, config.memory
                );
                CUresult::CUDA_ERROR_OUT_OF_MEMORY
            })?;
        }
        self.initialized.store(generation, Ordering::Release);
        Ok(())
    }

    /// Whether calls may be made in this process.
    pub(crate) fn ready(&self) -> Answer {
        let own = self.initialized.load(Ordering::Acquire);
        if own == fork::generation() { Ok(()) } else { Err(CUresult::CUDA_ERROR_NOT_INITIALIZED) }
    }

    /// Whether it was initialized before a `fork`, in the parent: its lock may then never be free again.
    pub(crate) fn initialized_elsewhere(&self) -> bool {
        !matches!(self.initialized.load(Ordering::Acquire), 0) && self.ready().is_err()
    }

    /// Whether it looks for what is wrong with the program.
    pub(crate) fn finds(&self) -> bool {
        self.config.as_ref().is_ok_and(|config| config.findings)
    }

    /// Everything that was found, with what is alive now if `leaks`. Pending work runs first if it is not known yet what it touches.
    pub(crate) fn report(&self, leaks: bool) -> Report {
        let state = self.known();
        let leaks = leaks && self.config.as_ref().is_ok_and(|config| config.leaks != Some(false));
        self.suppressed(state.detector.report(leaks))
    }

    /// The same at the end of the program, where no more of its code may run; `None` if another thread is still at work.
    pub(crate) fn last_report(&self, leaks: bool) -> Option<Report> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        state.take_host_accesses();
        let state = if state.host_functions == 0 { self.resolved(state) } else { state };
        Some(self.suppressed(state.detector.report(leaks)))
    }

    fn suppressed(&self, mut report: Report) -> Report {
        report.recorded_by =
            concat!("cuarray-sim ", env!("CARGO_PKG_VERSION"), ", the simulated CUDA driver").to_owned();
        if let Ok(config) = &self.config {
            report.suppress(&config.suppressions);
        }
        report
    }

    /// Forgets what was found so far.
    pub(crate) fn clear_findings(&self) {
        self.known().detector.clear();
    }

    /// Locks the driver, and runs what has to run before it is known what was found.
    fn known(&self) -> Guard<'_> {
        let mut state = self.lock();
        state.take_host_accesses();
        self.resolved(state)
    }

    fn resolved<'a>(&'a self, state: Guard<'a>) -> Guard<'a> {
        if state.detector.is_settled() {
            return state;
        }
        let contexts: Vec<CUcontext> = state.contexts.keys().copied().collect();
        self.exhaust(state, &contexts)
    }

    /// Whether freeing memory waits for the work on it, as far as findings are concerned.
    pub(crate) fn free_synchronizes(&self) -> bool {
        self.config.as_ref().is_ok_and(|config| config.free_synchronizes)
    }

    /// The configuration; the defaults where it was wrong and `cuInit` has failed for it.
    pub(crate) fn settings(&self) -> Config {
        self.config.as_ref().cloned().unwrap_or_default()
    }

    /// How many calls were made.
    pub(crate) fn calls(&self) -> u64 {
        self.calls_of.iter().map(|calls| calls.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    /// Counts a name that is not implemented.
    pub(crate) fn count_refused(&self, name: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match refused.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(refused.insert(name.to_owned(), 1)),
        }
    }

    /// Tells the user, once, why a program's code is refused.
    pub(crate) fn explain(&self, text: &str) {
        let quiet = self.config.as_ref().is_ok_and(|config| config.quiet);
        if !quiet && !self.explained.swap(true, Ordering::Relaxed) {
            eprintln!("cuarray-sim: {text}");
        }
    }

    /// The result that a fault prescribes for this call, the `number`-th of `symbol`.
    pub(crate) fn fault(&self, symbol: &str, number: u64) -> Option<CUresult> {
        if !self.has_faults.load(Ordering::Relaxed) {
            return None;
        }
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.iter().find(|fault| fault.call == number && fault.symbol == symbol).map(|fault| fault.result)
    }
}

/// One call of an entry point.
pub(crate) struct Call<'a> {
    pub driver: &'a Arc<Driver>,
    /// Where it came from; unknown for calls that only ask, and where nothing is looked for.
    pub site: &'a Arc<Site>,
    /// The number of the calling thread.
    pub thread: u64,
    /// Whether a null stream means the per-thread default stream.
    pub per_thread: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn lock(&self) -> Guard<'a> {
        self.driver.lock()
    }

    /// Whether no kernel has failed in the calling thread's current context.
    ///
    /// # Errors
    /// What the kernel has left.
    pub(crate) fn healthy(&self) -> Answer {
        if !self.driver.kernel_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let state = self.lock();
        let context = self.top_context().and_then(|handle| state.contexts.get(&handle));
        context.and_then(|context| context.failed).map_or(Ok(()), Err)
    }

    /// How much captures keep the calling thread from.
    pub(crate) fn capture_mode(&self) -> CUstreamCaptureMode {
        thread::with(|thread| thread.capture_mode.get()).unwrap_or(CU_STREAM_CAPTURE_MODE_GLOBAL)
    }

    /// The calling thread's current context, without looking whether it still lives.
    pub(crate) fn top_context(&self) -> Option<CUcontext> {
        thread::with_contexts(self.driver.number, |stack| stack.last().copied()).flatten()
    }

    /// Locks the driver and answers the calling thread's current context.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` without one, `CUDA_ERROR_CONTEXT_IS_DESTROYED` if it has ended.
    pub(crate) fn current(&self) -> Result<(Guard<'a>, CUcontext), CUresult> {
        let handle = self.top_context().filter(|handle| !handle.is_null());
        let handle = handle.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
        let state = self.lock();
        let context = state.context(handle).map_err(|_| CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
        if let Some(failed) = context.failed {
            return Err(failed);
        }
        Ok((state, handle))
    }
}
