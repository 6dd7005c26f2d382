"""Fixtures of the tests of the package ``cuarray_sim``: processes that start without a driver."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy  # noqa: F401 -- pytester unloads modules that its runs have loaded, and NumPy cannot load twice
import pytest
from blas_probe import blas, blas_library
from divided_fft import divided
from dnn_graph import graphs
from dnn_probe import dnn, dnn_library
from fft_probe import fft, fft_library
from lt_probe import lt, lt_library
from random_probe import random, random_library
from solver_probe import solver, solver_library
from sparse_probe import sparse, sparse_library

import cuarray_sim

__all__ = [
    "blas",
    "blas_library",
    "divided",
    "dnn",
    "dnn_library",
    "fft",
    "fft_library",
    "graphs",
    "lt",
    "lt_library",
    "random",
    "random_library",
    "solver",
    "solver_library",
    "sparse",
    "sparse_library",
]

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# By these, pytest sees that it runs in continuous integration, and prints failures a second time, whole.
CONTINUOUS_INTEGRATION = ("CI", "BUILD_NUMBER")


@pytest.fixture(autouse=True)
def outside_of_continuous_integration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test read the same output in continuous integration as by hand; a test of the difference sets the variable."""
    for name in CONTINUOUS_INTEGRATION:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def findings_of(simulator: str) -> Any:
    """Return a function that returns the findings so far."""
    return lambda: cuarray_sim.findings(history=False)["findings"]


@pytest.fixture(params=["lazy", "eager"])
def schedule(simulator: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test with work that waits for the program, and with work that runs at once."""
    before = cuarray_sim.schedule()
    cuarray_sim.set_schedule(request.param)
    yield request.param
    cuarray_sim.set_schedule(before)


@pytest.fixture
def environment() -> dict[str, str]:
    """Return this process's environment without the variables that choose or configure a driver or a library, as adapters do for JAX."""
    dropped = ("CUARRAY_", "LD_LIBRARY_PATH", "CUDA_ROOT", "TRITON_", "XLA_", "JAX_")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Run:
    """Run ``python ARGUMENT...`` in a fresh directory and environment."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def passes(run: Run) -> Callable[..., str]:
    """Run Python code that must exit with status 0, and return its output."""

    def passes(code: str, *arguments: str, **variables: str) -> str:
        done = run("-c", code, *arguments, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return passes


@pytest.fixture
def another_driver(tmp_path: Path) -> Path:
    """Return a driver that is not the package's: a copy of its library in another file."""
    path = tmp_path / "elsewhere" / "libcuda.so.1"
    path.parent.mkdir()
    path.write_bytes(cuarray_sim.library_path().read_bytes())
    return path
