"""The root causes of failures: a fault that many checks see is recognised, and named once.

Each check says what it saw. A cause says what the library does: it is decided from all that the library exported in the check, and
from what the driver knows about it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import cuarray
from cuarray.check import driver, parts

__all__ = ["FREED", "NO_TENSORS", "Cause", "Export", "Made", "cause_of"]


class Cause(NamedTuple):
    """A fault of a library, and its correction."""

    text: str
    advice: str


FREED = Cause(
    "the memory of an array is freed while the array lives",
    "Let the array own its memory: free it with the last array and the last tensor over it.",
)
UNKNOWN = Cause(
    "the exported pointer is no memory that the driver knows",
    "Export the device pointer of memory that is allocated, and free it with the last array over it.",
)
STRIDES_IN_ELEMENTS = Cause(
    "the dictionary's strides count elements, and the text counts bytes",
    "Multiply each stride by the size of an element.",
)
TENSOR_STRIDES_IN_BYTES = Cause(
    "the tensor's strides count bytes, and DLPack counts elements",
    "Divide each stride by the size of an element.",
)
NO_TENSORS = Cause(
    "the arrays have no __dlpack__",
    "Add __dlpack__ and __dlpack_device__, or name the part `dlpack` in NOT_CLAIMED of the adapter.",
)


class Made(NamedTuple):
    """The layout that an array was made with; the strides are in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int


@dataclass
class Export:
    """The memory and the strides that an array exported."""

    made: Made | None
    pointer: Any
    strides: Any
    is_tensor: bool = False
    #: Whether the check has dropped the array since.
    dropped: bool = False


def cause_of(exports: Sequence[Export]) -> Cause | None:
    """Return the root cause of a failed check, if what the library exported shows one. The arrays have to live still."""
    return _of_memory(each for each in exports if not each.dropped) or _of_strides(exports)


def _of_strides(exports: Iterable[Export]) -> Cause | None:
    for each in exports:
        if each.made is None or not each.strides:
            continue
        size = each.made.itemsize
        if each.is_tensor and _agree(each.made, each.strides, 1) and not _agree(each.made, each.strides, size):
            return TENSOR_STRIDES_IN_BYTES
        if not each.is_tensor and _agree(each.made, each.strides, size) and not _agree(each.made, each.strides, 1):
            return STRIDES_IN_ELEMENTS
    return None


def _agree(made: Made, strides: Any, factor: int) -> bool:
    """Return whether strides, times a factor, are those of the layout; a stride of an axis of length one has no meaning."""
    if not isinstance(strides, tuple) or len(strides) != len(made.strides):
        return False
    if not all(isinstance(step, int) for step in strides):
        return False
    axes = zip(made.shape, strides, made.strides, strict=True)
    return all(step * factor == expected for length, step, expected in axes if length > 1)


def _of_memory(exports: Iterable[Export]) -> Cause | None:
    for each in exports:
        if not isinstance(each.pointer, int) or not 0 < each.pointer < 1 << 63:
            continue
        with contextlib.suppress(cuarray.CudaError):
            if cuarray.pointer_attributes(each.pointer) is None:
                return FREED if _was_freed(each.pointer) else UNKNOWN
    return None


def _was_freed(pointer: int) -> bool:
    """Return whether the simulated driver knows that memory was freed: it reports a read of it as such."""
    if not driver.is_simulated():
        return False
    import cuarray_sim

    with contextlib.suppress(driver.DriverError):
        parts.bytes_at(pointer, 1)
    return any(each["kind"] == "use-after-free" for each in cuarray_sim.findings()["findings"])
