//! `as_cuda_array` imports arrays of other libraries (clauses N1, L2).
//!
//! Every exchange calls it, so it parses its arguments itself ([`fastcall`]).

use super::{c_interface, dlpack, root};
use crate::python::{
    array::{PyDeviceArray, mask::ArrayMask},
    config::{self, Protocol},
    ffi::fastcall::{self, Arguments, Function},
    ffi::inspect::type_name,
    import::{self, Adopted},
    memory::bounds,
    values::{
        dtype::Element,
        options::{self, Options, Policy},
    },
};
use crate::{Error, Result};
use pyo3::{intern, prelude::*, types::PyInt};
use std::ffi::CStr;

pub(in crate::python) struct AsCudaArray;

impl Function for AsCudaArray {
    type Object = PyDeviceArray;
    const NAME: &CStr = c"as_cuda_array";
    const DOC: &CStr = c"as_cuda_array(obj, sync=True, *, strict=True, mask=None, mask_format=None, dtype=None, bounds=False, protocol=None)\n--\n
Imports any object with `__cuda_array_interface__` as a DeviceArray, without copying; it keeps the object alive (clause L2).

If the object's type has `__cuda_array_c_interface__`, that C structure is read instead of the dictionary. If the object has neither, its
DLPack tensor is imported, as `from_dlpack` does. `protocol='dict'`, 'c' or 'dlpack' reads that protocol alone; the default is 'any', or
`cuarray.config.protocol`. `strict=False` and `mask_format` apply to dictionaries, and read the dictionary.

If the object names a stream, the host waits for it (`sync=False` does not), and it becomes the array's home
stream (clause N1). A DeviceArray is returned as it is. `strict=False` also accepts known deviations of some
libraries from the text; `interface(obj, strict=False).deviations` lists them.

A mask (clause I10) stays with the array as `a.mask`. `mask=\"ignore\"` drops it, and `mask=\"error\"` refuses an array with
a mask. `mask_format=\"bits\"` reads a mask of bytes as one bit for each element, the lowest bit of a byte first.

`dtype` names the element type if the interface has only void: bfloat16 travels as `<V2`, and a structure without `descr` as
`|V16`. It is a name ('bfloat16', 'float8_e4m3fn') or anything that numpy.dtype takes, of the same item size; the memory is not
changed. A type that the interface names takes precedence.

`bounds=True` checks the elements, and those of the mask, against the allocation that the driver reports. It raises ValueError if
elements lie outside, and BufferError if devices cannot reach the memory. Memory that the driver cannot describe is
not checked, with a RuntimeWarning; `interface(obj, bounds=True).notes` has the text of the warning.

Raises TypeError if `obj` is not an array, ValueError if its interface is wrong, BufferError if it cannot be
imported, CudaError if the driver refuses.

>>> a = cuarray.as_cuda_array(other_librarys_array)  # doctest: +SKIP";

    #[inline]
    fn call<'py>(arguments: &Arguments<'py>) -> Result<Bound<'py, PyDeviceArray>> {
        let [mut object, mut sync] = arguments.positional()?;
        let mut options = Options::default();
        for (name, value) in arguments.named() {
            let parameter = if fastcall::is(&name, intern!(name.py(), "sync")) {
                &mut sync
            } else if fastcall::is(&name, intern!(name.py(), "obj")) {
                &mut object
            } else {
                options.set("as_cuda_array", &name, &value)?;
                continue;
            };
            if parameter.replace(value).is_some() {
                return Err(arguments.refused(format_args!("got multiple values for argument '{}'", &*name)).into());
            }
        }
        let object = object.ok_or_else(|| arguments.refused(format_args!("is missing 1 required argument: 'obj'")))?;
        let sync = sync.map_or(Ok(true), |sync| options::flag("sync", &sync))?;
        as_cuda_array(&object, sync, options)
    }
}

#[inline]
fn as_cuda_array<'py>(
    object: &Bound<'py, PyAny>,
    sync: bool,
    mut options: Options,
) -> Result<Bound<'py, PyDeviceArray>> {
    let py = object.py();
    if let Ok(array) = object.cast_exact::<PyDeviceArray>()
        && let Some(array) = Python::attach(|_| with_options(array, &mut options))?
    {
        return Ok(array);
    }
    let protocol = options.protocol();
    if (matches!(protocol, Protocol::C | Protocol::DLPack)
        || protocol == Protocol::Any && c_interface::is_offered(object))
        && let Some(array) = Python::attach(|_| by_other_protocol(object, sync, protocol, &mut options))?
    {
        return Ok(array);
    }
    let dict = match import::attribute(object) {
        Ok(dict) => dict,
        Err(error) => return Python::attach(|_| without_interface(object, sync, options, error)),
    };
    let Adopted { interface, mask, .. } = import::adopt(&dict, Some(object), sync, options)?;
    let Some(mask) = mask else {
        if let Some(array) = root::returned(object, &interface)? {
            return Ok(array);
        }
        return Ok(Bound::new(py, PyDeviceArray::foreign(interface, Some(object.to_owned().unbind())))?);
    };
    Python::attach(|_| {
        let array = PyDeviceArray::foreign(interface, Some(object.to_owned().unbind()));
        Ok(Bound::new(py, array.with_mask(Some(mask)))?)
    })
}

/// Imports an object by another protocol than the dictionary; `None` if the dictionary has to be read.
fn by_other_protocol<'py>(
    object: &Bound<'py, PyAny>,
    sync: bool,
    protocol: Protocol,
    options: &mut Options,
) -> Result<Option<Bound<'py, PyDeviceArray>>> {
    if protocol == Protocol::DLPack {
        return of_dlpack(object, sync, options).map(Some);
    }
    let imported = c_interface::import(object, sync, options)?;
    if imported.is_none() && protocol == Protocol::C {
        let of = type_name(object);
        let what = format!("a {of} has no __cuda_array_c_interface__, and protocol is 'c'");
        // The attribute may exist without the structure that this consumer looks for.
        return Err(match object.getattr(intern!(object.py(), "__cuda_array_c_interface__")) {
            Err(raised) => Error::unreadable(what, raised),
            Ok(_) => Error::not_an_array(what),
        });
    }
    Ok(imported.map(|imported| imported.array))
}

/// Imports an object whose dictionary gave `error`. An object without a dictionary may have a structure or a tensor.
fn without_interface<'py>(
    object: &Bound<'py, PyAny>,
    sync: bool,
    mut options: Options,
    error: Error,
) -> Result<Bound<'py, PyDeviceArray>> {
    if options.protocol() != Protocol::Any || has_dictionary(object) {
        return Err(error);
    }
    if let Some(imported) = c_interface::import(object, sync, &mut options)? {
        // The attribute may have been added to the type after the type was queried.
        c_interface::is_offered_now(object);
        return Ok(imported.array);
    }
    if dlpack::is_reachable(object)? { of_dlpack(object, sync, &mut options) } else { Err(error) }
}

/// As [`without_interface`], for a caller that orders the work itself.
pub(in crate::python) fn without_dictionary<'py>(
    object: &Bound<'py, PyAny>,
    error: Error,
) -> Result<Bound<'py, PyDeviceArray>> {
    if has_dictionary(object) { Err(error) } else { offered_in_c(object)?.ok_or(error) }
}

/// Imports an object by the protocol that [`config::protocol`] names instead of the dictionary.
pub(in crate::python) fn only_in_c<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyDeviceArray>> {
    offered_in_c(object)?.ok_or_else(|| {
        Error::not_an_array(format!(
            "a {} offers nothing that cuarray.config.protocol '{}' reads",
            type_name(object),
            config::protocol().name()
        ))
    })
}

/// Imports the structure or the tensor of an object without waiting; `None` if it has neither, or the configuration reads neither.
pub(in crate::python) fn offered_in_c<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDeviceArray>>> {
    let protocol = config::protocol();
    let reads_structures = matches!(protocol, Protocol::Any | Protocol::C);
    if reads_structures
        && c_interface::is_offered(object)
        && let Some(array) = import::structure(object)?
    {
        return Ok(Some(array));
    }
    if matches!(protocol, Protocol::Any | Protocol::DLPack) && dlpack::is_reachable(object)? {
        return tensor(object).map(Some);
    }
    if reads_structures && c_interface::is_offered_now(object) { import::structure(object) } else { Ok(None) }
}

/// Whether an object has a DLPack tensor on a device, and no dictionary.
pub(in crate::python) fn is_only_a_tensor(object: &Bound<'_, PyAny>) -> Result<bool> {
    Ok(!has_dictionary(object) && dlpack::is_reachable(object)?)
}

/// Whether an object has a dictionary. A property that raises counts as one, so that no other protocol hides its error.
pub(in crate::python) fn has_dictionary(object: &Bound<'_, PyAny>) -> bool {
    !matches!(object.getattr_opt(intern!(object.py(), "__cuda_array_interface__")), Ok(None))
}

/// Imports a DLPack tensor; with `sync`, the host waits for the stream that the tensor is ready on.
fn of_dlpack<'py>(object: &Bound<'py, PyAny>, sync: bool, options: &mut Options) -> Result<Bound<'py, PyDeviceArray>> {
    let py = object.py();
    let array = tensor(object)?;
    if sync {
        import::wait_for_producer(py, array.get().interface(), None)?;
    }
    Ok(with_options(&array, options)?.unwrap_or(array))
}

/// Imports a DLPack tensor, ordered as the configuration says.
fn tensor<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyDeviceArray>> {
    let unordered = PyInt::new(object.py(), -1).into_any();
    dlpack::from_dlpack(object, (!config::sync()).then_some(&unordered), None)
}

/// Applies the options to an array of this library; `None` if it has to be read again without its mask.
pub(in crate::python) fn with_options<'py>(
    array: &Bound<'py, PyDeviceArray>,
    options: &mut Options,
) -> Result<Option<Bound<'py, PyDeviceArray>>> {
    let py = array.py();
    let keeps_all = array.get().mask().is_none() || options.masks == Policy::Keep;
    if options.bounds && keeps_all {
        bounds::verify(py, array.get().interface(), array.get().mask().map(ArrayMask::interface))?;
    }
    if keeps_all && options.element.is_none() {
        return Ok(Some(array.clone()));
    }
    let typed = import::with_element(array.get().interface().clone(), options.element.take())?;
    if keeps_all {
        let unchanged = typed == *array.get().interface();
        let array = if unchanged { array.clone() } else { Bound::new(py, array.get().retyped(py, typed)?)? };
        return Ok(Some(array));
    }
    // The dictionary cannot express every type that an array can have.
    options.element = Some(Element::of_interface(&typed));
    Ok(None)
}
