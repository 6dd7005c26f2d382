"""`from_dlpack(device=)`: the device of the resulting array, and the cases that need a copy."""

from __future__ import annotations

import numpy as np
import pytest

import cuarray


@pytest.fixture
def memory(driver):
    return cuarray.to_device(np.arange(6, dtype="float32"), device=0)


def test_import_to_same_device_makes_no_copy(memory):
    assert cuarray.from_dlpack(memory, device=0, copy=False).ptr == memory.ptr


def test_host_tensor_is_copied_to_given_device(driver):
    array = cuarray.from_dlpack(np.arange(6, dtype="float32"), device=0)
    assert array.device == 0
    assert array.copy_to_host().tolist() == [0, 1, 2, 3, 4, 5]


def test_host_tensor_with_device_and_copy_false_is_refused(driver):
    with pytest.raises(BufferError, match="in host memory, and copy=False forbids a copy to device 0"):
        cuarray.from_dlpack(np.arange(6, dtype="float32"), device=0, copy=False)


@pytest.mark.parametrize(("device", "error"), [(99, ValueError), (-1, ValueError), ("0", TypeError), (0.0, TypeError)])
def test_invalid_device_argument_is_refused(memory, device, error):
    with pytest.raises(error, match="device"):
        cuarray.from_dlpack(memory, device=device)
