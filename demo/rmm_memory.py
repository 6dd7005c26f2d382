"""The adapter of RMM with arrays: a `DeviceBuffer` of bytes, for which its user writes the dictionary. cuda.core reads and writes the elements.

RMM imports by copies only, so it is no consumer."""

import numpy as np
import rmm
from cuda_core_memory import described, new_stream, pointer, read, write

from cuarray.check import parts

NAME, VERSION = "RMM", rmm.__version__

__all__ = ["NAME", "VERSION", "make", "new_stream", "pointer", "read", "write"]


def make(shape, typestr, *, strides=None, stream=None):
    strides = strides or parts.contiguous(shape, np.dtype(typestr).itemsize)
    first, end = parts.extent(shape, strides, np.dtype(typestr).itemsize)
    # A write of a strided array keeps the gaps, so it reads them.
    buffer = rmm.DeviceBuffer.to_device(bytes(end - first))
    return described(buffer, buffer.ptr - first, shape, typestr, strides, stream)
