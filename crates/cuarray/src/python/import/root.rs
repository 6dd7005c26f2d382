//! Recognition of this library's own arrays when another library exports them again.
//!
//! An import keeps the object that it was made from (clause L2), and that object keeps the array that the object was
//! made from. An array that travels between two libraries would grow a chain of owners. But if the object only keeps
//! an array of this library, the import can keep that array's memory instead.
//!
//! This is sound if the import needs nothing that belongs to the object. The elements lie within the first array,
//! whose owner keeps the memory alive. The stream is a default stream or the first array's home stream. There is no
//! mask. Only one exact type qualifies: numba's `DeviceNDArray`, which stores a pointer together with its owner.
//! Every other object is kept alive, as the clause requires.
//!
//! The result is a view of the first array. It shares pending work, a borrow, and the read-only flag, which other
//! libraries lose.

use crate::python::{array::PyDeviceArray, ffi::type_bits::TypeBits};
use crate::{Interface, StreamEntry};
use pyo3::{intern, prelude::*, sync::PyOnceLock, types::PyType};

/// The view of this library's array that `interface`, read from `object`, describes; `None` if `object` has to be kept.
#[inline]
pub(in crate::python) fn returned<'py>(
    object: &Bound<'py, PyAny>,
    interface: &Interface,
) -> PyResult<Option<Bound<'py, PyDeviceArray>>> {
    /// Whether a type is a known one.
    static KNOWN: TypeBits<16> = TypeBits::new();
    if KNOWN.get(object.get_type_ptr()) == Some(false) {
        return Ok(None);
    }
    // Attached again, because this may drop Python objects (see `as_cuda_array`).
    Python::attach(|_| {
        let of = object.get_type();
        if !is_known(&of) {
            KNOWN.set(&of, false);
            return Ok(None);
        }
        let Some(root) = keeps(object) else { return Ok(None) };
        view(&root, interface)
    })
}

/// Whether the type is numba's array type.
fn is_known(of: &Bound<'_, PyType>) -> bool {
    static NUMBA: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = of.py();
    if let Some(known) = NUMBA.get(py) {
        return of.is(known);
    }
    let says = |name: &str, module: &str| {
        of.name().is_ok_and(|is| is == name) && of.module().is_ok_and(|is| is.to_string_lossy().ends_with(module))
    };
    let known = says("DeviceNDArray", "numba.cuda.cudadrv.devicearray");
    if known {
        let _ = NUMBA.set(py, of.clone().unbind());
    }
    known
}

/// The array of this library that owns the memory of a numba array, if any.
fn keeps<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDeviceArray>> {
    let py = object.py();
    let owner = object.getattr(intern!(py, "gpu_data")).and_then(|data| data.getattr(intern!(py, "owner"))).ok()?;
    owner.cast_into_exact::<PyDeviceArray>().ok()
}

fn view<'py>(root: &Bound<'py, PyDeviceArray>, interface: &Interface) -> PyResult<Option<Bound<'py, PyDeviceArray>>> {
    let (py, array) = (root.py(), root.get());
    let (inner, outer) = (interface.byte_range(), array.interface().byte_range());
    let within = !inner.is_empty() && outer.start <= inner.start && inner.end <= outer.end;
    let stream = interface.stream();
    let its_own = stream == array.interface().stream();
    let somebody_elses = matches!(stream, StreamEntry::Handle(_)) && !its_own;
    if !within || somebody_elses {
        return Ok(None);
    }
    let read_only = interface.is_read_only() || array.interface().is_read_only();
    let interface = interface.clone().with_read_only(read_only);
    let home = if its_own { array.own_stream(py) } else { None };
    Bound::new(py, array.bound_to(py, interface, home)?.with_mask(None)).map(Some)
}
