"""Fixtures for the checklists: numba-cuda to exchange arrays with, and counts of driver calls."""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from collections.abc import Iterator
from typing import Any

import driver_probe
import pytest


@pytest.fixture
def numba(driver_kind: str) -> Iterator[Any]:
    """``numba.cuda``. Its current context and its deferred frees do not reach the next test."""
    if importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed; `make peers` installs the versions of requirements/peers.txt")
    with driver_probe.primary_context():
        cuda = importlib.import_module("numba.cuda")
        context = cuda.current_context()
        yield cuda
        context.deallocations.clear()
        context.memory_manager.deallocations.clear()


class CallCount:
    """The number of driver calls of some names since this object was made, as counted by the simulated driver."""

    names: tuple[str, ...]

    def __init__(self) -> None:
        self._before = self._calls()

    @staticmethod
    def _calls() -> Counter[str]:
        from cuarray_sim import statistics

        return Counter(statistics()["calls"])

    @property
    def count(self) -> int:
        calls = self._calls() - self._before
        return sum(calls[name] for name in calls if name.startswith(self.names))


class Waits(CallCount):
    """Counts waits for a stream."""

    names = ("cuStreamSynchronize", "cuCtxSynchronize")


class Frees(CallCount):
    """Counts releases of memory."""

    names = ("cuMemFree",)


class Copies(CallCount):
    """Counts copies."""

    names = ("cuMemcpy",)


def account(driver_kind: str, kind: type[CallCount]) -> type[CallCount]:
    if driver_kind != "simulated":
        pytest.skip("only the simulated driver counts its calls")
    return kind


@pytest.fixture
def waits(driver_kind: str) -> type[CallCount]:
    """Starts a count of waits."""
    return account(driver_kind, Waits)


@pytest.fixture
def frees(driver_kind: str) -> type[CallCount]:
    """Starts a count of releases."""
    return account(driver_kind, Frees)


@pytest.fixture
def copies(driver_kind: str) -> type[CallCount]:
    """Starts a count of copies."""
    return account(driver_kind, Copies)
