"""D19: a graph that is being captured is left alone.

No library asks whether a stream is capturing. To synchronize a capturing stream, as numba and CuPy do on every import, is
forbidden and spoils the capture; an event from outside that a capturing stream waits for, as cuda.core makes, is an error. And
memory that a graph will allocate has no pointer attributes before the graph is launched, so who asks for them fails.

The text says nothing of captures. (S1 to S5 hold for them all the same.)

cuarray: asks the driver nothing about a pointer that it imports or exports; touches no stream where none is given, or where the user
says so. Where it has to order work it asks both streams first: what it does then is in `test_d19_borrow_in_capture`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
from producers import Producer, describe, foreign

import cuarray


def test_memory_that_the_driver_cannot_describe_passes_through(driver: str, driver_calls: Callable[[], Any]) -> None:
    """As graph memory before the launch: an address that is reserved, and nothing more."""
    producer = Producer(describe())
    with driver_calls() as calls:
        array = cuarray.as_cuda_array(producer)
        exported = array.__cuda_array_interface__
        view = array[1:]
        assert view.__cuda_array_interface__["data"][0] == exported["data"][0] + 4
    assert not calls
    assert exported["data"] == producer.__cuda_array_interface__["data"]
    # Whoever does ask is told that the driver does not know, and not an error.
    assert array.device is None


def test_without_a_stream_no_driver_call_is_made(driver: str, driver_calls: Callable[[], Any]) -> None:
    memory = cuarray.to_device(np.arange(4))
    with driver_calls() as calls:
        for version in range(4):
            cuarray.as_cuda_array(foreign(memory, version=version))
        assert memory.__cuda_array_interface__["stream"] is None
    assert not calls


def test_with_sync_false_the_stream_is_not_touched(
    foreign_stream: driver_probe.ForeignStream, driver_calls: Callable[[], Any]
) -> None:
    producer = foreign(cuarray.to_device(np.arange(4)), stream=foreign_stream.handle)
    with driver_calls() as calls:
        array = cuarray.as_cuda_array(producer, sync=False)
        exported = array.__cuda_array_interface__
    assert not calls
    assert exported["stream"] == foreign_stream.handle


def test_an_export_touches_no_stream(driver: str, driver_calls: Callable[[], Any]) -> None:
    array = cuarray.to_device(np.arange(4), stream=cuarray.stream())
    with driver_calls() as calls:
        assert array.__cuda_array_interface__["stream"] == array.stream.handle
    assert not calls


def test_arrays_pass_through_a_real_capture(foreign_stream: driver_probe.ForeignStream, driver: str) -> None:
    """On a driver that captures: what needs no ordering leaves the capture unharmed."""
    import ctypes

    memory = cuarray.to_device(np.zeros(4, np.uint8))
    stream, graph = ctypes.c_void_p(foreign_stream.handle), ctypes.c_void_p()
    with driver_probe.primary_context():
        driver_probe.call("cuStreamBeginCapture_v2", stream, ctypes.c_int(0))
        array = cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle), sync=False)
        assert array.__cuda_array_interface__["stream"] == foreign_stream.handle
        driver_probe.fill(array.ptr, 7, 4, foreign_stream.handle)
        driver_probe.call("cuStreamEndCapture", stream, ctypes.byref(graph))
        driver_probe.call("cuGraphDestroy", graph)
    assert memory.copy_to_host().tolist() == [0] * 4
