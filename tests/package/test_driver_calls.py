"""The driver calls of copies, edges and waits: each is made once, and none asks for something already known.

A copy of a few kilobytes takes as long as two or three driver calls, so each additional call shows in its cost.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream
from producers import foreign

import cuarray

# Calls around a copy without a stream: the current context, the capture status of the default stream, and the thread's capture mode.
AROUND = {"cuCtxGetCurrent": 1, "cuStreamIsCapturing": 1, "cuThreadExchangeStreamCaptureMode": 2}
PUSHED = {"cuCtxPushCurrent_v2": 1, "cuCtxPopCurrent_v2": 1}

Counted = Callable[[], Any]


@contextlib.contextmanager
def no_context() -> Iterator[None]:
    """No context is current on this thread in the block, whatever earlier tests have left."""
    popped = []
    while (current := driver_probe.current_context()) is not None:
        driver_probe.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        popped.append(current)
    try:
        yield
    finally:
        for current in reversed(popped):
            driver_probe.call("cuCtxPushCurrent_v2", ctypes.c_void_p(current))


@pytest.fixture(params=["current", "none current"])
def context(driver: str, request: pytest.FixtureRequest) -> Iterator[dict[str, int]]:
    """The context calls that are expected: none if a context is current, else one push and pop."""
    current = request.param == "current"
    with driver_probe.primary_context() if current else no_context():
        yield {} if current else PUSHED


def arrays() -> tuple[cuarray.DeviceArray, cuarray.DeviceArray, np.ndarray]:
    """Two device arrays and a host array of one shape, such that a copy between them is one box."""
    shape = (4, 6, 2)
    host = np.arange(48, dtype="f4").reshape(shape)
    wide = cuarray.to_device(np.zeros((4, 8, 2), "f4"))
    return wide[:, 1:7], cuarray.to_device(host), host


def test_strided_copy_from_host_is_one_driver_copy(context: dict[str, int], driver_calls: Counted) -> None:
    part, _, host = arrays()
    with driver_calls() as calls:
        part.copy_to_device(host)
    assert calls == {**AROUND, **context, "cuMemcpy3D_v2": 1}
    assert part.copy_to_host().tolist() == host.tolist()


def test_strided_copy_to_host_is_one_driver_copy(context: dict[str, int], driver_calls: Counted) -> None:
    part, _, host = arrays()
    with driver_calls() as calls:
        part.copy_to_host(host)
    assert calls == {**AROUND, **context, "cuMemcpy3D_v2": 1}
    assert host.tolist() == np.zeros((4, 6, 2)).tolist()


def test_strided_copy_within_device_is_one_driver_copy_and_one_wait(
    context: dict[str, int], driver_calls: Counted
) -> None:
    part, dense, host = arrays()
    with driver_calls() as calls:
        part.copy_to_device(dense)
    assert calls == {**AROUND, **context, "cuMemcpy3D_v2": 1, "cuStreamSynchronize": 1}
    assert part.copy_to_host().tolist() == host.tolist()


def test_copy_of_several_boxes_adds_only_their_copies(context: dict[str, int], driver_calls: Counted) -> None:
    target = cuarray.to_device(np.zeros((3, 5, 2**16), np.uint8))
    source = cuarray.to_device(np.ones((3, 5, 2**16), np.uint8))
    # Only the source is reversed, in both outer axes.
    with driver_calls() as calls:
        target.copy_to_device(source[::-1, ::-1])
    assert calls == {**AROUND, **context, "cuMemcpyDtoD_v2": 15, "cuStreamSynchronize": 1}


def test_pointer_attributes_of_foreign_memory_are_queried_once(context: dict[str, int], driver_calls: Counted) -> None:
    part, dense, host = arrays()
    imported = cuarray.as_cuda_array(foreign(dense))
    with driver_calls() as calls:
        imported.copy_to_device(host)
    assert calls == {**AROUND, **context, "cuPointerGetAttributes": 1, "cuMemcpyHtoD_v2": 1}
    with driver_calls() as calls:
        part.copy_to_device(imported)
    assert calls == {
        **AROUND,
        **context,
        "cuPointerGetAttributes": 1,
        "cuMemcpy3D_v2": 1,
        "cuStreamSynchronize": 1,
    }


def test_pointer_outside_named_owner_is_queried(driver: str, driver_calls: Counted) -> None:
    owned, other = cuarray.to_device(np.arange(4, dtype="f4")), cuarray.to_device(np.arange(4, 8, dtype="f4"))
    described = cuarray.from_cuda_array_interface(other.__cuda_array_interface__, owner=owned.owner)
    with driver_calls() as calls:
        assert described.copy_to_host().tolist() == [4, 5, 6, 7]
    assert calls["cuPointerGetAttributes"] == 1
    with pytest.raises(BufferError, match="unknown to the driver"):
        cuarray.from_cuda_array_interface(
            {**owned.__cuda_array_interface__, "data": (4096, False)}, owned.owner
        ).copy_to_host()


def test_copy_in_stream_is_one_driver_copy_and_one_wait(
    context: dict[str, int], foreign_stream: ForeignStream, driver_calls: Counted
) -> None:
    part, _, host = arrays()
    bound = part.bind(foreign_stream)
    bound.copy_to_device(host)  # the first use also queries the stream
    with driver_calls() as calls:
        bound.copy_to_device(host)
    assert {name: count for name, count in calls.items() if "Ctx" in name} == {"cuCtxGetCurrent": 1, **context}
    assert calls["cuMemcpy3DAsync_v2"] == calls["cuStreamSynchronize"] == 1
    assert "cuPointerGetAttributes" not in calls


def test_edge_pushes_context_at_most_once(driver: str, driver_calls: Counted) -> None:
    array, other = cuarray.device_array(4, "u1", stream=cuarray.stream()), cuarray.stream()
    for current, taken in ((driver_probe.primary_context, {}), (no_context, PUSHED)):
        with current():
            array.record_stream(other)  # the first use also queries the stream
            with driver_calls() as calls:
                array.record_stream(other)
        assert calls == {
            "cuCtxGetCurrent": 1,
            **taken,
            "cuStreamIsCapturing": 2,
            "cuEventRecord": 1,
            "cuStreamWaitEvent": 1,
        }


def test_host_wait_queries_context_once(driver: str, foreign_stream: ForeignStream, driver_calls: Counted) -> None:
    producer = foreign(cuarray.to_device(np.zeros(4, np.uint8)), stream=foreign_stream.handle)
    with driver_probe.primary_context(), driver_calls() as calls:
        cuarray.as_cuda_array(producer)
    assert calls == {
        "cuCtxGetCurrent": 1,
        "cuStreamGetCtx": 1,
        "cuStreamIsCapturing": 1,
        "cuThreadExchangeStreamCaptureMode": 2,
        "cuStreamSynchronize": 1,
    }


def test_copy_uses_context_that_is_current_at_the_call(driver: str) -> None:
    """A context remembered from one copy must not be used for the next."""
    _, dense, host = arrays()
    made = ctypes.c_void_p()
    driver_probe.call("cuCtxCreate_v2", ctypes.byref(made), ctypes.c_uint(0), ctypes.c_int(0))
    try:
        for context in (
            driver_probe.primary_context(),
            contextlib.nullcontext(made.value),
            driver_probe.primary_context(),
        ):
            with context as current:
                dense.copy_to_device(host)
                assert driver_probe.current_context() == current
                assert dense.copy_to_host().tolist() == host.tolist()
                assert driver_probe.current_context() == current
    finally:
        driver_probe.call("cuCtxDestroy_v2", made)


ORDERING = {"cuEventRecord", "cuStreamWaitEvent", "cuStreamQuery", "cuStreamSynchronize", "cuEventSynchronize"}


def ordering(calls: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in calls.items() if name in ORDERING}


def test_idle_home_stream_of_other_array_costs_one_query(driver: str, driver_calls: Counted) -> None:
    """The other array may have enqueued work in its home stream, so the stream is queried. It is idle, so nothing waits for it."""
    home, given = cuarray.stream(), cuarray.stream()
    array, host = cuarray.to_device([1, 2, 3], stream=home), cuarray.pinned_array(3, np.int64)
    bound = array.bind(None)
    for _ in range(2):
        with driver_calls() as calls:
            bound.copy_to_host(host, stream=given)
        assert ordering(calls) == {"cuStreamQuery": 1, "cuEventRecord": 1}
        given.synchronize()
        with driver_calls() as calls:
            bound.copy_to_host(host)
        assert ordering(calls) == {"cuStreamQuery": 1}


def test_busy_home_stream_of_other_array_is_waited_for(driver: str, driver_calls: Counted) -> None:
    home, given = cuarray.stream(), cuarray.stream()
    array, host = cuarray.to_device([1, 2, 3], stream=home), cuarray.pinned_array(3, np.int64)
    source = cuarray.to_device([4, 5, 6])
    bound = array.bind(None)
    array.copy_to_device(source, stream=home)
    with driver_calls() as calls:
        bound.copy_to_host(host, stream=given)
    assert ordering(calls) == {"cuStreamQuery": 1, "cuEventRecord": 2, "cuStreamWaitEvent": 1}
    given.synchronize()
    assert host.tolist() == [4, 5, 6]
    array.copy_to_device(host, stream=home)
    with driver_calls() as calls:
        bound.copy_to_host(host)
    assert ordering(calls) == {"cuStreamQuery": 1, "cuStreamSynchronize": 1}


def test_idle_home_stream_without_array_is_queried_once(driver: str, driver_calls: Counted) -> None:
    given, host = cuarray.stream(), cuarray.pinned_array(3, np.int64)
    bound = cuarray.to_device([1, 2, 3], stream=cuarray.stream()).bind(None)
    with driver_calls() as calls:
        bound.copy_to_host(host)
    assert ordering(calls) == {"cuStreamQuery": 1}
    assert calls["cuStreamDestroy_v2"] == 1
    with driver_calls() as calls:
        bound.copy_to_host(host)
    assert ordering(calls) == {}
    with driver_calls() as calls:
        bound.copy_to_host(host, stream=given)
    assert ordering(calls) == {"cuEventRecord": 1}
    given.synchronize()
