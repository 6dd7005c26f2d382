//! [`GuardCore`]: the edges of a guard, from its acquisition to its release.

use crate::{
    Error, Owner, RawView, Result,
    array::{registry::Others, view::Registered},
    driver::Stream,
    interpreter,
    sync::{self, Access, Begun, NotEnded},
};
use std::mem;

/// The threads that a guard may be used in: [`Anywhere`], or, for a Python argument, one thread that is attached to the interpreter.
/// Driver calls run detached from the interpreter.
pub trait Scope: sealed::Sealed + Copy {
    /// Runs `work`, which calls the driver, detached from the interpreter.
    fn detached<R: Send>(self, work: impl FnOnce() -> R + Send) -> R;

    /// Reports an error of a guard's drop.
    fn report(self, stream: &Stream, error: Error);
}

/// Any thread.
#[derive(Clone, Copy, Debug)]
pub struct Anywhere;

impl Scope for Anywhere {
    fn detached<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        interpreter::detached(work)
    }

    fn report(self, stream: &Stream, error: Error) {
        stream.driver().dropped(Err(error));
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Anywhere {}
}

/// The common part of both guards: the edges between a view and a stream, ended by a drop.
pub(crate) struct GuardCore<'v, S: Scope> {
    pub(super) view: &'v RawView,
    stream: &'v Stream,
    /// The stream in the context of the memory, in place of a default stream without a context.
    in_context: Option<Stream>,
    begun: Begun,
    access: Access,
    /// Whether edges are due at the end, because the stream is not a home stream that the view names.
    has_edges: bool,
    ended: bool,
    pub(super) scope: S,
    registered: Registered,
}

impl<'v, S: Scope> GuardCore<'v, S> {
    #[inline]
    pub(crate) fn begin(view: &'v RawView, stream: &'v Stream, access: Access, scope: S) -> Result<GuardCore<'v, S>> {
        if access == Access::Write && view.interface().is_read_only() {
            return Err(read_only());
        }
        view.check_driver(stream)?;
        let in_context = match stream.lacks_context() {
            false => None,
            true => Some(scope.detached(|| view.context(stream.driver()).map(|context| stream.resolve_in(&context)))?),
        };
        let on = in_context.as_ref().unwrap_or(stream);
        let mut others = Others::new();
        let registered = register(view, on, access, &mut others)?;
        let mut core = GuardCore {
            view,
            stream,
            in_context,
            begun: Begun::default(),
            access,
            has_edges: false,
            ended: false,
            scope,
            registered,
        };
        let is_at_home = view.is_at_home(core.stream()) && others.is_empty();
        if !is_at_home {
            let stream = core.stream();
            core.begun = scope.detached(|| {
                let (data, mask) = view.sync_states(stream)?;
                let mask = mask.map(|mask| (mask, Access::Read));
                let others = others.iter().map(|(other, _, access)| (other, *access));
                sync::begin(std::iter::once((data, access)).chain(mask).chain(others), stream)
            })?;
        }
        // Without a stream that the view names, the end records the guard's work.
        core.has_edges = !is_at_home || view.names_no_stream();
        if core.has_edges {
            view.set_begun(registered, core.stream(), core.begun, access);
        }
        if !is_at_home {
            core.stream().driver().reclaim_some();
        }
        Ok(core)
    }

    /// The stream of the ordered work. A default stream has a context.
    pub(crate) fn stream(&self) -> &Stream {
        self.in_context.as_ref().unwrap_or(self.stream)
    }

    /// Checks that the guard orders work which this thread enqueues in the guard's stream. `capture` is the capture that the stream
    /// takes part in now.
    ///
    /// # Errors
    /// Unsupported. The handle of the per-thread default stream means another stream in every thread. Work of a capture and work that runs
    /// cannot be ordered.
    pub(crate) fn check_order(&self, capture: Option<u64>) -> Result<()> {
        if self.stream().is_per_thread_default() && !self.begun.is_in_this_thread() {
            return Err(of_another_thread());
        }
        self.begun.check_capture(self.stream(), capture)
    }

    /// An owner that keeps the memory alive, if the view has one.
    pub(crate) fn keep(&self) -> Option<Owner> {
        self.view.keep()
    }

    /// Runs `work`, which enqueues in the guard's stream. Fails if the guard was acquired in a capture.
    pub(super) fn enqueue<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        self.check_order(None)?;
        self.scope.detached(work)
    }

    #[inline]
    pub(super) fn end(&mut self) -> Result<()> {
        if mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        let (view, access, begun, stream) = (self.view, self.access, self.begun, self.stream());
        if !self.has_edges {
            view.release(self.registered, stream, access, None);
            return Ok(());
        }
        match self.scope.detached(|| sync::end(view.known_sync_states(access), stream, begun)) {
            Err(NotEnded { error, is_ordered: false }) => {
                view.defer_end(self.registered, stream, begun, access);
                Err(error)
            }
            ended => {
                // The entries are released last: other guards may use the elements only after the edges back.
                view.release(self.registered, stream, access, Some(begun));
                ended.map_err(|ended| ended.error)
            }
        }
    }
}

/// Registers a guard. If an entry refuses it, tries deferred releases, which may remove that entry, and registers again.
#[inline]
fn register(view: &RawView, stream: &Stream, access: Access, others: &mut Others) -> Result<Registered> {
    match view.register(stream, access, others) {
        Err(error) if error.is_already_acquired() && stream.driver().reclaim(false) => {
            others.clear();
            view.register(stream, access, others).map_err(|_| error)
        }
        registered => registered,
    }
}

#[cold]
pub(crate) fn read_only() -> Error {
    Error::unsupported("the array is read-only; a writable array is expected")
}

#[cold]
fn of_another_thread() -> Error {
    Error::unsupported(
        "the array was acquired in another thread, for that thread's per-thread default stream; acquire it in \
         the thread that enqueues the work",
    )
}

impl<S: Scope> Drop for GuardCore<'_, S> {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            self.scope.report(self.stream(), error);
        }
    }
}
