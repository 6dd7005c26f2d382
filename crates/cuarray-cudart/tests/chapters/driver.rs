//! The simulated driver as the driver of the test's process.

use cuarray_cudart::cudaError_t;
use std::cell::RefCell;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

thread_local! {
    static TURN: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Opens the simulated driver. The runtime then finds it by its SONAME. Every test calls this first.
///
/// The thread's test then runs alone until the thread ends, since the driver is one for the process: a call of another test
/// would invalidate a capture, or fail by an injected fault.
pub(crate) fn open() {
    static ALONE: Mutex<()> = Mutex::new(());
    TURN.with_borrow_mut(|turn| {
        if turn.is_none() {
            *turn = Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner));
        }
    });
    static OPEN: Once = Once::new();
    OPEN.call_once(|| {
        // cargo builds the dev-dependency's shared library next to the test.
        let path = std::env::current_exe().unwrap().with_file_name("libcuarray_sim.so");
        let path = CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
        // SAFETY: no other thread of this process reads or changes the environment, since each test waits here first.
        unsafe { std::env::set_var("CUARRAY_SIM_DEVICES", "2") };
        // SAFETY: the simulated driver may be opened by any program.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "{path:?} cannot be opened");
    });
}

/// Checks that a call succeeded.
#[track_caller]
pub(crate) fn ok(error: cudaError_t) {
    assert_eq!(error, cudaError_t::cudaSuccess);
}
