//! Reading `__cuda_array_interface__` (clauses I1 to I11, V0 to V2).
//!
//! Every exchange runs this, so it is written for speed: one attribute read and one walk over the dictionary. The walk recognises keys by
//! address (literal keys are interned) and otherwise by text. Shape and strides go straight into the layout. Nothing is trusted: no Python code
//! runs during the walk, the entries are owned before Python code can run, and every number is checked before it is narrowed.
//!
//! The dictionary of a host array, `__array_interface__`, has the same grammar.
//!
//! Reading is strict: a deviation from the text is refused, with the reason. A lenient `Reading` accepts the known deviations of real
//! libraries, and lists them.

mod adopt;
pub(in crate::python) mod as_cuda_array;
pub mod borrow;
pub(in crate::python) mod c_interface;
pub(in crate::python) mod dlpack;
mod entries;
pub(in crate::python) mod exchange;
pub(in crate::python) mod inert;
pub mod interface;
pub mod ipc;
mod lazy;
mod mask;
mod reading;
pub(in crate::python) mod root;
mod values;

pub(super) use adopt::{Adopted, adopt, wait_for_producer};
pub(super) use entries::{DATA, DESCR, EVENT, Entries, Interned, MASK, SHAPE, STREAM, STRIDES, TYPESTR, VERSION};
pub(super) use lazy::{are_tensors, refuse_gradient_or_mark, refuse_lazy, refuse_lazy_tensor};
pub(super) use reading::Reading;

use super::{
    array::PyDeviceArray,
    config,
    ffi::{
        inspect::{integer, shown, type_name},
        raised::unreadable,
    },
    memory::event,
    values::{
        descr,
        dtype::Element,
        options::{Options, Policy},
    },
};
use crate::{Dims, Error, Interface, Kind, Layout, Result, StreamEntry, TypeStr, Version};
use c_interface::Imported;
use entries::OwnedEntries;
use pyo3::{
    exceptions::PyAttributeError,
    intern,
    prelude::*,
    types::{PyDict, PyList},
};
use values::{POINTER_AND_FLAG, UNNAMED_FLOAT8, data, dims, steps, typestr};

/// Reads the attribute `__cuda_array_interface__` of `object` (clause I1).
///
/// ```
/// # use pyo3::{prelude::*, types::PyDict};
/// # Python::initialize();
/// # Python::attach(|py| {
/// let list = PyDict::new(py).keys();
/// let error = cuarray::python::import::attribute(&list).unwrap_err();
/// assert!(error.is_not_an_array());
/// # });
/// ```
///
/// # Errors
/// [`Error::is_not_an_array`]: the attribute is missing, raises, or is no dictionary. `MemoryError`, `RecursionError`, and
/// exceptions outside `Exception` (`KeyboardInterrupt`, `SystemExit`) pass through unchanged.
pub fn attribute<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyDict>> {
    let value = object.getattr(intern!(object.py(), "__cuda_array_interface__"));
    dictionary(object, value.map_err(|error| refused(object, error))?)
}

/// The error for an object whose attribute raised.
fn refused(object: &Bound<'_, PyAny>, error: PyErr) -> Error {
    let remedy = if error.is_instance_of::<PyAttributeError>(object.py()) { remedy(object) } else { "" };
    let expected = format!("an object with that attribute is expected{remedy}");
    unreadable("not a CUDA array", object, "__cuda_array_interface__", &expected, error)
}

/// The function to call for such an object instead, if there is one.
fn remedy(object: &Bound<'_, PyAny>) -> &'static str {
    // Queries the type, because the object's own attributes may run any code.
    let on_the_host = || object.get_type().hasattr(intern!(object.py(), "__array__")).unwrap_or(false);
    if object.is_instance_of::<PyDict>() {
        " (for a dictionary, use cuarray.from_cuda_array_interface)"
    } else if object.is_instance_of::<PyList>() || on_the_host() {
        " (to copy host data to a device, use cuarray.to_device)"
    } else {
        ""
    }
}

/// The attribute's value as a dictionary.
fn dictionary<'py>(object: &Bound<'py, PyAny>, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyDict>> {
    value.cast_into::<PyDict>().map_err(|error| {
        let value = error.into_inner();
        Error::not_an_array(format!(
            "not a CUDA array: __cuda_array_interface__ of a {} is a {}, {}; a dict is expected",
            type_name(object),
            type_name(&value),
            shown(&value)
        ))
    })
}

/// Imports `value` without waiting. An array of this library is returned as it is. `None` if `value` has no interface and no tensor on a
/// device.
pub(super) fn array<'py>(value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDeviceArray>>> {
    let py = value.py();
    if let Ok(array) = value.cast_exact::<PyDeviceArray>() {
        return Ok(Some(array.clone()));
    }
    if !config::reads_dictionaries() {
        return as_cuda_array::offered_in_c(value);
    }
    let attribute = value.getattr_opt(intern!(py, "__cuda_array_interface__"));
    let Some(attribute) = attribute.map_err(|error| refused(value, error))? else {
        return as_cuda_array::offered_in_c(value);
    };
    let mut reading = Reading::new(true).with_masks(Policy::Keep);
    let interface = interface(&dictionary(value, attribute)?, &mut reading)?;
    refuse_lazy(value, &interface)?;
    let mask = mask::read(&mut reading, interface.layout(), false)?;
    let array = PyDeviceArray::foreign(interface, Some(value.clone().unbind())).with_mask(mask);
    Ok(Some(Bound::new(py, array)?))
}

/// Imports the C structure of an object without waiting. The caller knows that the type has the attribute.
pub(super) fn structure<'py>(value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDeviceArray>>> {
    let Some(Imported { array, event }) = c_interface::import(value, false, &mut Options::default())? else {
        return Ok(None);
    };
    // The array has no field for an event without a stream, so the host waits for it now.
    if array.get().interface().stream() == StreamEntry::None {
        wait_for_producer(value.py(), array.get().interface(), event)?;
    }
    Ok(Some(array))
}

/// The interface with the element type that the caller states.
pub(super) fn with_element(interface: Interface, element: Option<Element>) -> Result<Interface> {
    match element {
        Some(Element { typestr, descr }) => interface.with_type(typestr, descr),
        None => Ok(interface),
    }
}

/// The interface that a dictionary describes.
///
/// # Errors
/// [`Error::is_invalid_interface`] where an entry is missing or wrong, with the key, the value and what is expected.
pub(super) fn interface<'py>(dict: &Bound<'py, PyDict>, reading: &mut Reading<'py>) -> Result<Box<Interface>> {
    let entries = Entries::read(dict);
    if reading.element.is_none()
        && let Some(interface) = inert::interface(&entries, dict.py())
    {
        return Ok(interface);
    }
    careful(&entries.own(), reading)
}

/// The interface that entries of any kind describe.
fn careful<'py>(entries: &OwnedEntries<'py>, reading: &mut Reading<'py>) -> Result<Box<Interface>> {
    let version = version(entries, reading)?;
    let mut read = described(entries, reading)?;
    read.set_version(version);
    if let Some(element) = reading.element.take() {
        *read = with_element(*read, Some(element))?;
    }
    // Clause V2: versions 0 to 2 have no `stream`.
    if version >= Version::V3
        && let Some(stream) = entries.optional(STREAM)
    {
        let number =
            integer(stream, "stream", "None or an int (1: legacy default, 2: per-thread default, a cudaStream_t)")?;
        read.set_stream(StreamEntry::try_from(number)?);
        reading.event = entries.optional(EVENT).map(event::entry).transpose()?;
    }
    // Clause V0: version 0 has no mask.
    if version >= Version::V1
        && let Some(mask) = entries.optional(MASK)
    {
        match reading.masks {
            Policy::Keep => reading.mask = Some(mask.clone()),
            Policy::Ignore => {}
            Policy::Refuse => {
                return Err(Error::unsupported(
                    "__cuda_array_interface__['mask']: the array has a mask, and masked arrays are not accepted here",
                ));
            }
        }
    }
    Ok(read)
}

#[inline]
fn version(entries: &OwnedEntries<'_>, reading: &mut Reading<'_>) -> Result<Version> {
    let value = match entries.required(VERSION, "an int from 0 to 3") {
        Ok(value) => value,
        Err(error) => {
            reading.deviation("version", || "missing; read as version 0".to_owned(), || error)?;
            return Ok(Version::V0);
        }
    };
    let number = integer(value, "version", "an int from 0 to 3")?;
    let narrow = i64::try_from(number)
        .map_err(|_| Error::entry("version", format!("{number}; this version of cuarray reads 0 to 3")))?;
    Version::try_from(narrow)
}

/// Reads the entries that describe memory: `shape`, `typestr`, `data`, `strides`, `descr`.
#[inline]
fn described(entries: &OwnedEntries<'_>, reading: &mut Reading<'_>) -> Result<Box<Interface>> {
    let written = entries.required(TYPESTR, "a str such as '<f4'")?;
    let typestr = typestr(written, reading)?;
    let mut read = memory(entries, typestr, reading)?;
    if typestr.kind() == Kind::Void
        && let Some(descr) = entries.optional(DESCR)
        // The descr of these types only repeats the type string.
        && !UNNAMED_FLOAT8.iter().any(|text| written.eq(text).unwrap_or(false))
    {
        read.set_descr(descr::read(descr)?)?;
    }
    Ok(read)
}

/// Reads the entries that describe memory, for a given type.
#[inline]
fn memory(entries: &OwnedEntries<'_>, typestr: TypeStr, reading: &mut Reading<'_>) -> Result<Box<Interface>> {
    let mut shape = Dims::new();
    dims(entries.required(SHAPE, "a tuple of ints")?, reading, &mut shape)?;
    let strides = entries.optional(STRIDES).map(|strides| steps(strides, shape.len(), reading)).transpose()?;
    let layout = Layout::from_parts(shape, strides, typestr.itemsize())?;
    let (data, read_only) = data(entries.required(DATA, POINTER_AND_FLAG)?, reading)?;
    let mut interface = Box::write(Box::new_uninit(), Interface::new(data, typestr, layout)?);
    interface.set_read_only(read_only);
    Ok(interface)
}
