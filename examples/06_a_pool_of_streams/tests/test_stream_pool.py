"""Work in several streams is ordered after one producer and before consumers that know none of these streams."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda
from stream_pool import Doubler

# The module keeps its kernel until the process ends.
pytestmark = pytest.mark.cuarray_sim_leaks


@pytest.mark.parametrize("streams", [1, 3, 8])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_doubled_matrix_is_ordered_for_any_number_of_streams_and_rows(streams: int, rows: int) -> None:
    host = np.arange(rows * 5, dtype=np.float32).reshape(rows, 5)
    producer = cuda.stream()
    x = cuda.to_device(host, stream=producer)
    result = Doubler(streams).double(x)
    # The producer's next write to `x` is ordered after all workers.
    if rows:
        x.copy_to_device(np.zeros_like(host), stream=producer)
    assert result.copy_to_host().tolist() == (2 * host).tolist()
    producer.synchronize()


def test_numba_reads_the_result() -> None:
    doubler = Doubler(4)
    x = doubler.double(cuda.to_device(np.ones((9, 2), np.float32)))
    again = doubler.double(cuda.as_cuda_array(x))
    assert (cuda.as_cuda_array(again).copy_to_host() == 4).all()
