//! [`GuardCore`]: the edges of a guard, from its acquisition to its release.

use crate::{
    Error, RawView, Result,
    array::aliasing::Registration,
    driver::Stream,
    interpreter,
    sync::{self, Access},
};
use std::thread::{self, ThreadId};

/// The place of a guard: [`Anywhere`], or for a Python argument a thread that is attached to the interpreter, and detached during
/// driver calls.
pub trait Scope: sealed::Sealed + Copy {
    /// Runs `work`, which calls the driver.
    fn outside<R: Send>(self, work: impl FnOnce() -> R + Send) -> R;

    /// Reports an error of a drop.
    fn report(self, stream: &Stream, met: Error);
}

/// Any thread.
#[derive(Clone, Copy, Debug)]
pub struct Anywhere;

impl Scope for Anywhere {
    fn outside<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        interpreter::detached(work)
    }

    fn report(self, stream: &Stream, met: Error) {
        stream.driver().dropped(Err(met));
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Anywhere {}
}

/// The common part of both guards: the edges between a view and a stream, ended by a drop.
pub(crate) struct GuardCore<'v, S: Scope> {
    pub(super) view: &'v RawView,
    pub(super) stream: &'v Stream,
    thread: Option<ThreadId>,
    access: Access,
    /// Whether no edge is due at the end: it has been made, or the stream is the home stream.
    ended: bool,
    pub(super) scope: S,
    // Dropped last: other guards may use the elements once the edge back is made.
    _elements: Registration,
    _mask: Registration,
}

impl<'v, S: Scope> GuardCore<'v, S> {
    #[inline]
    pub(crate) fn begin(view: &'v RawView, stream: &'v Stream, access: Access, scope: S) -> Result<GuardCore<'v, S>> {
        if access == Access::Write && view.interface().is_read_only() {
            return Err(read_only());
        }
        let space = stream.driver().address_space();
        let elements = Registration::new(space, view.interface(), access)?;
        let mask = match view.interface().mask() {
            Some(mask) => Registration::new(space, mask.interface(), Access::Read)?,
            None => Registration::NONE,
        };
        let mut core =
            GuardCore { view, stream, thread: None, access, ended: true, scope, _elements: elements, _mask: mask };
        if !view.is_at_home(stream) {
            core.thread = scope.outside(|| {
                let (data, access, mask) = view.orderings(stream, access)?;
                let mask = mask.map(|mask| (mask, Access::Read));
                sync::begin(std::iter::once((data, access)).chain(mask), stream)
            })?;
            core.ended = false;
        }
        Ok(core)
    }

    /// Whether work that this thread enqueues in the guard's stream is ordered. The handle of the per-thread default stream means another
    /// stream in every thread.
    pub(crate) fn is_for_this_thread(&self) -> bool {
        !self.stream.is_per_thread_default() || self.thread.is_none_or(|thread| thread == thread::current().id())
    }

    /// Runs `work`, which enqueues in the guard's stream.
    pub(super) fn enqueue<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        if !self.is_for_this_thread() {
            return Err(of_another_thread());
        }
        self.scope.outside(work)
    }

    #[inline]
    pub(super) fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        let GuardCore { view, stream, thread, access, scope, .. } = *self;
        scope.outside(|| sync::end(view.known_orderings(access), stream, thread))
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
            self.scope.report(self.stream, error);
        }
    }
}
