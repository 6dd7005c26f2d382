//! Counts and traces of calls, on standard error.
//!
//! `CUARRAY_CUDART_TRACE=refusals` prints the first call of each function that the runtime refuses, and at exit the number of
//! calls. `CUARRAY_CUDART_TRACE=calls` prints every call with its result.

use crate::result::cudaError_t;
use crate::thread;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};
use std::{env, io, ptr};

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const REFUSALS: u8 = 2;
const CALLS: u8 = 3;

static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);
static AT_EXIT: OnceLock<()> = OnceLock::new();

#[inline]
fn mode() -> u8 {
    match MODE.load(Ordering::Relaxed) {
        UNKNOWN => read(),
        mode => mode,
    }
}

#[cold]
fn read() -> u8 {
    let value = env::var_os("CUARRAY_CUDART_TRACE").unwrap_or_default();
    let mode = match value.to_str() {
        Some("refusals") => REFUSALS,
        Some("calls") => CALLS,
        _ => OFF,
    };
    MODE.store(mode, Ordering::Relaxed);
    mode
}

/// Traces a call with its result.
#[inline]
pub(crate) fn call(name: &'static str, error: cudaError_t) {
    if mode() == CALLS {
        line(format_args!("{name}: {error:?}"));
    }
}

/// Traces a call that has no result code.
#[inline]
pub(crate) fn raw(name: &'static str) {
    if mode() == CALLS {
        line(format_args!("{name}"));
    }
}

/// Writes a line. A closed standard error is no reason to stop the program.
fn line(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "cuarray-cudart: {text}");
}

/// A function that this runtime does not have, with the number of its calls.
pub(crate) struct Refused {
    name: &'static str,
    calls: AtomicU64,
    /// The function that was refused before it, for the first time.
    next: AtomicPtr<Refused>,
}

/// The function that was refused last, for the first time.
static REFUSED: AtomicPtr<Refused> = AtomicPtr::new(ptr::null_mut());

impl Refused {
    pub(crate) const fn new(name: &'static str) -> Refused {
        Refused { name, calls: AtomicU64::new(0), next: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Counts and traces a call, and returns its result.
    #[cold]
    pub(crate) fn call(&'static self) -> cudaError_t {
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            let this = ptr::from_ref(self).cast_mut();
            let mut head = REFUSED.load(Ordering::Acquire);
            loop {
                self.next.store(head, Ordering::Release);
                match REFUSED.compare_exchange_weak(head, this, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => break,
                    Err(now) => head = now,
                }
            }
            if mode() >= REFUSALS {
                line(format_args!("{} is not supported: cudaErrorNotSupported", self.name));
                // SAFETY: the function lives as long as the library, which registers it.
                AT_EXIT.get_or_init(|| unsafe {
                    libc::atexit(print_refusals);
                });
            }
        }
        thread::remember(cudaError_t::cudaErrorNotSupported)
    }
}

/// The refused functions that were called, with the number of calls.
pub(crate) fn refusals() -> Vec<(&'static str, u64)> {
    let mut found = Vec::new();
    let mut at = REFUSED.load(Ordering::Acquire);
    // SAFETY: the list has statics only.
    while let Some(refused) = unsafe { at.as_ref() } {
        found.push((refused.name, refused.calls.load(Ordering::Relaxed)));
        at = refused.next.load(Ordering::Acquire);
    }
    found.sort_unstable();
    found
}

extern "C" fn print_refusals() {
    for (name, calls) in refusals() {
        line(format_args!("{name}: {calls} calls refused"));
    }
}
