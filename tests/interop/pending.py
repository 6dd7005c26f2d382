"""Arrays with a pending write, for which an exchange must wait."""

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
    """Yield the producer's array, its stream with a pending write after other work, and the values after the write."""
    stream = producer.stream()
    made = producer.make(STREAM_CASE, stream)
    staged = made.stage(STREAM_CASE.values(1))
    kept = driver.occupy(producer, stream) if driver.occupy is not None else None
    made.write_later(staged, stream)
    yield made, stream, STREAM_CASE.values(1)
    # Pending work still uses the memory that is released below.
    stream.synchronize()
    del kept, staged
