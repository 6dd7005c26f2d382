"""CuPy."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from cuarray.check import NotClaimed, parts

NAME, VERSION = "CuPy", cupy.__version__
NOT_CLAIMED = {
    "masks": "asarray raises ValueError, as the manual says",
    "read-only": "arrays have no read-only flag",
    "devices": "arrays are made on the current device",
    "structures": "the manual lists no structured types",
}
KNOWN = {
    "DL1.device-of-an-empty-*": "memory without bytes is not allocated, and so it is of no kind",
    "DL8.tensor-has-the-arrays-layout.reversed-*": "negative strides are divided as unsigned numbers; docs/findings/cupy.md",
    "DL3.given-stream-is-ordered-after-work-in-another-stream.*": "D4: __dlpack__ orders the current stream only",
    "I1.subclass-of-tuple-is-read.*": "D24: tuples only",
    "I5.zero-size-array-is-imported.strided": "D13: the device of a null pointer is asked for; docs/findings/cupy.md",
    "L4.*": "D4: the current stream is exported, not the one with pending work",
    "P1.*": "D4: the current stream is exported, not the one with pending work; docs/explanation/real-libraries.md",
    "P2.*": "D4: the current stream is exported, not the one with pending work",
    "P3.*": "D4: the current stream is exported, whether work is pending or not",
    "S2.capture-in-the-exported-stream-survives": "D19: asarray waits on the host for a stream that captures",
    "S3.*": "D18: the user makes the producer's stream wait",
}


def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0) -> Any:
    with stream or cupy.cuda.Stream.null:
        if strides is None or 0 in shape:
            return cupy.empty(shape, typestr)
        first, end = parts.extent(shape, strides, np.dtype(typestr).itemsize)
        return cupy.ndarray(shape, typestr, cupy.cuda.alloc(end - first) - first, strides)


def make_in(kind, shape, typestr) -> Any:
    if kind != "managed":
        raise NotClaimed("pinned memory is an array of NumPy")
    return cupy.ndarray(shape, typestr, cupy.cuda.malloc_managed(int(np.prod(shape)) * np.dtype(typestr).itemsize))


def write(array, data, *, stream=None) -> None:
    values = np.frombuffer(data, array.dtype).reshape(array.shape)
    with stream or cupy.cuda.Stream.null as current:
        if array.flags.c_contiguous:
            array.set(values, stream=current)
        else:
            array[...] = cupy.asarray(values)


def read(array, *, stream=None) -> bytes:
    with stream or cupy.cuda.Stream.null:
        return bytes(array.get().tobytes())


def import_(obj, *, stream=None) -> Any:
    with stream or cupy.cuda.Stream.null:
        return cupy.asarray(obj)


def from_dlpack(obj, *, stream=None) -> Any:
    with stream or cupy.cuda.Stream.null:
        return cupy.from_dlpack(obj)


def pointer(array) -> int:
    return int(array.data.ptr)


def new_stream() -> Any:
    return cupy.cuda.Stream(non_blocking=True)
