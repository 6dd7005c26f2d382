"""PyCUDA. Its kernels take arrays of others by their pointers alone; there is no import."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pycuda
from pycuda import driver, gpuarray

from cuarray.check import NotClaimed, parts

NAME, VERSION = "PyCUDA", pycuda.VERSION_TEXT
NOT_CLAIMED = {
    "consumer": "kernels read the pointer of an argument, and no other entry",
    "read-only": "arrays have no read-only flag",
    "masks": "arrays have no masks",
    "devices": "arrays are made on the current device",
    "dlpack": "arrays have no __dlpack__",
}
KNOWN = {
    "P1.*": "D17: None is always exported; docs/explanation/real-libraries.md",
    "P2.*": "D17: None is always exported",
    "L4.*": "D17: None is always exported",
}


@cache
def _context() -> Any:
    driver.init()
    context = driver.Device(0).retain_primary_context()
    context.push()
    return context


def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0) -> Any:
    _context()
    if strides is None or 0 in shape:
        return gpuarray.GPUArray(shape, typestr)
    first, end = parts.extent(shape, strides, np.dtype(typestr).itemsize)
    memory = driver.mem_alloc(end - first)
    return gpuarray.GPUArray(shape, typestr, base=memory, gpudata=int(memory) - first, strides=strides)


def write(array, data, *, stream=None) -> None:
    if not array.flags.c_contiguous:
        raise NotClaimed("copies write contiguous arrays only")
    if array.size:
        array.set_async(np.frombuffer(data, array.dtype).reshape(array.shape), stream)


def read(array, *, stream=None) -> bytes:
    if not array.flags.c_contiguous:
        raise NotClaimed("copies read contiguous arrays only")
    if stream is None:
        return bytes(array.get().tobytes())
    elements = array.get_async(stream)
    stream.synchronize()
    return bytes(elements.tobytes())


def pointer(array) -> int:
    return int(array.gpudata)


def new_stream() -> Any:
    _context()
    return driver.Stream()
