//! The calling thread's current context: asked for, pushed for a call and popped after it.
//!
//! Between two calls of ours anybody may have made another context current, so each call asks. Not so within one operation that
//! makes several calls: while it runs, its thread runs no code but this crate's, which pops whatever it pushes. There the
//! driver is asked once, and the answer is remembered until the operation is over ([`Driver::remember_current`]).
//!
//! Driver API: [context management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html).

use super::{Driver, Table, call, context::ContextState};
use crate::Result;
use cuarray_abi::CUcontext;
use std::{cell::Cell, fmt, marker::PhantomData, ptr};

/// What is known of a thread's current context.
#[derive(Clone, Copy)]
struct Known {
    /// The table of the driver whose context it is; null where nothing is remembered.
    table: *const Table,
    /// `None` until the driver has been asked.
    raw: Option<CUcontext>,
}

thread_local! {
    static KNOWN: Cell<Known> = const { Cell::new(Known { table: ptr::null(), raw: None }) };
}

/// The handle of the context that is current for this thread, null if there is none.
pub(super) fn current(table: &Table) -> Result<CUcontext> {
    let known = KNOWN.get();
    let remembers = ptr::eq(known.table, table);
    if remembers && let Some(raw) = known.raw {
        return Ok(raw);
    }
    let mut raw = CUcontext::NULL;
    // SAFETY: the driver writes one handle, which outlives the call.
    unsafe { call!(table, cuCtxGetCurrent(&mut raw)) }?;
    if remembers {
        remember(table, Some(raw));
    }
    Ok(raw)
}

/// Corrects what is remembered, if anything is.
fn remember(table: &Table, raw: Option<CUcontext>) {
    if ptr::eq(KNOWN.get().table, table) {
        KNOWN.set(Known { table, raw });
    }
}

/// Makes a context current for this thread, unless it is.
pub(super) fn push(state: &ContextState) -> Result<Current<'_>> {
    let table = state.table();
    let before = current(table)?;
    if before == state.raw() {
        return Ok(Current { state, pushed_on: None, of_this_thread: PhantomData });
    }
    // SAFETY: the handle is a context's that we retained or that the driver named; a destroyed one is refused.
    unsafe { call!(table, cuCtxPushCurrent_v2(state.raw())) }?;
    remember(table, Some(state.raw()));
    Ok(Current { state, pushed_on: Some(before), of_this_thread: PhantomData })
}

/// A context is current for this thread while this lives; from [`Context::push`](super::Context::push).
///
/// ```
/// # use cuarray::Driver;
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// let current = context.push()?;
/// // ... calls of the driver's own that work in the current context ...
/// drop(current);
/// assert!(driver.current_context()?.is_none());
/// # Ok::<(), cuarray::Error>(())
/// ```
#[must_use = "the context is popped when this is dropped"]
pub struct Current<'a> {
    state: &'a ContextState,
    /// The context beneath the one that was pushed, null if there was none; `None` where nothing was pushed.
    pushed_on: Option<CUcontext>,
    /// A thread's context stack is its own: the guard must be dropped where it was made.
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.pushed_on {
            let table = self.state.table();
            let mut popped = CUcontext::NULL;
            // SAFETY: the driver writes one handle, which outlives the call.
            let done = unsafe { call!(table, cuCtxPopCurrent_v2(&mut popped)) };
            remember(table, done.is_ok().then_some(before));
            table.dropped(done);
        }
    }
}

impl fmt::Debug for Current<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Current({:#x})", self.state.raw().0)
    }
}

/// While this lives, the driver is not asked again for this thread's current context; from [`Driver::remember_current`].
#[must_use = "nothing is remembered any more when this is dropped"]
pub(crate) struct Remembered {
    before: Known,
    /// What is remembered is the thread's own: the guard must be dropped where it was made.
    of_this_thread: PhantomData<*const ()>,
}

impl Driver {
    /// Has the driver asked for this thread's current context once, and not before each call, until the guard is dropped. For
    /// an operation of several calls, during which this thread runs no code but this crate's. Guards go in the reverse order of
    /// their making, [`Current`]s among them.
    pub(crate) fn remember_current(&self) -> Remembered {
        let table = ptr::from_ref::<Table>(self.table());
        let before = KNOWN.get();
        if !ptr::eq(before.table, table) {
            KNOWN.set(Known { table, raw: None });
        }
        Remembered { before, of_this_thread: PhantomData }
    }
}

impl Drop for Remembered {
    fn drop(&mut self) {
        KNOWN.set(self.before);
    }
}
