"""Python's general operations on an array: ``==``, ``hash``, ``bool``, ``in`` and ``pickle``.

Each gives NumPy's result, or an error that names what to use. None gives a result about the object that looks like one about the
elements.
"""

from __future__ import annotations

import copy
import operator
import pickle
import weakref
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from producers import foreign

import cuarray


@pytest.mark.parametrize("compare", [operator.eq, operator.ne], ids=["==", "!="])
@pytest.mark.parametrize("other", [3, 3.0, True, 1j, [1, 2, 3], (1, 2, 3), "itself", "another"], ids=repr)
def test_comparison_that_needs_a_kernel_is_refused(driver: str, compare: Callable[[Any, Any], Any], other: Any) -> None:
    array = cuarray.to_device([1, 2, 3])
    other = (
        {"itself": array, "another": cuarray.to_device([1, 2, 3])}.get(other, other)
        if isinstance(other, str)
        else other
    )
    if other is array and compare is operator.eq:
        assert compare(array, other) is True  # an array equals itself
        return
    for left, right in ((array, other), (other, array)):
        with pytest.raises(TypeError, match="copy_to_host"):
            compare(left, right)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne], ids=["==", "!="])
def test_comparison_with_numpy_array_uses_host_copy(driver: str, compare: Callable[[Any, Any], Any]) -> None:
    host = np.array([1, 2, 3])
    array = cuarray.to_device(host)
    for other in (np.array([1, 0, 3]), np.float64(2.0), np.int32(3)):
        assert compare(array, other).tolist() == compare(host, other).tolist()
        assert compare(other, array).tolist() == compare(other, host).tolist()


def test_array_is_unequal_to_other_objects(driver: str) -> None:
    array = cuarray.to_device([1, 2, 3])
    for other in (None, "x", object(), cuarray.stream()):
        assert (array == other, array != other, other == array) == (False, True, False)
    assert array == mock.ANY
    assert array in (None, array)


def test_hash_is_by_identity(driver: str) -> None:
    array, same = cuarray.to_device([1]), cuarray.to_device([1])
    assert hash(array) == hash(array)
    assert {array: 1, same: 2}[array] == 1
    weak = weakref.WeakKeyDictionary({array: 1, same: 2})
    assert (weak[array], weak[same], array in weakref.WeakSet([same])) == (1, 2, False)
    del array
    assert len(weak) == 1


@pytest.mark.parametrize("value", [0, 1, 0.0, np.nan, True, False, 2j, np.datetime64(0, "s")], ids=repr)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
def test_truth_of_single_element_array_is_that_of_its_element(driver: str, value: Any, shape: tuple[int, ...]) -> None:
    host = np.full(shape, value)
    assert bool(cuarray.to_device(host)) == bool(host)


def test_masked_element_is_false(driver: str) -> None:
    array = cuarray.as_cuda_array(foreign(cuarray.to_device([1]), mask=cuarray.to_device([False])))
    assert not array


@pytest.mark.parametrize("shape", [(2,), (0,), (1, 0), (1, 2)], ids=str)
def test_truth_of_array_without_single_element_raises_value_error(driver: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="has no truth value"):
        bool(cuarray.device_array(shape))


def test_membership_test_needs_1d_array(driver: str) -> None:
    assert 2 in cuarray.to_device([1, 2, 3])
    assert 4 not in cuarray.to_device([1, 2, 3])
    rows = cuarray.to_device([[1, 2], [3, 4]])
    for element in (3, rows[0]):
        with pytest.raises(TypeError, match="copy_to_host"):
            _ = element in rows


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_array_is_refused(driver: str, protocol: int) -> None:
    with pytest.raises(TypeError, match="get_ipc_handle"):
        pickle.dumps(cuarray.to_device([1]), protocol)


@pytest.mark.parametrize("function", [copy.copy, copy.deepcopy])
def test_copy_module_is_refused_in_favour_of_to_device(driver: str, function: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="to_device"):
        function(cuarray.to_device([1]))


@pytest.mark.parametrize("kind", [float, int, complex])
def test_conversion_to_number_needs_0d_array(driver: str, kind: Callable[[Any], Any]) -> None:
    number = kind(cuarray.to_device(np.array(2)))
    assert (number, type(number)) == (2, kind)
    for shape in ((1,), (2,), (0,)):
        with pytest.raises(TypeError, match="cannot become a number"):
            kind(cuarray.device_array(shape))


@pytest.mark.parametrize("dtype", ["?", "u1", "<i4", "<f4", "<c8"])
def test_numpy_builds_array_from_list_of_0d_arrays(driver: str, dtype: str) -> None:
    ones = [cuarray.to_device(np.ones((), dtype)) for _ in range(2)]
    assert np.array(ones).tolist() == [1, 1]
    assert np.array(ones).dtype == dtype
