"""Exchange by DLPack between cuarray and real libraries in both directions."""

from __future__ import annotations

import gc
import weakref

import driver_probe
import numpy as np
import pytest
from dlpack_facts import DLPackFacts
from route import Library

import cuarray


class OnlyATensor:
    """An array with DLPack only, which records the requested streams."""

    def __init__(self, array):
        self.array, self.streams = array, []

    def __dlpack__(self, *, stream=None, **request):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream, **request)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "bool"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_numpy_reads_managed_memory_in_place(driver, dtype, shape):
    array = cuarray.managed_array(shape, dtype)
    values = np.arange(array.size).reshape(shape).astype(dtype)
    array.host_view()[...] = values
    seen = np.from_dlpack(array)
    assert (seen.dtype, seen.shape) == (np.dtype(dtype), shape)
    assert np.array_equal(seen, values)
    assert seen.ctypes.data == array.host_view().ctypes.data


@pytest.mark.parametrize("make", [cuarray.managed_array, cuarray.mapped_array])
@pytest.mark.parametrize("copy", [None, True])
def test_numpy_sees_result_of_pending_work(driver, make, copy):
    """NumPy requests no stream and reads on the host, so the export waits."""
    array = make(3, "int32", stream=cuarray.stream())
    array[:] = 9
    seen = np.from_dlpack(array, copy=copy)
    assert seen.tolist() == [9, 9, 9]
    elsewhere = make(3, "int32")
    elsewhere.setitem(slice(None), 8, stream=cuarray.stream())
    assert np.from_dlpack(elsewhere, copy=copy).tolist() == [8, 8, 8]
    assert np.shares_memory(np.from_dlpack(array, copy=copy), array.host_view()) == (copy is None)


def test_numpy_array_of_read_only_memory_is_not_writeable(driver):
    array = cuarray.managed_array(3, "int32")
    desc = array.__cuda_array_interface__
    read_only = cuarray.from_cuda_array_interface({**desc, "data": (desc["data"][0], True)}, owner=array)
    assert not np.from_dlpack(read_only).flags.writeable
    assert np.from_dlpack(array).flags.writeable


def test_strided_numpy_array_is_imported_with_copy_true(driver):
    host = np.arange(12, dtype="float64").reshape(3, 4)[:, ::2]
    assert np.array_equal(cuarray.from_dlpack(host, copy=True).copy_to_host(), host)


def test_numpy_import_with_device_cpu_copies_to_host(driver):
    array = cuarray.to_device(np.arange(12, dtype="float32").reshape(3, 4), stream=cuarray.stream())[:, ::2]
    seen = np.from_dlpack(array, device="cpu")
    assert seen.tolist() == [[0, 2], [4, 6], [8, 10]]
    array[:] = 7
    del array
    gc.collect()
    assert seen.tolist() == [[0, 2], [4, 6], [8, 10]]
    masked = cuarray.to_device(np.ma.MaskedArray([1.0, 2.0], mask=[True, False]))
    with pytest.raises(BufferError, match="mask"):
        np.from_dlpack(masked, device="cpu")


def test_read_only_and_pinned_numpy_arrays_are_imported_with_copy_true(driver):
    read_only = np.arange(3)
    read_only.flags.writeable = False
    copy = cuarray.from_dlpack(read_only, copy=True)
    assert not copy.readonly
    assert copy.copy_to_host().tolist() == [0, 1, 2]
    pinned = cuarray.pinned_array(3, "int16")
    pinned[:] = [1, 2, 3]
    assert cuarray.from_dlpack(pinned, copy=True, stream=cuarray.stream()).copy_to_host().tolist() == [1, 2, 3]


class TestNumba:
    """numba's kernels accept DLPack tensors. Its arrays have no DLPack, and are imported through a cuda.core view."""

    @pytest.fixture
    def cuda(self, numba: Library):
        from numba import cuda

        return cuda

    @pytest.fixture
    def doubled(self, cuda):
        @cuda.jit
        def doubled(array):
            place = cuda.grid(1)
            if place < array.size:
                array[place] *= 2

        return doubled

    @pytest.mark.filterwarnings("ignore:Grid size")
    def test_numba_kernel_on_tensor_is_ordered_after_pending_work(self, cuda, doubled):
        home, stream = cuarray.stream(), cuarray.stream()
        array = cuarray.device_array(4, "float32", stream=home)
        array[:] = 3
        tensor = OnlyATensor(array)
        doubled[1, 4, cuda.external_stream(stream.handle)](tensor)
        assert tensor.streams[-1] == stream.handle
        stream.synchronize()
        assert array.copy_to_host().tolist() == [6] * 4

    @pytest.mark.filterwarnings("ignore:Grid size")
    @pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
    @pytest.mark.parametrize("layout", ["C", "F", "sliced"])
    def test_numba_kernel_writes_tensor_of_each_type_and_layout(self, cuda, dtype, layout):
        @cuda.jit
        def double(x):
            i, j = cuda.grid(2)
            if i < x.shape[0] and j < x.shape[1]:
                x[i, j] *= 2

        whole = cuarray.to_device(np.asarray(np.arange(48).reshape(6, 8), dtype, order="F" if layout == "F" else "C"))
        array = whole[1:, ::3] if layout == "sliced" else whole
        before = array.copy_to_host()
        double[1, (8, 8)](OnlyATensor(array))
        np.testing.assert_array_equal(array.copy_to_host(), before * 2)

    @pytest.mark.filterwarnings("ignore:Grid size")
    def test_numba_kernel_on_masked_array_is_refused(self, doubled):
        masked = cuarray.to_device(np.ma.MaskedArray([1.0, 2.0], mask=[True, False]))
        with pytest.raises(BufferError, match="mask"):
            doubled[1, 2](masked)

    def test_numba_array_is_imported_through_cuda_core_view(self, cuda):
        view = pytest.importorskip("cuda.core.utils").StridedMemoryView
        array = cuda.to_device(np.arange(6, dtype="int32").reshape(2, 3))
        assert not hasattr(array, "__dlpack__"), "numba's arrays now have DLPack: import them without the view"
        imported = cuarray.from_dlpack(view.from_any_interface(array, stream_ptr=-1))
        assert imported.ptr == array.device_ctypes_pointer.value
        imported[0] = 7
        assert array.copy_to_host().tolist() == [[7, 7, 7], [3, 4, 5]]


class TestCudaCore:
    @pytest.fixture
    def view(self, driver):
        return pytest.importorskip("cuda.core.utils").StridedMemoryView

    @pytest.fixture(params=["c", "f", "sliced", "reversed"])
    def array(self, request, driver):
        values = np.arange(24, dtype="float32").reshape(4, 6)
        array = cuarray.to_device(np.asfortranarray(values) if request.param == "f" else values)
        return {"sliced": array[1:, ::2], "reversed": array[::-1]}.get(request.param, array)

    def test_cuda_core_view_has_address_shape_and_strides(self, view, array):
        seen = view.from_dlpack(array, stream_ptr=-1)
        assert (seen.ptr, seen.shape, seen.dtype) == (array.ptr, array.shape, array.dtype)
        strides = seen.strides or tuple(step // array.itemsize for step in array.strides)
        assert tuple(strides) == tuple(step // array.itemsize for step in array.strides)
        assert seen.is_device_accessible
        assert not seen.readonly

    @pytest.mark.parametrize("how", [{}, {"stream": 1}, {"stream": -1}, {"copy": True}], ids=str)
    def test_view_is_imported_with_stream_and_copy_arguments(self, view, array, how):
        """Without arguments by cuda.core's exchange table, else by its method. cuda.core makes no copies, so cuarray copies."""
        assert "__dlpack_c_exchange_api__" in dir(view)
        again = cuarray.from_dlpack(view.from_dlpack(array, stream_ptr=-1), **how)
        assert np.array_equal(again.copy_to_host(), array.copy_to_host())
        assert (again.ptr == array.ptr) == ("copy" not in how)

    def test_memory_is_freed_with_the_last_view(self, view, driver):
        array = cuarray.device_array(3)
        memory = weakref.ref(array.owner)
        again = cuarray.from_dlpack(view.from_dlpack(array, stream_ptr=-1))[1:]
        del array
        gc.collect()
        assert memory() is not None
        del again
        gc.collect()
        assert memory() is None

    def test_read_only_managed_memory_keeps_both_attributes(self, view, driver):
        array = cuarray.managed_array(3, "int32")
        desc = array.__cuda_array_interface__
        read_only = cuarray.from_cuda_array_interface({**desc, "data": (desc["data"][0], True)}, owner=array)
        seen = view.from_dlpack(read_only, stream_ptr=-1)
        assert (seen.readonly, seen.is_device_accessible) == (True, True)
        again = cuarray.from_dlpack(seen)
        assert (again.readonly, again.is_managed) == (True, True)

    def test_stream_of_view_waits_for_pending_work(self, view, driver):
        home, consumer = cuarray.stream(), cuarray.stream()
        array = cuarray.device_array(4, "int32", stream=home)
        with driver_probe.held(home.handle) as held:
            view.from_dlpack(array, stream_ptr=consumer.handle)
            assert not consumer.query()
            held.release()
        consumer.synchronize()

    def test_cuda_core_buffer_is_imported_in_place(self, driver):
        core = pytest.importorskip("cuda.core")
        device = core.Device()
        device.set_current()
        buffer = device.allocate(16, stream=device.default_stream)
        try:
            array = cuarray.from_dlpack(buffer)
            assert (array.shape, array.typestr, array.ptr) == ((16,), "|i1", int(buffer.handle))
            array[:] = 7
            assert array.copy_to_host().tolist() == [7] * 16
            del array
        finally:
            buffer.close()


class TestCuarray(DLPackFacts):
    """Exchange of cuarray with itself, which runs these tests without a GPU."""

    @pytest.fixture
    def library(self, own):
        return own
