"""Each array in a stream of its own, the work in another, and nobody waits by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda
from several_arrays import axpy

# The module keeps its kernel, with an event behind the last launch.
pytestmark = pytest.mark.cuarray_sim_leaks

N = 1000


def on(stream: object, value: float) -> object:
    return cuda.to_device(np.full(N, value, np.float32), stream=stream)


def test_four_streams() -> None:
    first, second, third, work = (cuda.stream() for _ in range(4))
    x, y, out = on(first, 2), on(second, 3), on(third, 0)
    axpy(10, x, out, work, y)
    assert (out.copy_to_host(stream=third) == 23).all()
    axpy(1, x, out, work)
    third.synchronize()
    assert (out.copy_to_host() == 25).all()


def test_a_producer_that_goes_on() -> None:
    mine, work = cuda.stream(), cuda.stream()
    x, out = on(mine, 2), on(mine, 0)
    axpy(1, x, out, work)
    # The next write to `x` comes after the kernel that reads it.
    x.copy_to_device(np.full(N, 9, np.float32), stream=mine)
    assert (out.copy_to_host(stream=mine) == 2).all()
    mine.synchronize()


def test_any_strides() -> None:
    work = cuda.stream()
    x = cuda.to_device(np.arange(10, dtype=np.float32))
    out = cuda.to_device(np.zeros(10, np.float32))
    axpy(1, x[::2], out[5:], work)
    assert out.copy_to_host().tolist() == [0, 0, 0, 0, 0, 0, 2, 4, 6, 8]


def test_a_stream_of_cuda_core() -> None:
    core = pytest.importorskip("cuda.core")
    device = core.Device()
    device.set_current()
    work = device.create_stream()
    x, out = on(0, 2), on(0, 1)
    axpy(3, x, out, work)
    # numba's arrays in its default stream name none, so there is nobody to tell; whoever reads them next waits.
    work.sync()
    assert (out.copy_to_host() == 7).all()
    work.close()


def test_lengths() -> None:
    x = cuda.to_device(np.zeros(3, np.float32))
    out = cuda.to_device(np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="of different lengths"):
        axpy(1, x, out, 1)
