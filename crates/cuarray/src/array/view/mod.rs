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
//! If the interface names no stream, its producer has no pending work (clause S1), and there is no stream to put an edge back to. The
//! first stream that acquires the view becomes its home stream: later guards of the view are ordered after the work there.

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

/// Another library's array: kept alive, and not yet ordered.
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
/// let array = view.acquire_mut(&ours)?; // `ours` waits for `theirs`
/// assert_eq!(array.as_device_ptr(), memory.device_ptr());
/// // ... enqueue kernels in `ours` ...
/// array.release()?; // `theirs` waits for `ours`
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
    /// The array that `interface` describes. Waits for nothing, and orders nothing.
    ///
    /// # Errors
    /// Errors of the driver: the interface names a default stream, and the device of the memory cannot be found.
    ///
    /// # Safety
    /// The memory and the streams named by the interface and its mask belong to the driver. They outlive the view, by themselves or
    /// through `owner`.
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

    /// As [`RawView::new`], with a driver that need not be loaded yet.
    ///
    /// # Safety
    /// As [`RawView::new`]. The driver is the driver of the streams that the view is acquired in.
    pub(crate) unsafe fn from_boxed(
        driver: Option<&Driver>,
        interface: Box<Interface>,
        owner: Option<Owner>,
    ) -> RawView {
        // A state that needs no driver call is created here, and not at each acquisition.
        let data = match (driver, interface.stream().handle()) {
            (Some(driver), Some(handle)) if handle > 2 => {
                // SAFETY: the stream is live by this function's contract.
                OnceLock::from(SyncState::in_home(unsafe { Stream::from_raw(driver, handle, None) }))
            }
            _ => OnceLock::new(),
        };
        RawView { interface, data, mask: OnceLock::new(), owner }
    }

    /// An array with a known synchronization state.
    pub(crate) fn ordered(interface: Box<Interface>, data: SyncState, owner: Option<Owner>) -> RawView {
        RawView { interface, data: OnceLock::from(data), mask: OnceLock::new(), owner }
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
        let entry = home.map_or(Ok(StreamEntry::None), |home| StreamEntry::try_from(home.handle() as i128))?;
        let mut data = SyncState::new(home.cloned(), memory.pending().clone());
        match home {
            Some(home) if home.is_owned() => memory.add_home(home),
            // The stream may be destroyed before the memory is freed, so its work is recorded by events.
            Some(_) => data = data.outliving_home(),
            None => {}
        }
        let owner = Some(Owner::new(memory.clone()));
        Ok(RawView::ordered(Box::new(interface.with_stream(entry)), data, owner))
    }

    /// Sets events to wait for in place of the streams of the array and its mask (clause X2).
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

    /// The array's interface: shape, strides, element type, address and stream.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Orders work in `stream` that reads the array: after the producer's work so far, and before the producer's work once the guard is
    /// released.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: one stream captures and the other does not take part; the capture stays intact. Errors of the driver.
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
    pub(crate) fn orderings(
        &self,
        stream: &Stream,
        access: Access,
    ) -> Result<(&SyncState, Access, Option<&SyncState>)> {
        let data = ordering(&self.data, &self.interface, stream)?;
        let mask = self.interface.mask().map(|mask| ordering(&self.mask, mask.interface(), stream)).transpose()?;
        Ok((data, access, mask))
    }

    /// The states that [`RawView::orderings`] has set.
    pub(crate) fn known_orderings(&self, access: Access) -> impl Iterator<Item = (&SyncState, Access)> + Clone {
        let mask = self.mask.get().map(|mask| (mask, Access::Read));
        self.data.get().map(|data| (data, access)).into_iter().chain(mask)
    }

    /// Whether work in `stream` is already ordered: it is the home stream, and no work is pending in other streams.
    pub(crate) fn is_at_home(&self, stream: &Stream) -> bool {
        self.interface.mask().is_none()
            && match self.data.get() {
                Some(data) => data.is_at_home(stream),
                None => false,
            }
    }

    /// Sets the owner, unless the view has one.
    #[cfg(feature = "python")]
    pub(crate) fn with_owner(self, owner: Owner) -> RawView {
        RawView { owner: self.owner.or(Some(owner)), ..self }
    }

    #[cfg(feature = "python")]
    pub(crate) fn interface_mut(&mut self) -> &mut Interface {
        &mut self.interface
    }

    /// The owner that keeps the memory alive, if the view has one.
    pub(crate) fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref()
    }
}

/// The synchronization state of an interface's data, created at first use.
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
