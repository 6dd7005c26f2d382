"""Lenient reading (`strict=False`) of unusual input: it terminates, refuses input that is not merely a deviation, and lists deviations."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from producers import Producer, describe

import cuarray


class Raising:
    """A sequence that raises on every access."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __iter__(self) -> Any:
        raise self.error("accessed")

    def __getitem__(self, index: int) -> Any:
        raise self.error("accessed")

    def __bool__(self) -> bool:
        raise self.error("accessed")


class Endless:
    def __getitem__(self, index: int) -> int:
        return 1


@pytest.mark.parametrize("key", ["shape", "strides", "data"])
@pytest.mark.parametrize("value", [Endless(), itertools.repeat(1)], ids=["sequence", "iterator"])
def test_lenient_reading_refuses_endless_sequence(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=key):
        cuarray.interface(describe(**{key: value}), strict=False)


@pytest.mark.parametrize("error", [RuntimeError, KeyError, StopIteration, TypeError])
@pytest.mark.parametrize("key", ["shape", "strides", "data"])
def test_lenient_reading_refuses_sequence_that_raises(key: str, error: type[Exception]) -> None:
    with pytest.raises(ValueError, match=rf"'{key}'.*Raising"):
        cuarray.interface(describe(**{key: Raising(error)}), strict=False)


@pytest.mark.parametrize(
    "value", [{4096}, frozenset({2}), {4096: False}, b"22", pytest.param(iter([2]), id="iter([2])"), "22"], ids=repr
)
@pytest.mark.parametrize("key", ["shape", "strides", "data"])
def test_lenient_reading_accepts_only_sequences_for_tuples(key: str, value: Any) -> None:
    """A set has no order, keys of a dictionary are not lengths, and bytes are a single value."""
    with pytest.raises(ValueError, match=key):
        cuarray.interface(describe(**{key: value}), strict=False)


def test_lenient_reading_refuses_flag_that_raises() -> None:
    with pytest.raises(ValueError, match=r"'data'.*Raising"):
        cuarray.interface(describe(data=(4096, Raising(RuntimeError))), strict=False)


@pytest.mark.parametrize(
    "entries", [{"shape": Raising(KeyboardInterrupt)}, {"data": (4096, Raising(KeyboardInterrupt))}]
)
def test_interrupt_passes_through_lenient_reading(entries: dict[str, Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        cuarray.interface(describe(**entries), strict=False)


def test_deviations_of_mask_are_listed() -> None:
    mask = Producer(describe(typestr="bool", shape=[2]))
    with pytest.raises(ValueError, match="mask"):
        cuarray.interface(describe(mask=mask))
    deviations = cuarray.interface(describe(mask=mask), strict=False).deviations
    assert len(deviations) == 2
    assert all(note.startswith("'mask': ") for note in deviations)
    assert "'typestr'" in deviations[0]
    assert "'shape'" in deviations[1]


@pytest.mark.parametrize(("bits", "length", "nbytes"), [(1, 30, 4), (12, 3, 5), (16, 3, 6)])
def test_byte_count_of_bit_fields_rounds_up(bits: int, length: int, nbytes: int) -> None:
    entries = describe(typestr=f"<t{bits}", shape=(length,))
    read = cuarray.interface(entries)
    assert read.nbytes == nbytes == read.byte_range[1] - read.byte_range[0]
    assert cuarray.from_cuda_array_interface(entries).nbytes == nbytes
