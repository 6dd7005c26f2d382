//! The end of launches from outside: the limit of time, and signals. Also the lines about a launch that runs long.
//!
//! Python runs its handlers of signals once the main thread is back in Python. A driver call does not go back before its kernels have
//! ended. So a long launch chains handlers of its own before those of the program, if `CUARRAY_SIM_INTERRUPTS` asks for that, and
//! puts the program's handlers back at its end. The launch then ends as if a watchdog had ended it.

use crate::objects::launch::Launch;
use cuarray_ptx::FaultKind;
use cuarray_races::report::kernel_name;
use std::io::IsTerminal as _;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time after which handlers are chained.
const CHAINED: Duration = Duration::from_millis(5);
/// The time before the first line, and between two lines in a file and on a terminal.
const SILENT: Duration = Duration::from_secs(10);
const IN_A_FILE: Duration = Duration::from_secs(60);
const ON_A_TERMINAL: Duration = Duration::from_secs(1);

/// The signals that end a launch.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGALRM];

/// Whether a signal has come during a launch.
static CAME: AtomicBool = AtomicBool::new(false);
/// The program's handlers while those of a launch are chained before them.
static BEFORE: [AtomicPtr<libc::sigaction>; 3] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 3];
/// Held while handlers are chained.
static CHAIN: Mutex<()> = Mutex::new(());

extern "C" fn handler(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    CAME.store(true, Ordering::Relaxed);
    let Some(place) = SIGNALS.iter().position(|known| *known == signal) else { return };
    let before = BEFORE[place].load(Ordering::Acquire);
    // SAFETY: the pointer is null, or of an action that is never freed.
    let Some(before) = (unsafe { before.as_ref() }) else { return };
    // SAFETY: only actions with a function are chained, which the flag tells the type of.
    unsafe {
        if before.sa_flags & libc::SA_SIGINFO != 0 {
            let function: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(before.sa_sigaction);
            function(signal, info, context);
        } else {
            let function: extern "C" fn(libc::c_int) = std::mem::transmute(before.sa_sigaction);
            function(signal);
        }
    }
}

fn own() -> libc::sighandler_t {
    handler as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as libc::sighandler_t
}

/// The action for a signal.
fn action_of(signal: libc::c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::uninit();
    // SAFETY: the action is written if the call succeeds.
    unsafe { (libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0).then(|| action.assume_init()) }
}

/// Chains the launch's handler before those of the program. Signals without a handler keep their effect.
fn chain() {
    for (place, signal) in SIGNALS.into_iter().enumerate() {
        let Some(action) = action_of(signal) else { continue };
        if [libc::SIG_DFL, libc::SIG_IGN, own()].contains(&action.sa_sigaction) {
            continue;
        }
        // SAFETY: the pointer is null, or of an action that is never freed.
        let known = unsafe { BEFORE[place].load(Ordering::Acquire).as_ref() };
        let is_known =
            known.is_some_and(|known| (known.sa_sigaction, known.sa_flags) == (action.sa_sigaction, action.sa_flags));
        if !is_known {
            // A handler may still run in another thread, so actions are never freed: one for each change by the program.
            BEFORE[place].store(Box::into_raw(Box::new(action)), Ordering::Release);
        }
        let new = libc::sigaction { sa_sigaction: own(), sa_flags: action.sa_flags | libc::SA_SIGINFO, ..action };
        // SAFETY: the handler only stores a flag and calls the program's handler.
        unsafe { libc::sigaction(signal, &new, std::ptr::null_mut()) };
    }
}

/// Puts the program's handlers back, where the program has not set others.
fn unchain() {
    for (place, signal) in SIGNALS.into_iter().enumerate() {
        if action_of(signal).is_none_or(|action| action.sa_sigaction != own()) {
            continue;
        }
        // SAFETY: the pointer is of an action that is never freed.
        if let Some(before) = unsafe { BEFORE[place].load(Ordering::Acquire).as_ref() } {
            // SAFETY: the action was the program's.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        }
    }
}

/// The watch over one launch.
pub(super) struct Watchdog<'a> {
    launch: &'a Launch,
    started: Instant,
    state: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    chained: bool,
    /// The time of the last line.
    told: Option<Instant>,
    /// Whether the last line has no end yet.
    open: bool,
}

impl Watchdog<'_> {
    pub(super) fn new(launch: &Launch) -> Watchdog<'_> {
        Watchdog { launch, started: Instant::now(), state: Mutex::default() }
    }

    /// Looks at the time and at signals; returns how the launch has to end.
    pub(super) fn look(&self, pc: u32, finished: u64) -> Option<FaultKind> {
        let elapsed = self.started.elapsed();
        let settings = &self.launch.settings;
        // Another core may be looking.
        let mut seen = self.state.try_lock().ok()?;
        if settings.interrupts && !seen.chained && elapsed > CHAINED {
            let _held = CHAIN.lock().unwrap_or_else(PoisonError::into_inner);
            CAME.store(false, Ordering::Relaxed);
            chain();
            seen.chained = true;
        }
        if seen.chained && CAME.load(Ordering::Relaxed) {
            return Some(FaultKind::Interrupted);
        }
        if elapsed > settings.longest {
            return Some(FaultKind::TimeLimit);
        }
        if elapsed > SILENT && !settings.quiet {
            self.tell(&mut seen, elapsed, pc, finished);
        }
        None
    }

    /// Prints a line about the launch, if the last one is old.
    fn tell(&self, seen: &mut Seen, elapsed: Duration, pc: u32, finished: u64) {
        let terminal = std::io::stderr().is_terminal();
        let apart = if terminal { ON_A_TERMINAL } else { IN_A_FILE };
        if seen.told.is_some_and(|told| told.elapsed() < apart) {
            return;
        }
        seen.told = Some(Instant::now());
        let Launch { program, grid, settings, .. } = self.launch;
        let place = super::findings::place(program, Some(pc), [0; 3], [0; 3], false);
        let line = match (place.source, place.ptx_line) {
            (Some(source), _) => format!(", now at {}:{}", source.file, source.line),
            (None, Some(line)) => format!(", now at line {line} of the PTX"),
            (None, None) => String::new(),
        };
        let blocks: u64 = grid.iter().map(|extent| u64::from(*extent)).product();
        let text = format!(
            "cuarray-sim: kernel {} has run for {} s{line}; {finished} of {blocks} blocks are done; the limit is {} s \
             (CUARRAY_SIM_LAUNCH_SECONDS)",
            kernel_name(self.launch.name()),
            elapsed.as_secs(),
            settings.longest.as_secs()
        );
        if terminal {
            eprint!("\r\x1b[K{text}");
            seen.open = true;
        } else {
            eprintln!("{text}");
        }
    }
}

impl Drop for Watchdog<'_> {
    fn drop(&mut self) {
        let seen = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if seen.open {
            eprintln!();
        }
        if seen.chained {
            let _held = CHAIN.lock().unwrap_or_else(PoisonError::into_inner);
            unchain();
        }
    }
}
