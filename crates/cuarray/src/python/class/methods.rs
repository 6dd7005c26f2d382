//! The Python class `DeviceArray`: its attributes and methods, with what `help()` says of them.
//!
//! All of them are here because PyO3 wants one block of methods for a class. What one does is elsewhere, in a file named for it
//! ([`copies`](crate::python::array::copies), [`view`], [`indexing`], [`assign`], ...); here stands what Python calls, and with which arguments.

use super::comparison;
use crate::{
    Error, Result,
    protocol::layout::Tuple,
    python::{
        array::{Announced, PyDeviceArray, assign, create, indexing, view},
        export::{
            c_interface,
            dlpack::{self, Request},
        },
        import::{
            exchange,
            ipc::{self, PyIpcHandle},
        },
        memory::stream::{self, PyStream},
        values::host::HostArray,
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
    /// The interface as other libraries read it (version 3, or what `cuarray.config.export_version` says).
    #[getter(__cuda_array_interface__)]
    fn cuda_array_interface<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        self.check_borrow()?;
        let dict = self.dictionary(py)?;
        let Announced { stream, event } = self.announced(py)?;
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

    /// The interface as a structure of C, in a capsule: what the dictionary says, at the speed of C (include/cuarray.h, clause X1).
    #[getter(__cuda_array_c_interface__)]
    fn cuda_array_c_interface<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
        c_interface::capsule(slf)
    }

    /// A DLPack capsule of the array, for another library's `from_dlpack`.
    ///
    /// stream: where the consumer will work; it waits for all work on the array: a handle, 1 or None (the legacy default stream), 2
    /// (the per-thread one), -1 (no ordering). max_version: what the consumer knows; without it the structure is that of
    /// before version 1, which cannot say that an array is read-only. dl_device: (1, 0) makes a copy in host memory.
    /// copy: True always copies, False never.
    ///
    /// Raises BufferError where DLPack cannot say what the array is: masks, fields, times, text, swapped bytes, strides between
    /// elements.
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

    /// Where the memory is, as DLPack says it: (2, ordinal) for device memory, (3, 0) for the host's, (13, 0) for managed.
    fn __dlpack_device__(&self) -> Result<(i32, i32)> {
        let device = dlpack::device(self)?;
        Ok((device.device_type, device.device_id))
    }

    /// DLPack's table of C functions, for consumers that know it.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        exchange::capsule(py)
    }

    /// The size of each dimension.
    #[getter(shape)]
    fn get_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.shape(py)
    }

    /// Bytes to step in each dimension; given also where the array is contiguous.
    #[getter(strides)]
    fn get_strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.strides(py)
    }

    /// The element type, as a numpy.dtype; of bfloat16 and the 8-bit floats that of ml_dtypes, or void without ml_dtypes.
    #[getter(dtype)]
    fn get_dtype<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.dtype(py)
    }

    /// The element type as the interface writes it, or its name where there is one ('bfloat16'); needs no NumPy.
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

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.interface().layout().itemsize()
    }

    /// Bytes of all elements, gaps not counted.
    #[getter]
    fn nbytes(&self) -> usize {
        self.interface().nbytes()
    }

    /// The address of the first element. BufferError where the array was borrowed, and has been given back.
    #[getter]
    fn ptr(&self) -> Result<u64> {
        self.check_borrow()?;
        Ok(self.interface().data())
    }

    /// Says that work on the array has been enqueued in `stream` by others: a kernel, another library's copy. What comes next on
    /// the array comes after it: cuarray's own work, a consumer in the exported stream (clause P2), the release of the memory.
    ///
    /// To be called after the work is enqueued. `readonly=True` says that it only reads, so that others that read need not wait.
    /// Driver calls: cuEventRecord, and cuStreamWaitEvent where the array has a default stream.
    ///
    /// >>> a, s = cuarray.to_device([1, 2, 3]), cuarray.stream()
    /// >>> a.record_stream(s)  # after a launch in s
    #[pyo3(signature = (stream, *, readonly=false))]
    fn record_stream(&self, py: Python<'_>, stream: &Bound<'_, PyAny>, readonly: bool) -> Result<()> {
        let (ordering, stream) = (self.ordering()?, stream::argument(stream)?);
        let access = if readonly { Access::Read } else { Access::Write };
        py.detach(|| ordering.record(&stream, access))
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

    /// The default stream: where transfers go when no other is named, and what is exported. None if there is none.
    #[getter(stream)]
    fn get_stream(&self, py: Python<'_>) -> Result<Option<Py<PyStream>>> {
        self.stream(py)
    }

    /// Which elements are valid, as an array of anything that has a truth value and broadcasts to this one's shape (clause
    /// I10); None where all are.
    #[getter(mask)]
    fn mask_array(&self, py: Python<'_>) -> Result<Option<Py<PyDeviceArray>>> {
        self.mask().map(|mask| Ok(mask.array(py)?.clone_ref(py))).transpose()
    }

    /// The same array without its mask.
    #[getter]
    fn data(slf: &Bound<'_, Self>) -> PyResult<Py<PyDeviceArray>> {
        let (py, array) = (slf.py(), slf.get());
        if array.mask().is_none() {
            return Ok(slf.clone().unbind());
        }
        Py::new(py, array.share(py)?)
    }

    /// A new array of the elements, with `value` (default: as `numpy.ma` has it for the type) where they are not valid.
    ///
    /// The elements travel through the host, since choosing between them on the device takes a kernel.
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
        let mut host = self.copy_to_host(py, None, None)?;
        if self.mask().is_some() {
            host = host.call_method1(intern!(py, "filled"), (value,))?;
        }
        create::copy_of(HostArray::of(&host, None)?, stream, self.device()?)
    }

    /// What keeps the memory alive; None for an array that was made without an owner.
    #[getter(owner)]
    fn get_owner(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.owner(py)
    }

    /// The ordinal of the device whose memory it is (clause A1); None for a zero-size array, or memory that the driver does not know.
    #[getter(device)]
    fn get_device(&self) -> Result<Option<i32>> {
        self.device()
    }

    /// Whether the memory is managed (clause A1).
    #[getter]
    fn is_managed(&self) -> Result<bool> {
        Ok(self.attributes()?.is_some_and(|attributes| attributes.is_managed))
    }

    /// Whether the host may read the memory in place (clause A1).
    #[getter]
    fn is_host_accessible(&self) -> Result<bool> {
        Ok(self.attributes()?.is_some_and(|attributes| attributes.is_host_accessible()))
    }

    /// Copies the elements to the host, into `ary` or a new NumPy array, and returns that.
    ///
    /// Without `stream` the copy is ordered on the array's default stream and done when this returns. With one, the copy
    /// is enqueued there, ordered after the default stream's work and before its next; the values are there once that
    /// stream is synchronized, and `ary` must live until then.
    ///
    /// A masked array gives a `numpy.ma.MaskedArray`, whose mask says which elements are *not* valid; `ary` then has to be one.
    /// The mask of a MaskedArray is set whether the array is masked or not.
    ///
    /// Raises ValueError where shape or type of `ary` differ or it is read-only, BufferError where the array is masked and
    /// `ary` is not, or has a hard mask, which would stay; CudaError where the driver refuses.
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
    /// Shapes must be equal, and types where `src` has one (arrays, buffers); lists and numbers are converted. SyncState is as in `copy_to_host`; with `stream`, a pinned host
    /// source must live until that stream is synchronized.
    ///
    /// Raises BufferError where the array is read-only or either is masked, ValueError where shape or type differ.
    #[pyo3(signature = (src, stream=None))]
    fn copy_to_device(&self, src: &Bound<'_, PyAny>, stream: Option<&Bound<'_, PyAny>>) -> Result<()> {
        self.fill_from(src, stream)
    }

    /// NumPy's protocol: a host copy. `copy=False` raises ValueError, for there is no other way; a masked array raises BufferError,
    /// as NumPy would drop its mask.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> Result<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(Error::argument("a device array cannot become a NumPy array without a copy"));
        }
        if self.mask().is_some() {
            return Err(Error::unsupported(
                "NumPy would take a masked array without its mask; copy_to_host() gives a numpy.ma.MaskedArray, and `filled()` an \
                 array without a mask",
            ));
        }
        let host = self.copy_to_host(py, None, None)?;
        match dtype {
            Some(dtype) => Ok(host.call_method1(intern!(py, "astype"), (dtype,))?),
            None => Ok(host),
        }
    }

    fn __len__(&self) -> PyResult<usize> {
        let length = self.interface().layout().shape().first().copied();
        length.ok_or_else(|| PyTypeError::new_err("len() of a 0-d array"))
    }

    /// A view of a part, as NumPy's basic indexing selects it: ints, slices, `...`, `None`, and tuples of them. A field of a
    /// structured array by its name. One element comes to the host, as a NumPy scalar.
    ///
    /// The view shares the memory, its owner and the default stream. What selects elements one by one (lists, arrays, bools)
    /// would need a kernel and raises TypeError; places outside the array raise IndexError.
    ///
    /// >>> a = cuarray.to_device([[1, 2, 3], [4, 5, 6]])
    /// >>> a[:, ::-2].copy_to_host().tolist()
    /// [[3, 1], [6, 4]]
    /// >>> int(a[1, 0])
    /// 4
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        indexing::get(self, key)
    }

    /// `a[key]`, in `stream`: a view with that default stream, or one element that is fetched there and waited for.
    ///
    /// >>> a, s = cuarray.to_device([[1, 2, 3], [4, 5, 6]]), cuarray.stream()
    /// >>> a.getitem(0, stream=s).stream == s
    /// True
    #[pyo3(signature = (key, stream=None))]
    fn getitem<'py>(&self, key: &Bound<'py, PyAny>, stream: Option<&Bound<'py, PyAny>>) -> Result<Bound<'py, PyAny>> {
        let bound = view::in_stream(self, key.py(), stream)?;
        indexing::get(bound.as_ref().map_or(self, Bound::get), key)
    }

    /// Writes a scalar, a host array or a CUDA array into a part, broadcast as NumPy does; see `setitem`.
    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
        assign::set(self, key, value, None)
    }

    /// `a[key] = value`, in `stream`.
    ///
    /// Host values are converted to the array's type as NumPy does; a CUDA array must have it, since converting on the device
    /// needs a kernel. Only copies and fills are used, and few: a broadcast value is written once and then doubled on the
    /// device. Source and destination may overlap.
    ///
    /// Without `stream` this enqueues in the array's default stream, or has no default stream and waits. Only a page-locked
    /// host array, which the driver reads later, is waited for; with `stream` it must live until that is synchronized.
    ///
    /// Raises BufferError where the array is read-only, ValueError where shapes or types do not fit.
    ///
    /// >>> a = cuarray.to_device([[1, 2, 3], [4, 5, 6]])
    /// >>> a[0] = 7
    /// >>> a.setitem((slice(None), 1), [8, 9])
    /// >>> a.copy_to_host().tolist()
    /// [[7, 8, 7], [4, 9, 6]]
    #[pyo3(signature = (key, value, stream=None))]
    fn setitem(
        &self,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> Result<()> {
        assign::set(self, key, value, stream)
    }

    /// The parts along the first axis. Of a 1-d array, the elements, which are fetched in one copy.
    ///
    /// >>> [row.shape for row in cuarray.to_device([[1, 2, 3], [4, 5, 6]])]
    /// [(3,), (3,)]
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        indexing::iterate(slf)
    }

    /// The array in another shape, of which one length may be -1: a view where strides can say it, else a copy, as in NumPy.
    ///
    /// `order` is 'C', 'F' or 'A'. `copy=False` raises ValueError where a copy would be needed, `copy=True` always copies.
    /// The result's default stream, in which a copy runs, is `stream`, or this array's.
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

    /// The elements in one dimension, in the order 'C', 'F' or 'A': a view where strides can say it, else a copy. The result's default
    /// stream, in which a copy runs, is `stream`, or this array's.
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

    /// A view with the axes reversed, or in the order given, as ints or as one tuple. ValueError for wrong axes.
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

    /// A view without the axes of length 1, or without those in `axis`, an int or a tuple. ValueError for other axes. The view's default
    /// stream is `stream`, or this array's.
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

    /// The same bytes as elements of another type. Where its size differs, the last axis becomes longer or shorter, and must
    /// be contiguous; ValueError where the sizes do not divide.
    ///
    /// >>> cuarray.to_device([1.0, 2.0]).view("complex128").copy_to_host().tolist()
    /// [(1+2j)]
    fn view<'py>(&self, dtype: &Bound<'py, PyAny>) -> Result<Bound<'py, PyDeviceArray>> {
        view::view(self, dtype)
    }

    /// Views of `section` places each along the first axis; the last may be shorter. Their default stream is `stream`, or this array's.
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

    /// The same array with another default stream; what is pending in the old one comes before what the new one is given from
    /// now on. With None, an array without a default stream: this then waits for the old one.
    ///
    /// >>> s = cuarray.stream()
    /// >>> cuarray.device_array(3).bind(s).stream == s
    /// True
    fn bind<'py>(&self, py: Python<'py>, stream: Option<&Bound<'py, PyAny>>) -> Result<Bound<'py, PyDeviceArray>> {
        view::bind(self, py, stream)
    }

    /// A NumPy array over the same memory, without copying, where the host reaches it: mapped, pinned and managed memory.
    /// It keeps the memory alive. This waits for the default stream; later work on the device is yours to wait for.
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

    /// What another process of the machine needs to have the array: an `IpcHandle`, to be pickled and sent, and opened there.
    ///
    /// This waits for the default stream, or for what copies in named streams have left pending; what others have enqueued on the
    /// memory is yours to wait for, since nothing orders work between processes. The memory must stay until the other process has closed it.
    ///
    /// Raises BufferError for memory that the driver gives no handle for (managed, pinned, of a pool), and for a masked array.
    ///
    /// >>> cuarray.to_device([[1, 2], [3, 4]])[1].get_ipc_handle().offset
    /// 16
    fn get_ipc_handle(&self, py: Python<'_>) -> Result<PyIpcHandle> {
        ipc::handle_of(self, py)
    }

    /// Of an array with itself true, without a look at the elements: weak dictionaries and sets compare what they hold.
    fn __eq__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if slf.is(other) {
            return Ok(PyBool::new(slf.py(), true).to_owned().into_any());
        }
        comparison::compared(other)
    }

    /// Python would make it of the truth of `==`, which NumPy's answer has not.
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
        let layout = self.interface().layout();
        let mut text =
            format!("DeviceArray(shape={}, typestr='{}'", Tuple(layout.shape()), self.interface().typestr().label());
        if !layout.is_c_contiguous() {
            text += &format!(", strides={}", Tuple(layout.strides()));
        }
        if self.interface().is_read_only() {
            text += ", readonly=True";
        }
        if let Some(handle) = self.interface().stream().handle() {
            text += &format!(", stream={handle:#x}");
        }
        if self.mask().is_some() {
            text += ", masked";
        }
        match self.check_borrow() {
            Ok(()) => text + &format!(", ptr={:#x})", self.interface().data()),
            Err(_) => text + ", given back)",
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.traverse(&visit)
    }
}
