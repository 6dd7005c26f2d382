//! Host arrays, which are NumPy's. NumPy is the package's only dependency, and only for data that goes to or from the host.
//!
//! NumPy describes an array as a dictionary, `__array_interface__`, and as a C structure, `__array_struct__`. Both have the same
//! contents, and the structure is read in a twentieth of the time. The difference is as long as a copy of a few kilobytes. So the
//! structure is read, but only of arrays whose class is `numpy.ndarray`, because a subclass may have replaced the attribute.
//!
//! NumPy: [the array interface](https://numpy.org/doc/stable/reference/arrays.interface.html).

use super::dtype::Element;
use crate::python::ffi::inspect::type_name;
use crate::{ByteOrder, Dims, Error, Interface, Kind, Layout, Result, Strides, TypeStr};
use pyo3::{
    exceptions::PyImportError,
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyCapsule, PyCapsuleMethods},
};
use std::{
    ffi::{c_char, c_int, c_void},
    slice,
};

/// A NumPy array and the memory it describes.
pub(in crate::python) struct HostArray<'py> {
    pub(in crate::python) array: Bound<'py, PyAny>,
    pub(in crate::python) interface: Interface,
}

impl<'py> HostArray<'py> {
    /// `numpy.asarray(value, dtype)`.
    pub(in crate::python) fn of(
        value: &Bound<'py, PyAny>,
        dtype: Option<&Bound<'py, PyAny>>,
    ) -> Result<HostArray<'py>> {
        let py = value.py();
        let numpy = numpy(py)?;
        if dtype.is_none() && is_plain(value) {
            return HostArray::new(value.clone());
        }
        HostArray::new(numpy.call_method1(intern!(py, "asarray"), (value, dtype))?)
    }

    /// An uninitialized array of `shape` and `dtype`.
    pub(in crate::python) fn empty(
        shape: &Bound<'py, PyAny>,
        dtype: &Bound<'py, PyAny>,
        order: &str,
    ) -> Result<HostArray<'py>> {
        let py = shape.py();
        // `numpy.empty` changes some types: `>m8` to `<m8`, `|S0` to `|S1`.
        let none = py.None();
        HostArray::new(numpy(py)?.call_method1(intern!(py, "ndarray"), (shape, dtype, &none, 0, &none, order))?)
    }

    /// Describes the memory of a NumPy array, without conversion.
    pub(in crate::python) fn new(array: Bound<'py, PyAny>) -> Result<HostArray<'py>> {
        let numpy = numpy(array.py())?;
        let interface = match is_plain(&array) {
            true => described(&array)?,
            // For a subclass: the same memory as a plain array.
            false => {
                let plain = numpy.call_method1(intern!(array.py(), "asarray"), (&array,))?;
                if !is_plain(&plain) {
                    return Err(Error::not_an_array(format!(
                        "numpy.asarray makes a {} of a {}; a numpy.ndarray is expected",
                        type_name(&plain),
                        type_name(&array)
                    )));
                }
                described(&plain)?
            }
        };
        Ok(HostArray { array, interface })
    }
}

/// Whether a value's class is `numpy.ndarray`, and no subclass. Does not import NumPy: `false` until it has been imported.
pub(in crate::python) fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    NUMPY.get(value.py()).is_some_and(|numpy| value.get_type().is(&numpy.ndarray))
}

/// Whether a value is a `numpy.ma.MaskedArray`.
pub(in crate::python) fn is_masked(value: &Bound<'_, PyAny>) -> Result<bool> {
    let py = value.py();
    if is_plain(value) {
        return Ok(false);
    }
    Ok(value.is_instance(&numpy(py)?.getattr(intern!(py, "ma"))?.getattr(intern!(py, "MaskedArray"))?)?)
}

/// The target of `__array_struct__`, as NumPy documents it.
#[repr(C)]
struct ArrayStruct {
    /// Always 2.
    two: c_int,
    nd: c_int,
    typekind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *mut c_void,
    descr: *mut c_void,
}

const NOT_SWAPPED: c_int = 0x200;
const WRITEABLE: c_int = 0x400;

const SWAPPED: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Little } else { ByteOrder::Big };

/// The memory of a plain array.
fn described(array: &Bound<'_, PyAny>) -> Result<Interface> {
    let py = array.py();
    let capsule = array.getattr(intern!(py, "__array_struct__"))?;
    let pointer = capsule.cast::<PyCapsule>().map_err(PyErr::from)?.pointer_checked(None)?;
    // SAFETY: the capsule comes from NumPy and holds NumPy's structure; it lives until the end of this function.
    let read = unsafe { pointer.cast::<ArrayStruct>().as_ref() };
    if read.two != 2 {
        return Err(Error::not_an_array(format!(
            "numpy.ndarray.__array_struct__ begins with {}, not with 2",
            read.two
        )));
    }
    let axes = |first: *const isize| match usize::try_from(read.nd) {
        // SAFETY: `shape` and `strides` point to `nd` numbers each, which the array keeps alive. They may be null if `nd` is 0.
        Ok(ndim @ 1..) => unsafe { slice::from_raw_parts(first, ndim) },
        _ => &[],
    };
    let Element { typestr, descr } = element(array, read)?;
    let shape: Dims = axes(read.shape).iter().map(|&length| length as usize).collect();
    let layout = Layout::from_parts(shape, Some(Strides::from_slice(axes(read.strides))), typestr.itemsize())?;
    let mut interface = Interface::new(read.data.addr() as u64, typestr, layout).map_err(Error::into_argument)?;
    let writeable = match read.descr.is_null() {
        true => read.flags & WRITEABLE != 0,
        // When NumPy writes a descr, it drops the other flags.
        false => array.getattr(intern!(py, "flags"))?.getattr(intern!(py, "writeable"))?.is_truthy()?,
    };
    interface.set_read_only(!writeable);
    if let Some(descr) = descr {
        interface.set_descr(descr)?;
    }
    Ok(interface)
}

/// The type of the elements. The structure describes most types; for structures, time units and types of NumPy's extensions
/// the array's dtype is read.
fn element(array: &Bound<'_, PyAny>, read: &ArrayStruct) -> Result<Element> {
    let kind = match read.typekind as u8 {
        b'b' => Kind::Bool,
        b'i' => Kind::Int,
        b'u' => Kind::UInt,
        b'f' => Kind::Float,
        b'c' => Kind::Complex,
        _ => return Element::of_dtype(&array.getattr(intern!(array.py(), "dtype"))?),
    };
    let order = match (read.itemsize, read.flags & NOT_SWAPPED != 0) {
        (1, _) => ByteOrder::NotApplicable,
        (_, true) => ByteOrder::NATIVE,
        (_, false) => SWAPPED,
    };
    match TypeStr::new(order, kind, read.itemsize.unsigned_abs()) {
        Ok(typestr) => Ok(Element { typestr, descr: None }),
        Err(_) => Element::of_dtype(&array.getattr(intern!(array.py(), "dtype"))?),
    }
}

/// The error for a NumPy that cannot be imported: an `ImportError` with advice, and the first error as its cause.
#[cold]
fn missing(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyImportError>(py) {
        return error;
    }
    let what = "this needs NumPy, which cannot be imported: install it (`pip install numpy`). Device arrays do not need it: \
                `typestr` names the element type, and `dtype` takes type strings and names such as 'float32'";
    let explained = PyImportError::new_err(what);
    explained.set_cause(py, Some(error));
    explained
}

struct NumPy {
    module: Py<PyModule>,
    ndarray: Py<PyAny>,
}

static NUMPY: PyOnceLock<NumPy> = PyOnceLock::new();

/// The module `numpy`.
pub(in crate::python) fn numpy(py: Python<'_>) -> Result<&Bound<'_, PyModule>> {
    let load = || {
        let module = py.import("numpy").map_err(|error| missing(py, error))?;
        let ndarray = module.getattr(intern!(py, "ndarray"))?.unbind();
        Ok::<_, Error>(NumPy { module: module.unbind(), ndarray })
    };
    Ok(NUMPY.get_or_try_init(py, load)?.module.bind(py))
}
