"""Fixtures for the tests of the package."""

from __future__ import annotations

from collections.abc import Callable

import driver_probe
import pytest


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Runs a program in its own process."""
    return driver_probe.run_python
