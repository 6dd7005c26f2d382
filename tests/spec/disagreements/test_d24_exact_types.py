"""D24: libraries accept different types for dict, tuple and int.

cuda.core and CuPy accept only an exact ``dict`` and ``tuple``, no subclasses. PyTorch accepts any sequence, JAX any convertible
object. numba converts NumPy integers, other libraries refuse them.

The text: a dict (I1), tuples of ints (I2, I4, I8), a bool (I4).

cuarray: accepts subclasses of dict and tuple, and as an int any object with ``__index__`` except a bool. A list is no tuple and a
float is no int. ``strict=False`` accepts a list, and lists the deviation. Exports contain only the exact types, for all consumers.
"""

from __future__ import annotations

import collections
import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray


class Dict(dict[str, Any]):
    pass


class Shape(NamedTuple):
    rows: Any
    columns: Any


class Number(enum.IntEnum):
    TWO = 2
    THREE = 3


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("kind", [Dict, collections.OrderedDict, lambda d: collections.defaultdict(int, d)])
def test_subclass_of_dict_is_accepted(kind: Callable[[dict[str, Any]], Any]) -> None:
    assert cuarray.interface(Producer(kind(describe()))) == cuarray.interface(describe())
    assert cuarray.from_cuda_array_interface(kind(describe())).shape == (2,)


@pytest.mark.parametrize(
    "entries",
    [
        {"shape": Shape(2, 3)},
        {"shape": (np.int64(2), np.uint8(3))},
        {"shape": (Number.TWO, Number.THREE)},
        {"strides": Shape(12, 4)},
        {"strides": (np.int32(12), np.int64(4))},
        {"data": Shape(0x7F0000000000, False)},
        {"data": (np.uint64(0x7F0000000000), False)},
        {"typestr": Text("<f4")},
        {"version": np.int64(3)},
        {"version": Number.THREE},
        {"stream": np.uint64(2)},
        {"stream": Number.TWO},
    ],
    ids=repr,
)
def test_subclasses_and_numpy_integers_are_accepted(entries: dict[str, Any]) -> None:
    plain = cuarray.interface(describe(shape=(2, 3), stream=2 if "stream" in entries else None))
    assert cuarray.interface({**describe(shape=(2, 3)), **entries}) == plain


WRONG = [
    {"shape": [2]},
    {"shape": np.array([2])},
    {"shape": range(2, 3)},
    {"strides": [4]},
    {"strides": np.array([4])},
    {"data": [0x7F0000000000, False]},
]


@pytest.mark.parametrize("entries", WRONG, ids=repr)
def test_sequence_other_than_tuple_is_refused_or_leniently_a_deviation(entries: dict[str, Any]) -> None:
    [key] = entries
    with pytest.raises(ValueError, match=rf"__cuda_array_interface__\['{key}'\].*tuple"):
        cuarray.interface(describe(**entries))
    read = cuarray.interface(describe(**entries), strict=False)
    assert read == cuarray.interface(describe())
    [note] = read.deviations
    assert note.startswith(f"'{key}'")


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "entries",
    [
        {"shape": (2.0,)},
        {"shape": ("2",)},
        {"shape": (True,)},
        {"shape": "2"},
        {"shape": 2},
        {"strides": (4.0,)},
        {"data": (4096.0, False)},
        {"data": (True, False)},
        {"version": 3.0},
        {"stream": True},
    ],
    ids=repr,
)
def test_value_other_than_int_is_refused_even_leniently(entries: dict[str, Any], strict: bool) -> None:
    with pytest.raises(ValueError, match=next(iter(entries))):
        cuarray.interface(describe(**entries), strict=strict)


def exact(value: object) -> bool:
    """Return whether a value and all its elements have exact built-in types."""
    if type(value) is tuple:
        return all(map(exact, value))
    return value is None or type(value) in (int, bool, str)


def test_exported_values_have_exact_types(driver: str) -> None:
    memory = cuarray.to_device(np.arange(6, dtype="f4").reshape(2, 3))
    producer = Producer(
        Dict(
            shape=Shape(np.int64(3), Number.TWO),
            strides=Shape(np.int16(4), np.int32(12)),
            typestr=Text("<f4"),
            data=Shape(np.uint64(memory.ptr), False),
            version=np.int8(3),
            stream=Number.TWO,
        ),
        keeps=memory,
    )
    array = cuarray.as_cuda_array(producer)
    exported = array.__cuda_array_interface__
    assert type(exported) is dict
    assert all(type(key) is str and exact(value) for key, value in exported.items())
    assert exported["shape"] == (3, 2)
    assert array.copy_to_host().tolist() == [[0, 3], [1, 4], [2, 5]]


def test_cuda_core_reads_imported_array_that_it_refuses_directly(
    driver: str, strided_memory_view: Callable[..., Any]
) -> None:
    memory = cuarray.to_device(np.arange(6, dtype="f4"))
    subclass = Producer(Dict(memory.__cuda_array_interface__), memory)
    with pytest.raises(TypeError, match="Expected dict"):
        strided_memory_view(subclass, -1)
    assert strided_memory_view(cuarray.as_cuda_array(subclass), -1).ptr == memory.ptr

    listed = foreign(memory, shape=[6])
    with pytest.raises(TypeError, match="Expected tuple"):
        strided_memory_view(listed, -1)
    assert strided_memory_view(cuarray.as_cuda_array(listed, strict=False), -1).shape == (6,)
