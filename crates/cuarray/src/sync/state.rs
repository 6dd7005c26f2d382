//! [`SyncState`]: the order of the work on one array's data.

use super::{
    Access, Pending, edges_back, lane,
    mark::{self, Mark},
    synchronize, wait_for_all_threads,
};
use crate::{
    Result,
    driver::{Event, Stream},
};
use std::{
    sync::Arc,
    thread::{self, ThreadId},
};

/// The synchronization state of one array's data. A clone is the state of the same data.
#[derive(Clone, Debug)]
pub(crate) struct SyncState {
    order: Order,
    event: Option<EventOf>,
}

/// The order of the work on data.
#[derive(Clone, Debug)]
enum Order {
    /// The home stream alone. No work is recorded.
    InHome(Home),
    /// The home stream, and the record of work in other streams. Without a home stream, all work is recorded.
    Recorded { home: Option<Home>, pending: Arc<Pending> },
    /// Nothing yet: no stream is known for another library's data. A guard's stream that stays alive becomes a home stream in `pending`, so
    /// its work needs no record. All other work is recorded.
    Unknown(Arc<Pending>),
    /// Nothing: an array without a home stream is made for one guard, and no later guard would read a record.
    OneGuard,
}

/// The stream in which all work on data is ordered.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    stream: Stream,
    kind: HomeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HomeKind {
    /// Lives as long as the data.
    Lasting,
    /// May be destroyed before the data is freed, so work in it is recorded too.
    Outlived,
    /// The per-thread default stream of this thread, named by another library's interface. Other threads cannot name that stream.
    OfThread(ThreadId),
}

impl Home {
    /// A home stream that lives as long as the data.
    pub(crate) fn lasting(stream: Stream) -> Home {
        Home { stream, kind: HomeKind::Lasting }
    }

    /// A home stream that its owner may destroy before the data is freed.
    pub(crate) fn outlived(stream: Stream) -> Home {
        Home { stream, kind: HomeKind::Outlived }
    }

    /// The stream that another library's interface names. A per-thread default stream is the one of `thread`.
    pub(crate) fn named(stream: Stream, thread: Option<ThreadId>) -> Home {
        let thread = thread.filter(|_| stream.is_per_thread_default());
        Home { stream, kind: thread.map_or(HomeKind::Lasting, HomeKind::OfThread) }
    }

    /// Whether this is the per-thread default stream of another thread than the calling one.
    fn is_of_another_thread(&self) -> bool {
        matches!(self.kind, HomeKind::OfThread(thread) if thread != thread::current().id())
    }

    /// Whether work in this stream is recorded: the data outlives it, or arrays over the data have another home stream.
    fn is_recorded(&self, pending: &Pending) -> bool {
        self.kind == HomeKind::Outlived || (pending.records_homes() && !self.stream.is_owned())
    }
}

/// An event to wait for in place of the home stream (clause X2). The home stream still orders later work.
#[derive(Clone, Debug)]
pub(crate) enum EventOf {
    /// Named by an interface: recorded after all work before its export. Guards may have made edges into the home stream since.
    Interface(Arc<Event>),
    /// Recorded after all earlier work, that of earlier guards included, as the caller promises.
    #[cfg_attr(not(feature = "python"), allow(dead_code))]
    Latest(Arc<Event>),
}

impl SyncState {
    /// The state of data with the home stream `home`, or with none. All arrays over the same memory share `pending`.
    pub fn new(home: Option<Home>, pending: Arc<Pending>) -> SyncState {
        SyncState { order: Order::Recorded { home, pending }, event: None }
    }

    /// The state of another library's data, all of whose work is ordered in `home`. No work on it is recorded.
    pub(crate) fn in_home(home: Home) -> SyncState {
        SyncState { order: Order::InHome(home), event: None }
    }

    /// The state of another library's data for which no stream is known.
    pub(crate) fn without_home() -> SyncState {
        SyncState { order: Order::Unknown(Arc::default()), event: None }
    }

    /// Sets an event to wait for in place of the home stream.
    #[must_use]
    pub fn with_event(self, event: EventOf) -> SyncState {
        SyncState { event: Some(event), ..self }
    }

    /// Drops the record, for an array that is made for one guard: no earlier work is recorded, and no later guard reads the record. The
    /// home stream, if there is one, still orders the work.
    #[must_use]
    #[cfg(any(test, feature = "python"))]
    pub fn unrecorded(self) -> SyncState {
        let order = match self.order {
            Order::Recorded { home: Some(home), .. } | Order::InHome(home) => Order::InHome(home),
            Order::Recorded { home: None, .. } | Order::Unknown(_) | Order::OneGuard => Order::OneGuard,
        };
        SyncState { order, ..self }
    }

    fn home(&self) -> Option<&Home> {
        match &self.order {
            Order::InHome(home) => Some(home),
            Order::Recorded { home, .. } => home.as_ref(),
            Order::Unknown(_) | Order::OneGuard => None,
        }
    }

    fn pending(&self) -> Option<&Arc<Pending>> {
        match &self.order {
            Order::Recorded { pending, .. } | Order::Unknown(pending) => Some(pending),
            Order::InHome(_) | Order::OneGuard => None,
        }
    }

    /// The home stream, in which all work on the data is ordered.
    #[inline]
    pub fn home_stream(&self) -> Option<&Stream> {
        self.home().map(|home| &home.stream)
    }

    /// The recorded work, if no stream was known for the data.
    pub(crate) fn pending_without_home(&self) -> Option<&Arc<Pending>> {
        match &self.order {
            Order::Unknown(pending) => Some(pending),
            _ => None,
        }
    }

    fn event(&self) -> Option<&Event> {
        self.event.as_ref().map(|(EventOf::Interface(event) | EventOf::Latest(event))| &**event)
    }

    /// The event, if it covers all work on the data: no guard of this process has made an edge into the home stream since its record.
    fn event_for(&self, home: &Home) -> Option<&Event> {
        match self.event.as_ref()? {
            EventOf::Interface(_) if edges_back::may_contain(&home.stream) => None,
            EventOf::Interface(event) | EventOf::Latest(event) => Some(event),
        }
    }

    /// Records that code outside of this crate knows the address of the data.
    pub(crate) fn expose(&self) {
        self.pending().into_iter().for_each(|pending| pending.expose());
    }

    /// Whether code outside of this crate may know the address of the data.
    #[inline]
    pub(crate) fn is_exposed(&self) -> bool {
        self.pending().is_some_and(|pending| pending.is_exposed())
    }

    /// Whether work in `stream` is already ordered and need not be recorded. Makes no driver call.
    pub(crate) fn is_at_home(&self, stream: &Stream) -> bool {
        // The handle of a default stream means another stream in each context.
        stream.handle() > 2
            && self.event.is_none()
            && match &self.order {
                Order::InHome(home) => home.stream.handle() == stream.handle(),
                Order::Recorded { home: Some(home), pending } => {
                    home.stream.handle() == stream.handle()
                        && pending.is_idle(Some(&home.stream))
                        && !home.is_recorded(pending)
                }
                Order::Unknown(pending) => pending.is_only_home(stream),
                Order::Recorded { home: None, .. } | Order::OneGuard => false,
            }
    }

    /// Whether `stream` is the home stream, and orders all work on the data without recorded work or an event. A default stream does not
    /// count: its handle means another stream in each context.
    #[inline]
    pub(crate) fn is_home_alone(&self, stream: &Stream) -> bool {
        matches!(&self.order, Order::InHome(home) if home.stream.handle() == stream.handle())
            && self.event.is_none()
            && stream.handle() > 2
    }

    /// Whether both states have the same home stream, so that one edge serves both.
    pub(super) fn has_same_home(&self, other: &SyncState) -> bool {
        match (self.home_stream(), other.home_stream()) {
            // For a per-thread default stream, each piece of data has to record the thread.
            (Some(first), Some(second))
                if self.event.is_none() && other.event.is_none() && !first.is_per_thread_default() =>
            {
                lane::is_same(first, second).unwrap_or(false)
            }
            _ => false,
        }
    }

    /// Orders later work in `stream`, which accesses the data as `access` says, after the earlier work that it depends on.
    pub fn before(&self, stream: &Stream, access: Access) -> Result<()> {
        let _remembered = stream.driver().remember_current();
        self.before_mark(&Mark::new(stream), access)
    }

    /// As [`SyncState::before`], for the mark's stream.
    pub(super) fn before_mark(&self, then: &Mark<'_>, access: Access) -> Result<()> {
        let wait_for = |event: &Event| mark::wait_for(event, self.home_stream(), then);
        match self.home() {
            Some(home) if home.is_of_another_thread() => wait_for_all_threads(&home.stream)?,
            Some(home) => match self.event_for(home) {
                Some(event) => wait_for(event)?,
                None => {
                    self.event().map_or(Ok(()), wait_for)?;
                    Mark::new(&home.stream).wait_at(then)?;
                    return self.before_except_home(then, access);
                }
            },
            None => self.event().map_or(Ok(()), wait_for)?,
        }
        let Some(pending) = self.pending() else { return Ok(()) };
        pending.before_except(then, access, None)?;
        if let Order::Unknown(pending) = &self.order {
            pending.add_home(then.stream());
        }
        Ok(())
    }

    /// As [`SyncState::before`], for a mark whose stream already waits for the home stream.
    pub(super) fn before_except_home(&self, then: &Mark<'_>, access: Access) -> Result<()> {
        let Some(pending) = self.pending() else { return Ok(()) };
        pending.before_except(then, access, self.home_stream())
    }

    /// Waits on the host for all enqueued work that `access` depends on.
    pub fn synchronize(&self, access: Access) -> Result<()> {
        match self.home() {
            Some(home) if home.is_of_another_thread() => wait_for_all_threads(&home.stream)?,
            Some(home) => match self.event_for(home) {
                Some(event) => event.synchronize()?,
                None => synchronize(&home.stream)?,
            },
            None => self.event().map_or(Ok(()), Event::synchronize)?,
        }
        self.pending().map_or(Ok(()), |pending| pending.synchronize_except(access, self.home_stream()))
    }

    /// The stream to export to a consumer: it orders all work that `access` depends on. `None` if there is no such work (clauses P1
    /// to P3).
    pub fn export(&self, access: Access) -> Result<Option<Stream>> {
        if let Some(home) = self.home().filter(|home| home.is_of_another_thread()) {
            // The exported handle means the stream of this thread, which cannot wait for the other one.
            wait_for_all_threads(&home.stream)?;
        }
        match (self.home_stream(), self.pending()) {
            (Some(home), Some(pending)) => pending.before(home, access).map(|()| Some(home.clone())),
            (None, Some(pending)) => pending.join(access),
            (home, None) => Ok(home.cloned()),
        }
    }

    /// Records the work enqueued in `stream` so far. Later work on the data is ordered after it.
    pub fn record(&self, stream: &Stream, access: Access) -> Result<()> {
        let _remembered = stream.driver().remember_current();
        self.after(&Mark::new(stream), access)
    }

    /// The list in which [`SyncState::after`] records work in `stream`, if it does.
    pub(super) fn record_for(&self, stream: &Stream) -> Option<&Pending> {
        match &self.order {
            Order::InHome(_) | Order::OneGuard => None,
            Order::Recorded { home: None, pending } => Some(pending),
            Order::Recorded { home: Some(home), pending } => {
                // A thread that waits on the host for the work in a home stream of another thread needs no record.
                let is_of_each_thread = home.stream.is_per_thread_default() && home.kind == HomeKind::Lasting;
                (home.is_recorded(pending) || is_of_each_thread).then_some(pending)
            }
            Order::Unknown(pending) => (!stream.is_owned()).then_some(pending),
        }
    }

    /// Records the work in the home stream, for an array that is being dropped.
    #[inline]
    pub(crate) fn record_home(&self) {
        if let Order::Recorded { home: Some(Home { stream, kind: HomeKind::Outlived }), pending } = &self.order
            // A default stream needs no record: memory is freed only when the default streams of its context are idle.
            && stream.handle() > 2
        {
            pending.record_home(stream);
        }
    }

    /// Orders later work on the data after the mark, which is the end of a stream's work.
    pub(super) fn after(&self, mark: &Mark<'_>, access: Access) -> Result<()> {
        let Some(home) = self.home() else {
            if let Order::Unknown(pending) = &self.order {
                // The end of an earlier guard, which was deferred, may have replaced the home stream by an event before this work.
                pending.add_home(mark.stream());
            }
            return self.record_for(mark.stream()).map_or(Ok(()), |pending| pending.remember(mark, access));
        };
        if home.is_of_another_thread() {
            // Clause S3 allows a host wait in place of the edge, which only the other thread could make. The work is done then.
            synchronize(mark.stream())?;
            edges_back::record(&home.stream);
            return Ok(());
        }
        // The edge must also order a host wait: the producer may wait for its stream on the host, and then free the memory.
        mark.wait_in_for_host(&home.stream)?;
        // Own work in the home stream is not recorded in the filter: the event that an array of this library exports covers it.
        let is_own_work = home.kind == HomeKind::Outlived || home.stream.is_owned();
        if !(is_own_work && mark.stream().handle() == home.stream.handle()) {
            edges_back::record(&home.stream);
        }
        let Some(pending) = self.record_for(mark.stream()) else { return Ok(()) };
        // In another thread, the handle of the per-thread default stream means another stream.
        match lane::is_same(mark.stream(), &home.stream)? {
            true => pending.remember(mark, access),
            false => pending.remember(&Mark::new(&home.stream), access),
        }
    }
}
