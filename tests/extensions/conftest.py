"""What the tests of extension modules need: the modules, which cargo builds, and streams of two libraries."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest
from driver_probe import ForeignStream

# `make extensions` builds them; where there is no cargo, as beside a GPU, these tests are left out.
collect_ignore_glob = [] if importlib.util.find_spec("typed_views") else ["test_*.py"]


def stream(driver: str) -> Iterator[ForeignStream]:
    """A stream that the test has to itself."""
    stream = ForeignStream()
    yield stream
    stream.destroy()


# Where an array's work goes, and where else; the same of the side that gives an array and of the side that takes it.
home, elsewhere = pytest.fixture(stream), pytest.fixture(stream)
theirs, ours = pytest.fixture(stream), pytest.fixture(stream)
