"""Dictionaries as the published sources of libraries build them, which run nowhere here: replayed over memory of the kit.

Each module names its source. Only the dictionary is recorded: memory, streams and copies are not those of the library.
"""

from __future__ import annotations

import math
from typing import Any

from cuarray.check import NotClaimed, parts

#: The parts that no recorded dictionary offers.
NOT_CLAIMED = {
    "consumer": "recorded as a producer only",
    "ordering": "recorded: a dictionary has no work",
    "streams": "recorded: a dictionary has no work",
    "strides": "recorded for contiguous arrays",
    "negative-strides": "recorded for contiguous arrays",
    "broadcast": "recorded for contiguous arrays",
    "masks": "recorded without a mask",
    "read-only": "the source exports writable arrays only",
    "structures": "recorded for numbers",
    "devices": "recorded on the first device",
    "dlpack": "recorded for __cuda_array_interface__",
}


class Recorded:
    """An object with a recorded dictionary, which owns its memory."""

    def __init__(self, memory: parts.Memory, entries: dict[str, Any]) -> None:
        self.memory, self.__cuda_array_interface__ = memory, entries


def memory_of(shape: tuple[int, ...], typestr: str) -> parts.Memory:
    """Return memory for an array."""
    return parts.Memory(math.prod(shape) * parts.size_of(typestr))


def one_axis(shape: tuple[int, ...], *, nonempty: bool = False) -> None:
    """Refuse other shapes than those that the source has."""
    if len(shape) != 1 or (nonempty and shape == (0,)):
        raise NotClaimed("recorded for one axis")


def write(array: Recorded, data: Any, *, stream: Any = None) -> None:
    """Write the elements."""
    array.memory.set(bytes(data))


def pointer(array: Recorded) -> int:
    """Return the address."""
    return array.memory.pointer
