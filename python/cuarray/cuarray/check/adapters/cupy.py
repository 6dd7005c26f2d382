"""CuPy."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from cuarray.check import parts

NAME, VERSION = "CuPy", cupy.__version__
NOT_CLAIMED = {
    "masks": "asarray raises ValueError, as the manual says",
    "read-only": "arrays have no read-only flag",
    "devices": "arrays are made on the current device",
    "structures": "the manual lists no structured types",
}
KNOWN: dict[str, str] = {}


def make(
    shape: tuple[int, ...],
    typestr: str,
    *,
    strides: tuple[int, ...] | None = None,
    readonly: bool = False,
    stream: Any = None,
    device: int = 0,
) -> Any:
    with stream or cupy.cuda.Stream.null:
        if strides is None or 0 in shape:
            return cupy.empty(shape, typestr)
        first, end = parts.extent(shape, strides, np.dtype(typestr).itemsize)
        return cupy.ndarray(shape, typestr, cupy.cuda.alloc(end - first) - first, strides)


def write(array: Any, data: Any, *, stream: Any = None) -> None:
    values = np.frombuffer(data, array.dtype).reshape(array.shape)
    with stream or cupy.cuda.Stream.null as current:
        if array.flags.c_contiguous:
            array.set(values, stream=current)
        else:
            array[...] = cupy.asarray(values)


def read(array: Any, *, stream: Any = None) -> bytes:
    with stream or cupy.cuda.Stream.null:
        return bytes(array.get().tobytes())


def import_(obj: Any, *, stream: Any = None) -> Any:
    with stream or cupy.cuda.Stream.null:
        return cupy.asarray(obj)


def from_dlpack(obj: Any, *, stream: Any = None) -> Any:
    with stream or cupy.cuda.Stream.null:
        return cupy.from_dlpack(obj)


def pointer(array: Any) -> int:
    return int(array.data.ptr)


def new_stream() -> Any:
    return cupy.cuda.Stream(non_blocking=True)
