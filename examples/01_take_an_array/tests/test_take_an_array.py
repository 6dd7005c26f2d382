"""Any library's array goes in; what the kernel cannot take does not."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda
from take_an_array import scale

# The module keeps its kernel, with an event behind the last launch.
pytestmark = pytest.mark.cuarray_sim_leaks


def test_an_array_of_numba() -> None:
    x = cuda.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    scale(x, 2.0)
    assert x.copy_to_host().tolist() == [[0, 2, 4], [6, 8, 10]]


def test_after_its_producer_and_before_what_comes_next() -> None:
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
def test_what_the_kernel_cannot_take(array: np.ndarray, message: str) -> None:
    with pytest.raises(BufferError, match=message):
        scale(cuda.to_device(array), 2.0)


def test_what_is_no_array() -> None:
    with pytest.raises(TypeError, match="not a CUDA array"):
        scale([1.0, 2.0], 2.0)
