"""Fixtures of the tests of the disagreements: the real libraries that disagree.

A test is skipped if its peer is not installed. Each peer's wrong behaviour is asserted too, so that a test fails if its reason
is gone: the peers have fixed versions (``requirements/peers.txt``), and a newer version may behave correctly.
"""

from __future__ import annotations

import importlib
import importlib.util
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
