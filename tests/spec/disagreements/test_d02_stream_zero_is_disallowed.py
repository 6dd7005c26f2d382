"""D2: stream 0 is ambiguous, and disallowed.

numba-cuda exports ``stream: 0`` for an array that is bound to its default stream. CuPy and numba accept it, cuda.core fails an
assertion, JAX and DALI raise errors.

The text: 0 is disallowed, since it could mean no stream, the legacy or the per-thread default stream (I11).

cuarray: every import refuses it, with the reason and the three possible meanings. An import that does not wait refuses it too,
since the dictionary is wrong either way. Exports never contain 0: CUDA's default streams are exported as 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe

import cuarray

IMPORTS: list[Callable[[Any], object]] = [
    cuarray.as_cuda_array,
    lambda obj: cuarray.as_cuda_array(obj, sync=False),
    lambda obj: cuarray.as_cuda_array(obj, strict=False),
    lambda obj: cuarray.from_cuda_array_interface(obj.__cuda_array_interface__, sync=False),
    cuarray.interface,
    lambda obj: cuarray.interface(obj, strict=False),
]
MESSAGE = r"__cuda_array_interface__\['stream'\]: 0 is disallowed .*None .*1 \(legacy.*2 \(per-thread"


@pytest.mark.parametrize("read", IMPORTS)
def test_import_refuses_stream_zero(read: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match=MESSAGE):
        read(Producer(describe(stream=0)))


@pytest.mark.parametrize("read", IMPORTS)
def test_import_refuses_numba_array_with_stream_zero(numba: Any, read: Callable[[Any], object]) -> None:
    numba_array = numba.device_array(4, "f4", stream=numba.default_stream())
    assert numba_array.__cuda_array_interface__["stream"] == 0, "numba-cuda no longer exports stream 0: D2 is resolved"
    with pytest.raises(ValueError, match=MESSAGE):
        read(numba_array)


@pytest.mark.parametrize(("name", "handle"), [("legacy_default_stream", 1), ("per_thread_default_stream", 2)])
def test_default_streams_1_and_2_are_accepted(numba: Any, name: str, handle: int) -> None:
    numba_array = numba.to_device(np.arange(4)).bind(getattr(numba, name)())
    imported = cuarray.as_cuda_array(numba_array)
    assert imported.__cuda_array_interface__["stream"] == handle
    assert imported.copy_to_host().tolist() == [0, 1, 2, 3]


def test_stream_zero_is_ignored_before_version_3() -> None:
    """Versions before 3 have no entry ``stream`` (clause V2)."""
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
def test_default_stream_is_exported_as_1_or_2(driver: str, stream: Callable[[], Any]) -> None:
    exported = cuarray.device_array(4, "f4", stream=stream()).__cuda_array_interface__["stream"]
    assert exported in (1, 2)
    assert type(exported) is int


def test_numba_default_stream_is_exported_as_1(numba: Any, strided_memory_view: Callable[..., Any]) -> None:
    """numba exports the same stream as 0, on which cuda.core fails."""
    stream = numba.default_stream()
    with pytest.raises(AssertionError):
        strided_memory_view(numba.device_array(4, "f4", stream=stream), 1)
    array = cuarray.device_array(4, "f4", stream=stream)
    assert array.__cuda_array_interface__["stream"] == 1
    assert strided_memory_view(array, 1).ptr == array.ptr
