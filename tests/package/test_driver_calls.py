"""The driver calls of copies, edges and waits: each once, and none to ask what is known already.

A copy of a few kilobytes takes as long as two or three driver calls, so what is called beside the copy itself is what it costs.
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

# Of a copy in no stream: whether the default stream can be used, and the relaxed mode for a capture elsewhere.
AROUND = {"cuCtxGetCurrent": 1, "cuStreamIsCapturing": 1, "cuThreadExchangeStreamCaptureMode": 2}
PUSHED = {"cuCtxPushCurrent_v2": 1, "cuCtxPopCurrent_v2": 1}

Counted = Callable[[], Any]


@contextlib.contextmanager
def no_context() -> Iterator[None]:
    """No context is current on this thread meanwhile, whatever earlier tests have left."""
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
    """The calls that the context takes: none where it is current, else it is pushed once."""
    current = request.param == "current"
    with driver_probe.primary_context() if current else no_context():
        yield {} if current else PUSHED


def arrays() -> tuple[cuarray.DeviceArray, cuarray.DeviceArray, np.ndarray]:
    """Two device arrays and a host array of one shape, between which a copy takes one box."""
    shape = (4, 6, 2)
    host = np.arange(48, dtype="f4").reshape(shape)
    wide = cuarray.to_device(np.zeros((4, 8, 2), "f4"))
    return wide[:, 1:7], cuarray.to_device(host), host


def test_from_the_host(context: dict[str, int], driver_calls: Counted) -> None:
    part, _, host = arrays()
    with driver_calls() as calls:
        part.copy_to_device(host)
    assert calls == {**AROUND, **context, "cuMemcpy3D_v2": 1}
    assert part.copy_to_host().tolist() == host.tolist()


def test_to_the_host(context: dict[str, int], driver_calls: Counted) -> None:
    part, _, host = arrays()
    with driver_calls() as calls:
        part.copy_to_host(host)
    assert calls == {**AROUND, **context, "cuMemcpy3D_v2": 1}
    assert host.tolist() == np.zeros((4, 6, 2)).tolist()


def test_within_the_device(context: dict[str, int], driver_calls: Counted) -> None:
    part, dense, host = arrays()
    with driver_calls() as calls:
        part.copy_to_device(dense)
    assert calls == {**AROUND, **context, "cuMemcpy3D_v2": 1, "cuStreamSynchronize": 1}
    assert part.copy_to_host().tolist() == host.tolist()


def test_many_boxes_are_no_more_than_their_copies(context: dict[str, int], driver_calls: Counted) -> None:
    target = cuarray.to_device(np.zeros((3, 5, 2**16), np.uint8))
    source = cuarray.to_device(np.ones((3, 5, 2**16), np.uint8))
    # Reversed in both outer axes, on one side alone.
    with driver_calls() as calls:
        target.copy_to_device(source[::-1, ::-1])
    assert calls == {**AROUND, **context, "cuMemcpyDtoD_v2": 15, "cuStreamSynchronize": 1}


def test_of_another_librarys_memory_the_driver_is_asked_once(context: dict[str, int], driver_calls: Counted) -> None:
    part, dense, host = arrays()
    theirs = cuarray.as_cuda_array(foreign(dense))
    with driver_calls() as calls:
        theirs.copy_to_device(host)
    assert calls == {**AROUND, **context, "cuPointerGetAttributes": 1, "cuMemcpyHtoD_v2": 1}
    with driver_calls() as calls:
        part.copy_to_device(theirs)
    assert calls == {
        **AROUND,
        **context,
        "cuPointerGetAttributes": 1,
        "cuMemcpy3D_v2": 1,
        "cuStreamSynchronize": 1,
    }


def test_what_names_our_memory_for_an_address_elsewhere_is_asked_about(driver: str, driver_calls: Counted) -> None:
    ours, other = cuarray.to_device(np.arange(4, dtype="f4")), cuarray.to_device(np.arange(4, 8, dtype="f4"))
    described = cuarray.from_cuda_array_interface(other.__cuda_array_interface__, owner=ours.owner)
    with driver_calls() as calls:
        assert described.copy_to_host().tolist() == [4, 5, 6, 7]
    assert calls["cuPointerGetAttributes"] == 1
    with pytest.raises(BufferError, match="unknown to the driver"):
        cuarray.from_cuda_array_interface(
            {**ours.__cuda_array_interface__, "data": (4096, False)}, ours.owner
        ).copy_to_host()


def test_in_a_stream(context: dict[str, int], foreign_stream: ForeignStream, driver_calls: Counted) -> None:
    part, _, host = arrays()
    bound = part.bind(foreign_stream)
    bound.copy_to_device(host)  # once, for what is asked of a stream once
    with driver_calls() as calls:
        bound.copy_to_device(host)
    assert {name: count for name, count in calls.items() if "Ctx" in name} == {"cuCtxGetCurrent": 1, **context}
    assert calls["cuMemcpy3DAsync_v2"] == calls["cuStreamSynchronize"] == 1
    assert "cuPointerGetAttributes" not in calls


def test_an_edge_takes_the_context_once(driver: str, driver_calls: Counted) -> None:
    array, ours = cuarray.device_array(4, "u1", stream=cuarray.stream()), cuarray.stream()
    for current, taken in ((driver_probe.primary_context, {}), (no_context, PUSHED)):
        with current():
            array.record_stream(ours)  # once, for what is asked of a stream once
            with driver_calls() as calls:
                array.record_stream(ours)
        assert calls == {
            "cuCtxGetCurrent": 1,
            **taken,
            "cuStreamIsCapturing": 2,
            "cuEventRecord": 1,
            "cuStreamWaitEvent": 1,
        }


def test_a_host_wait_takes_the_context_once(driver: str, foreign_stream: ForeignStream, driver_calls: Counted) -> None:
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


def test_what_is_remembered_of_a_context_is_forgotten_after_the_copy(driver: str) -> None:
    """The next copy goes where the program has gone meanwhile."""
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
