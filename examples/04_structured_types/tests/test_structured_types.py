"""Record arrays go both ways, field by field."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda
from structured_types import advance, particles

import cuarray

# The module keeps its kernel, with an event behind the last launch.
pytestmark = pytest.mark.cuarray_sim_leaks

PARTICLE = np.dtype([("id", "u4"), ("position", "f4", 3), ("velocity", "f4", 3), ("alive", "?")], align=True)


def test_an_array_of_numba() -> None:
    host = np.zeros(3, PARTICLE)
    host["velocity"][1] = 1, 2, 3
    x = cuda.to_device(host)
    advance(x, 0.5)
    assert x.copy_to_host()["position"].tolist() == [[0, 0, 0], [0.5, 1, 1.5], [0, 0, 0]]


def test_what_comes_out_has_fields() -> None:
    x = particles(4, cuda.stream())
    assert x.dtype.fields.keys() == PARTICLE.fields.keys()
    assert x["id"].copy_to_host().tolist() == [0, 1, 2, 3]
    x["velocity"][2, 0] = 8
    advance(x, 1)
    assert x["position"].copy_to_host()[:, 0].tolist() == [0, 0, 8, 0]
    assert cuarray.as_cuda_array(x)["alive"].copy_to_host().all()


def test_other_fields() -> None:
    other = np.dtype([("id", "u4"), ("velocity", "f4", 3), ("position", "f4", 3), ("alive", "?")], align=True)
    with pytest.raises(BufferError, match=r"\('velocity'.*\('position'.*; .*\('position'.*\('velocity'.*is expected"):
        advance(cuarray.to_device(np.zeros(3, other)), 1)
