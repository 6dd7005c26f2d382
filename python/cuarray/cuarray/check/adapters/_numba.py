"""The copies of numba-cuda and of its successor, which have the same arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def write(array: Any, data: Any, *, stream: Any = None) -> None:
    values = np.frombuffer(data, array.dtype).reshape(array.shape)
    if array.flags["C_CONTIGUOUS"]:
        array.copy_to_device(values, stream=stream or array.stream)
        return
    forward, values = _forward(array), values[_order(array)]
    # Copies write contiguous arrays only, and an array of one element is contiguous.
    for index in np.ndindex(array.shape):
        element = (*index[:-1], slice(index[-1], index[-1] + 1))
        forward[element].copy_to_device(values[element], stream=stream or array.stream)


def read(array: Any, *, stream: Any = None) -> bytes:
    elements = _forward(array).copy_to_host(stream=stream or 0)
    if stream or array.stream:
        (stream or array.stream).synchronize()
    return bytes(elements[_order(array)].tobytes())


def pointer(array: Any) -> int:
    return int(array.device_ctypes_pointer.value)


def _order(array: Any) -> tuple[slice, ...]:
    """Return the index that reverses the reversed axes."""
    return tuple(slice(None, None, -1 if step < 0 else 1) for step in array.strides)


def _forward(array: Any) -> Any:
    """Return an array of the same elements without reversed axes, which copies and slices do not take."""
    if all(step >= 0 for step in array.strides):
        return array
    first = sum(min(step, 0) * (length - 1) for length, step in zip(array.shape, array.strides, strict=True))
    strides = tuple(map(abs, array.strides))
    return type(array)(array.shape, strides, array.dtype, array.stream, array.gpu_data.view(first))
