"""Checklist 4A: views of arrays, from numba-cuda's test suite of the interface (`test_cuda_array_interface.py`).

Each test's name has the item's number. Items 1 to 6, 20 to 22 and 24 to 34 are in `test_numba_interface_exchange.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from producers import Producer, foreign

import cuarray

# These items test numba's compiler.
NOT_APPLICABLE = {
    7: "needs a kernel launch: ufuncs are numba's, and cuarray launches none",
    9: "needs a kernel launch: gufuncs are numba's, and cuarray launches none",
    10: "needs a kernel launch: gufuncs are numba's, and cuarray launches none",
    23: "needs a kernel launch: cuarray launches none; empty arrays are item 22",
    35: "needs a kernel launch: cuarray launches none; waits of an import are item 34",
    36: "needs numba's compiler: the item is about kernel signatures; aligned and packed types are item 40 of 4C",
}


def imported(host: np.ndarray[Any, Any]) -> tuple[cuarray.DeviceArray, cuarray.DeviceArray]:
    """Return an array, and the array that cuarray imports from it."""
    original = cuarray.to_device(host)
    return original, cuarray.as_cuda_array(foreign(original))


def test_4a_8_result_copied_to_import_reaches_original(driver_kind: str) -> None:
    """A copy of a NumPy result to the import takes the place of a ufunc's `out`."""
    original, array = imported(np.zeros(5))
    array.copy_to_device(np.add(array, np.arange(5.0)))
    assert original.copy_to_host().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("key", [..., slice(None), slice(0, 5), slice(None, None, 3)])
def test_4a_11_views_of_import_have_correct_values(driver_kind: str, key: Any) -> None:
    host = np.arange(10.0)
    _, array = imported(host)
    assert np.array_equal(array[key].copy_to_host(), host[key])


def test_4a_12_import_of_strided_array_has_correct_values(driver_kind: str) -> None:
    host = np.arange(10.0)
    strided = cuarray.to_device(host)[::2]
    assert np.array_equal(cuarray.as_cuda_array(foreign(strided)).copy_to_host(), host[::2])


def test_4a_13_slice_of_import_equals_import_of_slice(driver_kind: str) -> None:
    original, array = imported(np.arange(10.0))
    slice_of_import, import_of_slice = array[::2], cuarray.as_cuda_array(foreign(original[::2]))
    for attribute in ("ptr", "shape", "strides", "itemsize", "size", "nbytes"):
        assert getattr(slice_of_import, attribute) == getattr(import_of_slice, attribute)
    assert cuarray.interface(slice_of_import).byte_range == cuarray.interface(import_of_slice).byte_range


def test_4a_14_fill_of_slice_reaches_original(driver_kind: str) -> None:
    original, array = imported(np.zeros(10))
    array[:5] = 7
    assert original.copy_to_host().tolist() == [7] * 5 + [0] * 5


def test_4a_15_slice_is_assigned_to_slice(driver_kind: str) -> None:
    original, array = imported(np.arange(10.0))
    array[5:] = array[:5]
    assert original.copy_to_host().tolist() == [0, 1, 2, 3, 4] * 2


def test_4a_16_device_array_is_assigned_to_whole_import(driver_kind: str) -> None:
    original, array = imported(np.zeros(10))
    array[:] = cuarray.to_device(np.arange(10.0))
    assert np.array_equal(original.copy_to_host(), np.arange(10.0))


def test_4a_17_strided_fill_changes_only_its_elements(driver_kind: str) -> None:
    original, array = imported(np.zeros(10))
    array[::2] = 7
    assert original.copy_to_host().tolist() == [7, 0] * 5


def test_4a_18_pointer_of_reversed_slice_is_its_first_element(driver_kind: str) -> None:
    host = np.arange(10, dtype=np.int64)
    _, array = imported(host)
    offset = host[::-1].__array_interface__["data"][0] - host.__array_interface__["data"][0]
    assert array[::-1].__cuda_array_interface__["data"][0] - array.ptr == offset == 72


def test_4a_19_reversed_slice_exports_numpys_shape_and_strides(driver_kind: str) -> None:
    host = np.arange(10, dtype=np.int64)
    _, array = imported(host)
    exported = array[::-1].__cuda_array_interface__
    assert (exported["shape"], exported["strides"]) == (host[::-1].shape, host[::-1].strides)
    # Item 20: numba refuses to copy a reversed slice; cuarray copies it.
    assert np.array_equal(array[::-1].copy_to_host(), host[::-1])


def test_4a_13_import_of_slice_through_plain_object(driver_kind: str) -> None:
    original = cuarray.to_device(np.arange(6.0))
    wrapper = Producer(original[1::2].__cuda_array_interface__, keeps=original)
    assert cuarray.as_cuda_array(wrapper).copy_to_host().tolist() == [1, 3, 5]
