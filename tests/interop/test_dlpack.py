"""DLPack between cuarray and real libraries, both ways."""

from __future__ import annotations

import numpy as np
import pytest

import cuarray


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


def test_numpy_sees_that_memory_is_read_only(driver):
    array = cuarray.managed_array(3, "int32")
    desc = array.__cuda_array_interface__
    read_only = cuarray.from_cuda_array_interface({**desc, "data": (desc["data"][0], True)}, owner=array)
    assert not np.from_dlpack(read_only).flags.writeable
    assert np.from_dlpack(array).flags.writeable


def test_numpys_own_arrays_are_copied_by_request(driver):
    host = np.arange(12, dtype="float64").reshape(3, 4)[:, ::2]
    assert np.array_equal(cuarray.from_dlpack(host, copy=True).copy_to_host(), host)


class TestCudaCore:
    @pytest.fixture
    def view(self, driver):
        return pytest.importorskip("cuda.core.utils").StridedMemoryView

    @pytest.fixture(params=["c", "f", "sliced", "reversed"])
    def array(self, request, driver):
        values = np.arange(24, dtype="float32").reshape(4, 6)
        array = cuarray.to_device(np.asfortranarray(values) if request.param == "f" else values)
        return {"sliced": array[1:, ::2], "reversed": array[::-1]}.get(request.param, array)

    def test_it_reads_ours(self, view, array):
        seen = view.from_dlpack(array, stream_ptr=-1)
        assert (seen.ptr, seen.shape, seen.dtype) == (array.ptr, array.shape, array.dtype)
        strides = seen.strides or tuple(step // array.itemsize for step in array.strides)
        assert tuple(strides) == tuple(step // array.itemsize for step in array.strides)
        assert seen.is_device_accessible
        assert not seen.readonly

    def test_ours_reads_what_went_through_it(self, view, array):
        buffer = view.from_dlpack(array, stream_ptr=-1).exporting_obj
        again = cuarray.from_dlpack(buffer)
        assert np.array_equal(again.copy_to_host(), array.copy_to_host())

    def test_ours_reads_its_buffers(self, driver):
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
