"""D2: stream 0 says nothing.

numba-cuda exports ``stream: 0`` for an array that is bound to its default stream. Consumers part three ways: CuPy and numba
take it, cuda.core fails an assertion, JAX and DALI raise errors of their own.

The text: 0 is disallowed, since it could mean no stream, the legacy or the per-thread default stream (I11).

cuarray: refuses it on every way in, with the reason and the three that could be meant; also where the stream is not to be
waited for, since the dictionary is wrong all the same. It never exports 0: the default streams are 1 and 2, however they were given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe

import cuarray

WAYS_IN: list[Callable[[Any], object]] = [
    cuarray.as_cuda_array,
    lambda obj: cuarray.as_cuda_array(obj, sync=False),
    lambda obj: cuarray.as_cuda_array(obj, strict=False),
    lambda obj: cuarray.from_cuda_array_interface(obj.__cuda_array_interface__, sync=False),
    cuarray.interface,
    lambda obj: cuarray.interface(obj, strict=False),
]
MESSAGE = r"__cuda_array_interface__\['stream'\]: 0 is disallowed .*None .*1 \(legacy.*2 \(per-thread"


@pytest.mark.parametrize("read", WAYS_IN)
def test_zero_is_refused(read: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match=MESSAGE):
        read(Producer(describe(stream=0)))


@pytest.mark.parametrize("read", WAYS_IN)
def test_what_numba_exports_is_refused(numba: Any, read: Callable[[Any], object]) -> None:
    theirs = numba.device_array(4, "f4", stream=numba.default_stream())
    assert theirs.__cuda_array_interface__["stream"] == 0, "numba-cuda has been mended: D2 has lost its cause"
    with pytest.raises(ValueError, match=MESSAGE):
        read(theirs)


@pytest.mark.parametrize(("name", "handle"), [("legacy_default_stream", 1), ("per_thread_default_stream", 2)])
def test_a_default_stream_by_its_number_is_taken(numba: Any, name: str, handle: int) -> None:
    theirs = numba.to_device(np.arange(4)).bind(getattr(numba, name)())
    ours = cuarray.as_cuda_array(theirs)
    assert ours.__cuda_array_interface__["stream"] == handle
    assert ours.copy_to_host().tolist() == [0, 1, 2, 3]


def test_zero_is_not_read_where_there_is_no_stream() -> None:
    """Versions before 3 have no such entry (clause V2): what stands there means nothing."""
    assert cuarray.interface(Producer(describe(stream=0, version=2))).stream is None


@pytest.mark.parametrize(
    "stream",
    [
        cuarray.default_stream,
        cuarray.legacy_default_stream,
        cuarray.per_thread_default_stream,
        lambda: 0,
        lambda: cuarray.external_stream(0),
    ],
    ids=["default", "legacy", "per thread", "0", "external 0"],
)
def test_a_default_stream_is_never_exported_as_zero(driver: str, stream: Callable[[], Any]) -> None:
    exported = cuarray.device_array(4, "f4", stream=stream()).__cuda_array_interface__["stream"]
    assert exported in (1, 2)
    assert type(exported) is int


def test_numbas_default_stream_is_not_exported_as_zero(numba: Any, strided_memory_view: Callable[..., Any]) -> None:
    """The same stream that numba exports as 0; cuda.core, which stumbles over that, takes ours."""
    stream = numba.default_stream()
    with pytest.raises(AssertionError):
        strided_memory_view(numba.device_array(4, "f4", stream=stream), 1)
    array = cuarray.device_array(4, "f4", stream=stream)
    assert array.__cuda_array_interface__["stream"] == 1
    assert strided_memory_view(array, 1).ptr == array.ptr
