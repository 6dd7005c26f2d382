"""D13: an array without elements may have strides.

CuPy fails on shape (0, 3), strides (48, 16) and pointer 0, since it asks for the device of the null pointer. An empty
slice with a step in numba exports exactly this; PyCUDA and Warp always export strides.

The text: the pointer of a zero-size array is 0 (I5). Versions 0 and 1 do not require it, so any pointer is accepted (V1).

cuarray: accepts any strides and any pointer of an empty array without a driver call, and exports pointer 0 and ``strides: None``,
which CuPy accepts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe

import cuarray

EMPTY = [((0, 3), (48, 16)), ((0,), (4,)), ((3, 0), (0, -8)), ((0, 3), (-(2**62), 2**62)), ((2, 0, 3), None)]


@pytest.mark.parametrize("pointer", [0, 4096, 2**64 - 1])
@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize(("shape", "strides"), EMPTY, ids=str)
def test_empty_array_accepts_any_strides_and_pointer(
    driver: str, shape: tuple[int, ...], strides: tuple[int, ...] | None, version: int, pointer: int
) -> None:
    producer = Producer(describe(shape=shape, strides=strides, data=(pointer, False), version=version))
    array = cuarray.as_cuda_array(producer)
    assert array.shape == shape
    assert (array.size, array.nbytes) == (0, 0)
    assert array.copy_to_host().shape == shape
    array.copy_to_device(np.empty(shape, "f4"))
    exported = array.__cuda_array_interface__
    assert exported["data"] == (0, False)
    assert exported["strides"] is None
    assert array.is_c_contiguous()
    assert array.is_f_contiguous()


def test_empty_array_makes_no_driver_call(driver: str, driver_calls: Callable[[], Any]) -> None:
    with driver_calls() as calls:
        array = cuarray.as_cuda_array(Producer(describe(shape=(0, 3), strides=(48, 16), data=(0, False))))
        assert array.device is None
        assert array.copy_to_host().shape == (0, 3)
        assert array.__cuda_array_interface__["data"] == (0, False)
    assert not calls
    assert cuarray.to_device(array).shape == (0, 3)


def test_numba_empty_slice_is_exported_with_strides_none(numba: Any, strided_memory_view: Callable[..., Any]) -> None:
    numba_array = numba.device_array((4, 6), "f8")[:0, ::2]
    exported = numba_array.__cuda_array_interface__
    assert (exported["shape"], exported["strides"], exported["data"][0]) == ((0, 3), (48, 16), 0)
    imported = cuarray.as_cuda_array(numba_array)
    exported = imported.__cuda_array_interface__
    assert (exported["shape"], exported["strides"], exported["data"][0]) == ((0, 3), None, 0)
    assert numba.as_cuda_array(imported).copy_to_host().shape == (0, 3)
    assert strided_memory_view(imported, -1).shape == (0, 3)


def test_null_pointer_of_non_empty_array_is_refused() -> None:
    with pytest.raises(ValueError, match="null"):
        cuarray.interface(describe(shape=(1, 3), strides=(48, 16), data=(0, False)))
