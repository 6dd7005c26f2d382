"""PyArrow's module for CUDA and ArrayViews, by the driver calls and the dictionaries that their published sources have.

PyArrow's wheel has the source of its module, ``pyarrow/_cuda.pyx`` (26.0.1), and not the module: it needs another build of Arrow. So this file
makes the driver calls that the documented operations consist of. Arrow keeps no context current between operations, and ends the process if a
release fails.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from other_process import run_in_other_process
from producers import foreign

import cuarray

PORTABLE, DEVICE_POINTER = 1, 3


class Handle(ctypes.Structure):
    """CUipcMemHandle."""

    _fields_ = [("reserved", ctypes.c_char * 64)]


class Arrow:
    """Operations of ``pyarrow.cuda``, each in a context that is current for the operation only."""

    def __init__(self) -> None:
        self.driver = ctypes.CDLL(cuarray.driver_path())
        self.context = ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)

    def __call__(self, name: str, *arguments: object) -> None:
        assert getattr(self.driver, name)(*arguments) == 0, name

    @contextmanager
    def current(self) -> Iterator[None]:
        before = ctypes.c_void_p()
        self("cuCtxPushCurrent_v2", self.context)
        yield
        self("cuCtxPopCurrent_v2", ctypes.byref(before))

    def new_buffer(self, size: int) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        with self.current():
            self("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def new_host_buffer(self, size: int) -> ctypes.c_void_p:
        pointer = ctypes.c_void_p()
        with self.current():
            self("cuMemHostAlloc", ctypes.byref(pointer), ctypes.c_size_t(size), PORTABLE)
        return pointer

    def free(self, pointer: ctypes.c_uint64) -> None:
        with self.current():
            self("cuMemFree_v2", pointer)

    def copy_to_host(self, pointer: ctypes.c_uint64, size: int) -> bytes:
        host = ctypes.create_string_buffer(size)
        with self.current():
            self("cuMemcpyDtoH_v2", host, pointer, ctypes.c_size_t(size))
        return host.raw


@pytest.fixture
def arrow(driver: str) -> Iterator[Arrow]:
    arrow = Arrow()
    # Another test may have left a context current.
    before = ctypes.c_void_p()
    arrow("cuCtxGetCurrent", ctypes.byref(before))
    arrow("cuCtxSetCurrent", None)
    yield arrow
    arrow("cuCtxSetCurrent", before)
    arrow("cuDevicePrimaryCtxRelease_v2", 0)


def test_buffer_is_allocated_copied_to_and_freed_without_a_context_in_between(arrow: Arrow) -> None:
    size = ctypes.c_size_t(8)
    buffer = arrow.new_buffer(8)
    with arrow.current():
        arrow("cuMemcpyHtoD_v2", buffer, b"devices!", size)
        arrow("cuCtxSynchronize")
    copy = arrow.new_buffer(8)
    with arrow.current():
        arrow("cuMemcpyDtoD_v2", copy, buffer, size)
    assert arrow.copy_to_host(copy, 8) == b"devices!"
    arrow.free(copy)
    arrow.free(buffer)


def test_host_buffer_is_freed_without_a_current_context(arrow: Arrow) -> None:
    # ~CudaHostBuffer has no context to push, and Arrow ends the process if this call fails.
    host = arrow.new_host_buffer(64)
    arrow("cuMemFreeHost", host)


def test_host_buffer_has_a_device_address_and_flags(arrow: Arrow) -> None:
    host, device, flags = arrow.new_host_buffer(64), ctypes.c_uint64(), ctypes.c_uint()
    with arrow.current():
        arrow("cuMemHostGetDevicePointer_v2", ctypes.byref(device), host, 0)
        arrow("cuMemHostGetFlags", ctypes.byref(flags), host)
    assert device.value == host.value
    assert flags.value & PORTABLE
    # `Context.get_device_address`.
    address = ctypes.c_uint64()
    with arrow.current():
        arrow("cuPointerGetAttribute", ctypes.byref(address), DEVICE_POINTER, ctypes.c_uint64(host.value))
    assert address.value == host.value
    arrow("cuMemFreeHost", host)


def test_host_buffer_without_bytes_is_an_invalid_value(arrow: Arrow) -> None:
    pointer = ctypes.c_void_p()
    with arrow.current():
        assert arrow.driver.cuMemHostAlloc(ctypes.byref(pointer), ctypes.c_size_t(0), PORTABLE) == 1
    assert pointer.value is None


OPEN = """
import ctypes
driver = ctypes.CDLL(cuarray.driver_path())
class Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * 64)]
context, pointer, host, before = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.create_string_buffer(8), ctypes.c_void_p()
driver.cuIpcOpenMemHandle_v2.argtypes = [ctypes.c_void_p, Handle, ctypes.c_uint]
results = [
    driver.cuInit(0),
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
    driver.cuCtxPushCurrent_v2(context),
    driver.cuIpcOpenMemHandle_v2(ctypes.byref(pointer), Handle.from_buffer_copy(exported), 1),
    driver.cuMemcpyDtoH_v2(host, pointer, ctypes.c_size_t(8)),
    driver.cuIpcCloseMemHandle(pointer),
    driver.cuCtxPopCurrent_v2(ctypes.byref(before)),
]
result = (results, host.raw)
"""


def test_exported_buffer_is_read_by_another_process(arrow: Arrow) -> None:
    buffer, handle = arrow.new_buffer(8), Handle()
    with arrow.current():
        arrow("cuMemcpyHtoD_v2", buffer, b"exported", ctypes.c_size_t(8))
        arrow("cuIpcGetMemHandle", ctypes.byref(handle), buffer)
    results, read = run_in_other_process(OPEN, exported=bytes(handle))
    assert results == [0] * 7
    assert read == b"exported"
    arrow.free(buffer)


@pytest.mark.parametrize("strides", [None, (1,)], ids=["without strides", "with strides"])
def test_both_dictionaries_of_arrayviews_are_read(driver: str, strides: tuple[int, ...] | None) -> None:
    """A view of Arrow's buffer as an array of numba has strides or none, by numba's version: arrayviews/cuda/numba_cuda_DeviceNDArray_as.py."""
    buffer = cuarray.to_device(np.arange(10, dtype="u1"))
    view = foreign(buffer, shape=(10,), strides=strides, typestr="|u1", version=2)
    array = cuarray.as_cuda_array(view)
    assert array.strides == (1,)
    assert array.is_c_contiguous()
    assert array.copy_to_host().tolist() == list(range(10))
