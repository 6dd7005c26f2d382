"""`axpy` orders its work with arrays from several streams; the caller adds no waits."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda
from several_arrays import axpy

# The module keeps its kernel until the process ends.
pytestmark = pytest.mark.cuarray_sim_leaks

N = 1000


def filled_on(stream: object, value: float) -> object:
    return cuda.to_device(np.full(N, value, np.float32), stream=stream)


def test_arrays_of_three_streams_are_ordered_in_a_fourth() -> None:
    first, second, third, work = (cuda.stream() for _ in range(4))
    x, y, out = filled_on(first, 2), filled_on(second, 3), filled_on(third, 0)
    axpy(10, x, out, work, y)
    assert (out.copy_to_host(stream=third) == 23).all()
    axpy(1, x, out, work)
    third.synchronize()
    assert (out.copy_to_host() == 25).all()


def test_later_write_by_producer_waits_for_kernel() -> None:
    producer, work = cuda.stream(), cuda.stream()
    x, out = filled_on(producer, 2), filled_on(producer, 0)
    axpy(1, x, out, work)
    # The next write to `x` comes after the kernel that reads it.
    x.copy_to_device(np.full(N, 9, np.float32), stream=producer)
    assert (out.copy_to_host(stream=producer) == 2).all()
    producer.synchronize()


def test_axpy_respects_strides_and_offsets() -> None:
    work = cuda.stream()
    x = cuda.to_device(np.arange(10, dtype=np.float32))
    out = cuda.to_device(np.zeros(10, np.float32))
    axpy(1, x[::2], out[5:], work)
    assert out.copy_to_host().tolist() == [0, 0, 0, 0, 0, 0, 2, 4, 6, 8]


def test_axpy_works_in_cuda_core_stream() -> None:
    core = pytest.importorskip("cuda.core")
    device = core.Device()
    device.set_current()
    work = device.create_stream()
    x, out = filled_on(0, 2), filled_on(0, 1)
    axpy(3, x, out, work)
    # numba exports no stream for arrays in its default stream, so no later reader is ordered; this test waits.
    work.sync()
    assert (out.copy_to_host() == 7).all()
    work.close()


def test_different_lengths_are_value_error() -> None:
    x = cuda.to_device(np.zeros(3, np.float32))
    out = cuda.to_device(np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="of different lengths"):
        axpy(1, x, out, 1)
