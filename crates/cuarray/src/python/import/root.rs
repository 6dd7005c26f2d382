//! An array of ours that comes back: what was made of it on the way is not kept.
//!
//! An import keeps the object that it was made from (clause L2), and the object keeps the array that *it* was made from. An array
//! that goes to and fro between two libraries would so grow a chain of owners, a link each time, and free it link by link at
//! the end. But the object's only part in it may be to keep an array of ours; then that array's memory is kept instead.
//!
//! That is sound where the object has nothing of its own that the import needs: not the memory, for the elements lie within those
//! of our array, whose owner keeps them; not the stream, unless it is a default stream or our array's own; no mask. Whether it
//! has anything else is known of types that are known, by their exact type and not of subclasses: numba's `DeviceNDArray`, which
//! has a pointer that says whose it is. Any other object is kept, as the clause has it.
//!
//! What comes back so is a view of our array: it shares what is pending, is borrowed if that is, and read-only if that is,
//! though libraries lose that mark on the way.

use crate::python::array::PyDeviceArray;
use crate::{Interface, StreamEntry};
use pyo3::{ffi, intern, prelude::*, sync::PyOnceLock, types::PyType};
use std::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// The array of ours that `interface`, read from `object`, is a view of, as that view; `None` where it is none, or `object` has to be
/// kept.
#[inline]
pub(in crate::python) fn returned<'py>(
    object: &Bound<'py, PyAny>,
    interface: &Interface,
) -> PyResult<Option<Bound<'py, PyDeviceArray>>> {
    /// The type that was met last and is none of those that are known: nearly every import is of the same type as the last.
    static OTHER: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());
    let of = object.get_type_ptr();
    if OTHER.load(Relaxed) == of {
        return Ok(None);
    }
    // Attached anew, since imports drop nothing otherwise (see `as_cuda_array`), and this may.
    Python::attach(|_| {
        if !is_known(&object.get_type()) {
            OTHER.store(of, Relaxed);
            return Ok(None);
        }
        let Some(root) = keeps(object) else { return Ok(None) };
        view(&root, interface)
    })
}

/// Whether it is numba's array type.
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

/// The array of ours whose memory a numba array has; whatever it answers that is not that, it is some other array.
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
