"""Fixtures of the tests of extension modules: streams of two libraries."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest
from driver_probe import ForeignStream

# `make extensions` builds the modules. Without them, as on machines without cargo, these tests are not collected.
collect_ignore_glob = [] if importlib.util.find_spec("typed_views") else ["test_*.py"]


def stream(driver: str) -> Iterator[ForeignStream]:
    """Yield a new stream."""
    stream = ForeignStream()
    yield stream
    stream.destroy()


# An array's home stream and another one; streams of the producer and of the consumer.
home, elsewhere = pytest.fixture(stream), pytest.fixture(stream)
producer_stream, consumer_stream = pytest.fixture(stream), pytest.fixture(stream)
