//! Arrays in mapped, managed and pinned memory, and arrays like another.
//!
//! A mapped or managed array is a `DeviceArray` whose memory the host reaches too: `host_view()` is a NumPy array over it. A pinned
//! array is used by the host, so it is a NumPy array from the start. NumPy keeps the owner of memory in `base`, which may be any
//! object with `__array_interface__`. [`HostMemory`] is such an object, and holds the owner of the memory.

use super::{PyDeviceArray, create, dictionary};
use crate::python::{
    import,
    memory::{
        owner::PyMemory,
        runtime::{context_on, driver},
    },
    values::{
        dtype::{self, Element},
        host::{self, HostArray},
        numbers::ordinal,
    },
};
use crate::{
    DevicePtr, Interface, Result,
    driver::{Allocation, MemoryKind},
    sync::Memory,
};
use pyo3::{PyTraverseError, PyVisit, intern, prelude::*, types::PyDict};

/// Memory that the host reaches, with NumPy's interface; the `base` of the NumPy arrays over it.
#[pyclass(frozen, weakref, name = "HostMemory", module = "cuarray")]
pub struct HostMemory {
    interface: Py<PyDict>,
    owner: Option<Py<PyAny>>,
}

/// An address for arrays without elements: the start of a page, so aligned for every type.
const NOWHERE: DevicePtr = 4096;

impl HostMemory {
    /// A NumPy array over the elements of `interface`, whose first element is at `address` on the host; it keeps `owner`.
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
        // NumPy before 2.3 takes no null pointer, not even for an array without elements; any other address works.
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
    /// NumPy's array interface: the same grammar, for host memory.
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

/// Makes an uninitialized device array with the shape and type of `ary`: a CUDA array, a NumPy array, or a value for numpy.asarray.
///
/// It is contiguous, and its axes lie in memory in the order of those of `ary`. stream: the new array's home stream.
/// device: the ordinal of its device, as for `device_array`, independent of the device of `ary`.
///
/// >>> cuarray.device_array_like(cuarray.device_array((3, 4), "float32", order="F")).strides
/// (4, 12)
#[pyfunction]
#[pyo3(signature = (ary, stream=None, *, device=None))]
pub(in crate::python) fn device_array_like<'py>(
    ary: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let like = match import::array(ary)? {
        Some(array) => array.get().interface().clone(),
        None => HostArray::of(ary, None)?.interface,
    };
    let element = Element::of_interface(&like);
    create::allocate(ary.py(), MemoryKind::Device, element, like.layout().packed()?, stream, device)
}

/// Makes an uninitialized array in page-locked host memory that devices reach: every access of a kernel goes over the bus.
/// `host_view()` is a NumPy array over it. The arguments are those of `device_array`. Every device reaches the memory; `device`
/// names the device whose context owns it.
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
    #[pyo3(from_py_with = ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let element = Element::of(py, dtype)?;
    let layout = create::layout(shape, strides, order, &element)?;
    create::allocate(py, MemoryKind::Mapped, element, layout, stream, device)
}

/// Makes an uninitialized array in managed memory, which the driver moves to the processor that uses it. `host_view()` is a NumPy
/// array over it. The arguments are those of `device_array`. Every device reaches the memory; `device` names the device whose
/// context owns it.
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
    #[pyo3(from_py_with = ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let element = Element::of(py, dtype)?;
    let layout = create::layout(shape, strides, order, &element)?;
    create::allocate(py, MemoryKind::Managed, element, layout, stream, device)
}

/// Makes an uninitialized NumPy array in page-locked host memory, so that copies to and from it can overlap with other work.
/// The memory is freed with the last NumPy array over it. The arguments are those of `device_array`. `device` names the device
/// whose context owns the memory; copies work with every device.
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
    #[pyo3(from_py_with = ordinal)] device: Option<i32>,
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
