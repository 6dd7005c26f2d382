//! Detaches the calling thread from the Python interpreter while it waits: for a driver call, or for a lock.
//!
//! A driver call may wait for work in a stream, and that work may be a host function in Python. If the waiting thread stays
//! attached (holds the GIL), both wait forever. So a thread that is attached detaches around each call that can block. Without the
//! feature `python`, and in a process without an interpreter, nothing here does anything.
//!
//! Two rules keep this crate's locks out of such deadlocks. A thread that holds a lock stays attached: attaching again runs
//! destructors of Python objects, which may need the lock. A thread that waits for a lock does so detached.

use crate::lock::{Lock, LockGuard};
use std::ops::{Deref, DerefMut};

#[cfg(feature = "python")]
mod symbols;

#[cfg(feature = "python")]
pub(crate) use attached::is_attached;
#[cfg(feature = "python")]
use attached::{Staying, detached_unchecked};
#[cfg(feature = "python")]
pub(crate) use symbols::find;

/// Runs `work` detached from the interpreter, if this thread is attached. As for [`Python::detach`], `work` must not capture values
/// that are bound to the interpreter.
///
/// [`Python::detach`]: https://docs.rs/pyo3/latest/pyo3/marker/struct.Python.html#method.detach
#[inline]
pub(crate) fn detached<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    // SAFETY: `work` and its result are `Send`.
    unsafe { detached_unchecked(work) }
}

/// Makes one driver call, detached if this thread is attached.
///
/// # Safety
/// `call` uses no Python object and no value that is bound to the interpreter.
#[inline]
pub(crate) unsafe fn driver_call<R>(call: impl FnOnce() -> R) -> R {
    // SAFETY: this function's contract.
    unsafe { detached_unchecked(call) }
}

/// A held lock whose holder stays attached.
pub(crate) struct Locked<'a, T> {
    // Dropped first, so that the lock is free while the thread still stays attached.
    guard: LockGuard<'a, T>,
    _staying: Staying,
}

/// Takes a lock that threads hold during driver calls.
#[inline]
pub(crate) fn lock<T: Default>(lock: &Lock<T>) -> Locked<'_, T> {
    loop {
        match lock.try_lock() {
            Some(guard) => return Locked { guard, _staying: Staying::new() },
            None => wait_for(lock),
        }
    }
}

/// Waits until the lock is free. It takes the lock and gives it back, so that this thread attaches without holding the lock.
#[cold]
fn wait_for<T: Default>(lock: &Lock<T>) {
    // SAFETY: the lock's content is not used.
    unsafe { detached_unchecked(|| drop(lock.lock())) }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(not(feature = "python"))]
struct Staying;

#[cfg(not(feature = "python"))]
impl Staying {
    #[inline]
    fn new() -> Staying {
        Staying
    }
}

/// # Safety
/// None: without Python there is nothing to detach from.
#[cfg(not(feature = "python"))]
#[inline]
unsafe fn detached_unchecked<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(feature = "python")]
mod attached {
    //! Asks the interpreter whether this thread is attached.
    //!
    //! The stable ABI has no function for this question. The functions are looked up by name in the interpreter that the process
    //! runs. If one is missing, the thread stays attached.

    use super::symbols::find;
    use pyo3::{Python, ffi};
    use std::{
        cell::Cell,
        ffi::{c_int, c_void},
        marker::PhantomData,
        mem,
        sync::OnceLock,
    };

    /// # Safety
    /// `work` uses no Python object and no value that is bound to the interpreter, and its result is no such value.
    #[inline]
    pub(super) unsafe fn detached_unchecked<R>(work: impl FnOnce() -> R) -> R {
        if Staying::is_required() || !may_detach() {
            return work();
        }
        let (work, mut result) = (Unbound(work), Unbound(None));
        {
            let result = &mut result;
            // SAFETY: this thread is attached.
            let py = unsafe { Python::assume_attached() };
            py.detach(move || result.set(work.run()));
        }
        match result.0 {
            Some(result) => result,
            None => unreachable!("`detach` runs its argument"),
        }
    }

    /// A value that is not `Send`, wrapped so that `detach` accepts it.
    struct Unbound<T>(T);

    // SAFETY: the value stays in its thread, and is not bound to the interpreter.
    unsafe impl<T> Send for Unbound<T> {}

    impl<R, F: FnOnce() -> R> Unbound<F> {
        fn run(self) -> R {
            (self.0)()
        }
    }

    impl<R> Unbound<Option<R>> {
        fn set(&mut self, result: R) {
            self.0 = Some(result);
        }
    }

    thread_local! {
        /// The number of locks that this thread holds.
        static HELD: Cell<usize> = const { Cell::new(0) };
    }

    /// Keeps this thread attached during its life.
    pub(super) struct Staying {
        of_this_thread: PhantomData<*const ()>,
    }

    impl Staying {
        #[inline]
        pub(super) fn new() -> Staying {
            HELD.set(HELD.get() + 1);
            Staying { of_this_thread: PhantomData }
        }

        fn is_required() -> bool {
            HELD.get() != 0
        }
    }

    impl Drop for Staying {
        #[inline]
        fn drop(&mut self) {
            HELD.set(HELD.get() - 1);
        }
    }

    /// Functions of the interpreter outside of the stable ABI.
    struct Interpreter {
        current: unsafe extern "C" fn() -> *mut ffi::PyThreadState,
        /// Whether `current` returns the calling thread's state, from Python 3.13 on. Before, it may return the state of another
        /// thread, the one that holds the GIL.
        is_of_this_thread: bool,
        is_finalizing: unsafe extern "C" fn() -> c_int,
    }

    static INTERPRETER: OnceLock<Option<Interpreter>> = OnceLock::new();

    impl Interpreter {
        #[cold]
        fn find() -> Option<Interpreter> {
            let documented = find(c"PyThreadState_GetUnchecked");
            let current = documented.or_else(|| find(c"_PyThreadState_UncheckedGet"))?;
            let is_finalizing = find(c"Py_IsFinalizing").or_else(|| find(c"_Py_IsFinalizing"))?;
            // SAFETY: CPython's functions of these names have these signatures.
            unsafe {
                Some(Interpreter {
                    current: mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *mut ffi::PyThreadState>(current),
                    is_of_this_thread: documented.is_some(),
                    is_finalizing: mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(is_finalizing),
                })
            }
        }
    }

    /// Whether this thread is attached.
    #[inline]
    pub(crate) fn is_attached() -> bool {
        INTERPRETER.get_or_init(Interpreter::find).as_ref().is_some_and(Interpreter::is_attached)
    }

    /// Whether this thread is attached, and may detach.
    #[inline]
    fn may_detach() -> bool {
        let Some(interpreter) = INTERPRETER.get_or_init(Interpreter::find) else { return false };
        // While the interpreter ends, no other thread can attach, and this one could not do so again.
        // SAFETY: callable in any thread.
        interpreter.is_attached() && unsafe { (interpreter.is_finalizing)() } == 0
    }

    impl Interpreter {
        #[inline]
        fn is_attached(&self) -> bool {
            // SAFETY: callable in any thread, also without an initialized interpreter.
            let current = unsafe { (self.current)() };
            // `PyGILState_Check` is not used: it returns 1 in every thread after a subinterpreter was created.
            // SAFETY: callable in any thread.
            !current.is_null() && (self.is_of_this_thread || current == unsafe { ffi::PyGILState_GetThisThreadState() })
        }
    }
}
