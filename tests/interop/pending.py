"""An array whose stream has still to write it, which an exchange must not overlook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from driver import Driver
from facts import STREAM_CASE
from library import Array, Library


@contextmanager
def pending_in(producer: Library, driver: Driver) -> Iterator[tuple[Array, Any, np.ndarray]]:
    """The producer's array, its stream with the write at the end of other work, and what the write leaves."""
    stream = producer.stream()
    made = producer.make(STREAM_CASE, stream)
    staged = made.stage(STREAM_CASE.values(1))
    kept = driver.occupy(producer, stream) if driver.occupy is not None else None
    made.write_later(staged, stream)
    yield made, stream, STREAM_CASE.values(1)
    # What is still pending reads and writes memory that is about to go.
    stream.synchronize()
    del kept, staged
