//! Arrays over the other kinds of memory that the driver gives: mapped, managed, pinned; and arrays like another.
//!
//! A mapped or managed array is a `DeviceArray` like any other, whose memory the host reaches too: `host_view()` is a NumPy
//! array over it. A pinned array is for the host, so it is a NumPy array at once. NumPy has a memory's owner in `base`, whatever
//! offers `__array_interface__`; [`HostMemory`] is that, and holds what frees the memory.

use super::{PyDeviceArray, create};
use crate::python::{
    export, import,
    memory::{
        owner::PyMemory,
        runtime::{context_on, driver},
    },
    values::{
        dtype::{self, Element},
        host::{self, HostArray},
    },
};
use crate::{
    Interface, Result,
    driver::{Allocation, MemoryKind},
    sync::Memory,
};
use pyo3::{PyTraverseError, PyVisit, intern, prelude::*, types::PyDict};

/// Memory that the host reaches, as NumPy takes it; the `base` of the NumPy arrays over it.
#[pyclass(frozen, weakref, name = "HostMemory", module = "cuarray")]
pub struct HostMemory {
    interface: Py<PyDict>,
    owner: Option<Py<PyAny>>,
}

/// An address for what has no elements; a page's start, and so aligned for every type.
const NOWHERE: u64 = 4096;

impl HostMemory {
    /// A NumPy array over the elements of `interface`, of which the host has the first at `address`; it keeps `owner`.
    pub(in crate::python) fn array<'py>(
        py: Python<'py>,
        address: u64,
        interface: &Interface,
        owner: Option<Py<PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let dtype = dtype::of_interface(py, interface)?;
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "shape"), export::shape(py, interface)?)?;
        dict.set_item(intern!(py, "strides"), export::strides(py, interface)?)?;
        dict.set_item(intern!(py, "typestr"), interface.typestr().to_string())?;
        // NumPy before 2.3 takes no null pointer, not even for an array without elements; any other will do for that.
        let address = if interface.layout().is_empty() { NOWHERE } else { address };
        dict.set_item(intern!(py, "data"), (address, interface.is_read_only()))?;
        dict.set_item(intern!(py, "version"), 3)?;
        let memory = Bound::new(py, HostMemory { interface: dict.unbind(), owner })?;
        let array = host::numpy(py)?.call_method1(intern!(py, "asarray"), (memory,))?;
        let says_more = interface.descr().is_some() || interface.typestr().name().is_some();
        Ok(if says_more { array.call_method1(intern!(py, "view"), (dtype,))? } else { array })
    }
}

#[pymethods]
impl HostMemory {
    /// NumPy's own interface: the same grammar, for the host.
    #[getter(__array_interface__)]
    fn array_interface(&self, py: Python<'_>) -> Py<PyDict> {
        self.interface.clone_ref(py)
    }

    /// What keeps the memory alive.
    #[getter]
    fn owner(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.owner.as_ref().map(|owner| owner.clone_ref(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}

/// A new, uninitialized device array of the shape and type of `ary`: a CUDA array, a NumPy array, or what numpy.asarray takes.
///
/// It is contiguous, with the axes in the order in which those of `ary` lie in memory. stream: the new array's default stream.
/// device: the ordinal of its device, as for `device_array`, whichever `ary` is on.
///
/// >>> cuarray.device_array_like(cuarray.device_array((3, 4), "float32", order="F")).strides
/// (4, 12)
#[pyfunction]
#[pyo3(signature = (ary, stream=None, *, device=None))]
pub(in crate::python) fn device_array_like<'py>(
    ary: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = create::ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let like = match import::array(ary)? {
        Some(array) => array.get().interface().clone(),
        None => HostArray::of(ary, None)?.interface,
    };
    let element = Element::of_interface(&like);
    create::allocate(ary.py(), MemoryKind::Device, element, like.layout().packed()?, stream, device)
}

/// A new, uninitialized array in host memory that is locked in place and that devices reach: every access of a kernel goes over
/// the bus. `host_view()` gives it to the host. The arguments are those of `device_array`; `device` is that of the context which
/// owns the memory, as every device reaches it.
///
/// >>> a = cuarray.mapped_array((2, 2), "float32")
/// >>> a.host_view()[:] = 1
/// >>> a.is_host_accessible
/// True
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, strides=None, order="C", stream=None, *, device=None))]
pub(in crate::python) fn mapped_array<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    strides: Option<&Bound<'py, PyAny>>,
    order: &str,
    stream: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = create::ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let element = Element::of(py, dtype)?;
    let layout = create::layout(shape, strides, order, &element)?;
    create::allocate(py, MemoryKind::Mapped, element, layout, stream, device)
}

/// A new, uninitialized array in managed memory, which the driver moves to whoever uses it. `host_view()` gives it to the host.
/// The arguments are those of `device_array`; `device` is that of the context which owns the memory, as every device reaches it.
///
/// >>> cuarray.managed_array(3, "int32").is_managed
/// True
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, strides=None, order="C", stream=None, *, device=None))]
pub(in crate::python) fn managed_array<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    strides: Option<&Bound<'py, PyAny>>,
    order: &str,
    stream: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = create::ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let element = Element::of(py, dtype)?;
    let layout = create::layout(shape, strides, order, &element)?;
    create::allocate(py, MemoryKind::Managed, element, layout, stream, device)
}

/// A new, uninitialized NumPy array in host memory that is locked in place, so that copies to and from it can run beside other
/// work. The memory is freed when the last NumPy array over it goes. The arguments are those of `device_array`;
/// `device` is that of the context which owns the memory, which is good for copies with every device.
///
/// >>> p = cuarray.pinned_array((2, 3), "int32")
/// >>> p[:] = 5
/// >>> cuarray.to_device(p).copy_to_host().tolist()
/// [[5, 5, 5], [5, 5, 5]]
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, strides=None, order="C", *, device=None))]
pub(in crate::python) fn pinned_array<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    strides: Option<&Bound<'py, PyAny>>,
    order: &str,
    #[pyo3(from_py_with = create::ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyAny>> {
    let element = Element::of(py, dtype)?;
    let layout = create::layout(shape, strides, order, &element)?;
    let extent = layout.byte_extent();
    let bytes = extent.end.abs_diff(extent.start);
    let memory = py.detach(|| {
        let context = device.map_or_else(|| driver()?.default_context(), context_on)?;
        Memory::new(&context, || Allocation::pinned(&context, bytes))
    })?;
    let first =
        memory.allocation().host_ptr().map_or(0, |start| start.addr() as u64 + extent.start.unsigned_abs() as u64);
    let mut interface = Interface::new(first, element.typestr, layout)?;
    if let Some(descr) = element.descr {
        interface = interface.with_descr(descr)?;
    }
    let owner = Py::new(py, PyMemory::new(memory))?.into_any();
    HostMemory::array(py, first, &interface, Some(owner))
}
