"""Record arrays are passed to the module and returned from it, with all their fields."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda
from structured_types import advance, particles

import cuarray

# The module keeps its kernel until the process ends.
pytestmark = pytest.mark.cuarray_sim_leaks

PARTICLE = np.dtype([("id", "u4"), ("position", "f4", 3), ("velocity", "f4", 3), ("alive", "?")], align=True)


def test_advance_updates_numba_record_array() -> None:
    host = np.zeros(3, PARTICLE)
    host["velocity"][1] = 1, 2, 3
    x = cuda.to_device(host)
    advance(x, 0.5)
    assert x.copy_to_host()["position"].tolist() == [[0, 0, 0], [0.5, 1, 1.5], [0, 0, 0]]


def test_returned_array_has_fields() -> None:
    x = particles(4, cuda.stream())
    assert x.dtype.fields.keys() == PARTICLE.fields.keys()
    assert x["id"].copy_to_host().tolist() == [0, 1, 2, 3]
    x["velocity"][2, 0] = 8
    advance(x, 1)
    assert x["position"].copy_to_host()[:, 0].tolist() == [0, 0, 8, 0]
    assert cuarray.as_cuda_array(x)["alive"].copy_to_host().all()


def test_fields_in_another_order_are_buffer_error() -> None:
    other = np.dtype([("id", "u4"), ("velocity", "f4", 3), ("position", "f4", 3), ("alive", "?")], align=True)
    with pytest.raises(BufferError, match=r"\('velocity'.*\('position'.*; .*\('position'.*\('velocity'.*is expected"):
        advance(cuarray.to_device(np.zeros(3, other)), 1)
