"""D6: ``data`` is a tuple.

cuDF's spillable buffers export a lazy sequence instead. Reading its pointer marks the buffer as exposed, and it is never moved out
of device memory again. PyTorch, DALI and numba's newer launcher refuse it; cuda.core unpacks it.

The text: ``data`` is a 2-tuple of a pointer and a flag (I4).

cuarray: refuses it without reading the pointer, so that a refusal exposes nothing. With ``strict=False`` it reads the pointer once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray


class DelayedPointer(Sequence[Any]):
    """A lazy pair as cuDF exports it: reading the pointer exposes the buffer."""

    def __init__(self, pointer: int) -> None:
        self.pointer, self.exposed = pointer, 0

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            self.exposed += 1
            return self.pointer
        if index == 1:
            return False
        raise IndexError("tuple index out of range")


@pytest.mark.parametrize(
    "read", [cuarray.interface, cuarray.as_cuda_array, lambda obj: cuarray.to_device(obj), cuarray.is_cuda_array]
)
def test_strict_read_does_not_read_the_pointer(driver: str, read: Callable[[Any], object]) -> None:
    data = DelayedPointer(4096)
    producer = Producer(describe(data=data))
    if read is cuarray.is_cuda_array:
        assert read(producer)
    else:
        with pytest.raises(ValueError, match=r"__cuda_array_interface__\['data'\].*a 2-tuple of a pointer"):
            read(producer)
    assert data.exposed == 0


def test_lenient_import_reads_the_pointer_once(driver: str) -> None:
    memory = cuarray.to_device(np.arange(5, dtype="f4"))
    data = DelayedPointer(memory.ptr)
    array = cuarray.as_cuda_array(foreign(memory, data=data), strict=False)
    assert data.exposed == 1
    assert array.copy_to_host().tolist() == [0, 1, 2, 3, 4]
    assert array.__cuda_array_interface__["data"] == (memory.ptr, False)
    assert type(array.__cuda_array_interface__["data"]) is tuple
    assert data.exposed == 1


def test_lenient_read_lists_the_deviation() -> None:
    [note] = cuarray.interface(describe(data=DelayedPointer(4096)), strict=False).deviations
    assert note.startswith("'data'")
    assert "DelayedPointer" in note


def test_lenient_read_accepts_null_pointer_of_empty_buffer() -> None:
    data = DelayedPointer(None)  # type: ignore[arg-type] - cuDF exports None for an empty buffer
    read = cuarray.interface(describe(shape=(0,), data=data), strict=False)
    assert (read.ptr, read.nbytes) == (0, 0)


def test_pair_that_raises_is_refused_and_keyboard_interrupt_propagates() -> None:
    class Lost(DelayedPointer):
        def __init__(self, error: BaseException) -> None:
            super().__init__(0)
            self.error = error

        def __getitem__(self, index: Any) -> Any:
            raise self.error

    with pytest.raises(ValueError, match=r"\['data'\].*Lost; a 2-tuple of a pointer"):
        cuarray.interface(describe(data=Lost(RuntimeError("the buffer is gone"))), strict=False)
    with pytest.raises(KeyboardInterrupt):
        cuarray.interface(describe(data=Lost(KeyboardInterrupt())), strict=False)
