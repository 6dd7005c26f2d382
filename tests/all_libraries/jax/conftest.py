"""Tests of JAX on the simulated driver. `make test-all` runs them, in the environment of `make peers-all`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore the tests without JAX or without the simulated driver: other drivers run its kernels, too."""
    missing = any(importlib.util.find_spec(name) is None for name in ("jax", "jax_cuda13_plugin"))
    return True if missing or not config.getoption("cuarray_sim") else None
