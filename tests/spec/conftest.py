"""Fixtures of the tests by clause: the real libraries to exchange arrays with, and counts of driver calls.

A test is skipped if its peer is not installed. The tests of the disagreements assert each peer's wrong behaviour too, so that a test
fails if its reason is gone: the peers have fixed versions (``requirements/peers.txt``), and a newer version may behave correctly.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import pytest


def peer(package: str, module: str) -> Any:
    """Return a peer's module, or skip if the peer is not installed. A peer that is installed but fails to import is a failure."""
    if importlib.util.find_spec(package.partition(".")[0]) is None or importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; `make peers` installs the versions of requirements/peers.txt")
    return importlib.import_module(module)


@pytest.fixture
def numba(driver: str) -> Iterator[Any]:
    """Yield ``numba.cuda``, and undo its side effects: the context that it makes current, and its deferred deallocations."""
    with driver_probe.primary_context():
        cuda = peer("numba_cuda", "numba.cuda")
        yield cuda
        context = cuda.current_context()
        context.deallocations.clear()
        context.memory_manager.deallocations.clear()


@pytest.fixture
def typeof(numba: Any) -> Callable[[object], Any]:
    """Return numba's function for the type of a kernel argument."""
    function: Callable[[object], Any] = peer("numba_cuda", "numba.cuda.typing.typeof").typeof
    return function


@pytest.fixture
def strided_memory_view(driver: str) -> Iterator[Callable[..., Any]]:
    """Yield the reader of cuda.core: ``StridedMemoryView.from_cuda_array_interface(obj, stream_ptr)``."""
    with driver_probe.primary_context():
        module = peer("cuda.core", "cuda.core")
        module.Device().set_current()
        utils = importlib.import_module("cuda.core.utils")
        yield utils.StridedMemoryView.from_cuda_array_interface


@pytest.fixture
def mpi_buffer() -> Callable[[object], Any]:
    """Return the reader of mpi4py. It needs no MPI processes, since nothing is sent."""
    package = peer("mpi4py", "mpi4py")
    package.rc.initialize = False
    buffer: Callable[[object], Any] = importlib.import_module("mpi4py.MPI").buffer
    return buffer


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
