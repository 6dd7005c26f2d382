"""`scale` accepts any library's array, and refuses arrays that its kernel does not support."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda
from take_an_array import scale

# The module keeps its kernel until the process ends.
pytestmark = pytest.mark.cuarray_sim_leaks


def test_scale_multiplies_numba_array_in_place() -> None:
    x = cuda.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    scale(x, 2.0)
    assert x.copy_to_host().tolist() == [[0, 2, 4], [6, 8, 10]]


def test_scale_runs_after_pending_copy_and_before_later_read() -> None:
    stream = cuda.stream()
    x = cuda.to_device(np.ones(1000, np.float32), stream=stream)
    scale(x, 3.0)
    scale(x, 3.0)
    assert (x.copy_to_host(stream=stream) == 9).all()
    stream.synchronize()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), "the elements are '<f8'; '<f4' is expected"),
        (np.zeros((2, 3), np.float32).T, "is not C-contiguous"),
    ],
)
def test_wrong_element_type_or_layout_is_buffer_error(array: np.ndarray, message: str) -> None:
    with pytest.raises(BufferError, match=message):
        scale(cuda.to_device(array), 2.0)


def test_list_is_type_error() -> None:
    with pytest.raises(TypeError, match="not a CUDA array"):
        scale([1.0, 2.0], 2.0)
