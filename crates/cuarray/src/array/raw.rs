//! [`RawDeviceArray`]: an owned array whose element type and number of dimensions are known only at run time.
//!
//! Either this crate allocated the memory, or an *owner*, which is any Rust object, keeps it alive. The memory is freed when the last
//! array over it is dropped and the work on it is done; no thread waits for that (see [`sync::Memory`](crate::sync::Memory)).

use super::{
    guard::{Acquired, AcquiredMut, Anywhere, GuardCore},
    held::Held,
};
use crate::{
    Dimension, Error, Interface, Owner, RawView, Result, View,
    driver::{Context, Stream},
    sync::{Access, Memory, SyncState},
};
use std::{fmt, sync::Arc};

/// An array in device memory, of any element type and number of dimensions. A clone is the same array.
///
/// [`DeviceArray`](crate::DeviceArray) is the typed form; [`RawDeviceArray::typed`] checks and converts.
#[derive(Clone)]
pub struct RawDeviceArray {
    // Dropped first: the view uses the memory.
    view: Arc<RawView>,
    /// Keeps the memory; only the Python object reads it.
    #[cfg_attr(not(feature = "python"), allow(dead_code))]
    held: Held,
}

impl RawDeviceArray {
    /// Creates the array that `interface` describes within `memory`, with a home stream. The array keeps the memory.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: elements lie outside the memory, or the interface has a mask.
    pub(crate) fn from_memory(
        memory: Arc<Memory>,
        interface: Interface,
        home: Option<&Stream>,
    ) -> Result<RawDeviceArray> {
        let view = Arc::new(RawView::from_memory(&memory, interface, home)?);
        Ok(RawDeviceArray { view, held: Held::Memory(memory) })
    }

    /// Creates the array that `interface` describes, in memory of a context that `owner` keeps, such as a pool's block or another crate's slice.
    ///
    /// The owner is dropped in any thread, when the last array over the memory is dropped and the work on it is done. If that drop panics,
    /// [`Driver::take_drop_error`](crate::Driver::take_drop_error) returns the panic as an error.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the interface has a mask, or the home stream belongs to another context.
    ///
    /// # Safety
    /// * The memory is known to the driver, and is valid until the owner is dropped.
    /// * Work on the memory that is pending already, such as work on another array over it, is ordered before later work in the home stream.
    ///   Without a home stream it is done.
    pub unsafe fn from_owner(
        context: &Context,
        interface: Interface,
        owner: Owner,
        home: Option<&Stream>,
    ) -> Result<RawDeviceArray> {
        if interface.mask().is_some() {
            return Err(Error::argument(
                "the array has a mask, which is another array and cannot lie in one owner's memory",
            ));
        }
        if let Some(home) = home
            && home.known_context()?.is_some_and(|of_home| of_home != *context)
        {
            return Err(Error::argument(format!(
                "the home stream, {home:?}, belongs to another context than the memory"
            )));
        }
        let held = Held::owner(context, interface.byte_range(), owner);
        let (interface, ordering) = held.with_home(interface, home)?;
        // The owner comes from other code, which may have made other views of the memory.
        ordering.expose();
        let view = RawView::ordered(interface, ordering, Some(held.as_owner())).of_driver(context.driver());
        Ok(RawDeviceArray { view: Arc::new(view), held })
    }

    /// Orders work in `stream` that reads the array: after the work already enqueued on it, and before later work.
    ///
    /// # Errors
    /// [`Error::is_already_acquired`]: a live guard writes the same memory. [`Error::is_unsupported`]: one stream captures and the other
    /// does not take part. Errors of the driver.
    pub fn acquire<'v>(&'v self, stream: &'v Stream) -> Result<Acquired<'v>> {
        self.read(stream)
    }

    /// Orders work in `stream` that writes the array.
    ///
    /// # Errors
    /// As [`RawDeviceArray::acquire`], but any live guard in the same memory conflicts. Also if the array is read-only.
    pub fn acquire_mut<'v>(&'v mut self, stream: &'v Stream) -> Result<AcquiredMut<'v>> {
        self.write(stream)
    }

    pub(super) fn read<'v, T, D: Dimension>(&'v self, stream: &'v Stream) -> Result<Acquired<'v, T, D>> {
        Ok(Acquired::new(GuardCore::begin(&self.view, stream, Access::Read, Anywhere)?))
    }

    pub(super) fn write<'v, T, D: Dimension>(&'v mut self, stream: &'v Stream) -> Result<AcquiredMut<'v, T, D>> {
        Ok(AcquiredMut::new(GuardCore::begin(&self.view, stream, Access::Write, Anywhere)?))
    }

    /// Another layout of elements over the same memory, with the same home stream.
    pub(super) fn view(&self, view: View, read_only: bool) -> Result<RawDeviceArray> {
        let interface = self.view.interface().view(view)?;
        let read_only = read_only || interface.is_read_only();
        let view = Arc::new(self.view.part(Box::new(interface.with_read_only(read_only))));
        Ok(RawDeviceArray { view, held: self.held.clone() })
    }

    /// Records work on the array that was enqueued in `stream` without a guard, such as a kernel of another library. Later work on the array
    /// is ordered after it, and so is the release of the memory.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the stream belongs to another driver. Errors of the driver.
    pub fn record_stream(&self, stream: &Stream, access: Access) -> Result<()> {
        self.view.check_driver(stream)?;
        match self.view.known_sync_states(access).next() {
            Some((ordering, access)) => {
                ordering.record(stream, access)?;
                self.view.tell_others(stream, access);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The shape, strides, element type, address and home stream.
    pub fn interface(&self) -> &Interface {
        // Another library may make a view of the memory, with its own home stream.
        self.view.expose();
        self.private_interface()
    }

    /// The interface, for uses within this crate.
    pub(super) fn private_interface(&self) -> &Interface {
        self.view.interface()
    }

    /// The home stream, in which work on the array is ordered.
    pub fn home_stream(&self) -> Option<&Stream> {
        self.view.home_stream()
    }

    pub(super) fn context(&self) -> &Context {
        self.held.context()
    }

    #[cfg(feature = "python")]
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    #[cfg(feature = "python")]
    pub(crate) fn sync_state(&self) -> Option<&SyncState> {
        self.view.known_sync_states(Access::Write).next().map(|(ordering, _)| ordering)
    }
}

impl fmt::Debug for RawDeviceArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawDeviceArray({:?})", self.view.interface())
    }
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<RawDeviceArray>();
};
