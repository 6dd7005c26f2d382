//! The Python class `DeviceArray`: its attributes and methods, with the texts of `help()`.
//!
//! PyO3 wants one block of methods for a class, so all of them are here. This file holds names, arguments and docs. The work is
//! done in [`conversion`], [`comparison`] and the folder [`array`](crate::python::array).

use super::{comparison, conversion};
use crate::{
    DevicePtr, Result,
    driver::MemoryKind,
    python::{
        array::{ExportedStream, PyDeviceArray, assign, indexing, tensor, view},
        export::{
            c_interface,
            dlpack::{self, Request},
        },
        import::{
            self, exchange,
            ipc::{self, PyIpcHandle},
        },
        memory::stream::{self, PyStream},
    },
    sync::Access,
};
use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyTuple},
};

#[pymethods]
impl PyDeviceArray {
    /// The interface for other libraries, in version 3 or the version of `cuarray.config.export_version`.
    #[getter(__cuda_array_interface__)]
    fn cuda_array_interface<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        self.check_borrow()?;
        let dict = self.dictionary(py)?;
        let ExportedStream { stream, event } = self.export_stream(py)?;
        if let Some(stream) = stream.filter(|stream| *stream != self.interface().stream()) {
            dict.set_item(intern!(py, "stream"), stream.handle())?;
        }
        if let Some(event) = event {
            dict.set_item(intern!(py, "event"), event.get())?;
        }
        if let Some(mask) = self.mask() {
            dict.set_item(intern!(py, "mask"), mask.array(py)?)?;
        }
        Ok(dict)
    }

    /// The interface as a C structure in a capsule: the contents of the dictionary, read faster (include/cuarray.h, clause X1).
    #[getter(__cuda_array_c_interface__)]
    fn cuda_array_c_interface<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
        c_interface::capsule(slf)
    }

    /// A DLPack capsule of the array, for another library's `from_dlpack`.
    ///
    /// stream: the stream in which the consumer will work: a handle, 1 or None (the legacy default stream), 2 (the per-thread
    /// default stream), or -1 (no ordering). That stream waits for all work on the array. max_version: the newest version that the
    /// consumer reads; without it the structure predates version 1 and cannot mark an array read-only.
    /// dl_device: (1, 0) makes a copy in host memory. copy: True always copies, False never.
    ///
    /// Raises BufferError if DLPack cannot describe the array: masks, fields, times, text, swapped bytes, or strides that are
    /// not a multiple of the item size.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> Result<Bound<'py, PyAny>> {
        let max_version = dlpack::pair("max_version", max_version)?;
        let device = dlpack::pair("dl_device", dl_device)?;
        dlpack::capsule(slf, &Request { stream, max_version, device, copy })
    }

    /// The device of the memory, in DLPack's numbers: (2, ordinal) for device memory, (3, 0) for host memory, (13, 0) for managed.
    fn __dlpack_device__(&self) -> Result<(i32, i32)> {
        let device = tensor::device(self)?;
        Ok((device.device_type, device.device_id))
    }

    /// DLPack's table of C functions, for consumers that support it.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        exchange::capsule(py)
    }

    /// The size of each dimension.
    #[getter(shape)]
    fn get_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.shape(py)
    }

    /// The bytes to step in each dimension, also for a contiguous array.
    #[getter(strides)]
    fn get_strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.strides(py)
    }

    /// The element type, as a numpy.dtype. For bfloat16 and the 8-bit floats it is the type of ml_dtypes, or void without ml_dtypes.
    #[getter(dtype)]
    fn get_dtype<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.dtype(py)
    }

    /// The element type as the interface writes it, or its name if it has one ('bfloat16'); needs no NumPy.
    #[getter]
    fn typestr(&self) -> String {
        self.interface().typestr().label()
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.interface().layout().ndim()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.interface().layout().len()
    }

    /// The bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.interface().layout().itemsize()
    }

    /// The bytes of all elements, without gaps.
    #[getter]
    fn nbytes(&self) -> usize {
        self.interface().nbytes()
    }

    /// The address of the first element. Raises BufferError if the array was borrowed and the borrow has ended.
    #[getter]
    fn ptr(&self) -> Result<DevicePtr> {
        self.check_borrow()?;
        Ok(self.interface().data())
    }

    /// Records work on the array that other code has enqueued in `stream`: a kernel, or another library's copy. Later use of the
    /// array waits for it: cuarray's own work, a consumer in the exported stream (clause P2), and the release of the memory.
    ///
    /// Call it after the work is enqueued. With `readonly=True` the work only reads, so other readers need not wait.
    /// Driver calls: cuEventRecord, and cuStreamWaitEvent if the array has a home stream.
    ///
    /// >>> a, s = cuarray.to_device([1, 2, 3]), cuarray.stream()
    /// >>> a.record_stream(s)  # after a launch in s
    #[pyo3(signature = (stream, *, readonly=false))]
    fn record_stream(&self, py: Python<'_>, stream: &Bound<'_, PyAny>, readonly: bool) -> Result<()> {
        let (state, stream) = (self.sync_state()?, stream::argument(stream)?);
        let access = if readonly { Access::Read } else { Access::Write };
        py.detach(|| state.record(&stream, access))
    }

    /// Whether the elements must not be written.
    #[getter]
    fn readonly(&self) -> bool {
        self.interface().is_read_only()
    }

    /// Whether the elements lie in C order without gaps.
    fn is_c_contiguous(&self) -> bool {
        self.interface().layout().is_c_contiguous()
    }

    /// Whether the elements lie in Fortran order without gaps.
    fn is_f_contiguous(&self) -> bool {
        self.interface().layout().is_f_contiguous()
    }

    /// The home stream: the stream of transfers without `stream=`, and the exported one. None if there is none.
    #[getter(stream)]
    fn get_stream(&self, py: Python<'_>) -> Result<Option<Py<PyStream>>> {
        self.stream(py)
    }

    /// The mask: an array whose elements are true where this array's are valid. It has any type with a truth value, and
    /// broadcasts to this array's shape (clause I10). None if all elements are valid.
    #[getter(mask)]
    fn mask_array(&self, py: Python<'_>) -> Result<Option<Py<PyDeviceArray>>> {
        self.mask().map(|mask| Ok(mask.array(py)?.clone_ref(py))).transpose()
    }

    /// This array without its mask.
    #[getter]
    fn data(slf: &Bound<'_, Self>) -> PyResult<Py<PyDeviceArray>> {
        let (py, array) = (slf.py(), slf.get());
        if array.mask().is_none() {
            return Ok(slf.clone().unbind());
        }
        Py::new(py, array.share(py)?)
    }

    /// Returns a new array with `value` in place of the elements that are not valid. The default is that of `numpy.ma` for the type.
    ///
    /// The elements are copied through the host, because selecting them on the device needs a kernel.
    ///
    /// >>> import numpy as np
    /// >>> a = cuarray.to_device(np.ma.MaskedArray([1, 2, 3], mask=[False, True, False]))
    /// >>> a.filled(0).copy_to_host()
    /// array([1, 0, 3])
    #[pyo3(signature = (value=None, stream=None))]
    fn filled<'py>(
        &self,
        py: Python<'py>,
        value: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDeviceArray>> {
        conversion::filled(self, py, value, stream)
    }

    /// The object that keeps the memory alive; None for an array that was made without an owner.
    #[getter(owner)]
    fn get_owner(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.owner(py)
    }

    /// The ordinal of the memory's device (clause A1); None for memory that the driver does not know.
    #[getter(device)]
    fn get_device(&self) -> Result<Option<i32>> {
        self.device()
    }

    /// Whether the memory is managed (clause A1).
    #[getter]
    fn is_managed(&self) -> Result<bool> {
        Ok(self.kind()? == Some(MemoryKind::Managed))
    }

    /// Whether the host may read the memory in place (clause A1).
    #[getter]
    fn is_host_accessible(&self) -> Result<bool> {
        Ok(self.attributes()?.is_some_and(|attributes| attributes.is_host_accessible()))
    }

    /// Copies the elements to the host, into `ary` or a new NumPy array, and returns that array.
    ///
    /// Without `stream` the copy is ordered in the home stream, and done when this returns. With `stream` the copy is enqueued
    /// there, after the home stream's work and before its next. The values are valid once that stream is synchronized, and
    /// `ary` must live until then. If that stream is capturing, `ary` is written at each launch of the graph, which keeps it.
    ///
    /// A masked array gives a `numpy.ma.MaskedArray`, whose mask is true for elements that are *not* valid; `ary` must then be one.
    /// If `ary` is a MaskedArray, its mask is set also for an array without a mask.
    ///
    /// Raises ValueError if the shape or type of `ary` differs, or `ary` is read-only. Raises BufferError if the array is masked
    /// and `ary` is not, if `ary` has a hard mask with masked elements, or if `stream` is capturing and the array is masked. Raises CudaError if the driver reports an error.
    #[pyo3(name = "copy_to_host", signature = (ary=None, stream=None))]
    fn py_copy_to_host<'py>(
        &self,
        py: Python<'py>,
        ary: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        self.copy_to_host(py, ary, stream)
    }

    /// Copies `src` into the array: a NumPy array, numbers, another DeviceArray, or any CUDA array.
    ///
    /// Shapes must be equal, and so must types if `src` has one (arrays, buffers); lists and numbers are converted. Ordering is
    /// as in `copy_to_host`. With `stream`, a pinned host source must live until that stream is synchronized.
    ///
    /// Raises BufferError if the array is read-only or either is masked, ValueError if shape or type differ.
    #[pyo3(signature = (src, stream=None))]
    fn copy_to_device<'py>(&self, src: &Bound<'py, PyAny>, stream: Option<&Bound<'py, PyAny>>) -> Result<()> {
        self.fill_from(src, stream, import::array)
    }

    /// NumPy's protocol: a host copy. `copy=False` raises ValueError, because a copy is always needed. A masked array raises
    /// BufferError, because NumPy would drop its mask.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> Result<Bound<'py, PyAny>> {
        conversion::numpy_array(self, py, dtype, copy)
    }

    fn __len__(&self) -> PyResult<usize> {
        let length = self.interface().layout().shape().first().copied();
        length.ok_or_else(|| PyTypeError::new_err("len() of a 0-d array"))
    }

    /// Returns a view of a part, with NumPy's basic indexing: ints, slices, `...`, `None`, tuples of these, or the name of a
    /// field of a structured array. A single element is copied to the host and returned as a NumPy scalar.
    ///
    /// The view shares the memory, its owner and the home stream. Keys that select single elements (lists, arrays, bools)
    /// need a kernel and raise TypeError; positions outside the array raise IndexError.
    ///
    /// >>> a = cuarray.to_device([[1, 2, 3], [4, 5, 6]])
    /// >>> a[:, ::-2].copy_to_host().tolist()
    /// [[3, 1], [6, 4]]
    /// >>> int(a[1, 0])
    /// 4
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        indexing::get(self, key)
    }

    /// Returns `a[key]` in `stream`: a view with that home stream, or one element, copied in that stream and waited for.
    ///
    /// >>> a, s = cuarray.to_device([[1, 2, 3], [4, 5, 6]]), cuarray.stream()
    /// >>> a.getitem(0, stream=s).stream == s
    /// True
    #[pyo3(signature = (key, stream=None))]
    fn getitem<'py>(&self, key: &Bound<'py, PyAny>, stream: Option<&Bound<'py, PyAny>>) -> Result<Bound<'py, PyAny>> {
        let bound = view::in_stream(self, key.py(), stream)?;
        indexing::get(bound.as_ref().map_or(self, Bound::get), key)
    }

    /// Writes a scalar, a host array or a CUDA array into a part, broadcast as in NumPy; see `setitem`.
    fn __setitem__<'py>(&self, key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> Result<()> {
        assign::set(self, key, value, None, import::array)
    }

    /// Assigns `a[key] = value`, in `stream`.
    ///
    /// Host values are converted to the array's type as in NumPy. A CUDA array must have that type, because converting on the
    /// device needs a kernel. Only copies and fills are enqueued, and few of them: a broadcast value is written once and then
    /// doubled on the device. Source and destination may overlap.
    ///
    /// Without `stream` the work is enqueued in the home stream; without a home stream the call waits. It also waits for
    /// a copy from page-locked host memory, which the driver reads later. With `stream`, that memory must live until the
    /// stream is synchronized.
    ///
    /// Raises BufferError if the array is read-only, ValueError if shapes or types do not fit.
    ///
    /// >>> a = cuarray.to_device([[1, 2, 3], [4, 5, 6]])
    /// >>> a[0] = 7
    /// >>> a.setitem((slice(None), 1), [8, 9])
    /// >>> a.copy_to_host().tolist()
    /// [[7, 8, 7], [4, 9, 6]]
    #[pyo3(signature = (key, value, stream=None))]
    fn setitem<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<()> {
        assign::set(self, key, value, stream, import::array)
    }

    /// Iterates over the parts along the first axis. The elements of a 1-d array are fetched in one copy.
    ///
    /// >>> [row.shape for row in cuarray.to_device([[1, 2, 3], [4, 5, 6]])]
    /// [(3,), (3,)]
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        indexing::iterate(slf)
    }

    /// Returns the array in another shape: a view if strides can describe it, else a copy, as in NumPy. One length may be -1.
    ///
    /// `order` is 'C', 'F' or 'A'. `copy=False` raises ValueError if a copy is needed, `copy=True` always copies.
    /// The result's home stream, in which a copy runs, is `stream`, or this array's.
    ///
    /// >>> cuarray.to_device([1, 2, 3, 4, 5, 6]).reshape(2, -1).copy_to_host().tolist()
    /// [[1, 2, 3], [4, 5, 6]]
    #[pyo3(signature = (*shape, order="C", copy=None, stream=None))]
    fn reshape<'py>(
        &self,
        shape: &Bound<'py, PyTuple>,
        order: &str,
        copy: Option<bool>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDeviceArray>> {
        let bound = view::in_stream(self, shape.py(), stream)?;
        view::reshape(bound.as_ref().map_or(self, Bound::get), shape, order, copy)
    }

    /// Returns the elements in one dimension, in the order 'C', 'F' or 'A': a view if strides can describe it, else a copy.
    /// The result's home stream, in which a copy runs, is `stream`, or this array's.
    ///
    /// >>> cuarray.to_device([[1, 2], [3, 4]]).ravel(order="F").copy_to_host().tolist()
    /// [1, 3, 2, 4]
    #[pyo3(signature = (order="C", stream=None))]
    fn ravel<'py>(
        &self,
        py: Python<'py>,
        order: &str,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDeviceArray>> {
        let bound = view::in_stream(self, py, stream)?;
        view::ravel(bound.as_ref().map_or(self, Bound::get), py, order)
    }

    /// Returns a view with the axes reversed, or in the given order (ints or one tuple). Raises ValueError for wrong axes.
    ///
    /// >>> cuarray.device_array((2, 3, 4)).transpose(1, 0, 2).shape
    /// (3, 2, 4)
    #[pyo3(signature = (*axes))]
    fn transpose<'py>(&self, axes: &Bound<'py, PyTuple>) -> Result<Bound<'py, PyDeviceArray>> {
        view::transpose(self, axes)
    }

    /// A view with the axes reversed.
    ///
    /// >>> cuarray.device_array((2, 3)).T.shape
    /// (3, 2)
    #[getter(T)]
    fn transposed<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDeviceArray>> {
        view::transpose(self, &PyTuple::empty(py))
    }

    /// Returns a view without the axes of length 1, or without those in `axis`, an int or a tuple. Raises ValueError for an axis of
    /// another length. The view's home stream is `stream`, or this array's.
    ///
    /// >>> cuarray.device_array((1, 3, 1)).squeeze(axis=0).shape
    /// (3, 1)
    #[pyo3(signature = (axis=None, stream=None))]
    fn squeeze<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDeviceArray>> {
        let bound = view::in_stream(self, py, stream)?;
        view::squeeze(bound.as_ref().map_or(self, Bound::get), py, axis)
    }

    /// Returns a view of the bytes as elements of another type. If the item size differs, the length of the last axis changes, and
    /// that axis must be contiguous. Raises ValueError if
    /// the bytes of that axis are not a whole number of new elements.
    ///
    /// >>> cuarray.to_device([1.0, 2.0]).view("complex128").copy_to_host().tolist()
    /// [(1+2j)]
    fn view<'py>(&self, dtype: &Bound<'py, PyAny>) -> Result<Bound<'py, PyDeviceArray>> {
        view::view(self, dtype)
    }

    /// Splits the first axis into views of length `section`; the last may be shorter. Their home stream is `stream`, or this array's.
    ///
    /// >>> [part.shape for part in cuarray.device_array(7).split(3)]
    /// [(3,), (3,), (1,)]
    #[pyo3(signature = (section, stream=None))]
    fn split<'py>(
        &self,
        py: Python<'py>,
        section: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyList>> {
        let bound = view::in_stream(self, py, stream)?;
        view::split(bound.as_ref().map_or(self, Bound::get), py, section)
    }

    /// Returns the array with another home stream. Later work in the new stream waits for pending work in the old one. With None
    /// the result has no home stream, and this call waits for the old one.
    ///
    /// >>> s = cuarray.stream()
    /// >>> cuarray.device_array(3).bind(s).stream == s
    /// True
    fn bind<'py>(&self, py: Python<'py>, stream: Option<&Bound<'py, PyAny>>) -> Result<Bound<'py, PyDeviceArray>> {
        view::bind(self, py, stream)
    }

    /// Returns a NumPy array over the memory, without a copy, if the host reaches it: mapped, pinned and managed memory.
    /// It keeps the memory alive. This call waits for the home stream; the caller waits for later work on the device.
    ///
    /// Raises BufferError for memory that only a device reaches.
    ///
    /// >>> a = cuarray.managed_array(3, "int32")
    /// >>> a.host_view()[:] = [1, 2, 3]
    /// >>> a.copy_to_host().tolist()
    /// [1, 2, 3]
    fn host_view<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        view::host_view(self, py)
    }

    /// Returns an `IpcHandle` of the array for another process of the machine: pickle it, send it, and open it there.
    ///
    /// This call waits for the home stream, or for pending copies in named streams. The caller waits for other work on the memory,
    /// because nothing orders work between processes. The memory must stay allocated until the other process has closed it.
    ///
    /// Raises BufferError for a masked array, and for memory without a driver handle (managed, pinned, of a pool).
    ///
    /// >>> cuarray.to_device([[1, 2], [3, 4]])[1].get_ipc_handle().offset
    /// 16
    fn get_ipc_handle(&self, py: Python<'_>) -> Result<PyIpcHandle> {
        ipc::handle_of(self, py)
    }

    /// An array equals itself, whatever its elements: weak dictionaries and sets compare their keys.
    fn __eq__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if slf.is(other) {
            return Ok(PyBool::new(slf.py(), true).to_owned().into_any());
        }
        comparison::compared(other)
    }

    /// Python would negate the truth of `==`, and NumPy's result of `==` has no truth value.
    fn __ne__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        comparison::compared(other)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        comparison::hash(slf)
    }

    fn __bool__(&self, py: Python<'_>) -> Result<bool> {
        comparison::truth(self, py)
    }

    fn __float__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        comparison::number(self, py.get_type::<PyFloat>())
    }

    fn __int__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        comparison::number(self, py.get_type::<PyInt>())
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        comparison::number(self, py.get_type::<PyComplex>())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(comparison::not_pickled())
    }

    fn __repr__(&self) -> String {
        conversion::repr(self)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.traverse(&visit)
    }
}
