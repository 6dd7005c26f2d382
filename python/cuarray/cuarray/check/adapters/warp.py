"""Warp.

Warp's wheel contains a CUDA runtime that cannot allocate or copy on the simulated driver. There the adapter makes Warp arrays over memory of
the kit, and copies in Warp's streams by the driver. Exports, imports, layouts and streams are Warp's own. With the library that
``make peers-warp`` builds, allocations and copies are Warp's own too.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from cuarray.check import NotClaimed, parts
from cuarray.check.driver import is_simulated

NAME, VERSION = "Warp", wp.config.version
NOTE = "objects without a length are refused, so the adapter adds one; docs/findings/warp.md"
NOT_CLAIMED = {
    "masks": "arrays have no masks",
    "read-only": "arrays have no read-only flag",
    "zero-dim": "an array has at least one axis",
    "structures": "make() of the adapter makes no structures",
    "dlpack-versioned": "__dlpack__ has no max_version",
}
KNOWN = {
    "I7.version-is-current": "D17: version 2 is exported, without a stream",
    "DL3.given-stream-is-ordered-after-pending-work.per-thread": "no context is current for the wait; docs/findings/warp.md",
    "DL3.given-stream-is-ordered-after-work-in-another-stream.*": "D4: only the device's current stream is waited for; docs/findings/warp.md",
    "DL3.stream-zero-is-refused": "0 is accepted",
    "DL8.tensor-is-imported.byte-offset": "byte_offset is not read; docs/findings/warp.md",
    "I3.type-is-imported.c*": "there are no complex types",
    "I10.*": "D7: the mask is not read; docs/findings/warp.md",
    "P1.*": "D17: version 2 is exported, without a stream",
    "P2.*": "D17: version 2 is exported, without a stream",
    "S2.*": "D16: the stream is not read; docs/findings/warp.md",
    "S3.*": "D18: the stream is not read; docs/findings/warp.md",
}


@cache
def _lacks_runtime() -> bool:
    """Return whether Warp's CUDA runtime is inside its library, and so does not start on the simulated driver."""
    # The loader searches the libraries that the library needs too. A runtime inside exports nothing.
    library = ctypes.CDLL(str(Path(wp.__file__).parent / "bin" / "warp.so"))
    return is_simulated() and not hasattr(library, "cudaMalloc")


def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0) -> Any:
    try:
        dtype = wp.dtype_from_numpy(np.dtype(typestr))
    except (KeyError, TypeError, RuntimeError) as error:
        raise NotClaimed(str(error)) from error
    if dtype is None:
        raise NotClaimed(f"there is no type {typestr}")
    if not shape:
        raise NotClaimed("an array has at least one axis")
    if len(shape) > 4:
        raise NotClaimed("an array has at most four axes")
    place, itemsize = f"cuda:{device}", np.dtype(typestr).itemsize
    with wp.ScopedStream(stream, sync_enter=False):
        if 0 in shape or (strides is None and not _lacks_runtime()):
            return wp.empty(shape, dtype=dtype, device=place)
        steps = strides if strides is not None else parts.contiguous(shape, itemsize)
        first, end = parts.extent(shape, steps, itemsize)
        if _lacks_runtime():
            memory: Any = parts.Memory(end - first, device)
            pointer = memory.pointer
        else:
            memory = wp.empty(end - first, dtype=wp.uint8, device=place)
            pointer = memory.ptr
        array: Any = wp.array(ptr=pointer - first, shape=shape, strides=steps, dtype=dtype, device=place)
        array._memory = memory
        return array


def write(array, data, *, stream=None) -> None:
    values = np.frombuffer(data, wp.dtype_to_numpy(array.dtype)).reshape(array.shape)
    if _lacks_runtime():
        if not array.is_contiguous:
            raise NotClaimed("on the simulated driver, contiguous arrays are written only")
        if len(data):
            parts.upload(array.ptr, data, _handle(array, stream))
        return
    staged: Any = wp.array(values, dtype=array.dtype, device="cpu", copy=False)
    wp.copy(array, staged, stream=stream or wp.get_stream(array.device))


def read(array, *, stream=None) -> bytes:
    if _lacks_runtime():
        itemsize = np.dtype(wp.dtype_to_numpy(array.dtype)).itemsize
        return parts.gather(array.ptr or 0, array.shape, array.strides, itemsize, _handle(array, stream))
    with wp.ScopedStream(stream, sync_enter=False):
        # Not array.numpy(): it copies in the default stream, which waits for all blocking streams.
        packed = array.contiguous()
        host: Any = wp.empty(packed.shape, dtype=packed.dtype, device="cpu")
        wp.copy(host, packed, stream=stream)
        # The copy to pageable memory has arrived, but it orders nothing for other streams.
        wp.synchronize_stream(stream or wp.get_stream(array.device))
        return bytes(host.numpy().tobytes())


def _handle(array, stream) -> int:
    """Return the handle of the stream in which Warp works on an array; 1 is the legacy default stream."""
    return int((stream or wp.get_stream(array.device)).cuda_stream or 1)


class _Sized:
    """An array with a length, which Warp asks for, although the interface does not."""

    def __init__(self, obj) -> None:
        self.obj, self.__cuda_array_interface__ = obj, obj.__cuda_array_interface__

    def __len__(self) -> int:
        return int(self.__cuda_array_interface__["shape"][0])


def import_(obj, *, stream=None) -> Any:
    sized: Any = _Sized(obj)
    with wp.ScopedStream(stream, sync_enter=False):
        return wp.array(data=sized, device="cuda:0", copy=False)


def from_dlpack(obj, *, stream=None) -> Any:
    with wp.ScopedStream(stream, sync_enter=False):
        return wp.from_dlpack(obj)


def pointer(array) -> int:
    return int(array.ptr)


def new_stream() -> Any:
    wp.init()
    return wp.Stream("cuda:0")
