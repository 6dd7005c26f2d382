//! Tells the thread sanitizer of the program in which order host functions run.
//!
//! A program compiled with `-fsanitize=thread` sees its own accesses, but not the locks of this driver, which is compiled
//! without it. A host function may run in any thread that makes a driver call. So the sanitizer would report a race
//! between the function and the thread that enqueued it, or the one that waited for it. The driver states this order
//! through the sanitizer's public interface (`sanitizer/tsan_interface.h`): a host function begins after all earlier
//! driver calls, and a driver call ends after all earlier host functions. This is more order than the program asked for.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU8;

type Annotation = unsafe extern "C" fn(address: *mut c_void);

/// The functions of the sanitizer's interface.
struct Annotations {
    acquire: Annotation,
    release: Annotation,
}

// The sanitizer keeps a clock for an address. It does not access the memory.
static CALLS: AtomicU8 = AtomicU8::new(0);
static HOST_FUNCTIONS: AtomicU8 = AtomicU8::new(0);

/// A driver call begins in this thread.
pub(crate) fn call_begins() {
    if let Some(annotations) = annotations() {
        tell(annotations.release, &CALLS);
    }
}

/// A driver call ends in this thread.
pub(crate) fn call_ends() {
    if let Some(annotations) = annotations() {
        tell(annotations.acquire, &HOST_FUNCTIONS);
    }
}

pub(super) fn host_function_begins() {
    if let Some(annotations) = annotations() {
        tell(annotations.acquire, &CALLS);
    }
}

pub(super) fn host_function_ends() {
    if let Some(annotations) = annotations() {
        tell(annotations.release, &HOST_FUNCTIONS);
    }
}

fn tell(annotation: Annotation, clock: &'static AtomicU8) {
    // SAFETY: the sanitizer takes any address that the program does not use.
    unsafe { annotation(clock.as_ptr().cast()) }
}

fn annotations() -> Option<&'static Annotations> {
    static FOUND: OnceLock<Option<Annotations>> = OnceLock::new();
    FOUND
        .get_or_init(|| Some(Annotations { acquire: find(c"__tsan_acquire")?, release: find(c"__tsan_release")? }))
        .as_ref()
}

fn find(name: &CStr) -> Option<Annotation> {
    // SAFETY: the name ends with a null byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: only the sanitizer's run-time library defines the name, with this signature. A null pointer is `None`.
    unsafe { std::mem::transmute::<*mut c_void, Option<Annotation>>(address) }
}
