"""What the tests of the package ``cuarray_sim`` share: processes that start with no driver chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy  # noqa: F401 -- pytester takes modules out that its runs have loaded, and NumPy does not load twice
import pytest

import cuarray_sim

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment() -> dict[str, str]:
    """This process's environment, but for what chooses or sets up a driver."""
    dropped = ("CUARRAY_", "LD_LIBRARY_PATH")
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
    """Run a piece of Python that must end well, and give what it printed."""

    def passes(code: str, *arguments: str, **variables: str) -> str:
        done = run("-c", code, *arguments, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return passes


@pytest.fixture
def another_driver(tmp_path: Path) -> Path:
    """A driver that is not the package's: a copy of its library, in a file of its own."""
    path = tmp_path / "elsewhere" / "libcuda.so.1"
    path.parent.mkdir()
    path.write_bytes(cuarray_sim.library_path().read_bytes())
    return path
