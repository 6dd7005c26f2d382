"""D17: work in flight is announced.

PyTorch, JAX, DALI, RMM, cuDF, Warp, pylibraft and PyCUDA export no stream, most of them with work in flight on the data.

The text: the exported stream covers all pending work (P1); without pending work there is none (P3); a user, and nobody else, may
have none exported (P4). An array's default stream is what is exported, and where its transfers go (N2, N5).

cuarray: exports the default stream of an array, also of one that was imported with it and of its views, and the transfers of such an
array go there or leave an edge there. Announcing the streams of transfers on an array *without* a default stream, to which an explicit
``stream=`` was given, is the producer's join of pending streams, which is not built yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import foreign

import cuarray


def test_work_in_flight_is_announced(driver: str) -> None:
    stream = cuarray.stream()
    memory = driver_probe.Pinned(4)
    try:
        memory.bytes[:] = [7] * 4
        with driver_probe.held(stream.handle) as hold:
            array = cuarray.to_device(np.frombuffer(memory.bytes, np.uint8), stream=stream)
            assert hold.is_held
            exported = array.__cuda_array_interface__["stream"]
            assert exported == stream.handle
            assert not driver_probe.is_done(exported)
            hold.let_go()
            driver_probe.synchronize(exported)
        # Synchronizing on what was announced was enough, for somebody who reads nothing but the interface.
        bare = foreign(array, stream=None)
        assert cuarray.as_cuda_array(bare).copy_to_host().tolist() == [7] * 4
    finally:
        memory.free()


def test_a_consumer_that_heeds_it_gets_the_work(driver: str, strided_memory_view: Callable[..., Any]) -> None:
    """cuda.core makes its stream wait for ours: what it enqueues there comes after our copy."""
    stream, theirs = cuarray.stream(), cuarray.stream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    with driver_probe.held(stream.handle) as hold:
        driver_probe.fill(array.ptr, 7, 4, stream.handle)
        view = strided_memory_view(array, theirs.handle)
        assert view.ptr == array.ptr
        assert not theirs.query()
        hold.let_go()
        theirs.synchronize()
        assert stream.query()


def test_numba_heeds_it(driver: str, numba: Any) -> None:
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    with driver_probe.held(stream.handle) as hold:
        driver_probe.fill(array.ptr, 7, 4, stream.handle)
        hold.let_go_soon()
        theirs = numba.as_cuda_array(array)
        assert not hold.is_held
    assert theirs.copy_to_host().tolist() == [7] * 4


def test_it_survives_being_passed_on(foreign_stream: driver_probe.ForeignStream) -> None:
    memory = cuarray.to_device(np.arange(8.0).reshape(2, 4))
    array = cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle))
    for view in (array, array[1:], array[..., ::2], array.T, array.reshape(-1), array.view("<i8")):
        assert view.__cuda_array_interface__["stream"] == foreign_stream.handle
    again = cuarray.from_cuda_array_interface(array.__cuda_array_interface__, array)
    assert again.__cuda_array_interface__["stream"] == foreign_stream.handle


def test_without_work_there_is_none(driver: str) -> None:
    array = cuarray.to_device([1, 2, 3])
    assert array.__cuda_array_interface__["stream"] is None
    array.copy_to_device(np.array([4, 5, 6]))
    assert array.__cuda_array_interface__["stream"] is None


@pytest.mark.parametrize("switch", ["export_stream", "export_version"])
def test_only_a_user_has_none_exported(driver: str, switch: str) -> None:
    stream = cuarray.stream()
    array = cuarray.to_device([1, 2, 3], stream=stream)
    assert cuarray.config.export_stream
    assert cuarray.config.export_version == 3
    assert array.__cuda_array_interface__["stream"] == stream.handle
    setattr(cuarray.config, switch, False if switch == "export_stream" else 2)
    assert array.__cuda_array_interface__.get("stream") is None
    # As a consumer it waits as before.
    assert array.stream == stream
    assert array.copy_to_host().tolist() == [1, 2, 3]
