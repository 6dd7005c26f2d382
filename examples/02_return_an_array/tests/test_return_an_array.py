"""Any library can read the array that `iota` returns."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numba import cuda
from return_an_array import iota

# The module keeps its kernel until the process ends.
pytestmark = pytest.mark.cuarray_sim_leaks


def test_returned_array_exports_its_stream_and_numba_reads_it() -> None:
    stream = cuda.stream()
    array = iota(1000, stream)
    assert array.__cuda_array_interface__["stream"] == int(stream.handle)
    assert (cuda.as_cuda_array(array).copy_to_host() == np.arange(1000)).all()


def test_numba_view_keeps_returned_array_alive() -> None:
    stream = cuda.stream()
    view = cuda.as_cuda_array(iota(10, stream))[::2]
    gc.collect()
    assert view.copy_to_host().tolist() == [0, 2, 4, 6, 8]


def test_iota_accepts_cuda_core_streams_and_integer_handles() -> None:
    core = pytest.importorskip("cuda.core")
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    assert iota(4, stream).copy_to_host().tolist() == [0, 1, 2, 3]
    assert iota(4, int(stream.handle)).copy_to_host().tolist() == [0, 1, 2, 3]
    assert iota(4, 1).copy_to_host().tolist() == [0, 1, 2, 3]
    stream.close()
