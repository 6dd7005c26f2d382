"""The adapter of cuda.core with arrays: a `Buffer` of bytes, for which its user writes the dictionary."""

import numpy as np
from cuda.core import Device
from cuda.core.utils import StridedMemoryView

from cuarray.check import handle_of, parts
from cuarray.check.adapters import cuda_core
from cuarray.check.adapters.cuda_core import KNOWN, NAME, VERSION, from_dlpack, import_, new_stream

__all__ = [
    "KNOWN",
    "NAME",
    "VERSION",
    "described",
    "from_dlpack",
    "import_",
    "make",
    "new_stream",
    "pointer",
    "read",
    "write",
]


def make(shape, typestr, *, strides=None, stream=None):
    size = np.dtype(typestr).itemsize
    strides = strides or parts.contiguous(shape, size)
    first, end = parts.extent(shape, strides, size)
    device = Device()
    device.set_current()
    buffer = device.allocate(end - first, stream=device.default_stream)
    # A write of a strided array keeps the gaps, so it reads them.
    buffer.fill(0, stream=device.default_stream)
    device.default_stream.sync()
    return described(buffer, int(buffer.handle) - first, shape, typestr, strides, stream)


def described(buffer, pointer, shape, typestr, strides, stream):
    """Return an object with the dictionary of an array in a buffer of bytes."""
    entries = {"shape": shape, "typestr": typestr, "strides": strides, "data": (pointer, False)}
    return parts.Foreign({**entries, "stream": handle_of(stream) or None, "version": 3}, buffer)


def read(array, *, stream=None):
    return cuda_core.read(_view(array), stream=stream)


def write(array, data, *, stream=None):
    cuda_core.write(_view(array), data, stream=stream)


def pointer(array):
    return _view(array).ptr


def _view(array):
    if isinstance(array, StridedMemoryView):
        return array
    # -1 means no wait for the stream that the dictionary names.
    return StridedMemoryView.from_cuda_array_interface(array, -1)
