"""The rules: changes of a value, by its kind."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from cuarray.check import driver, tensors

AXES = range(5)
Rules = Iterator[tuple[str, Callable[[Any], Any]]]


def constant(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


def confused(this: Any, other: Any) -> Callable[[Any], Any]:
    """Return a change of one value into another; other values stay."""
    return lambda value: other if value == this else value


def refused(this: Any) -> Callable[[Any], Any]:
    """Return a change that refuses one value."""

    def change(value: Any) -> Any:
        if value == this:
            raise BufferError(f"{this!r} is not supported")
        return value

    return change


def raises(error: type[Exception]) -> Callable[[Any], Any]:
    def change(_: Any) -> Any:
        raise error("the mutant")

    return change


def crashes(when: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def change(value: Any) -> Any:
        if when(value):
            ctypes.string_at(8)
        return value

    return change


def at(axis: int, change: Callable[[int], Any]) -> Callable[[Any], Any]:
    """Return a change of one entry of a tuple; a shorter tuple stays."""
    return lambda value: tuple(change(each) if index == axis else each for index, each in enumerate(value))


def entries(kind: type, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a change of the entries of one type, bool left out."""
    return lambda value: type(value)(change(each) if type(each) is kind else each for each in value)


def left_out(_: Any) -> bool:
    return False


def only_for(this: Any) -> Callable[[Any], bool]:
    """Return a step that is left out in one case."""
    return lambda what: what != this


def shapes(*, is_import: bool) -> Rules:
    for axis in AXES:
        yield f"entry {axis} is one too many", at(axis, lambda each: each + 1)
        yield f"entry {axis} is left out", lambda value, axis=axis: (*value[:axis], *value[axis + 1 :])
    yield "the order is reversed", lambda value: value[::-1]
    yield "no axes are one axis", confused((), (1,))
    if is_import:
        for count in range(6):
            yield (
                f"{count} dimensions are refused",
                lambda value, count=count: refused(True)(len(value) == count) or value,
            )
        yield "a length of 0 is refused", lambda value: refused(True)(0 in value) or value


def strides(unit: Callable[[int], int], *, left: Any) -> Rules:
    """Yield the changes of strides: the value is a triple of strides, shape and item size. ``unit`` is one element."""

    def of(change: Callable[[Any, Any, int], Any]) -> Callable[[Any], Any]:
        return lambda value: (change(*value), *value[1:])

    yield "left out", of(left)
    yield "absolute values", of(lambda steps, shape, size: tuple(map(abs, steps)))
    yield "negative ones as unsigned", of(lambda steps, shape, size: tuple(step % (1 << 32) for step in steps))
    yield "the order is reversed", of(lambda steps, shape, size: steps[::-1])
    yield "0 as contiguous", of(lambda steps, shape, size: compact(shape, unit(size)) if 0 in steps else steps)
    yield "0 as one element", of(lambda steps, shape, size: tuple(step or unit(size) for step in steps))
    yield "those of Fortran order", of(lambda steps, shape, size: compact(shape[::-1], unit(size))[::-1])
    for axis in AXES:
        yield (
            f"entry {axis} is one element too many",
            lambda value, axis=axis: (at(axis, lambda step: step + unit(value[2]))(value[0]), *value[1:]),
        )


def compact(shape: Any, unit: int) -> tuple[int, ...]:
    steps = []
    for length in reversed(shape):
        steps.append(unit)
        unit *= max(length, 1)
    return tuple(reversed(steps))


def neighbour(typestr: str) -> str:
    """Return another type of the same size."""
    return typestr[0] + {"i": "u", "u": "i", "f": "i", "c": "f", "b": "u"}[typestr[1]] + typestr[2:]


def dtype(typestr: str) -> tuple[int, int, int]:
    return (tensors.CODES[typestr[1]], 8 * int(typestr[2:]), 1)


def without(entries: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if name != key}


def synchronizes(_: Any) -> None:
    with driver.context():
        driver.call("cuCtxSynchronize")
