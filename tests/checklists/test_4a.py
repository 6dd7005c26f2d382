"""Checklist 4A: what numba-cuda's suite for the interface (`test_cuda_array_interface.py`) asserts, as far as it is of arrays.

The name of a test carries the item's number. Items 1 to 6, 20 to 22 and 24 to 34, of the exchange, are in `test_4a_exchange.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from producers import Producer, foreign

import cuarray

# What these items ask for is a compiler's work.
NOT_APPLICABLE = {
    7: "needs a kernel launch: ufuncs are numba's, and cuarray launches none",
    9: "needs a kernel launch: gufuncs are numba's, and cuarray launches none",
    10: "needs a kernel launch: gufuncs are numba's, and cuarray launches none",
    23: "needs a kernel launch: cuarray launches none; arrays of nothing are item 22's",
    35: "needs a kernel launch: cuarray launches none; the waits of an import are item 34's",
    36: "needs numba's compiler: signatures are its kernels'; aligned and packed types are 4C's item 40",
}


def imported(host: np.ndarray[Any, Any]) -> tuple[cuarray.DeviceArray, cuarray.DeviceArray]:
    """An array of another library, and its import."""
    original = cuarray.to_device(host)
    return original, cuarray.as_cuda_array(foreign(original))


def test_4a_8_an_import_as_the_output_has_usable_data(driver_kind: str) -> None:
    """A ufunc's `out` becomes: a NumPy result is copied into the import, and the original has it."""
    original, array = imported(np.zeros(5))
    array.copy_to_device(np.add(array, np.arange(5.0)))
    assert original.copy_to_host().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("key", [..., slice(None), slice(0, 5), slice(None, None, 3)])
def test_4a_11_views_of_an_import_have_the_right_values(driver_kind: str, key: Any) -> None:
    host = np.arange(10.0)
    _, array = imported(host)
    assert np.array_equal(array[key].copy_to_host(), host[key])


def test_4a_12_import_of_a_strided_exporter(driver_kind: str) -> None:
    host = np.arange(10.0)
    strided = cuarray.to_device(host)[::2]
    assert np.array_equal(cuarray.as_cuda_array(foreign(strided)).copy_to_host(), host[::2])


def test_4a_13_slice_of_import_and_import_of_slice_agree(driver_kind: str) -> None:
    original, array = imported(np.arange(10.0))
    slice_of_import, import_of_slice = array[::2], cuarray.as_cuda_array(foreign(original[::2]))
    for attribute in ("ptr", "shape", "strides", "itemsize", "size", "nbytes"):
        assert getattr(slice_of_import, attribute) == getattr(import_of_slice, attribute)
    assert cuarray.interface(slice_of_import).byte_range == cuarray.interface(import_of_slice).byte_range


def test_4a_14_a_fill_of_a_slice_reaches_the_original(driver_kind: str) -> None:
    original, array = imported(np.zeros(10))
    array[:5] = 7
    assert original.copy_to_host().tolist() == [7] * 5 + [0] * 5


def test_4a_15_slice_to_slice(driver_kind: str) -> None:
    original, array = imported(np.arange(10.0))
    array[5:] = array[:5]
    assert original.copy_to_host().tolist() == [0, 1, 2, 3, 4] * 2


def test_4a_16_whole_array_from_a_device_array(driver_kind: str) -> None:
    original, array = imported(np.zeros(10))
    array[:] = cuarray.to_device(np.arange(10.0))
    assert np.array_equal(original.copy_to_host(), np.arange(10.0))


def test_4a_17_a_strided_fill_touches_only_its_elements(driver_kind: str) -> None:
    original, array = imported(np.zeros(10))
    array[::2] = 7
    assert original.copy_to_host().tolist() == [7, 0] * 5


def test_4a_18_the_pointer_of_a_reversed_slice(driver_kind: str) -> None:
    host = np.arange(10, dtype=np.int64)
    _, array = imported(host)
    offset = host[::-1].__array_interface__["data"][0] - host.__array_interface__["data"][0]
    assert array[::-1].__cuda_array_interface__["data"][0] - array.ptr == offset == 72


def test_4a_19_shape_and_strides_of_a_reversed_slice(driver_kind: str) -> None:
    host = np.arange(10, dtype=np.int64)
    _, array = imported(host)
    exported = array[::-1].__cuda_array_interface__
    assert (exported["shape"], exported["strides"]) == (host[::-1].shape, host[::-1].strides)
    # Item 20, the refusal to copy it, is what numba cannot do; here it is copied.
    assert np.array_equal(array[::-1].copy_to_host(), host[::-1])


def test_4a_13_also_through_an_object_with_only_the_attribute(driver_kind: str) -> None:
    original = cuarray.to_device(np.arange(6.0))
    wrapper = Producer(original[1::2].__cuda_array_interface__, keeps=original)
    assert cuarray.as_cuda_array(wrapper).copy_to_host().tolist() == [1, 3, 5]
