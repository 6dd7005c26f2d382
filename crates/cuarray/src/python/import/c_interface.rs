//! Arrays from `__cuda_array_c_interface__`.
//!
//! The attribute belongs to the type. So each type is queried once, and the result is cached: nearly all types lack the attribute. A type is
//! queried again only if its object offers nothing else.

use super::{wait_for_producer, with_element};
use crate::python::{
    ffi::{capsule, inspect::type_name, raised::optional_attribute, type_bits::TypeBits},
    memory::c_array::{TAKEN, UNTAKEN},
};
use crate::{
    CArray, Error, Layout, Mask, Result,
    exchange::c_interface::{RawCArray, Read},
    python::{
        array::{Place, PyDeviceArray, mask::ArrayMask},
        memory::{
            array_owner::{ArrayOwner, DropDetached},
            bounds, event,
        },
        values::options::{Options, Policy},
    },
};
use pyo3::{
    intern,
    prelude::*,
    types::{PyCapsule, PyString},
};

/// The name of the attribute.
fn name(py: Python<'_>) -> &Bound<'_, PyString> {
    intern!(py, "__cuda_array_c_interface__")
}

/// Whether each queried type has the attribute.
static CACHE: TypeBits<16> = TypeBits::new();

/// Whether the type of an object has the attribute. Each type is queried once, so the result may be outdated: before an object is refused,
/// [`is_offered_now`] queries again.
#[inline]
pub(in crate::python) fn is_offered(object: &Bound<'_, PyAny>) -> bool {
    CACHE.get(object.get_type_ptr()).unwrap_or_else(|| is_offered_now(object))
}

/// Whether the type of an object has the attribute now. Later calls of [`is_offered`] return this result.
#[cold]
pub(in crate::python) fn is_offered_now(object: &Bound<'_, PyAny>) -> bool {
    // PyO3 does not know that this thread is attached: see `as_cuda_array`.
    Python::attach(|py| {
        let kind = object.get_type();
        let has = matches!(kind.getattr_opt(name(py)), Ok(Some(_)));
        CACHE.set(&kind, has);
        has
    })
}

/// An imported array, with the event to wait for in place of its stream.
pub(in crate::python) struct Imported<'py> {
    pub(in crate::python) array: Bound<'py, PyDeviceArray>,
    pub(in crate::python) event: Option<event::Handle>,
}

/// Imports the structure of an object; `None` if the object has none. With `sync`, the host waits for the stream or event in the structure.
///
/// # Errors
/// The attribute raises. [`Error::is_not_an_array`]: it is no capsule of that name. As [`CArray::describe`].
pub(in crate::python) fn import<'py>(
    object: &Bound<'py, PyAny>,
    sync: bool,
    options: &mut Options,
) -> Result<Option<Imported<'py>>> {
    let py = object.py();
    let Some(capsule) = optional_attribute("not a CUDA array", object, name(py), "a capsule")? else { return Ok(None) };
    array(py, DropDetached::new(take(object, &capsule)?), sync, options).map(Some)
}

fn take(object: &Bound<'_, PyAny>, capsule: &Bound<'_, PyAny>) -> Result<CArray> {
    let wrong = |what: String| {
        let of = type_name(object);
        Error::not_an_array(format!(
            "__cuda_array_c_interface__ of a {of} is {what}; a PyCapsule named {UNTAKEN:?} is expected"
        ))
    };
    let Ok(capsule) = capsule.cast::<PyCapsule>() else { return Err(wrong(format!("a {}", type_name(capsule)))) };
    // The new name marks the structure as taken by this module.
    if let Some(raw) = capsule::take(capsule, UNTAKEN, TAKEN)? {
        // SAFETY: the capsule's name promises this structure, and it was not taken before.
        return unsafe { CArray::from_raw(raw.as_ptr().cast::<RawCArray>()) };
    }
    Err(match capsule::content(capsule, TAKEN) {
        Some(_) => Error::argument(format!(
            "the structure of the capsule that a {} returned was taken already; a new capsule is expected",
            type_name(object)
        )),
        None => wrong("a PyCapsule of another name".to_owned()),
    })
}

/// Makes the array over a structure.
fn array<'py>(
    py: Python<'py>,
    taken: DropDetached<CArray>,
    sync: bool,
    options: &mut Options,
) -> Result<Imported<'py>> {
    let Read { mut interface, mask, event, mask_event, device, memory } = taken.read()?;
    let owner = ArrayOwner::from(taken);
    if options.element.is_some() {
        *interface = with_element(*interface, options.element.take())?;
    }
    let mask = match options.masks {
        Policy::Ignore => None,
        Policy::Keep => mask.map(|mask| array_mask(py, &owner, &mask, interface.layout())).transpose()?,
        Policy::Refuse if mask.is_none() => None,
        Policy::Refuse => {
            return Err(Error::unsupported("the array has a mask, and masked arrays are not accepted here"));
        }
    };
    if options.bounds {
        bounds::verify(py, &interface, mask.as_ref().map(ArrayMask::interface))?;
    }
    let handle = |event: std::num::NonZeroUsize| event::Handle(event.get());
    if sync {
        wait_for_producer(py, &interface, event.map(handle))?;
        if let Some(mask) = &mask {
            wait_for_producer(py, mask.interface(), mask_event.map(handle))?;
        }
    }
    let place = memory.map(|kind| Place { device, kind });
    let array = PyDeviceArray::with_stream(interface, owner, None).with_mask(mask).at(place);
    Ok(Imported { array: Bound::new(py, array)?, event: event.map(handle) })
}

fn array_mask(py: Python<'_>, owner: &ArrayOwner, mask: &Mask, layout: &Layout) -> Result<ArrayMask> {
    let source = PyDeviceArray::foreign(mask.interface().clone(), Some(owner.object(py)?));
    ArrayMask::of_array(Py::new(py, source)?, layout)
}
