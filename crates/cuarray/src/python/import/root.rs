//! Recognition of this library's own arrays when another library exports them again.
//!
//! An import keeps the other library's object (clause L2). If that object was made from an array of this library, it keeps that
//! array. So an array that is passed to and fro would get an ever longer chain of owners. But if the object owns nothing except
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

/// Returns the view of this library's array that `interface` describes; `None` if the import must keep `object` alive.
/// `interface` was read from `object`.
#[inline]
pub(in crate::python) fn returned<'py>(
    object: &Bound<'py, PyAny>,
    interface: &Interface,
) -> PyResult<Option<Bound<'py, PyDeviceArray>>> {
    /// Whether each queried type is numba's array type.
    static CACHE: TypeBits<16> = TypeBits::new();
    if CACHE.get(object.get_type_ptr()) == Some(false) {
        return Ok(None);
    }
    // `fastcall` does not count this thread as attached, and then the release of a dropped Python object is delayed.
    Python::attach(|_| {
        let of = object.get_type();
        if !is_numba_array(&of) {
            CACHE.set(&of, false);
            return Ok(None);
        }
        let Some(root) = owner_array(object) else { return Ok(None) };
        view(&root, interface)
    })
}

/// Whether the type is numba's array type.
fn is_numba_array(of: &Bound<'_, PyType>) -> bool {
    static NUMBA: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = of.py();
    if let Some(numba) = NUMBA.get(py) {
        return of.is(numba);
    }
    let is_named = |name: &str, module: &str| {
        of.name().is_ok_and(|is| is == name) && of.module().is_ok_and(|is| is.to_string_lossy().ends_with(module))
    };
    let found = is_named("DeviceNDArray", "numba.cuda.cudadrv.devicearray");
    if found {
        let _ = NUMBA.set(py, of.clone().unbind());
    }
    found
}

/// The array of this library that owns the memory of a numba array, if any.
fn owner_array<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDeviceArray>> {
    let py = object.py();
    let owner = object.getattr(intern!(py, "gpu_data")).and_then(|data| data.getattr(intern!(py, "owner"))).ok()?;
    owner.cast_into_exact::<PyDeviceArray>().ok()
}

fn view<'py>(root: &Bound<'py, PyDeviceArray>, interface: &Interface) -> PyResult<Option<Bound<'py, PyDeviceArray>>> {
    let (py, array) = (root.py(), root.get());
    let (inner, outer) = (interface.byte_range(), array.interface().byte_range());
    let within = !inner.is_empty() && outer.start <= inner.start && inner.end <= outer.end;
    let stream = interface.stream();
    let is_home = stream == array.interface().stream();
    let is_foreign = matches!(stream, StreamEntry::Handle(_)) && !is_home;
    if !within || is_foreign {
        return Ok(None);
    }
    let read_only = interface.is_read_only() || array.interface().is_read_only();
    let interface = interface.clone().with_read_only(read_only);
    let home = if is_home { array.stream_object(py) } else { None };
    Bound::new(py, array.bound_to(py, interface, home)?.with_mask(None)).map(Some)
}
