"""Arrays with a pending write, for which an exchange must wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from facts import STREAM_CASE
from route import Array, Library

from cuarray.check import parts


@contextmanager
def pending_in(producer: Library) -> Iterator[tuple[Array, Any, np.ndarray]]:
    """Yield the producer's array, its stream with a pending write after other work, and the values after the write."""
    stream = producer.stream()
    made = producer.make(STREAM_CASE, stream)
    parts.hold(stream)
    data = made.write_later(STREAM_CASE.values(1), stream)
    yield made, stream, STREAM_CASE.values(1)
    # This read waits for the write, which uses memory that is released below.
    made.read(stream)
    del data
