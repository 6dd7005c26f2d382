"""Streams and events of numba-cuda-mlir order its work, and a missing wait is a finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

SIZE = 1000


@pytest.fixture
def double(cuda: Any) -> Any:
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.shape[0]:
            x[i] *= 2

    return double


def test_event_orders_kernels_of_two_streams(cuda: Any, double: Any) -> None:
    first, second, begin, end = cuda.stream(), cuda.stream(), cuda.event(), cuda.event()
    x = cuda.to_device(np.ones(SIZE, np.float32), stream=first)
    begin.record(first)
    double[8, 128, first](x)
    end.record(first)
    end.wait(second)
    double[8, 128, second](x)
    host = x.copy_to_host(stream=second)
    second.synchronize()
    np.testing.assert_array_equal(host, 4)
    assert cuda.event_elapsed_time(begin, end) >= 0


@pytest.mark.cuarray_sim(expect="data-race")
def test_kernels_of_two_streams_without_an_event_race(cuda: Any, double: Any, simulator: str) -> None:
    first, second = cuda.stream(), cuda.stream()
    x = cuda.to_device(np.ones(SIZE, np.float32))
    double[8, 128, first](x)
    double[8, 128, second](x)
    cuda.synchronize()


@pytest.mark.cuarray_sim(expect="kernel-race")
def test_missing_barrier_is_a_race_at_both_lines_of_the_source(cuda: Any, simulator: str) -> None:
    import cuarray_sim

    @cuda.jit(lineinfo=True)
    def shift(x):
        shared = cuda.shared.array(64, "float32")
        i = cuda.threadIdx.x
        shared[i] = x[i]  # the write
        x[i] = shared[63 - i]  # the read

    shift[1, 64](cuda.to_device(np.ones(64, np.float32)))
    cuda.synchronize()
    (finding,) = cuarray_sim.findings()["findings"]
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    places = [side["place"]["source"]["line"] for side in finding["sides"]]
    assert {lines[place - 1].split("# ")[1] for place in places} == {"the write", "the read"}


@pytest.mark.cuarray_sim(expect="out-of-bounds")
def test_access_beyond_the_end_is_found(cuda: Any, simulator: str) -> None:
    @cuda.jit
    def fill(x):
        x[cuda.grid(1)] = 1

    x = cuda.device_array(60, np.float32)
    fill[1, 64](x)
    cuda.synchronize()
