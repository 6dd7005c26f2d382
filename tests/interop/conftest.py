"""Fixtures of the libraries that the tests exchange arrays with. Libraries and checks are shared with the demo."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "demo"), str(HERE)]

import driver as demo_driver  # noqa: E402 - found in the folders above
import peers  # noqa: E402
import route  # noqa: E402
from route import Library  # noqa: E402

from cuarray_sim.cupy.finder import is_built  # noqa: E402

PACKAGES = {"numba-cuda": "numba_cuda", "numba-cuda-mlir": "numba_cuda_mlir", "cuda.core": "cuda.core", "CuPy": "cupy"}


def require_peer(name: str) -> None:
    """Skip if a peer is not installed. A peer that is installed but fails to import is a failure."""
    package = PACKAGES[name]
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        hint = (
            "`make peers-cupy` installs it into build/cupy, which PYTHONPATH must name"
            if name == "CuPy"
            else "`make peers` installs the versions of requirements/peers.txt"
        )
        pytest.skip(f"{name} is not installed; {hint}")


def has_shared_runtime() -> bool:
    """Return whether CuPy's runtime is the one that `python -m cuarray_sim.cupy` builds."""
    return is_built(importlib.import_module("cupy_backends.cuda.api.runtime"))


@pytest.fixture(scope="session")
def driver(driver_kind: str) -> demo_driver.Driver:
    current = demo_driver.current()
    assert current.is_simulated or driver_kind == "real"  # a rehearsal takes the simulated driver for a real one
    return current


@pytest.fixture(scope="session")
def own(driver: demo_driver.Driver) -> Library:
    return route.own()


@pytest.fixture(scope="session")
def numba(driver: demo_driver.Driver) -> Library:
    return _peer("numba-cuda")


@pytest.fixture(scope="session")
def numba_mlir(driver: demo_driver.Driver) -> Library:
    return _peer("numba-cuda-mlir")


@pytest.fixture(scope="session")
def cuda_core(driver: demo_driver.Driver) -> Library:
    return _peer("cuda.core")


@pytest.fixture(scope="session")
def cupy(driver: demo_driver.Driver) -> Library:
    require_peer("CuPy")
    if driver.is_simulated and not has_shared_runtime():
        pytest.skip(
            "this CuPy contains a static CUDA runtime; `python -m cuarray_sim.cupy` builds it against the shared one"
        )
    return _peer("CuPy")


@pytest.fixture(autouse=True)
def cupy_pools() -> Iterator[None]:
    """Return the memory that CuPy's pools keep, after each test."""
    yield
    if loaded := sys.modules.get("cupy"):
        gc.collect()
        loaded.get_default_memory_pool().free_all_blocks()
        loaded.get_default_pinned_memory_pool().free_all_blocks()


@pytest.fixture(scope="session")
def torch(driver: demo_driver.Driver) -> Library:
    return peers.load("PyTorch")


@pytest.fixture
def device(cuda_core: Library) -> Any:
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    return device


@pytest.fixture
def stream(device: Any) -> Iterator[Any]:
    stream = device.create_stream()
    yield stream
    stream.sync()


def _peer(name: str) -> Library:
    require_peer(name)
    return peers.load(name)
