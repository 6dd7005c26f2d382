"""The assertion that two arrays share their elements."""

from __future__ import annotations

from typing import Any

import cuarray

__all__ = ["assert_same_memory"]


def assert_same_memory(first: Any, second: Any) -> None:
    """Assert that two arrays have the same elements in the same memory: address, shape, strides in bytes, type and mask.

    Each array is an object with ``__cuda_array_interface__``, such a dictionary, or an object with ``__dlpack__``. Strides of axes
    with one position do not matter, nor do addresses and strides of arrays without elements. The read-only flag and the stream are
    not compared. No element is read.

    :raises AssertionError: the arrays differ; the message says in what, and whether one is a copy.
    :raises TypeError: an object is no array.
    """
    differences = _differences(_read(first), _read(second))
    if differences:
        raise AssertionError("; ".join(differences))


def _read(obj: Any) -> cuarray.Interface:
    if isinstance(obj, dict) or cuarray.is_cuda_array(obj):
        return cuarray.interface(obj, strict=False)
    if hasattr(obj, "__dlpack__"):
        return cuarray.interface(cuarray.from_dlpack(obj))
    raise TypeError(f"a {type(obj).__qualname__} has neither __cuda_array_interface__ nor __dlpack__")


def _differences(first: cuarray.Interface, second: cuarray.Interface) -> list[str]:
    found = []
    if first.shape != second.shape:
        found.append(f"the shapes differ: {first.shape} and {second.shape}")
    if first.typestr != second.typestr:
        found.append(f"the types differ: {first.typestr!r} and {second.typestr!r}")
    if 0 in first.shape or found:
        return found
    if first.ptr != second.ptr:
        found.append(_apart(first, second))
    for axis, length in enumerate(first.shape):
        if length > 1 and first.strides[axis] != second.strides[axis]:
            found.append(f"the strides of axis {axis} differ: {first.strides[axis]} and {second.strides[axis]} bytes")
    masks = (first.mask, second.mask)
    if masks[0] is not None and masks[1] is not None:
        found += [f"masks: {each}" for each in _differences(masks[0], masks[1])]
    elif masks != (None, None):
        found.append(f"the {'first' if masks[0] is not None else 'second'} array alone has a mask")
    return found


def _apart(first: cuarray.Interface, second: cuarray.Interface) -> str:
    (low, end), (other_low, other_end) = first.byte_range, second.byte_range
    if end <= other_low or other_end <= low:
        return f"a copy: the first array is at {first.ptr:#x}, and the second one at {second.ptr:#x}"
    distance = second.ptr - first.ptr
    return f"the second array begins {abs(distance)} bytes {'after' if distance > 0 else 'before'} the first one"
