//! The calling thread's current context: queried, pushed for a call, and popped after it.
//!
//! Between two calls of this crate, other code may make another context current, so each call queries the current
//! context. Within one operation of several calls, the thread runs only this crate's code, which pops every context
//! that it pushes. In such an operation the first result is cached until the operation ends
//! ([`Driver::remember_current`](super::Driver::remember_current)).
//!
//! Driver API: [context management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html).

use super::{call, table::Table};
use crate::Result;
use cuarray_abi::CUcontext;
use std::{cell::Cell, fmt, marker::PhantomData, ptr};

/// The cached current context of a thread.
#[derive(Clone, Copy)]
struct Cached {
    /// The table of the context's driver; null if nothing is cached.
    table: *const Table,
    /// `None` before the first query.
    raw: Option<CUcontext>,
}

thread_local! {
    static CACHED: Cell<Cached> = const { Cell::new(Cached { table: ptr::null(), raw: None }) };
}

/// The handle of this thread's current context; null if there is none.
pub(super) fn current(table: &Table) -> Result<CUcontext> {
    let cached = CACHED.get();
    let remembers = ptr::eq(cached.table, table);
    if remembers && let Some(raw) = cached.raw {
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

/// Updates the cached context, if there is one.
fn remember(table: &Table, raw: Option<CUcontext>) {
    if ptr::eq(CACHED.get().table, table) {
        CACHED.set(Cached { table, raw });
    }
}

/// Makes a context current for this thread, unless it already is.
pub(super) fn push(table: &Table, context: CUcontext) -> Result<Current<'_>> {
    let before = current(table)?;
    if before == context {
        return Ok(Current { table, context, pushed_on: None, of_this_thread: PhantomData });
    }
    // SAFETY: this crate retained the context, or another library owns it. Only an unsafe call destroys a context, and its caller sees to
    // it that no other call uses the context meanwhile (cuCtxDestroy). Afterwards the driver returns an error.
    unsafe { call!(table, cuCtxPushCurrent_v2(context)) }?;
    remember(table, Some(context));
    Ok(Current { table, context, pushed_on: Some(before), of_this_thread: PhantomData })
}

/// As [`push`], for the release of an object. No caller can try a release again, so a failed attempt is repeated once.
pub(super) fn push_to_release(table: &Table, context: CUcontext) -> Result<Current<'_>> {
    push(table, context).or_else(|_| push(table, context))
}

/// A guard that keeps a context current for this thread, from [`Context::push`](super::Context::push).
///
/// ```
/// # use cuarray::Driver;
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// let current = context.push()?;
/// // ... driver calls that work in the current context ...
/// drop(current);
/// assert!(driver.current_context()?.is_none());
/// # Ok::<(), cuarray::Error>(())
/// ```
#[must_use = "the context is popped when this is dropped"]
pub struct Current<'a> {
    table: &'a Table,
    context: CUcontext,
    /// The context below the pushed one, null if there was none; `None` if nothing was pushed.
    pushed_on: Option<CUcontext>,
    /// Each thread has its own context stack: the guard must be dropped in the thread that made it.
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.pushed_on {
            let table = self.table;
            let done = pop(table).or_else(|error| {
                // A failed call may have popped nothing. The context below is another one, so the current one tells.
                remember(table, None);
                if current(table)? == self.context { pop(table) } else { Err(error) }
            });
            remember(table, done.is_ok().then_some(before));
            table.dropped(done);
        }
    }
}

fn pop(table: &Table) -> Result<()> {
    let mut popped = CUcontext::NULL;
    // SAFETY: the driver writes one handle, which outlives the call.
    unsafe { call!(table, cuCtxPopCurrent_v2(&mut popped)) }
}

impl fmt::Debug for Current<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Current({:#x})", self.context.0)
    }
}

/// A guard that caches this thread's current context, so that the driver is queried only once; from
/// [`Driver::remember_current`](super::Driver::remember_current).
#[must_use = "dropping the guard ends the caching of the current context"]
pub(crate) struct Remembered {
    before: Cached,
    /// Each thread has its own cache: the guard must be dropped in the thread that created it.
    of_this_thread: PhantomData<*const ()>,
}

/// See [`Driver::remember_current`](super::Driver::remember_current).
pub(super) fn cache(table: &Table) -> Remembered {
    let table = ptr::from_ref(table);
    let before = CACHED.get();
    if !ptr::eq(before.table, table) {
        CACHED.set(Cached { table, raw: None });
    }
    Remembered { before, of_this_thread: PhantomData }
}

impl Drop for Remembered {
    fn drop(&mut self) {
        CACHED.set(self.before);
    }
}
