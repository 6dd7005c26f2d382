//! Memory that the host can access: mapped, managed and pinned.
//!
//! A mapped or managed array is a `DeviceArray` whose memory the host can access too: `host_view()` is a NumPy array
//! over that memory. The host uses a pinned array directly, so it is a NumPy array from the start. NumPy keeps the
//! owner of memory in `base`, which may be any object with `__array_interface__`. [`HostMemory`] is such an object,
//! and holds the owner of the memory.

use super::dictionary;
use crate::{
    Interface, Result,
    python::values::{dtype, host},
};
use pyo3::{PyTraverseError, PyVisit, intern, prelude::*, types::PyDict};

/// Memory that the host can access, with NumPy's interface; the `base` of the NumPy arrays over it.
#[pyclass(frozen, weakref, name = "HostMemory", module = "cuarray")]
pub struct HostMemory {
    interface: Py<PyDict>,
    owner: Option<Py<PyAny>>,
}

/// An address for arrays without elements: the start of a page, and so aligned for every type.
const EMPTY_ADDRESS: u64 = 4096;

impl HostMemory {
    /// A NumPy array over the elements of `interface`, whose first element is at host address `address`. It keeps `owner` alive.
    pub(in crate::python) fn array<'py>(
        py: Python<'py>,
        address: u64,
        interface: &Interface,
        owner: Option<Py<PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let dtype = dtype::of_interface(py, interface)?;
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "shape"), dictionary::shape(py, interface)?)?;
        dict.set_item(intern!(py, "strides"), dictionary::strides(py, interface)?)?;
        dict.set_item(intern!(py, "typestr"), interface.typestr().to_string())?;
        // NumPy before 2.3 refuses a null pointer even for an array without elements; it accepts any other address.
        let address = if interface.layout().is_empty() { EMPTY_ADDRESS } else { address };
        dict.set_item(intern!(py, "data"), (address, interface.is_read_only()))?;
        dict.set_item(intern!(py, "version"), 3)?;
        let memory = Bound::new(py, HostMemory { interface: dict.unbind(), owner })?;
        let array = host::numpy(py)?.call_method1(intern!(py, "asarray"), (memory,))?;
        let needs_dtype = interface.descr().is_some() || interface.typestr().name().is_some();
        Ok(if needs_dtype { array.call_method1(intern!(py, "view"), (dtype,))? } else { array })
    }
}

#[pymethods]
impl HostMemory {
    /// NumPy's array interface of the memory.
    #[getter(__array_interface__)]
    fn array_interface(&self, py: Python<'_>) -> Py<PyDict> {
        self.interface.clone_ref(py)
    }

    /// The object that keeps the memory alive.
    #[getter]
    fn owner(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.owner.as_ref().map(|owner| owner.clone_ref(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}
