"""Import of pinned, managed and registered memory, and of memory that no device can use (clauses I6 and A1)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

COUNT = 24
KINDS: dict[str, Callable[[int], Any]] = {
    "pinned": driver_probe.Pinned,
    "managed": driver_probe.Managed,
    "registered": driver_probe.Registered,
}


@pytest.fixture(params=KINDS)
def shared(request: pytest.FixtureRequest, driver: str) -> Any:
    """Memory that host and device share: ``pointer`` is its device address, ``bytes`` its content."""
    memory = KINDS[request.param](4 * COUNT)
    yield memory
    memory.free()


def imported(memory: Any, **entries: Any) -> Any:
    return cuarray.as_cuda_array(
        Producer(describe(shape=(COUNT,), typestr="<i4", data=(memory.pointer, False), **entries))
    )


def host(memory: Any) -> Any:
    return np.frombuffer(memory.bytes, "<i4")


def test_host_data_is_copied_to_and_from_shared_memory(shared: Any) -> None:
    array = imported(shared)
    array.copy_to_device(np.arange(COUNT, dtype="<i4"))
    assert host(shared).tolist() == list(range(COUNT))
    host(shared)[:] = 7
    assert array.copy_to_host().tolist() == [7] * COUNT


def test_shared_and_device_memory_are_copied_to_each_other(shared: Any) -> None:
    array, device = imported(shared), cuarray.to_device(np.arange(COUNT, dtype="<i4"))
    array.copy_to_device(device)
    assert host(shared).tolist() == list(range(COUNT))
    host(shared)[:] = 3
    device.copy_to_device(array)
    assert device.copy_to_host().tolist() == [3] * COUNT
    assert cuarray.to_device(array).copy_to_host().tolist() == [3] * COUNT


def test_views_and_assignment_reach_shared_memory(shared: Any) -> None:
    array = imported(shared, strides=None).reshape(4, 6)
    array[:] = -1
    array[1::2, ::-3] = [[1, 2], [3, 4]]
    array[0] = cuarray.to_device(np.arange(6, dtype="<i4"))
    expected = np.full((4, 6), -1)
    expected[1::2, ::-3] = [[1, 2], [3, 4]]
    expected[0] = np.arange(6)
    assert np.array_equal(host(shared).reshape(4, 6), expected)
    assert np.array_equal(array.T[2:4].copy_to_host(), expected.T[2:4])


def test_shared_memory_is_host_accessible_and_has_host_view(shared: Any) -> None:
    array = imported(shared)
    assert array.is_host_accessible
    assert array.is_managed == isinstance(shared, driver_probe.Managed)
    assert array.__cuda_array_interface__["data"] == (shared.pointer, False)
    view = array[2:].host_view()
    view[0] = 99
    assert host(shared)[2] == 99
    assert view.ctypes.data == ctypes.addressof(shared.bytes) + 8


# The simulator sees host accesses only on pages that are registered as a whole, so it may or may not report this race.
@pytest.mark.cuarray_sim(allow="data-race")
def test_shared_memory_is_read_when_the_copy_runs(shared: Any) -> None:
    """The device reads page-locked memory when the copy runs, and not when it is enqueued."""
    stream = cuarray.stream()
    host(shared)[:] = 1
    target = cuarray.device_array(COUNT, "<i4")
    with driver_probe.held(stream.handle):
        target.copy_to_device(imported(shared), stream=stream)
        host(shared)[:] = 2
    assert target.copy_to_host().tolist() == [2] * COUNT


def uses_of(array: Any) -> dict[str, Callable[[], object]]:
    """Every operation that uses an array's memory."""
    device = cuarray.device_array(array.shape, array.dtype)
    return {
        "copy to the host": array.copy_to_host,
        "copy from the host": lambda: array.copy_to_device(np.zeros(array.shape, array.dtype)),
        "copy from the device": lambda: array.copy_to_device(device),
        "copy to the device": lambda: device.copy_to_device(array),
        "fill": lambda: array.__setitem__(slice(None), 0),
        "assign": lambda: array.__setitem__(slice(None), [1] * array.size),
        "strided": lambda: array[::2].copy_to_host(),
        "element": lambda: array[0],
        "in a stream": lambda: array.copy_to_host(stream=cuarray.legacy_default_stream()),
        "handle": array.get_ipc_handle,
    }


def test_pageable_host_memory_is_refused_on_use(simulator: str) -> None:
    """Devices of some real systems reach such memory; the simulated devices, like most real ones, do not."""
    memory = np.zeros(COUNT, "<i4")
    array = cuarray.from_cuda_array_interface({**memory.__array_interface__, "version": 3})
    for what, use in uses_of(array).items():
        with pytest.raises(BufferError, match=rf"{memory.ctypes.data:#x}, which is ordinary host memory") as raised:
            use()
        assert "page-locked" in str(raised.value), what
    assert not memory.any()
    with pytest.raises(BufferError, match="the host cannot access the memory of this array"):
        array.host_view()


def test_freed_memory_is_refused_on_use(simulator: str) -> None:
    owner = cuarray.to_device(np.zeros(COUNT, "<i4"))
    array = cuarray.from_cuda_array_interface(owner.__cuda_array_interface__)
    del owner
    for use in uses_of(array).values():
        with pytest.raises(BufferError, match="unknown to the driver: it was freed, or was never device memory"):
            use()


def test_memory_kind_is_determined_on_each_use(simulator: str) -> None:
    """Memory that is registered after its import can be used until it is unregistered."""
    memory = np.arange(COUNT, dtype="<i4")
    array = cuarray.from_cuda_array_interface({**memory.__array_interface__, "version": 3})
    assert (array.device, array.is_host_accessible) == (None, False)
    with driver_probe.registered(memory.ctypes.data, memory.nbytes):
        assert (array.device, array.is_host_accessible) == (0, True)
        assert array[::-1].copy_to_host().tolist() == memory[::-1].tolist()
        array[1:3] = 0
        assert memory[:4].tolist() == [0, 0, 0, 3]
        assert array.host_view().ctypes.data == memory.ctypes.data
    with pytest.raises(BufferError, match="ordinary host memory"):
        array.copy_to_host()


def test_mapped_and_managed_arrays_round_trip_through_interface(driver: str) -> None:
    for array in (cuarray.mapped_array(COUNT, "<i4"), cuarray.managed_array(COUNT, "<i4")):
        array.host_view()[:] = range(COUNT)
        again = cuarray.as_cuda_array(foreign(array), bounds=True)
        assert (again.is_managed, again.is_host_accessible) == (array.is_managed, True)
        assert again[5:7].copy_to_host().tolist() == [5, 6]
        again[0] = 50
        assert array.host_view()[0] == 50


@pytest.mark.parametrize("allocate", [cuarray.mapped_array, cuarray.managed_array, cuarray.pinned_array])
def test_shared_allocations_accept_device_argument(driver: str, allocate: Any) -> None:
    array = allocate((2, 3), "u1", device=0)
    assert array.shape == (2, 3)
    with pytest.raises(ValueError, match="device is 4096"):
        allocate(4, device=4096)
