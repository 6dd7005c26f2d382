//! [`RawView`] and [`TypedView`]: an array that another library made, and the only way to its address: a guard that orders.
//!
//! A view is an interface, what keeps its memory alive, and what orders work on it; the memory is *not yet ordered*, so a view
//! does not give its address away but for the number in its interface, which everybody can read. `acquire` does, through [`Acquired`]:
//! work that is enqueued in the guard's stream while it lives comes after the producer's, and the producer's next comes after it (clauses
//! S2 and S3).
//!
//! A [`RawView`] is of any type and ndim. A [`TypedView`] has been found to be of one element type, of one ndim, of one layout:
//! what its guards give needs no more checks.
//!
//! Where the interface names no stream, its producer has nothing pending (clause S1), and there is no stream that could be told what we
//! do. The first stream that the view is acquired in takes that part: the view's later guards are ordered after what was
//! done there.

mod typed;

#[cfg(feature = "python")]
pub(crate) use typed::Kinds;
pub use typed::TypedView;
pub(crate) use typed::{expect, expect_shape, is_of, wrong_type};

use super::guard::{Acquired, AcquiredMut, Anywhere, GuardCore};
use crate::{
    Dimension, Element, Error, Interface, LayoutPolicy, Owner, Result, StreamEntry,
    driver::{Context, Driver, Event, PointerAttributes, Stream},
    protocol::interface::DevicePtr,
    sync::{Access, Memory, Pending, SyncState},
};
use std::sync::{Arc, OnceLock};

/// Another library's array, kept alive, and not yet ordered.
///
/// ```
/// # use cuarray::{Driver, Interface, Layout, Owner, RawView, Stream, StreamEntry, TypeStr, driver::Allocation};
/// # use std::sync::Arc;
/// # cuarray::__simulated!(driver);
/// # let context = driver.default_context()?;
/// # let theirs = Stream::new(&context)?;
/// # let memory = Arc::new(Allocation::device(&context, 16)?);
/// # let layout = Layout::c_contiguous(&[4], 4)?;
/// let interface = Interface::new(memory.device_ptr(), TypeStr::of::<f32>(), layout)?
///     .with_stream(StreamEntry::try_from(theirs.handle() as i128)?);
/// // SAFETY: the memory and the stream live as long as the view.
/// let mut view = unsafe { RawView::new(&driver, interface, Some(Owner::new(memory.clone()))) }?;
/// let ours = Stream::non_blocking(&context)?;
/// let array = view.acquire_mut(&ours)?; // our stream waits for theirs
/// assert_eq!(array.as_device_ptr(), memory.device_ptr());
/// // ... enqueue kernels in `ours` ...
/// array.release()?; // their stream waits for ours
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Debug)]
pub struct RawView {
    interface: Box<Interface>,
    data: OnceLock<SyncState>,
    mask: OnceLock<SyncState>,
    owner: Option<Owner>,
}

impl RawView {
    /// The array that `interface` describes. Nothing is waited for, and nothing is ordered.
    ///
    /// # Errors
    /// The driver's, where the interface names a default stream and the device cannot be found whose it is.
    ///
    /// # Safety
    /// The memory and the streams that the interface and its mask name are the driver's, and live for as long as the view, on
    /// their own or because of `owner`.
    pub unsafe fn new(driver: &Driver, interface: Interface, owner: Option<Owner>) -> Result<RawView> {
        // SAFETY: this function's contract.
        let view = unsafe { RawView::from_boxed(Some(driver), Box::new(interface), owner) };
        // SAFETY: as above.
        let home = |interface: &Interface| unsafe { home(driver, interface) };
        if let Some(home) = home(&view.interface)? {
            view.data.get_or_init(|| SyncState::in_home(home));
        }
        if let Some(mask) = view.interface.mask()
            && let Some(home) = home(mask.interface())?
        {
            view.mask.get_or_init(|| SyncState::in_home(home));
        }
        Ok(view)
    }

    /// The same, of a driver that need not be loaded yet.
    ///
    /// # Safety
    /// As [`RawView::new`]; the driver is that of the streams that the view is acquired in.
    pub(crate) unsafe fn from_boxed(
        driver: Option<&Driver>,
        interface: Box<Interface>,
        owner: Option<Owner>,
    ) -> RawView {
        // What is made now, without asking the driver, need not be made when the view is acquired.
        let data = match (driver, interface.stream().handle()) {
            (Some(driver), Some(handle)) if handle > 2 => {
                // SAFETY: the stream is live by this function's contract.
                OnceLock::from(SyncState::in_home(unsafe { Stream::from_raw(driver, handle, None) }))
            }
            _ => OnceLock::new(),
        };
        RawView { interface, data, mask: OnceLock::new(), owner }
    }

    /// The array of which somebody else knows how its work is ordered.
    pub(crate) fn ordered(interface: Box<Interface>, data: SyncState, owner: Option<Owner>) -> RawView {
        RawView { interface, data: OnceLock::from(data), mask: OnceLock::new(), owner }
    }

    /// An array over memory of ours, which it keeps: the one that `interface` describes, with `home` as its default stream. What is done
    /// to it is remembered with the memory, which is freed after that, and is in order with other arrays over it.
    ///
    /// # Errors
    /// A wrong argument, where the array is not within the memory, or has a mask, which would not be.
    #[doc(hidden)]
    pub fn from_memory(memory: &Arc<Memory>, interface: Interface, home: Option<&Stream>) -> Result<RawView> {
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
                "an array over one piece of memory cannot have a mask, which is another array",
            ));
        }
        let entry = home.map_or(Ok(StreamEntry::None), |home| StreamEntry::try_from(home.handle() as i128))?;
        let mut data = SyncState::new(home.cloned(), memory.pending().clone());
        match home {
            Some(home) if home.is_owned() => memory.add_home(home),
            // It may be gone before the memory is; so its work is remembered by events.
            Some(_) => data = data.outliving_home(),
            None => {}
        }
        let owner = Some(Owner::new(memory.clone()));
        Ok(RawView::ordered(Box::new(interface.with_stream(entry)), data, owner))
    }

    /// The same, with an event to wait for in place of the stream, and of the mask's (clause X2).
    pub(crate) fn with_events(self, data: Option<Arc<Event>>, mask: Option<Arc<Event>>) -> RawView {
        let waiting = |known: OnceLock<SyncState>, event| match event {
            Some(event) => {
                let known = known.into_inner().unwrap_or_else(|| SyncState::new(None, Arc::new(Pending::default())));
                OnceLock::from(known.with_event(event))
            }
            None => known,
        };
        RawView { data: waiting(self.data, data), mask: waiting(self.mask, mask), ..self }
    }

    /// What the array says of itself.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Orders work in `stream` that reads the array: after what the producer has enqueued, and before what it enqueues once the
    /// guard is released.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] where one stream captures and the other does not take part; the capture is not harmed. Whatever the
    /// driver refuses.
    pub fn acquire<'v>(&'v self, stream: &'v Stream) -> Result<Acquired<'v>> {
        Ok(Acquired::new(GuardCore::begin(self, stream, Access::Read, Anywhere)?))
    }

    /// The same for work that writes.
    ///
    /// # Errors
    /// Also where the array is read-only.
    pub fn acquire_mut<'v>(&'v mut self, stream: &'v Stream) -> Result<AcquiredMut<'v>> {
        Ok(AcquiredMut::new(GuardCore::begin(self, stream, Access::Write, Anywhere)?))
    }

    /// The address, in no order with anything.
    ///
    /// # Safety
    /// The caller orders its work after the producer's, and the producer's after its own.
    pub unsafe fn acquire_unordered(&self) -> DevicePtr {
        self.interface.data()
    }

    /// The array as one of that element type, ndim and layout, once they are found to be so.
    ///
    /// Elements are of the type if their type string, byte order and fields are. What the interface leaves open is taken as the
    /// type: void without fields, of the same size, as which bfloat16 travels.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: they are not, or the array has a mask. The message says what is expected and what there is.
    pub fn typed<T: Element, D: Dimension, L: LayoutPolicy>(mut self) -> Result<TypedView<T, D, L>> {
        if self.interface.mask().is_some() {
            return Err(Error::unsupported(
                "the array has a mask, and one of which all elements are valid is expected",
            ));
        }
        expect::<T, D, L>(&mut self.interface)?;
        Ok(TypedView::from_checked(self))
    }

    /// What each part of the array is ordered by, for work in `stream`.
    pub(crate) fn orderings(
        &self,
        stream: &Stream,
        access: Access,
    ) -> Result<(&SyncState, Access, Option<&SyncState>)> {
        let data = ordering(&self.data, &self.interface, stream)?;
        let mask = self.interface.mask().map(|mask| ordering(&self.mask, mask.interface(), stream)).transpose()?;
        Ok((data, access, mask))
    }

    /// The orderings that [`RawView::orderings`] has found.
    pub(crate) fn known_orderings(&self, access: Access) -> impl Iterator<Item = (&SyncState, Access)> + Clone {
        let mask = self.mask.get().map(|mask| (mask, Access::Read));
        self.data.get().map(|data| (data, access)).into_iter().chain(mask)
    }

    /// Whether work in `stream` is in order as it is: it is the array's own stream, and nothing is pending elsewhere.
    pub(crate) fn is_at_home(&self, stream: &Stream) -> bool {
        self.interface.mask().is_none()
            && match self.data.get() {
                Some(data) => data.is_at_home(stream),
                None => false,
            }
    }

    /// The same, kept by `owner` unless it has one.
    #[cfg(feature = "python")]
    pub(crate) fn with_owner(self, owner: Owner) -> RawView {
        RawView { owner: self.owner.or(Some(owner)), ..self }
    }

    #[cfg(feature = "python")]
    pub(crate) fn interface_mut(&mut self) -> &mut Interface {
        &mut self.interface
    }

    /// What keeps the memory alive, where that is this view's to do.
    #[doc(hidden)]
    pub fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref()
    }
}

/// What orders the work on what an interface describes, found out when it is first needed.
fn ordering<'a>(known: &'a OnceLock<SyncState>, interface: &Interface, stream: &Stream) -> Result<&'a SyncState> {
    if let Some(known) = known.get() {
        return Ok(known);
    }
    // SAFETY: the contract of `RawView::new`.
    let home = unsafe { home(stream.driver(), interface) }?.unwrap_or_else(|| stream.clone());
    Ok(known.get_or_init(|| SyncState::in_home(home)))
}

/// The stream that an interface names.
///
/// # Safety
/// It lives for as long as the answer is used.
unsafe fn home(driver: &Driver, interface: &Interface) -> Result<Option<Stream>> {
    Ok(Some(match interface.stream().handle() {
        None => return Ok(None),
        // Every device has default streams; these are those of the device that the memory is on.
        Some(1) => Stream::legacy_default(&context_of(driver, interface.data())?),
        Some(2) => Stream::per_thread_default(&context_of(driver, interface.data())?),
        // SAFETY: this function's contract.
        Some(handle) => unsafe { Stream::from_raw(driver, handle, None) },
    }))
}

/// A context of the device that the memory is on: the current one, if it is of that device.
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
