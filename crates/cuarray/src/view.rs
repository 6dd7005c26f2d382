//! [`RawView`]: an array that another library made, and the only way to its address: a guard that orders.
//!
//! A view is an interface, what keeps its memory alive, and what orders work on it; the memory is *not yet ordered*, so the view
//! does not give its address away. [`RawView::acquire`] does, through [`Acquired`]: work that is enqueued in the guard's stream
//! while it lives comes after the producer's, and the producer's next comes after it (clauses S2 and S3). Types and ranks are
//! for whoever wraps a view.

use crate::{
    Error, Interface, Owner, Result, StreamEntry,
    driver::{Context, Driver, Event, PointerAttributes, Stream},
    interface::DevicePtr,
    order::{Access, Lease, Memory, Ordering, Pending},
};
use smallvec::SmallVec;
use std::sync::Arc;

/// Another library's array, kept alive, and not yet ordered.
///
/// ```
/// # use cuarray::{Driver, Interface, Layout, Owner, RawView, Stream, StreamEntry, TypeStr, driver::Allocation};
/// # use std::sync::Arc;
/// # fn work(driver: &Driver) -> cuarray::Result<()> {
/// # let context = driver.default_context()?;
/// # let theirs = Stream::new(&context)?;
/// # let memory = Arc::new(Allocation::device(&context, 16)?);
/// # let layout = Layout::c_contiguous(&[4], 4)?;
/// let interface = Interface::new(memory.device_ptr(), TypeStr::of::<f32>(), layout)?
///     .with_stream(StreamEntry::try_from(theirs.handle() as i128)?);
/// // SAFETY: the memory and the stream live as long as the view.
/// let mut view = unsafe { RawView::new(driver, interface, Some(Owner::new(memory.clone()))) }?;
/// let ours = Stream::non_blocking(&context)?;
/// let array = view.acquire_mut(&ours)?; // our stream waits for theirs
/// assert_eq!(array.as_device_ptr(), memory.device_ptr());
/// // ... enqueue kernels in `ours` ...
/// array.release()?; // their stream waits for ours
/// # Ok(()) }
/// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
/// # let _entered = sim.enter();
/// # // SAFETY: the simulator is a driver.
/// # work(&unsafe { Driver::from_api(sim.api()) }?)?;
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Debug)]
pub struct RawView {
    interface: Interface,
    data: Ordering,
    mask: Option<Ordering>,
    _owner: Option<Owner>,
}

impl RawView {
    /// The array that `interface` describes. Nothing is waited for, and nothing is ordered.
    ///
    /// # Errors
    /// The driver's, where the interface names a default stream and the device cannot be found whose it is.
    ///
    /// # Safety
    /// The memory and the streams that the interface and its mask name are live for as long as the view, on their own or because
    /// of `owner`.
    pub unsafe fn new(driver: &Driver, interface: Interface, owner: Option<Owner>) -> Result<RawView> {
        let data = ordering(driver, &interface)?;
        let mask = interface.mask().map(|mask| ordering(driver, mask.interface())).transpose()?;
        Ok(RawView { interface, data, mask, _owner: owner })
    }

    /// An array over memory of ours, which it keeps: the one that `interface` describes, with `home` as its default stream. What is done
    /// to it is remembered with the memory, which is freed after that, and is in order with other arrays over it.
    ///
    /// ```
    /// # use cuarray::{Driver, Interface, Layout, RawView, Stream, TypeStr, driver::Allocation, order::Memory};
    /// # use std::sync::Arc;
    /// # fn work(driver: &Driver) -> cuarray::Result<()> {
    /// # let context = driver.default_context()?;
    /// let memory = Arc::new(Memory::new(&context, || Allocation::device(&context, 16))?);
    /// let interface = Interface::new(memory.allocation().device_ptr(), TypeStr::of::<f32>(), Layout::c_contiguous(&[4], 4)?)?;
    /// let home = Stream::non_blocking(&context)?;
    /// let mut view = RawView::of_memory(&memory, interface, Some(&home))?;
    /// assert_eq!(view.interface().stream().handle(), Some(home.handle()));
    /// view.acquire_mut(&home)?.release()?;
    ///
    /// let longer = Interface::new(memory.allocation().device_ptr(), TypeStr::of::<f32>(), Layout::c_contiguous(&[5], 4)?)?;
    /// assert!(RawView::of_memory(&memory, longer, None).is_err());
    /// # Ok(()) }
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # work(&unsafe { Driver::from_api(sim.api()) }?)?;
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// A wrong argument, where the array is not within the memory, or has a mask, which would not be.
    pub fn of_memory(memory: &Arc<Memory>, interface: Interface, home: Option<&Stream>) -> Result<RawView> {
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
        let mut data = Ordering::new(home.cloned(), memory.pending().clone());
        match home {
            Some(home) if home.is_owned() => memory.add_home(home),
            // It may be gone before the memory is; so its work is remembered by events.
            Some(_) => data = data.outliving_home(),
            None => {}
        }
        let owner = Some(Owner::new(memory.clone()));
        Ok(RawView { interface: interface.with_stream(entry), data, mask: None, _owner: owner })
    }

    /// The same, with an event to wait for in place of the stream, and of the mask's (clause X2).
    pub(crate) fn with_events(self, data: Option<Arc<Event>>, mask: Option<Arc<Event>>) -> RawView {
        let waiting = |ordering: Ordering, event| match event {
            Some(event) => ordering.with_event(event),
            None => ordering,
        };
        RawView { data: waiting(self.data, data), mask: self.mask.map(|ordering| waiting(ordering, mask)), ..self }
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
    pub fn acquire(&self, stream: &Stream) -> Result<Acquired<'_>> {
        let lease = self.lease(stream, Access::Read)?;
        Ok(Acquired { view: self, lease })
    }

    /// The same for work that writes.
    ///
    /// # Errors
    /// Also where the array is read-only.
    pub fn acquire_mut(&mut self, stream: &Stream) -> Result<AcquiredMut<'_>> {
        if self.interface.is_read_only() {
            return Err(Error::unsupported("the array is read-only, and was to be written"));
        }
        let lease = self.lease(stream, Access::Write)?;
        Ok(AcquiredMut { view: self, lease })
    }

    /// The address, in no order with anything.
    ///
    /// # Safety
    /// The caller orders its work after the producer's, and the producer's after its own.
    pub unsafe fn acquire_unordered(&self) -> DevicePtr {
        self.interface.data()
    }

    fn lease(&self, stream: &Stream, access: Access) -> Result<Lease> {
        let mut data: SmallVec<[(Ordering, Access); 2]> = SmallVec::new();
        data.push((self.data.clone(), access));
        data.extend(self.mask.iter().map(|mask| (mask.clone(), Access::Read)));
        Lease::begin(data, stream)
    }
}

/// What orders the work on what an interface describes.
fn ordering(driver: &Driver, interface: &Interface) -> Result<Ordering> {
    let home = match interface.stream().handle() {
        None => None,
        // Every device has default streams; these are those of the device that the memory is on.
        Some(1) => Some(Stream::legacy_default(&context_of(driver, interface.data())?)),
        Some(2) => Some(Stream::per_thread_default(&context_of(driver, interface.data())?)),
        // SAFETY: the stream is live by the contract of `RawView::new`.
        Some(handle) => Some(unsafe { Stream::external(driver, handle, None) }),
    };
    Ok(Ordering::new(home, Arc::new(Pending::default())))
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

macro_rules! guard {
    ($(#[$doc:meta])* $name:ident, $view:ty) => {
        $(#[$doc])*
        ///
        /// It is released when dropped; [`release`](Self::release) does the same and says what went wrong.
        #[derive(Debug)]
        #[must_use = "a guard that is dropped at once orders nothing"]
        pub struct $name<'v> {
            view: $view,
            lease: Lease,
        }

        impl $name<'_> {
            /// The address of the first element, for work in the guard's [stream](Self::stream).
            pub fn as_device_ptr(&self) -> DevicePtr {
                self.view.interface.data()
            }

            /// What the array says of itself.
            pub fn interface(&self) -> &Interface {
                &self.view.interface
            }

            /// The stream that the work goes to.
            pub fn stream(&self) -> &Stream {
                self.lease.stream()
            }

            /// Lets the producer's next work wait for what is in the stream now.
            ///
            /// # Errors
            /// As [`Lease::end`].
            pub fn release(self) -> Result<()> {
                self.lease.end()
            }
        }
    };
}

guard! {
    /// An array that may be read in a stream; from [`RawView::acquire`].
    Acquired, &'v RawView
}
guard! {
    /// An array that may be read and written in a stream; from [`RawView::acquire_mut`].
    AcquiredMut, &'v mut RawView
}

const _: () = {
    const fn shareable<T: Send + Sync>() {}
    shareable::<RawView>();
    shareable::<Acquired<'_>>();
};
