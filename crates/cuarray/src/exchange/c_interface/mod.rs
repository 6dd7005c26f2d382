//! The C side of the CUDA Array Interface (clause X1): an array as one C structure. It is for callers that need more
//! speed than a dictionary gives, and for programs without Python.
//!
//! The structure is that of `include/cuarray.h`; `docs/reference/c-interface.md` lists the duties of both sides. It holds the
//! entries of the dictionary, with the same numbers and rules for streams. It adds an event in place of the stream, the names
//! of types without a letter, the location of the memory, and a function that releases the array. A [`CArray`] owns such a
//! structure; it needs no Python and no driver.
//!
//! A structure from outside is copied and checked member by member before use. It is released once, even if it was
//! invalid. The targets of its pointers are trusted to exist, because C has no way to check them.

mod abi;
mod read;
mod write;

pub use abi::RawCArray;
pub(crate) use read::Read;
#[cfg(feature = "python")]
#[cfg(feature = "python")]
pub(crate) use write::{Body, export, into_owner};

use crate::{
    Error, Interface, Owner, Result,
    array::view::RawView,
    driver::{Driver, Event, MemoryKind},
};
use std::{fmt, num::NonZeroUsize, ptr::NonNull, sync::Arc};

/// The content of a [`CArray`]: an interface, and the members that the dictionary lacks.
///
/// ```
/// use cuarray::{Interface, Layout, TypeStr, c_interface::Described};
///
/// let interface = Interface::new(0x7f00_0000_0000, TypeStr::of::<f32>(), Layout::c_contiguous(&[3], 4)?)?;
/// let mut described = Described::from(interface);
/// described.device = Some(0);
/// assert_eq!((described.device, described.event), (Some(0), None));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Described {
    /// The entries of the dictionary.
    pub interface: Interface,
    /// A `cudaEvent_t` after all pending work; a consumer may wait for it instead of the stream (clause X2).
    pub event: Option<NonZeroUsize>,
    /// The event of the mask.
    pub mask_event: Option<NonZeroUsize>,
    /// The device that holds the memory; `None` if only the driver knows.
    pub device: Option<i32>,
    /// The kind of memory; `None` if only the driver knows.
    ///
    /// The structure has three kinds: stream-ordered memory becomes [`MemoryKind::Device`], and mapped memory [`MemoryKind::Pinned`].
    pub memory: Option<MemoryKind>,
}

impl From<Interface> for Described {
    fn from(interface: Interface) -> Described {
        Described { interface, event: None, mask_event: None, device: None, memory: None }
    }
}

/// An array as a C structure, released when dropped.
///
/// ```
/// use cuarray::{CArray, Interface, Layout, Owner, TypeStr};
/// use std::sync::Arc;
///
/// let memory = Arc::new("memory"); // must live as long as the array is used
/// let interface = Interface::new(0x7f00_0000_0000, TypeStr::of::<f32>(), Layout::c_contiguous(&[3, 4], 4)?)?;
/// let array = CArray::new(interface.clone(), Some(Owner::new(memory.clone())))?;
///
/// let pointer = array.into_raw(); // to a consumer in C, which must call `release`; or back:
/// // SAFETY: this code owns the pointer, and no other code has it.
/// let array = unsafe { CArray::from_raw(pointer) }?;
/// assert_eq!(array.describe()?.interface, interface);
/// drop(array);
/// assert_eq!(Arc::strong_count(&memory), 1);
/// # Ok::<(), cuarray::Error>(())
/// ```
pub struct CArray(NonNull<RawCArray>);

// SAFETY: the structure may be read and released in any thread: by the contract of `from_raw`, and if it was made here, as its owner is `Send`.
unsafe impl Send for CArray {}
// SAFETY: a shared reference only reads the structure, which no code writes before its release, by the contract of `from_raw`.
unsafe impl Sync for CArray {}

impl CArray {
    /// Creates the structure of an array. Its memory, streams and events must live until `owner` is dropped; the
    /// release drops it.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: the name of a field contains a zero, which ends a string in C.
    pub fn new(described: impl Into<Described>, owner: Option<Owner>) -> Result<CArray> {
        write::of_described(described.into(), owner)
    }

    /// Takes ownership of an array from a producer in C.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: `pointer` is null.
    ///
    /// # Safety
    /// `pointer` is null or points to a structure with the first members of `cuarray`, which are the same in every version. The
    /// caller owns its release, which may run in any thread (clause X1). Until then its pointers point to as many items as its counts say, and
    /// nothing writes the structure or these items.
    pub unsafe fn from_raw(pointer: *mut RawCArray) -> Result<CArray> {
        NonNull::new(pointer).map(CArray).ok_or_else(|| Error::argument("the pointer to a cuarray is null"))
    }

    /// Gives up the structure; the caller must call its release.
    pub fn into_raw(self) -> *mut RawCArray {
        let pointer = self.0.as_ptr();
        std::mem::forget(self);
        pointer
    }

    /// Reads and checks the structure.
    ///
    /// # Errors
    /// * [`Error::is_unsupported`]: an unknown major version or flag;
    /// * [`Error::is_invalid_interface`]: a wrong entry, with its key.
    pub fn describe(&self) -> Result<Described> {
        self.read()?.described()
    }

    pub(crate) fn read(&self) -> Result<Read> {
        // SAFETY: the structure lives until it is released, and so do the targets of its pointers (see `from_raw`).
        unsafe { read::read(self.0.as_ptr()) }
    }

    /// Converts the array into a view, which orders work by the event if there is one, and otherwise by the stream.
    ///
    /// # Errors
    /// As [`CArray::describe`], and as [`RawView::new`].
    ///
    /// # Safety
    /// Until its release, the structure keeps its memory, streams and events alive, and all of them belong to `driver`.
    pub unsafe fn into_view(self, driver: &Driver) -> Result<RawView> {
        let Described { interface, event, mask_event, device, .. } = self.describe()?;
        let owner = Owner::new(Arc::new(self));
        // SAFETY: this function's contract; the owner is the structure.
        let view = unsafe { RawView::new(driver, interface, Some(owner)) }?;
        if event.is_none() && mask_event.is_none() {
            return Ok(view);
        }
        let context = match device {
            Some(ordinal) => driver.device(ordinal)?.primary_context()?,
            None => crate::array::view::context_of(driver, view.interface().data())?,
        };
        // SAFETY: this function's contract.
        let external = |event: NonZeroUsize| Arc::new(unsafe { Event::from_raw(&context, event.get()) });
        Ok(view.with_events(event.map(external), mask_event.map(external)))
    }
}

impl Drop for CArray {
    fn drop(&mut self) {
        let pointer = self.0.as_ptr();
        // SAFETY: the structure lives until its release, which happens here, once. `release` has the same offset in every
        // version.
        unsafe {
            if let Some(release) = (&raw const (*pointer).release).read_unaligned() {
                release(pointer);
            }
        }
    }
}

impl fmt::Debug for CArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.describe() {
            Ok(described) => write!(f, "CArray({:?})", described.interface),
            Err(error) => write!(f, "CArray({error})"),
        }
    }
}

#[cfg(test)]
mod tests;
