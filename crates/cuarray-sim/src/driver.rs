//! A driver: its configuration, its state, and the selection of the driver that a C call uses.
//!
//! Functions of the driver API have no driver argument, because a process has one driver. Tests need many. So a thread
//! can *enter* a driver, which its calls then use. All other calls use the process's driver, which the first call
//! creates from the environment.

use crate::config::{Config, Fault, HostOrder};
use crate::error_log::ErrorLog;
use crate::fork;
use crate::host_access::{self, HostAccess, valgrind};
use crate::objects::device;
use crate::objects::green_context::Scope;
use crate::ordering_calls::OrderingCalls;
use crate::schedule::Schedule;
use crate::schedule::mode::Mode;
use crate::site::Entry;
use crate::state::{Execute, State};
use crate::thread;
use crate::trace::Trace;
use cuarray_abi::*;
use cuarray_races::site::Site;
use cuarray_races::{Detector, HostThreads};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError, TryLockError};

/// A driver's state, locked.
pub(crate) type Guard<'a> = MutexGuard<'a, State>;

/// One driver.
pub(crate) struct Driver {
    /// A number that is unique in this process.
    pub number: u64,
    /// The configuration, or the error in it.
    pub config: Result<Config, String>,
    state: Mutex<State>,
    /// Whether host access to pages must be revoked or restored at the end of the current call.
    pub host_access_changed: Arc<AtomicBool>,
    /// Whether a node was captured again with other parameters.
    pub has_recaptured: Arc<AtomicBool>,
    /// The messages about failed calls and failed work.
    pub log: Arc<ErrorLog>,
    /// Whether the queue of a stream is full.
    pub crowded: Arc<AtomicBool>,
    /// Whether a kernel has failed in some context.
    kernel_failed: Arc<AtomicBool>,
    /// Signalled when a host function has returned.
    pub finished: Condvar,
    /// The generation of the process (see [`fork`]) in which `cuInit` succeeded; 0 before.
    initialized: AtomicU64,
    /// The number of calls of each entry point, by its index in the list.
    pub calls_of: Vec<AtomicU64>,
    /// The requested or called functions that this driver does not implement, with their counts.
    pub refused: Mutex<BTreeMap<String, u64>>,
    /// The refused images with machine code, and the refused PTX.
    pub refused_machine_code: AtomicU64,
    pub refused_ptx: AtomicU64,
    /// The libraries whose static CUDA runtime was refused.
    pub refused_runtimes: Mutex<BTreeSet<String>>,
    /// Whether the schedule makes choices.
    pub chooses: AtomicBool,
    pub has_faults: AtomicBool,
    pub faults: Mutex<Vec<Fault>>,
    pub trace: Option<Trace>,
    explained: AtomicBool,
    /// The number of parts of the program that are running and expect refusals of modules; see `cuarraySimExpectRefusals`.
    pub expects_refusals: AtomicI64,
    /// The functions whose refusal was printed.
    explained_refusals: Mutex<BTreeSet<&'static str>>,
    pub ordering_calls: OrderingCalls,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Driver {
    pub(crate) fn new(config: Result<Config, String>, execute: Execute) -> Arc<Driver> {
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
        let watched = config.as_ref().is_ok_and(|config| config.findings && config.host_accesses)
            && !valgrind::executes_process();
        let host_access_changed = Arc::new(AtomicBool::new(false));
        let host_access = HostAccess::new(watched.then_some(number), host_access_changed.clone());
        let mut state = State::new(Mode::of(&schedule), detector, host_access, execute);
        state.host_writes_devices = config.as_ref().is_ok_and(|config| config.host_readable);
        state.pageable_memory = config.as_ref().is_ok_and(|config| config.pageable_memory);
        state.quiet = config.as_ref().is_ok_and(|config| config.quiet);
        state.launch_budget = config.as_ref().map_or(u64::MAX, |config| config.launch_budget);
        state.timeline = trace.as_ref().and_then(Trace::timeline).cloned();
        Arc::new(Driver {
            number,
            config,
            kernel_failed: state.code.failed.clone(),
            crowded: state.crowded.clone(),
            has_recaptured: state.has_recaptured.clone(),
            log: state.log.clone(),
            state: Mutex::new(state),
            host_access_changed,
            finished: Condvar::new(),
            initialized: AtomicU64::new(0),
            calls_of: ENTRY_POINTS.iter().map(|_| AtomicU64::new(0)).collect(),
            refused: Mutex::default(),
            refused_machine_code: AtomicU64::new(0),
            refused_ptx: AtomicU64::new(0),
            refused_runtimes: Mutex::default(),
            chooses: AtomicBool::new(!matches!(schedule, Schedule::Lazy | Schedule::Eager)),
            has_faults: AtomicBool::new(!faults.is_empty()),
            faults: Mutex::new(faults),
            trace,
            explained: AtomicBool::new(false),
            expects_refusals: AtomicI64::new(0),
            explained_refusals: Mutex::default(),
            ordering_calls: OrderingCalls::default(),
        })
    }

    pub(crate) fn lock(&self) -> Guard<'_> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Initializes the driver, for `cuInit`.
    pub(crate) fn initialize(&self) -> Result<(), CUresult> {
        let config = self.config.as_ref().map_err(|wrong| {
            eprintln!("cuarray-sim: {wrong}");
            self.log_error(wrong);
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
            let devices = device::of_config(config).map_err(|error| {
                let Config { devices, memory, .. } = config;
                let text = format!(
                    "no address space for {devices} devices of {memory} bytes: {error}; set CUARRAY_SIM_MEMORY to fewer bytes"
                );
                static SAID: Once = Once::new();
                SAID.call_once(|| eprintln!("cuarray-sim: {text}"));
                self.log_error(&text);
                CUresult::CUDA_ERROR_OUT_OF_MEMORY
            })?;
            if let Some(text) = config.beyond_machine().filter(|_| !config.quiet) {
                static SAID: Once = Once::new();
                SAID.call_once(|| eprintln!("cuarray-sim: {text}"));
            }
            for device in devices {
                if !config.host_readable && !config.quiet {
                    let (start, length) = device.arena.addresses();
                    host_access::explain_faults_in(start, length);
                }
                state.devices.push(device);
            }
            if config.pageable_memory {
                let ranges = state.devices.iter().map(|device| device.arena.addresses());
                let ranges = ranges.map(|(start, length)| (start, start + length)).collect();
                state.detector.compare_outside(ranges);
            }
        }
        self.initialized.store(generation, Ordering::Release);
        Ok(())
    }

    /// Whether this process may make calls.
    pub(crate) fn ready(&self) -> Result<(), CUresult> {
        let own = self.initialized.load(Ordering::Acquire);
        if own == fork::generation() {
            return Ok(());
        }
        if own != 0 {
            self.explain(
                "this process was forked after the driver was initialized, and a CUDA driver does not work in the child of a fork; \
                 start processes with 'spawn', or fork before the first CUDA call",
            );
        }
        Err(CUresult::CUDA_ERROR_NOT_INITIALIZED)
    }

    /// Whether the driver was initialized before a `fork`, in the parent process. Then its lock may never be
    /// released.
    pub(crate) fn initialized_elsewhere(&self) -> bool {
        !matches!(self.initialized.load(Ordering::Acquire), 0) && self.ready().is_err()
    }

    /// Whether the driver checks the program for errors.
    pub(crate) fn finds(&self) -> bool {
        self.config.as_ref().is_ok_and(|config| config.findings)
    }

    /// Whether calls have sites: findings and the timeline name them.
    pub(crate) fn names_sites(&self) -> bool {
        self.finds() || self.trace.as_ref().is_some_and(|trace| trace.timeline().is_some())
    }

    /// The state, or `None` if another thread holds the lock.
    pub(crate) fn try_lock(&self) -> Option<Guard<'_>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Whether the detector orders a free after the work on its memory.
    pub(crate) fn free_synchronizes(&self) -> bool {
        self.config.as_ref().is_ok_and(|config| config.free_synchronizes)
    }

    /// The configuration; the defaults if it was invalid and `cuInit` failed.
    pub(crate) fn settings(&self) -> Config {
        self.config.as_ref().cloned().unwrap_or_default()
    }

    /// The number of calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls_of.iter().map(|calls| calls.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    /// Counts an unimplemented name.
    pub(crate) fn count_refused(&self, name: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match refused.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(refused.insert(name.to_owned(), 1)),
        }
    }

    /// Adds a sentence to the error log.
    pub(crate) fn log_error(&self, text: &str) {
        self.log.add(CU_LOG_LEVEL_ERROR, thread::with(|thread| thread.number).unwrap_or_default(), text);
    }

    /// Logs why a function is refused, and prints it at its first call.
    pub(crate) fn explain_refusal(&self, symbol: &'static str, reason: &str) {
        self.log_error(&format!("{symbol} is refused: {reason}"));
        let quiet = self.config.as_ref().is_ok_and(|config| config.quiet);
        let mut explained = self.explained_refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if !quiet && explained.insert(symbol) {
            eprintln!("cuarray-sim: {symbol} is refused: {reason}");
        }
    }

    /// Logs why a call is refused. Only the first refusal is printed too.
    pub(crate) fn explain(&self, text: &str) {
        self.log_error(text);
        let quiet = self.config.as_ref().is_ok_and(|config| config.quiet);
        if !quiet && !self.explained.swap(true, Ordering::Relaxed) {
            eprintln!("cuarray-sim: {text}");
        }
    }

    /// The result that an injected fault sets for call number `number` of `symbol`.
    pub(crate) fn fault(&self, symbol: &str, number: u64) -> Option<CUresult> {
        if !self.has_faults.load(Ordering::Relaxed) {
            return None;
        }
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let index = faults.iter().position(|fault| fault.call == number && fault.symbol == symbol)?;
        let result = faults.swap_remove(index).result;
        self.has_faults.store(!faults.is_empty(), Ordering::Relaxed);
        Some(result)
    }

    /// Injects a fault whose `call` counts from the next call of the symbol, `made` calls after the first.
    pub(crate) fn inject(&self, fault: Fault, made: u64) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.push(Fault { call: made + fault.call, ..fault });
        self.has_faults.store(true, Ordering::Relaxed);
    }

    /// Removes the injected faults that no call has reached, and returns their number.
    pub(crate) fn clear_faults(&self) -> usize {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_faults.store(false, Ordering::Relaxed);
        let left = faults.len();
        faults.clear();
        left
    }
}

/// One call of an entry point.
pub(crate) struct Call<'a> {
    pub driver: &'a Arc<Driver>,
    /// The call site; unknown for queries, and while neither findings nor a timeline need it.
    pub site: &'a Arc<Site>,
    /// The exported function, whose caller a message may name.
    pub entry: Entry<'a>,
    /// The number of the calling thread.
    pub thread: u64,
    /// Whether a null stream means the per-thread default stream.
    pub per_thread: bool,
}

impl<'a> Call<'a> {
    /// Whether a stand-in for a library makes the call.
    pub(crate) fn is_of_library(&self) -> bool {
        thread::is_in_library_call()
    }

    pub(crate) fn lock(&self) -> Guard<'a> {
        self.driver.lock()
    }

    /// Checks that no kernel has failed in the calling thread's current context.
    ///
    /// # Errors
    /// The error of the failed kernel.
    pub(crate) fn healthy(&self) -> Result<(), CUresult> {
        if !self.driver.kernel_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let state = self.lock();
        let context = self.top_context().and_then(|handle| state.context(handle).ok());
        context.and_then(|context| context.failed).map_or(Ok(()), Err)
    }

    /// The capture mode of the calling thread.
    pub(crate) fn capture_mode(&self) -> CUstreamCaptureMode {
        thread::with(|thread| thread.capture_mode.get()).unwrap_or(CU_STREAM_CAPTURE_MODE_GLOBAL)
    }

    /// The calling thread's current context, which may have been destroyed.
    pub(crate) fn top_context(&self) -> Option<CUcontext> {
        thread::with_contexts(self.driver.number, |stack| stack.last().copied()).flatten()
    }

    /// Locks the driver and returns the calling thread's current context; for a green context, the primary context.
    ///
    /// # Errors
    /// Those of [`Call::current_scope`].
    pub(crate) fn current(&self) -> Result<(Guard<'a>, CUcontext), CUresult> {
        self.current_scope().map(|(state, scope)| (state, scope.context))
    }

    /// Locks the driver and returns the calling thread's current context or green context.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` without one, `CUDA_ERROR_CONTEXT_IS_DESTROYED` if it has ended.
    pub(crate) fn current_scope(&self) -> Result<(Guard<'a>, Scope), CUresult> {
        let handle = self.top_context().filter(|handle| !handle.is_null());
        let handle = handle.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
        let state = self.lock();
        let scope = state.scope(handle).map_err(|_| CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
        if let Some(failed) = state.context(scope.context)?.failed {
            return Err(failed);
        }
        Ok((state, scope))
    }

    /// Locks the driver and returns the context of a call in a stream: the current one, or that of the stream in a
    /// thread without one.
    ///
    /// By the manual of the stream-ordered allocator, a missing context is an error only for a default stream.
    ///
    /// # Errors
    /// Those of [`Call::current`]; the error of a kernel that failed in the stream's context.
    pub(crate) fn current_for(&self, stream: CUstream) -> Result<(Guard<'a>, CUcontext), CUresult> {
        let has_context = self.top_context().is_some_and(|handle| !handle.is_null());
        if has_context || stream.is_null() || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD {
            return self.current();
        }
        let state = self.lock();
        let context = state.created_stream(stream)?.context;
        match state.context(context)?.failed {
            Some(failed) => Err(failed),
            None => Ok((state, context)),
        }
    }
}
