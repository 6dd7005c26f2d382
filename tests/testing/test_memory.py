"""``assert_same_memory``: each difference fails, and differences without a meaning pass."""

from __future__ import annotations

from typing import Any

import pytest
from producers import Producer, describe

import cuarray
from cuarray.testing import assert_same_memory

ADDRESS = describe()["data"][0]
MASK = Producer(describe(typestr="|b1"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shape": (1,)}, r"the shapes differ: \(2,\) and \(1,\)"),
        ({"typestr": "<i4"}, "the types differ: '<f4' and '<i4'"),
        ({"data": (ADDRESS + 4, False)}, "the second array begins 4 bytes after the first one"),
        ({"data": (ADDRESS - 4, False)}, "the second array begins 4 bytes before the first one"),
        ({"data": (ADDRESS + 4096, False)}, "a copy: the first array is at 0x7f0000000000"),
        ({"strides": (8,)}, "the strides of axis 0 differ: 4 and 8 bytes"),
        ({"mask": MASK}, "the second array alone has a mask"),
    ],
    ids=["shape", "type", "after", "before", "copy", "strides", "mask"],
)
def test_difference_is_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_same_memory(describe(), Producer(describe(**changed)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (describe(), describe(data=(ADDRESS, True), version=2)),
        (describe(), describe(strides=(4,))),
        (describe(shape=(1, 2), strides=(4, 4)), describe(shape=(1, 2), strides=(99, 4))),
        (describe(shape=(0,), data=(0, False)), describe(shape=(0,), strides=(64,), data=(0, False))),
        (describe(mask=MASK), describe(mask=MASK)),
    ],
    ids=["flag-and-version", "explicit-strides", "one-position", "empty", "mask"],
)
def test_difference_without_a_meaning_passes(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert_same_memory(first, second)


def test_masks_over_other_memory_differ() -> None:
    other = Producer(describe(typestr="|b1", data=(4096, False)))
    with pytest.raises(AssertionError, match="masks: a copy"):
        assert_same_memory(describe(mask=MASK), describe(mask=other))


def test_object_without_an_interface_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="a list has neither"):
        assert_same_memory(describe(), [1.0])


def test_tensor_is_read_by_dlpack(driver: str) -> None:
    array = cuarray.to_device([1.0, 2.0])

    class Tensor:
        def __dlpack__(self, **request: Any) -> Any:
            return array.__dlpack__(**request)

        def __dlpack_device__(self) -> Any:
            return array.__dlpack_device__()

    assert_same_memory(array, Tensor())
    with pytest.raises(AssertionError, match="a copy"):
        assert_same_memory(cuarray.to_device([1.0, 2.0]), Tensor())
