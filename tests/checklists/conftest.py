"""Around every item of the checklists: the settings are put back; numba, which the items come from, is there to exchange with."""

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
    """``numba.cuda``. It leaves the context that it makes current, and frees later: neither reaches the next test."""
    if importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed; `make install` installs the versions of requirements/peers.txt")
    with driver_probe.primary_context():
        cuda = importlib.import_module("numba.cuda")
        context = cuda.current_context()
        yield cuda
        context.deallocations.clear()
        context.memory_manager.deallocations.clear()


class Account:
    """How often some driver calls have been made since this was; only the simulated driver keeps the account."""

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


class Waits(Account):
    """Of waits for a stream."""

    names = ("cuStreamSynchronize", "cuCtxSynchronize")


class Frees(Account):
    """Of releases of memory."""

    names = ("cuMemFree",)


class Copies(Account):
    """Of copies."""

    names = ("cuMemcpy",)


def account(driver_kind: str, kind: type[Account]) -> type[Account]:
    if driver_kind != "simulated":
        pytest.skip("only the simulated driver counts its calls")
    return kind


@pytest.fixture
def waits(driver_kind: str) -> type[Account]:
    """Makes an account of the waits from then on."""
    return account(driver_kind, Waits)


@pytest.fixture
def frees(driver_kind: str) -> type[Account]:
    """Makes an account of the releases from then on."""
    return account(driver_kind, Frees)


@pytest.fixture
def copies(driver_kind: str) -> type[Account]:
    """Makes an account of the copies from then on."""
    return account(driver_kind, Copies)
