"""Around the tests of the disagreements: the settings, the driver, and the real libraries that disagree.

A peer that is not installed skips the test that needs it. What a peer does wrong is asserted too, so that a test whose reason
is gone says so: the peers have fixed versions (``requirements/peers.txt``), and a newer one may well have been mended.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import pytest


def peer(package: str, module: str) -> Any:
    """A peer's module; skips where the peer is not installed. One that is installed and does not start is a failure."""
    if importlib.util.find_spec(package.partition(".")[0]) is None or importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; `make install` installs the versions of requirements/peers.txt")
    return importlib.import_module(module)


@pytest.fixture
def numba(driver: str) -> Iterator[Any]:
    """``numba.cuda``. It leaves the context that it makes current, and frees later: neither reaches the next test."""
    with driver_probe.primary_context():
        cuda = peer("numba_cuda", "numba.cuda")
        yield cuda
        context = cuda.current_context()
        context.deallocations.clear()
        context.memory_manager.deallocations.clear()


@pytest.fixture
def typeof(numba: Any) -> Callable[[object], Any]:
    """The type that a numba kernel would be compiled for if it were given this argument."""
    function: Callable[[object], Any] = peer("numba_cuda", "numba.cuda.typing.typeof").typeof
    return function


@pytest.fixture
def strided_memory_view(driver: str) -> Iterator[Callable[..., Any]]:
    """How cuda.core reads an array: its ``StridedMemoryView.from_cuda_array_interface(obj, stream_ptr)``."""
    with driver_probe.primary_context():
        module = peer("cuda.core", "cuda.core")
        module.Device().set_current()
        utils = importlib.import_module("cuda.core.utils")
        yield utils.StridedMemoryView.from_cuda_array_interface


@pytest.fixture
def mpi_buffer() -> Callable[[object], Any]:
    """How mpi4py reads an array; needs no MPI processes, since nothing is sent."""
    package = peer("mpi4py", "mpi4py")
    package.rc.initialize = False
    buffer: Callable[[object], Any] = importlib.import_module("mpi4py.MPI").buffer
    return buffer
