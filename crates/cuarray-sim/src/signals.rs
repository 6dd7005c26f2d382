//! Signals that end a driver call that waits: Ctrl-C, SIGTERM, and the timer of a test.
//!
//! Python runs its handlers of signals once the main thread is back in Python. A driver call does not go back before its work has
//! ended. So a call that waits long chains handlers of its own before those of the program, if `CUARRAY_SIM_INTERRUPTS` asks for that, and
//! puts the program's handlers back at its end. Its work then ends as if a watchdog had ended it. A signal that the program does not
//! handle ends the process behind the driver call, after the report.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// The signals that end a call.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGALRM];

/// Whether a signal has come during a call that waits.
static CAME: AtomicBool = AtomicBool::new(false);
/// The signal without a handler that has come meanwhile; 0 if none has.
static UNHANDLED: AtomicI32 = AtomicI32::new(0);
/// The program's handlers while those of a call are chained before them.
static BEFORE: [AtomicPtr<libc::sigaction>; 3] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 3];
/// The number of calls that wait with handlers chained.
static CALLS: Mutex<u32> = Mutex::new(0);

extern "C" fn handler(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    CAME.store(true, Ordering::Relaxed);
    let Some(place) = SIGNALS.iter().position(|known| *known == signal) else { return };
    let before = BEFORE[place].load(Ordering::Acquire);
    // SAFETY: the pointer is null, or of an action that is never freed.
    let Some(before) = (unsafe { before.as_ref() }) else { return };
    if before.sa_sigaction == libc::SIG_DFL {
        return UNHANDLED.store(signal, Ordering::Relaxed);
    }
    // SAFETY: other actions have a function, which the flag tells the type of.
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

/// Ends the process by a signal that came during a call, and that the program does not handle. `report` runs before.
pub(crate) fn end_by_signal(report: impl FnOnce()) {
    if UNHANDLED.load(Ordering::Relaxed) == 0 {
        return;
    }
    let signal = UNHANDLED.swap(0, Ordering::Relaxed);
    if action_of(signal).is_some_and(|action| action.sa_sigaction == libc::SIG_DFL) {
        report();
        // SAFETY: the process ends by the default action of the signal.
        unsafe { libc::raise(signal) };
    }
}

/// Chains the own handler before the program's actions. Signals that the program ignores stay ignored.
fn chain() {
    for (place, signal) in SIGNALS.into_iter().enumerate() {
        let Some(action) = action_of(signal) else { continue };
        if [libc::SIG_IGN, own()].contains(&action.sa_sigaction) {
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

/// Handlers that are chained, until the value is dropped.
pub(crate) struct Signals(());

impl Signals {
    /// Chains handlers before those of the program.
    pub(crate) fn await_them() -> Signals {
        let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
        if *calls == 0 {
            CAME.store(false, Ordering::Relaxed);
        }
        *calls += 1;
        chain();
        Signals(())
    }

    /// Whether a signal has come since.
    pub(crate) fn came(&self) -> bool {
        CAME.load(Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
        *calls -= 1;
        if *calls == 0 {
            unchain();
        }
    }
}
