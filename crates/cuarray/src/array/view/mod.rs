//! [`RawView`] and [`TypedView`]: another library's array. Only a guard, which orders work, gives access to its address.
//!
//! A view has an interface, an owner that keeps the memory alive, and the state that orders work on it. Its memory is *not yet
//! ordered*, so a view does not offer its address, although the number is in its interface. `acquire` returns an [`Acquired`] guard.
//! Work enqueued in the guard's stream is ordered after the producer's work, and before the producer's later work (clauses S2
//! and S3).
//!
//! A [`RawView`] has any element type and any number of dimensions. A [`TypedView`] has been checked for one element type, one number
//! of dimensions and one layout, so its guards need no further checks.
//!
//! If the interface names no stream, its producer has no pending work (clause S1), and there is no stream for a backward edge. The view
//! records the work of its guards: later guards are ordered after that work, and the owner is dropped after it.
//!
//! Two views may be over the same memory, with different streams. The [registry](super::registry) of guards orders the work of both
//! while they live.

mod known_state;
mod typed;

#[cfg(feature = "python")]
pub(crate) use typed::Kinds;
pub use typed::TypedView;
#[cfg(feature = "ndarray")]
pub(super) use typed::expect_ndim;
pub(crate) use typed::{expect, expect_shape, is_of, wrong_type};

use self::known_state::KnownState;
use super::{
    guard::{Acquired, AcquiredMut, Anywhere, GuardCore},
    held::Held,
    registry::{Detached, Edges, Entries, Leaked, Order, Others},
};
use crate::{
    Dimension, Element, Error, Interface, LayoutPolicy, Owner, Result, StreamEntry,
    driver::{Context, Driver, Event, Library, PointerAttributes, Stream, of_another_driver},
    protocol::interface::DevicePtr,
    sync::{self, Access, Begun, EventOf, Home, Memory, NotEnded, SyncState},
};
use std::{
    mem,
    sync::Arc,
    thread::{self, ThreadId},
};

/// Another library's array: kept alive, and not yet ordered.
///
/// ```
/// # use cuarray::{Driver, Interface, Layout, Owner, RawView, Stream, StreamEntry, TypeStr, driver::Allocation};
/// # use std::sync::Arc;
/// # cuarray::__simulated!(driver);
/// # let context = driver.default_context()?;
/// # let producer = Stream::new(&context)?;
/// # let memory = Arc::new(Allocation::device(&context, 16)?);
/// # let layout = Layout::c_contiguous(&[4], 4)?;
/// let interface = Interface::new(memory.device_ptr(), TypeStr::of::<f32>(), layout)?
///     .with_stream(StreamEntry::try_from(producer.handle() as i128)?);
/// // SAFETY: the memory and the stream live as long as the view.
/// let mut view = unsafe { RawView::new(&driver, interface, Some(Owner::new(memory.clone()))) }?;
/// let consumer = Stream::non_blocking(&context)?;
/// let array = view.acquire_mut(&consumer)?; // `consumer` waits for `producer`
/// assert_eq!(array.as_device_ptr(), memory.device_ptr());
/// // ... enqueue kernels in `consumer` ...
/// array.release()?; // `producer` waits for `consumer`
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Debug)]
pub struct RawView {
    interface: Box<Interface>,
    data: KnownState,
    /// `None` without a mask. Boxed, as masks are rare, and views are moved often.
    mask: Option<Box<MaskPart>>,
    /// The thread that made the view, if a per-thread default stream is named.
    home_thread: Option<ThreadId>,
    /// The library of the driver that the memory belongs to, if it is known.
    library: Option<Library>,
    entries: Entries,
    /// Whether entries of released guards stay in the registry, because views with another synchronization state may be over the
    /// same memory.
    keeps_released: bool,
    owner: Option<Owner>,
    #[cfg(feature = "python")]
    borrowed_object: Option<BorrowedObject>,
}

/// The parts of a view that a guard is registered for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registered {
    data: bool,
    mask: bool,
}

/// The state of a view's mask, and the entry of its guards.
#[derive(Debug, Default)]
struct MaskPart {
    state: KnownState,
    entries: Entries,
}

impl RawView {
    /// The array that `interface` describes. Waits for nothing, and orders nothing.
    ///
    /// # Errors
    /// Errors of the driver: the interface names a default stream, and the device of the memory cannot be found.
    ///
    /// # Safety
    /// * The memory and the streams named by the interface and its mask belong to the driver. They outlive the view, by themselves or
    ///   through `owner`.
    /// * A named stream also outlives acquisitions of other views over the memory that began while this view lived.
    /// * If the interface names a stream, the owner can be dropped as soon as all work on the memory is enqueued in that stream: a free
    ///   comes after that work.
    /// * Without an owner, the memory also outlives the work of the view's guards.
    /// * Work on the memory that is pending already is ordered before later work in the stream that the interface names. Without a stream it
    ///   is done.
    pub unsafe fn new(driver: &Driver, interface: Interface, owner: Option<Owner>) -> Result<RawView> {
        // SAFETY: this function's contract.
        let mut view = unsafe { RawView::from_boxed(Some(driver), Box::new(interface), owner) };
        let home_thread = view.home_thread;
        // SAFETY: this function's contract.
        let state = |interface: &Interface| unsafe { home(driver, interface) }.map(|home| in_home(home, home_thread));
        if view.data.get().is_none() {
            view.data = KnownState::given(state(&view.interface)?);
        }
        if let (Some(mask), Some(known)) = (view.interface.mask(), &mut view.mask) {
            known.state = KnownState::given(state(mask.interface())?);
        }
        Ok(view)
    }

    /// As [`RawView::new`], but the driver may be loaded later.
    ///
    /// # Safety
    /// As [`RawView::new`]. The driver is the driver of the streams that the view is acquired in.
    pub(crate) unsafe fn from_boxed(
        driver: Option<&Driver>,
        interface: Box<Interface>,
        owner: Option<Owner>,
    ) -> RawView {
        // A state that needs no driver call is created here, so that acquisitions need not create it.
        let data = match (driver, interface.stream().handle()) {
            (Some(driver), Some(handle)) if handle > 2 => {
                // SAFETY: the stream is live by this function's contract.
                Some(SyncState::in_home(Home::lasting(unsafe { Stream::from_raw(driver, handle, None) })))
            }
            _ => None,
        };
        let mut view = RawView::over(interface, KnownState::given(data), owner);
        view.library = driver.map(Driver::library);
        view.keeps_released = true;
        view
    }

    fn over(interface: Box<Interface>, data: KnownState, owner: Option<Owner>) -> RawView {
        let names_per_thread = |interface: &Interface| interface.stream() == StreamEntry::PerThreadDefault;
        let per_thread =
            names_per_thread(&interface) || interface.mask().is_some_and(|mask| names_per_thread(mask.interface()));
        RawView {
            mask: interface.mask().map(|_| Box::default()),
            interface,
            data,
            home_thread: per_thread.then(|| thread::current().id()),
            library: None,
            entries: Entries::default(),
            keeps_released: false,
            owner,
            #[cfg(feature = "python")]
            borrowed_object: None,
        }
    }

    /// Another part of the same memory, with the same synchronization state and owner.
    pub(super) fn part(&self, interface: Box<Interface>) -> RawView {
        let mut view = RawView::over(interface, self.data.clone(), self.owner.clone());
        view.library = self.library;
        view
    }

    /// The home stream, if it is known.
    pub(super) fn home_stream(&self) -> Option<&Stream> {
        self.data.get().and_then(SyncState::home_stream)
    }

    /// An array with a known synchronization state.
    pub(crate) fn ordered(interface: Box<Interface>, data: SyncState, owner: Option<Owner>) -> RawView {
        let library = data.home_stream().map(|home| home.driver().library());
        let mut view = RawView::over(interface, KnownState::given(Some(data)), owner);
        view.library = library;
        view
    }

    /// An array within `memory`, which it keeps, with the home stream `home`. Work on it is recorded in the memory, so the memory is
    /// freed after that work, and other arrays over it are ordered with that work.
    ///
    /// # Errors
    /// A wrong argument: the array is not within the memory, or has a mask.
    pub(crate) fn from_memory(memory: &Arc<Memory>, interface: Interface, home: Option<&Stream>) -> Result<RawView> {
        let (allocation, bytes) = (memory.allocation(), interface.byte_range());
        let end = allocation.device_ptr().saturating_add(allocation.len() as u64);
        if !bytes.is_empty() && (bytes.start < allocation.device_ptr() || bytes.end > end) {
            return Err(Error::argument(format!(
                "the array's bytes {:#x} to {:#x} are not within the memory's, {:#x} to {end:#x}",
                bytes.start,
                bytes.end,
                allocation.device_ptr()
            )));
        }
        if interface.mask().is_some() {
            return Err(Error::argument(
                "the array has a mask, which is another array and cannot lie in the same memory",
            ));
        }
        let held = Held::Memory(memory.clone());
        let (interface, data) = held.with_home(interface, home)?;
        Ok(RawView::ordered(interface, data, Some(held.as_owner())).of_driver(held.context().driver()))
    }

    /// Sets events to wait for in place of the streams of the array and its mask (clause X2).
    pub(crate) fn with_events(mut self, data: Option<Arc<Event>>, mask: Option<Arc<Event>>) -> RawView {
        let wait_for = |known: &mut KnownState, event: Option<Arc<Event>>| {
            if let Some(event) = event {
                let state = mem::take(known).into_inner().unwrap_or_else(SyncState::without_home);
                *known = KnownState::given(Some(state.with_event(EventOf::Interface(event))));
            }
        };
        wait_for(&mut self.data, data);
        if let Some(known) = &mut self.mask {
            wait_for(&mut known.state, mask);
        }
        self
    }

    /// The array's interface: shape, strides, element type, address and stream.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Orders work in `stream` that reads the array after the producer's work so far. The release of the guard orders the producer's later
    /// work after it.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: one stream captures and the other does not take part; the capture stays intact.
    /// [`Error::is_invalid_argument`]: the stream belongs to another driver. Errors of the driver.
    pub fn acquire<'v>(&'v self, stream: &'v Stream) -> Result<Acquired<'v>> {
        Ok(Acquired::new(GuardCore::begin(self, stream, Access::Read, Anywhere)?))
    }

    /// Orders work in `stream` that writes the array.
    ///
    /// # Errors
    /// As [`RawView::acquire`]. Also if the array is read-only.
    pub fn acquire_mut<'v>(&'v mut self, stream: &'v Stream) -> Result<AcquiredMut<'v>> {
        Ok(AcquiredMut::new(GuardCore::begin(self, stream, Access::Write, Anywhere)?))
    }

    /// The address, without ordering.
    ///
    /// # Safety
    /// The caller orders its work after the producer's work, and the producer's later work after its own.
    pub unsafe fn acquire_unordered(&self) -> DevicePtr {
        self.interface.data()
    }

    /// Checks the element type, the number of dimensions and the layout, and converts to a typed view.
    ///
    /// The type string, byte order and fields have to match the type. An interface may leave the type open: void elements of the same size,
    /// without fields, are accepted as the type. bfloat16 is passed that way.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: one of them differs, or the array has a mask. The message has the expected and the actual value.
    pub fn typed<T: Element, D: Dimension, L: LayoutPolicy>(mut self) -> Result<TypedView<T, D, L>> {
        if self.interface.mask().is_some() {
            return Err(Error::unsupported("the array has a mask; an array without a mask is expected"));
        }
        expect::<T, D, L>(&mut self.interface)?;
        Ok(TypedView::from_checked(self))
    }

    /// The synchronization states of the array's data and mask, for work in `stream`.
    pub(crate) fn sync_states(&self, stream: &Stream) -> Result<(&SyncState, Option<&SyncState>)> {
        let data = self.sync_state(&self.data, &self.interface, stream)?;
        let mask = match (self.interface.mask(), &self.mask) {
            (Some(mask), Some(known)) => Some(self.sync_state(&known.state, mask.interface(), stream)?),
            _ => None,
        };
        Ok((data, mask))
    }

    /// The synchronization state of an interface's data, found at first use.
    fn sync_state<'a>(&self, known: &'a KnownState, interface: &Interface, stream: &Stream) -> Result<&'a SyncState> {
        known.get_or_find(|| {
            // SAFETY: the contract of `RawView::new`.
            let home = unsafe { home(stream.driver(), interface) }?;
            Ok(in_home(home, self.home_thread).unwrap_or_else(SyncState::without_home))
        })
    }

    /// The states that [`RawView::sync_states`] has set.
    pub(crate) fn known_sync_states(&self, access: Access) -> impl Iterator<Item = (&SyncState, Access)> + Clone {
        let mask = self.known_mask().map(|mask| (mask, Access::Read));
        self.data.get().map(|data| (data, access)).into_iter().chain(mask)
    }

    fn known_mask(&self) -> Option<&SyncState> {
        self.mask.as_ref().and_then(|mask| mask.state.get())
    }

    /// Whether work in `stream` is already ordered: it is the home stream, and no work is pending in other streams.
    pub(crate) fn is_at_home(&self, stream: &Stream) -> bool {
        self.interface.mask().is_none()
            && match self.data.get() {
                Some(data) => data.is_at_home(stream),
                None => false,
            }
    }

    /// Whether no stream is known for the data, as no interface names one.
    pub(crate) fn names_no_stream(&self) -> bool {
        self.data.get().is_some_and(|data| data.pending_without_home().is_some())
    }

    /// The context of the memory, for a default stream without one.
    pub(crate) fn context(&self, driver: &Driver) -> Result<Context> {
        match self.data.get().and_then(SyncState::home_stream) {
            Some(home) if home.is_default() => home.work_context(),
            _ => context_of(driver, self.interface.data()),
        }
    }

    /// Records that code outside of this crate knows the address.
    pub(super) fn expose(&self) {
        self.known_sync_states(Access::Read).for_each(|(state, _)| state.expose());
    }

    /// Sets the driver that the memory belongs to.
    #[must_use]
    pub(super) fn of_driver(mut self, driver: &Driver) -> RawView {
        self.library = Some(driver.library());
        self
    }

    /// Refuses a stream of another driver than that of the memory.
    ///
    /// # Errors
    /// A wrong argument.
    #[inline]
    pub(super) fn check_driver(&self, stream: &Stream) -> Result<()> {
        match self.library {
            Some(library) if library != stream.driver().library() => Err(of_another_driver("stream")),
            _ => Ok(()),
        }
    }

    /// Registers a guard for work in `stream`. Returns its parts that have elements. Adds the states to wait for to `others`.
    ///
    /// # Errors
    /// [`Error::is_already_acquired`]: a live guard has elements in the same memory, and one of the two writes.
    #[inline]
    pub(super) fn register(&self, stream: &Stream, access: Access, others: &mut Others) -> Result<Registered> {
        let data = self.entries.register(stream, &self.interface, access, others)?;
        let (Some(mask), Some(part)) = (self.interface.mask(), &self.mask) else {
            return Ok(Registered { data, mask: false });
        };
        match part.entries.register(stream, mask.interface(), Access::Read, others) {
            Ok(mask) => Ok(Registered { data, mask }),
            Err(error) => {
                let nothing_done: Option<fn() -> Order> = None;
                if data {
                    self.entries.release(access, None, nothing_done);
                }
                Err(error)
            }
        }
    }

    /// Records that a registered guard has edges to make at its end.
    pub(super) fn set_begun(&self, registered: Registered, stream: &Stream, begun: Begun, access: Access) {
        if registered.data {
            self.entries.set_begun(Edges { stream: stream.clone(), begun, access });
        }
    }

    /// The order of the work in `stream`. The handle of the home stream suffices if the view has no owner that keeps that stream alive, and no
    /// work is recorded.
    #[inline]
    fn order_in(&self, stream: &Stream, state: &SyncState) -> Order {
        match self.owner.is_none() && self.interface.mask().is_none() && state.is_home_alone(stream) {
            true => Order::InStream(stream.handle()),
            false => Order::InState(state.clone(), self.owner.clone()),
        }
    }

    /// Records that a guard in `stream` has ended. `begun` is given if the guard had edges. The view's entries stay in the registry if other
    /// views must be ordered after the guard's work.
    #[inline]
    pub(super) fn release(&self, registered: Registered, stream: &Stream, access: Access, begun: Option<Begun>) {
        let data = self.data.get();
        let keeps = self.keeps_released || data.is_some_and(SyncState::is_exposed);
        if registered.data {
            let order = data.filter(|_| keeps).map(|state| || self.order_in(stream, state));
            self.entries.release(access, begun.map(|begun| (stream, begun)), order);
        }
        if let (true, Some(part)) = (registered.mask, &self.mask) {
            let order =
                part.state.get().filter(|_| keeps).map(|state| || Order::InState(state.clone(), self.owner.clone()));
            part.entries.release(Access::Read, None, order);
        }
    }

    /// Records work without a guard, if other views must be ordered after it.
    #[cold]
    pub(super) fn tell_others(&self, stream: &Stream, access: Access) {
        // If a live guard refuses the entry, its release records this work too.
        if let Ok(data) = self.entries.register(stream, &self.interface, access, &mut Others::new()) {
            self.release(Registered { data, mask: false }, stream, access, None);
        }
    }

    /// Defers the end of a guard, and keeps the memory and the guard's entries until then.
    #[cold]
    pub(super) fn defer_end(&self, registered: Registered, stream: &Stream, begun: Begun, access: Access) {
        let data = registered.data.then(|| self.entries.detach(access, Some((stream, begun)))).flatten();
        let mask = self.mask.as_ref().filter(|_| registered.mask);
        let entries: [Option<Detached>; 2] = [data, mask.and_then(|part| part.entries.detach(Access::Read, None))];
        sync::end_later(self.known_sync_states(access), stream, begun, (entries, self.keep_for_deferred_end(stream)));
    }

    /// An owner that keeps the memory alive, if the view has one.
    pub(super) fn keep(&self) -> Option<Owner> {
        #[cfg(feature = "python")]
        if let Some(borrowed_object) = &self.borrowed_object {
            return Some(borrowed_object.keep());
        }
        self.owner.clone()
    }

    /// An owner that keeps the memory alive until a guard's end, which is deferred, and until the work that this end records is done.
    #[cold]
    fn keep_for_deferred_end(&self, stream: &Stream) -> Option<Owner> {
        let owner = self.keep()?;
        let pending = self.data.get().and_then(SyncState::pending_without_home);
        let (Some(pending), Ok(context)) = (pending, stream.work_context()) else { return Some(owner) };
        Some(Held::until_done(&context, self.interface.byte_range(), owner, pending.clone()).as_owner())
    }

    /// Ends the guards that were leaked, and then removes the entry that they left.
    #[cold]
    fn end_leaked(&self, Leaked { edges, entry }: Leaked) {
        let entry = Arc::new(entry);
        for Edges { stream, begun, access } in edges {
            let ended = sync::end(self.known_sync_states(access), &stream, begun);
            if let Err(NotEnded { error, is_ordered }) = ended {
                if !is_ordered {
                    let kept = (entry.clone(), self.keep_for_deferred_end(&stream));
                    sync::end_later(self.known_sync_states(access), &stream, begun, kept);
                }
                stream.driver().dropped(Err(error));
            }
        }
    }

    /// Keeps the owner until the work on the memory is done, unless a home stream orders the owner's drop after that work.
    fn defer_owner(&mut self) {
        let Some(pending) = self.data.get().and_then(SyncState::pending_without_home) else { return };
        let (Ok(Some(context)), Some(owner)) = (pending.context(), self.keep()) else { return };
        self.owner = None;
        drop(Held::until_done(&context, self.interface.byte_range(), owner, pending.clone()));
    }

    /// Sets the owner, unless the view has one.
    #[cfg(feature = "python")]
    pub(crate) fn with_owner(mut self, owner: Owner) -> RawView {
        self.borrowed_object = None;
        self.owner.get_or_insert(owner);
        self
    }

    /// Sets the Python object that keeps the memory alive, without a reference to it.
    ///
    /// # Safety
    /// The object outlives the view.
    #[cfg(feature = "python")]
    pub(crate) unsafe fn borrowed_from(mut self, object: &pyo3::Bound<'_, pyo3::PyAny>) -> RawView {
        self.borrowed_object = std::ptr::NonNull::new(object.as_ptr()).map(BorrowedObject);
        self.keeps_released = true;
        self
    }

    #[cfg(feature = "python")]
    pub(crate) fn interface_mut(&mut self) -> &mut Interface {
        &mut self.interface
    }
}

impl Drop for RawView {
    #[inline]
    fn drop(&mut self) {
        // A guard of a mask reads, and its edges are those of the data.
        let leaked = self.entries.forget();
        let leaked_of_mask = self.mask.as_mut().and_then(|part| part.entries.forget());
        leaked.into_iter().chain(leaked_of_mask).for_each(|leaked| self.end_leaked(leaked));
        self.defer_owner();
        if let Some(data) = self.data.get() {
            data.record_home();
        }
    }
}

/// A Python object that outlives a view. The caller holds the reference to it.
#[cfg(feature = "python")]
#[derive(Debug)]
struct BorrowedObject(std::ptr::NonNull<pyo3::ffi::PyObject>);

// SAFETY: the object is only touched by a thread that is attached to the interpreter.
#[cfg(feature = "python")]
unsafe impl Send for BorrowedObject {}
// SAFETY: the object is only touched by a thread that is attached to the interpreter, also through a shared reference.
#[cfg(feature = "python")]
unsafe impl Sync for BorrowedObject {}

#[cfg(feature = "python")]
impl BorrowedObject {
    /// Takes a reference to the object.
    fn keep(&self) -> Owner {
        use pyo3::prelude::*;
        // SAFETY: the object is alive, by the contract of `RawView::borrowed_from`.
        Python::attach(|py| Owner::from_python(unsafe { Bound::from_borrowed_ptr(py, self.0.as_ptr()) }.unbind()))
    }
}

/// The state of data with the home stream `home`.
fn in_home(home: Option<Stream>, home_thread: Option<ThreadId>) -> Option<SyncState> {
    home.map(|home| SyncState::in_home(Home::named(home, home_thread)))
}

/// The stream that an interface names.
///
/// # Safety
/// The stream outlives the result.
unsafe fn home(driver: &Driver, interface: &Interface) -> Result<Option<Stream>> {
    Ok(Some(match interface.stream().handle() {
        None => return Ok(None),
        // Every device has default streams; these belong to the device of the memory.
        Some(1) => Stream::legacy_default(&context_of(driver, interface.data())?),
        Some(2) => Stream::per_thread_default(&context_of(driver, interface.data())?),
        // SAFETY: this function's contract.
        Some(handle) => unsafe { Stream::from_raw(driver, handle, None) },
    }))
}

/// A context of the memory's device: the current one, if it belongs to that device.
pub(crate) fn context_of(driver: &Driver, pointer: DevicePtr) -> Result<Context> {
    let known = PointerAttributes::query(driver, pointer)?.and_then(|known| known.device_ordinal);
    let Some(ordinal) = known else { return driver.default_context() };
    match driver.current_context()? {
        Some(current) if current.device()?.ordinal() == ordinal => Ok(current),
        _ => driver.device(ordinal)?.primary_context(),
    }
}

const _: () = {
    const fn shareable<T: Send + Sync>() {}
    shareable::<RawView>();
    shareable::<TypedView<f32>>();
    shareable::<Acquired<'_>>();
};
