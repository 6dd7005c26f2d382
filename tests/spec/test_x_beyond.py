"""Clause X3: what the interface's text leaves to those who go beyond it. (X1 and X2 are not built yet.)"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, foreign

import cuarray

VALUES = np.arange(12.0).reshape(3, 4)
VALID = VALUES % 3 != 1


@pytest.fixture
def masked(driver: str) -> cuarray.DeviceArray:
    """Another library's array with a mask, imported."""
    return cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=foreign(cuarray.to_device(VALID))))


EXPECTED: Any = np.ma.array(VALUES, mask=~VALID)
VIEWS: dict[str, Callable[[Any], Any]] = {
    "the whole": lambda array: array[...],
    "a row": lambda array: array[1],
    "strided": lambda array: array[::2, 1::2],
    "reversed": lambda array: array[::-1, ::-3],
    "transposed": lambda array: array.T,
    "reshaped": lambda array: array.reshape(2, 6),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_x3_masks_go_with_their_elements(masked: cuarray.DeviceArray, view: Callable[[Any], Any]) -> None:
    """Through a view, an export and an import, a device's copy, and to the host."""
    part, expected = view(masked), view(EXPECTED)
    again = cuarray.as_cuda_array(Producer(part.__cuda_array_interface__, keeps=part))
    for array in (part, again, cuarray.to_device(part)):
        back = array.copy_to_host()
        assert isinstance(back, np.ma.MaskedArray)
        assert np.array_equal(np.ma.getmaskarray(back), np.ma.getmaskarray(expected))
        assert np.array_equal(back.filled(-1), expected.filled(-1))
        # Where an element is not valid, what lies there is still to be had.
        assert np.array_equal(array.data.copy_to_host(), expected.data)


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_x3_masks_are_filled_on_the_device(masked: cuarray.DeviceArray, view: Callable[[Any], Any]) -> None:
    filled = view(masked).filled(-7)
    assert filled.mask is None
    assert "mask" not in filled.__cuda_array_interface__
    assert np.array_equal(filled.copy_to_host(), view(EXPECTED).filled(-7))
    assert np.array_equal(masked.data.copy_to_host(), VALUES), "the array itself is not written to"


def test_x3_numpys_masked_arrays_go_out_and_come_back(driver: str) -> None:
    back = cuarray.to_device(EXPECTED).copy_to_host()
    assert np.array_equal(np.ma.getmaskarray(back), np.ma.getmaskarray(EXPECTED))
    assert back.sum() == EXPECTED.sum()


def test_x3_no_mask_is_lost_without_a_word(masked: cuarray.DeviceArray) -> None:
    with pytest.raises(BufferError, match="mask"):
        masked.copy_to_host(np.zeros(masked.shape))
    with pytest.raises(BufferError, match="mask"):
        masked[0] = 1
    with pytest.raises(BufferError, match="mask"):
        cuarray.to_device(VALUES).copy_to_device(masked)


@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_x3_the_reference_has_an_error_in_their_place(masked: cuarray.DeviceArray) -> None:
    with driver_probe.primary_context():
        from numba import cuda

        with pytest.raises(NotImplementedError, match="Masked arrays are not supported"):
            cuda.as_cuda_array(masked)
        assert cuda.as_cuda_array(masked.filled(0)).copy_to_host().tolist() == EXPECTED.filled(0).tolist()
        cuda.current_context().deallocations.clear()
