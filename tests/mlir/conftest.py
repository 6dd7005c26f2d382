"""Fixtures of the tests with numba-cuda-mlir, the successor of numba-cuda."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def cuda(driver_kind: str) -> Any:
    """The module that takes the place of `numba.cuda`."""
    if importlib.util.find_spec("numba_cuda_mlir") is None:
        pytest.skip("numba-cuda-mlir is not installed; `make peers` installs it for Python 3.11 or later")
    from numba_cuda_mlir import cuda

    return cuda


@pytest.fixture(autouse=True)
def no_advice_about_speed() -> Iterator[None]:
    """Small grids and arrays of the host are right for a test."""
    if importlib.util.find_spec("numba_cuda_mlir") is None:
        yield
        return
    from numba_cuda_mlir.numba_cuda import config

    names = ("CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_WARN_ON_IMPLICIT_COPY")
    before = [getattr(config, name) for name in names]
    for name in names:
        setattr(config, name, 0)
    yield
    for name, value in zip(names, before, strict=True):
        setattr(config, name, value)
