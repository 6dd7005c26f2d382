//! The C side of the CUDA Array Interface (clause X1): an array as one structure of C, for callers to whom a dictionary is too slow,
//! or who have no Python at all.
//!
//! The structure is that of `include/cuarray.h`; `docs/reference/c-interface.md` says what both sides owe each other. It says what the
//! dictionary says, with the dictionary's numbers for streams and its rules for them, and what the dictionary cannot: an event
//! in place of the stream, the names of types without a letter, where the memory is, and a function to be called when nobody
//! needs the array any more. A [`CArray`] owns such a structure; it needs no Python and no driver.
//!
//! What comes in was made by somebody else: it is copied and checked member by member before anything is done with it, and
//! released once, whatever was wrong with it. What the pointers point to is trusted to be there, as C has no way to ask.

mod abi;
mod read;
mod write;

pub use abi::RawCArray;
pub(crate) use read::Read;
#[cfg(feature = "python")]
#[cfg(feature = "python")]
pub(crate) use write::{Body, export, kept};

use crate::{
    Error, Interface, Owner, Result,
    array::view::RawView,
    driver::{Driver, Event, MemoryKind},
};
use std::{fmt, num::NonZeroUsize, ptr::NonNull, sync::Arc};

/// What a [`CArray`] says: an interface, and what only the C side can say.
///
/// ```
/// use cuarray::{Interface, Layout, TypeStr, c_interface::Described};
///
/// let interface = Interface::new(0x7f00_0000_0000, TypeStr::of::<f32>(), Layout::c_contiguous(&[3], 4)?)?;
/// let described = Described { device: Some(0), ..interface.into() };
/// assert_eq!((described.device, described.event), (Some(0), None));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// What the dictionary says.
    pub interface: Interface,
    /// A `cudaEvent_t` behind all work that has to be waited for, which may be waited for in place of the stream (clause X2).
    pub event: Option<NonZeroUsize>,
    /// The same of the mask.
    pub mask_event: Option<NonZeroUsize>,
    /// The device that the memory is on; `None` where the driver has to be asked.
    pub device: Option<i32>,
    /// The kind of memory; `None` where the driver has to be asked.
    ///
    /// The structure has three kinds: it reports stream-ordered memory as [`MemoryKind::Device`], and mapped memory as
    /// [`MemoryKind::Pinned`].
    pub memory: Option<MemoryKind>,
}

impl From<Interface> for Described {
    fn from(interface: Interface) -> Described {
        Described { interface, event: None, mask_event: None, device: None, memory: None }
    }
}

/// An array as a structure of C, released when dropped.
///
/// ```
/// use cuarray::{CArray, Interface, Layout, Owner, TypeStr};
/// use std::sync::Arc;
///
/// let memory = Arc::new("memory"); // what has to live as long as the array is used
/// let interface = Interface::new(0x7f00_0000_0000, TypeStr::of::<f32>(), Layout::c_contiguous(&[3, 4], 4)?)?;
/// let array = CArray::new(interface.clone(), Some(Owner::new(memory.clone())))?;
///
/// let pointer = array.into_raw(); // to a consumer in C, which owes the call of `release`; or back:
/// // SAFETY: the pointer is ours to give away, and nobody else has it.
/// let array = unsafe { CArray::from_raw(pointer) }?;
/// assert_eq!(array.describe()?.interface, interface);
/// drop(array);
/// assert_eq!(Arc::strong_count(&memory), 1);
/// # Ok::<(), cuarray::Error>(())
/// ```
pub struct CArray(NonNull<RawCArray>);

// SAFETY: whoever hands out an array lets its consumer read it, and release it, in any thread.
unsafe impl Send for CArray {}
// SAFETY: through a shared reference it is only read.
unsafe impl Sync for CArray {}

impl CArray {
    /// The structure of an array whose memory, streams and event live at least until `owner` is dropped, which the release does.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: the name of a field holds a zero, which ends a text in C.
    pub fn new(described: impl Into<Described>, owner: Option<Owner>) -> Result<CArray> {
        write::of_described(described.into(), owner)
    }

    /// Takes over an array from a producer in C.
    ///
    /// # Errors
    /// An argument: `pointer` is null.
    ///
    /// # Safety
    /// `pointer` is null, or points to a structure that begins as `cuarray` does in every version, that is the caller's to release,
    /// and whose pointers point to as much as its counts say until it is released.
    pub unsafe fn from_raw(pointer: *mut RawCArray) -> Result<CArray> {
        NonNull::new(pointer).map(CArray).ok_or_else(|| Error::argument("the pointer to a cuarray is null"))
    }

    /// The structure, whose release the caller owes.
    pub fn into_raw(self) -> *mut RawCArray {
        let pointer = self.0.as_ptr();
        std::mem::forget(self);
        pointer
    }

    /// What the structure says, checked.
    ///
    /// # Errors
    /// * [`Error::is_unsupported`]: a major version or a flag that is not known;
    /// * [`Error::is_invalid_interface`]: an entry is wrong, with its key.
    pub fn describe(&self) -> Result<Described> {
        self.read()?.described()
    }

    pub(crate) fn read(&self) -> Result<Read> {
        // SAFETY: the structure lives until it is released, and its pointers by the contract of `from_raw`.
        unsafe { read::read(self.0.as_ptr()) }
    }

    /// The array as a view, which orders work by the stream, or by the event where there is one.
    ///
    /// # Errors
    /// As [`CArray::describe`], and as [`RawView::new`].
    ///
    /// # Safety
    /// Until it is released, the structure keeps its memory, its streams and its events alive, which are of `driver`'s.
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
        // SAFETY: the structure lives until it is released, which is here, once; in every version the function is where it is
        // in ours.
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
