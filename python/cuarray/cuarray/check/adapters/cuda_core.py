"""cuda.core. It has no arrays of its own: a consumer, whose ``StridedMemoryView`` describes arrays of others."""

from __future__ import annotations

from functools import cache
from typing import Any

import cuda.core
import numpy as np
from cuda.core import Buffer, Device
from cuda.core.utils import StridedMemoryView

from cuarray.check import parts

NAME, VERSION = "cuda.core", cuda.core.__version__
NOT_CLAIMED = {
    "producer": "memory has no __cuda_array_interface__",
    "old-versions": "the documentation requires version 3",
    "masks": "the documentation says that masks are not supported",
    "structures": "types are those of DLPack",
}
KNOWN = {
    "I1.subclass-of-tuple-is-read.*": "D24: tuples only",
    "L2.owner-is-released-after-pending-work": "a view has no end that could wait for the work; the user does",
    "S3.*": "D18: a view has no end, so nothing can wait for it; docs/explanation/real-libraries.md",
}


@cache
def _own_stream() -> Any:
    Device(0).set_current()
    return Device(0).create_stream()


def import_(obj, *, stream=None) -> Any:
    return StridedMemoryView.from_cuda_array_interface(obj, int((stream or _own_stream()).handle))


def from_dlpack(obj, *, stream=None) -> Any:
    return StridedMemoryView.from_dlpack(obj, int((stream or _own_stream()).handle))


def read(array, *, stream=None) -> bytes:
    device, host, elements = _span(array)
    if not host.nbytes:
        return b""
    device.copy_to(_on_host(host), stream=stream or _own_stream())
    (stream or _own_stream()).sync()
    return bytes(elements.tobytes())


def write(array, data, *, stream=None) -> None:
    device, host, elements = _span(array)
    if elements.flags.c_contiguous:
        host = np.frombuffer(data, "u1")
    else:
        device.copy_to(_on_host(host), stream=stream or _own_stream())
        (stream or _own_stream()).sync()
        elements[...] = np.frombuffer(data, array.dtype).reshape(array.shape)
    device.copy_from(_on_host(host), stream=stream or _own_stream())


def _span(array: Any) -> tuple[Any, Any, Any]:
    """Return the device bytes of a view, host memory of that size, and the elements in it. Views count strides in elements."""
    size, shape = array.dtype.itemsize, tuple(array.shape)
    strides = parts.contiguous(shape, size) if array.strides is None else tuple(each * size for each in array.strides)
    first, end = parts.extent(shape, strides, size)
    host = np.empty(end - first, "u1")
    elements = np.ndarray(shape, array.dtype, host, -first, strides)
    return Buffer.from_handle(array.ptr + first, end - first, owner=array), host, elements


def _on_host(memory: Any) -> Any:
    return Buffer.from_handle(memory.ctypes.data, memory.nbytes, owner=memory)


def pointer(array) -> int:
    return int(array.ptr)


def new_stream() -> Any:
    Device(0).set_current()
    return Device(0).create_stream()
