"""D15: the numbers 1 and 2 are streams.

JAX does not wait for streams 1 and 2, so it races with CuPy's usual export, stream 1. One of its clients refuses a stream that JAX
did not create, the other ignores it. Thus JAX never waits for a stream of another library.

The text: 1 is the legacy default stream, 2 the per-thread default stream, any other number is a ``cudaStream_t`` (I11); the consumer
synchronizes on it, or enqueues its work there (S2).

cuarray: waits for each of them, and keeps it as the array's home stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, foreign

import cuarray

Read = Callable[[Producer], cuarray.DeviceArray]
IMPORTS: dict[str, Read] = {
    "as_cuda_array": cuarray.as_cuda_array,
    "from_cuda_array_interface": lambda obj: cuarray.from_cuda_array_interface(obj.__cuda_array_interface__, obj),
}


@pytest.fixture(params=["legacy default", "per-thread default", "another library's", "cuarray's"])
def handle(request: pytest.FixtureRequest, driver: str) -> Iterator[int]:
    """Yield the handle of a stream."""
    if request.param == "legacy default":
        yield 1
    elif request.param == "per-thread default":
        yield 2
    elif request.param == "cuarray's":
        stream = cuarray.stream()
        yield stream.handle
    else:
        foreign_stream = driver_probe.ForeignStream()
        yield foreign_stream.handle
        foreign_stream.destroy()


@pytest.mark.parametrize("read", IMPORTS.values(), ids=list(IMPORTS))
def test_import_waits_for_the_exported_stream(handle: int, read: Read) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = foreign(memory, stream=handle)
    with driver_probe.held(handle) as hold:
        driver_probe.fill(memory.ptr, 7, 4, handle)
        hold.release_soon()
        array = read(producer)
        assert not hold.is_held, "the import did not wait"
        assert driver_probe.is_done(handle)
    assert array.stream is not None
    assert array.stream.handle == handle
    assert array.__cuda_array_interface__["stream"] == handle
    assert array.copy_to_host().tolist() == [7] * 4


@pytest.mark.parametrize("sync", [False, True])
def test_import_with_sync_false_does_not_wait(handle: int, sync: bool) -> None:
    """Also a control: an import without a wait returns while the stream is held."""
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with driver_probe.held(handle) as hold:
        if sync:
            hold.release_soon()
        array = cuarray.as_cuda_array(foreign(memory, stream=handle), sync=sync)
        assert hold.is_held != sync
        hold.release()
        assert array.copy_to_host().tolist() == [0] * 4


def test_import_waits_for_numba_stream(numba: Any) -> None:
    stream = numba.stream()
    numba_array, sevens = numba.to_device(np.zeros(4, np.uint8)).bind(stream), numba.to_device(np.full(4, 7, np.uint8))
    with driver_probe.held(numba_array.__cuda_array_interface__["stream"]) as hold:
        numba_array.copy_to_device(sevens, stream=stream)
        hold.release_soon()
        array = cuarray.as_cuda_array(numba_array)
        assert not hold.is_held
    assert array.copy_to_host().tolist() == [7] * 4
