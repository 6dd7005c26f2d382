"""cuarray itself."""

from __future__ import annotations

from typing import Any

import numpy as np

import cuarray
from cuarray.check import parts

NAME, VERSION = "cuarray", cuarray.__version__


def make(
    shape: tuple[int, ...],
    typestr: str,
    *,
    strides: tuple[int, ...] | None = None,
    readonly: bool = False,
    stream: Any = None,
    device: int = 0,
) -> Any:
    if strides is not None and any(step <= 0 for step in strides):
        return _view(shape, typestr, strides, device)
    array = cuarray.device_array(shape, typestr, strides=strides, stream=stream, device=device)
    if readonly:
        entries = dict(array.__cuda_array_interface__, data=(array.ptr, True))
        return cuarray.from_cuda_array_interface(entries, owner=array)
    return array


def make_in(kind: str, shape: tuple[int, ...], typestr: str) -> Any:
    return (cuarray.managed_array if kind == "managed" else cuarray.mapped_array)(shape, typestr)


def _view(shape: tuple[int, ...], typestr: str, strides: tuple[int, ...], device: int) -> Any:
    first, end = parts.extent(shape, strides, parts.size_of(typestr))
    memory = cuarray.device_array(end - first, "|u1", device=device)
    entries = {
        "shape": shape,
        "typestr": typestr,
        "strides": strides,
        "data": (memory.ptr - first, False),
        "version": 3,
    }
    return cuarray.from_cuda_array_interface(entries, owner=memory)


def write(array: Any, data: Any, *, stream: Any = None) -> None:
    array.copy_to_device(np.frombuffer(data, array.dtype).reshape(array.shape), stream=stream or array.stream)


def read(array: Any, *, stream: Any = None) -> bytes:
    if stream is None:
        return bytes(array.copy_to_host().tobytes())
    elements = array.copy_to_host(stream=stream)
    stream.synchronize()
    return bytes(elements.tobytes())


def import_(obj: Any, *, stream: Any = None) -> Any:
    return cuarray.as_cuda_array(obj)


def from_dlpack(obj: Any, *, stream: Any = None) -> Any:
    return cuarray.from_dlpack(obj, stream=stream)


def pointer(array: Any) -> int:
    return int(array.ptr)


def new_stream() -> Any:
    return cuarray.stream()
