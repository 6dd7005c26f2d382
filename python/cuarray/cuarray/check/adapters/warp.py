"""Warp. Written from the source of version 1.19.0 and not run: its CUDA runtime does not start on the simulated driver."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from cuarray.check import NotClaimed, parts

NAME, VERSION = "Warp", wp.config.version
NOT_CLAIMED = {
    "masks": "arrays have no masks",
    "read-only": "arrays have no read-only flag",
    "zero-dim": "an array has at least one axis",
    "structures": "make() of the adapter makes no structures",
}
KNOWN = {
    "I7.version-is-current": "D17: version 2 is exported, without a stream",
    "I10.*": "D7: the mask is not read",
    "P1.*": "D17: version 2 is exported, without a stream",
    "P2.*": "D17: version 2 is exported, without a stream",
    "S2.*": "D16: the stream is not read",
    "S3.*": "D18: the stream is not read",
}


def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0) -> Any:
    try:
        dtype = wp.dtype_from_numpy(np.dtype(typestr))
    except (KeyError, TypeError, RuntimeError) as error:
        raise NotClaimed(str(error)) from error
    if dtype is None:
        raise NotClaimed(f"there is no type {typestr}")
    with wp.ScopedStream(stream, sync_enter=False):
        if strides is None or 0 in shape:
            return wp.empty(shape, dtype=dtype, device=f"cuda:{device}")
        first, end = parts.extent(shape, strides, np.dtype(typestr).itemsize)
        memory = wp.empty(end - first, dtype=wp.uint8, device=f"cuda:{device}")
        array = wp.array(ptr=memory.ptr - first, shape=shape, strides=strides, dtype=dtype, device=f"cuda:{device}")
        array._memory = memory
        return array


def write(array, data, *, stream=None) -> None:
    values = np.frombuffer(data, wp.dtype_to_numpy(array.dtype)).reshape(array.shape)
    staged = wp.array(values, dtype=array.dtype, device="cpu", copy=False)
    wp.copy(array, staged, stream=stream or wp.get_stream(array.device))


def read(array, *, stream=None) -> bytes:
    with wp.ScopedStream(stream, sync_enter=False):
        return bytes(array.numpy().tobytes())


def import_(obj, *, stream=None) -> Any:
    with wp.ScopedStream(stream, sync_enter=False):
        return wp.array(data=obj, device="cuda:0", copy=False)


def from_dlpack(obj, *, stream=None) -> Any:
    with wp.ScopedStream(stream, sync_enter=False):
        return wp.from_dlpack(obj)


def pointer(array) -> int:
    return int(array.ptr)


def new_stream() -> Any:
    return wp.Stream("cuda:0")
