"""Each function applies the array's mask, or refuses the array."""

from __future__ import annotations

import numpy as np
import pytest
from masked_arrays import filled, mean, sum
from numba import cuda

import cuarray


def test_mask_is_applied_by_mean_and_filled_and_refused_by_sum() -> None:
    x = cuarray.to_device(np.ma.MaskedArray(np.array([1, 2, 90, 3], np.float32), mask=[0, 0, 1, 0]))
    assert mean(x) == 2
    assert cuda.as_cuda_array(filled(x, 0)).copy_to_host().tolist() == [1, 2, 0, 3]
    with pytest.raises(BufferError, match="has a mask"):
        sum(x)


def test_array_without_mask_uses_all_elements() -> None:
    x = cuda.to_device(np.array([1, 3], np.float32))
    assert mean(x) == 2
    assert sum(x) == 4


def test_mean_of_fully_masked_array_is_none() -> None:
    x = cuarray.to_device(np.ma.MaskedArray(np.zeros(3, np.float32), mask=True))
    assert mean(x) is None
