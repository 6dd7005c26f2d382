//! The functions of the package that make arrays (clauses N1, N4, L2, L3), over what the other folders import, allocate and copy.

use crate::python::{
    array::{
        PyDeviceArray,
        copies::Elements,
        create,
        host_memory::HostMemory,
        mask::{self, ArrayMask},
    },
    ffi::{
        inspect::{shown, type_name},
        raised::passes_through,
    },
    import::{self, Adopted, c_interface},
    memory::{contexts::context_on, owner::PyMemory, runtime::driver},
    values::{
        dtype::Element,
        host::{self, HostArray},
        numbers::ordinal,
        options::Options,
    },
};
use crate::{
    Error, Interface, Result,
    driver::{Allocation, MemoryKind},
    sync::Memory,
};
use pyo3::{intern, prelude::*, types::PyDict};

/// Makes a DeviceArray from an interface dictionary, without copying. It keeps `owner` alive, and nothing else (clause L3).
///
/// `sync`, `strict`, `mask`, `mask_format`, `dtype`, `bounds` and the errors are as in `as_cuda_array`.
///
/// >>> desc = {"shape": (2,), "typestr": "<f4", "data": (0x7f0000000000, False), "version": 3}
/// >>> cuarray.from_cuda_array_interface(desc)
/// DeviceArray(shape=(2,), typestr='<f4', ptr=0x7f0000000000)
#[pyfunction]
#[pyo3(
    signature = (desc, owner=None, sync=true, **options),
    text_signature = "(desc, owner=None, sync=True, *, strict=True, mask=None, mask_format=None, dtype=None, bounds=False)"
)]
pub(in crate::python) fn from_cuda_array_interface<'py>(
    desc: &Bound<'py, PyAny>,
    owner: Option<Py<PyAny>>,
    sync: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let options = Options::of("from_cuda_array_interface", options)?;
    let dict = desc.cast::<PyDict>().map_err(|_| {
        Error::not_an_array(format!(
            "{} is a {}; a dict is expected (of an object, use as_cuda_array)",
            shown(desc),
            type_name(desc)
        ))
    })?;
    let Adopted { interface, mask, .. } = import::adopt(dict, None, sync, options)?;
    Ok(Bound::new(desc.py(), PyDeviceArray::foreign(interface, owner).with_mask(mask))?)
}

/// Returns whether `as_cuda_array(obj)` would find an interface: a DeviceArray, an object whose `__cuda_array_interface__` is
/// a dictionary, or an object whose type has `__cuda_array_c_interface__`. An attribute that raises counts as no interface, and
/// so does a DLPack tensor.
///
/// >>> cuarray.is_cuda_array([1, 2])
/// False
#[pyfunction]
pub(in crate::python) fn is_cuda_array(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    match import::attribute(obj) {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_an_array() => Ok(c_interface::is_offered_now(obj)),
        Err(error) => {
            let error = PyErr::from(error);
            if passes_through(obj.py(), &error) { Err(error) } else { Ok(false) }
        }
    }
}

/// Defines functions that make an uninitialized array. They differ in the kind of memory.
macro_rules! uninitialized {
    ($($(#[doc = $doc:expr])+ $name:ident: $kind:ident;)+) => {$(
        $(#[doc = $doc])+
        #[pyfunction]
        #[pyo3(signature = (shape, dtype=None, strides=None, order="C", stream=None, *, device=None))]
        pub(in crate::python) fn $name<'py>(
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
            create::allocate(py, MemoryKind::$kind, element, layout, stream, device)
        }
    )+};
}

uninitialized! {
    /// Makes an uninitialized array in device memory.
    ///
    /// shape: an int or a tuple of ints. dtype: any argument of numpy.dtype; 'bfloat16' and the 8-bit floats by name.
    /// strides: bytes for each dimension, or None for contiguous elements in `order` 'C' or 'F'. stream: the array's home
    /// stream. device: the ordinal of the device; by default that of `stream`, else the current one, else 0.
    ///
    /// Raises ValueError if shape, strides, dtype, order or device are wrong, or if `stream` belongs to another device.
    /// Raises CudaError without a driver or without memory.
    ///
    /// >>> cuarray.device_array((2, 3), "float32").nbytes
    /// 24
    /// >>> cuarray.device_array(3, device=0).device
    /// 0
    device_array: Device;

    /// Makes an uninitialized array in page-locked host memory that devices reach: every access of a kernel goes over the bus.
    /// `host_view()` is a NumPy array over it. The arguments are those of `device_array`. Every device reaches the memory; `device`
    /// names the device whose context owns it.
    ///
    /// >>> a = cuarray.mapped_array((2, 2), "float32")
    /// >>> a.host_view()[:] = 1
    /// >>> a.is_host_accessible
    /// True
    mapped_array: Mapped;

    /// Makes an uninitialized array in managed memory, which the driver moves to the processor that uses it. `host_view()` is a NumPy
    /// array over it. The arguments are those of `device_array`. Every device reaches the memory; `device` names the device whose
    /// context owns it.
    ///
    /// >>> cuarray.managed_array(3, "int32").is_managed
    /// True
    managed_array: Managed;
}

/// Makes a device array with the elements of `host`: a NumPy array, any argument of numpy.asarray, or a CUDA array.
///
/// The new array is contiguous, in Fortran order if `host` is, and masked if `host` is a `numpy.ma.MaskedArray`. With `stream`,
/// that is the home stream and the copy is enqueued there. A pinned host array must then live until the stream is
/// synchronized, and so must another library's array whose dictionary names no stream.
/// device: the ordinal of the new array's device, as for `device_array`; a CUDA array may be on another one.
///
/// >>> cuarray.to_device([1, 2, 3]).shape
/// (3,)
#[pyfunction]
#[pyo3(signature = (host, stream=None, *, device=None))]
pub(in crate::python) fn to_device<'py>(
    host: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = ordinal)] device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let py = host.py();
    if host::is_plain(host) {
        return create::copy_of(HostArray::of(host, None)?, stream, device);
    }
    if let Some(array) = import::array(host)? {
        let array = array.get();
        let data = copied(py, array, stream, device)?;
        let Some(mask) = array.mask() else { return Ok(data) };
        let mask = copied(py, mask.array(py)?.get(), stream, device)?;
        return masked(data, mask);
    }
    if host::is_masked(host)? {
        let valid = mask::valid(host)?;
        let data = create::copy_of(HostArray::of(&host.getattr(intern!(py, "data"))?, None)?, stream, device)?;
        return masked(data, create::copy_of(HostArray::of(&valid, None)?, stream, device)?);
    }
    create::copy_of(HostArray::of(host, None)?, stream, device)
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

/// Copies the elements of a device array to a new one, regardless of the mask.
fn copied<'py>(
    py: Python<'py>,
    array: &PyDeviceArray,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<i32>,
) -> Result<Bound<'py, PyDeviceArray>> {
    create::filled(py, array.interface(), Elements::Device(&array.share(py)?), stream, device)
}

/// `data` with `mask`.
fn masked<'py>(data: Bound<'py, PyDeviceArray>, mask: Bound<'py, PyDeviceArray>) -> Result<Bound<'py, PyDeviceArray>> {
    let mask = ArrayMask::of_elements(mask.unbind());
    Ok(Bound::new(data.py(), data.get().share(data.py())?.with_mask(Some(mask)))?)
}
