"""D4: the exported stream covers all work on the array.

CuPy exports the stream that is current when the attribute is read, on the device that is current then. An array whose work was
enqueued in a ``with Stream(non_blocking=True)`` block, and that is exported after it, names stream 1, which does not wait for the work.

The text: synchronizing on the exported stream is enough to wait for all pending work on the data (P1).

cuarray: an array exports its home stream, independent of the reader. After work in another stream the home stream waits for that
work, so the exported stream covers it. The interface does not show CuPy's error. A user who knows the stream of the work can make
the exported stream wait for it with an event.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest

import cuarray


@pytest.fixture
def pinned(driver: str) -> Iterator[driver_probe.Pinned]:
    """Yield pinned host memory, which copies access asynchronously."""
    memory = driver_probe.Pinned(16)
    yield memory
    memory.free()


@pytest.mark.parametrize("direction", ["to the device", "to the host"])
@pytest.mark.parametrize("own", [True, False], ids=["own home stream", "foreign home stream"])
def test_exported_stream_waits_for_work_in_another_stream(
    foreign_stream: driver_probe.ForeignStream, pinned: driver_probe.Pinned, direction: str, own: bool
) -> None:
    work = cuarray.stream()
    array = cuarray.to_device(np.zeros(16, np.uint8), stream=cuarray.stream() if own else foreign_stream)
    exported = array.__cuda_array_interface__["stream"]
    driver_probe.synchronize(exported)
    host = np.frombuffer(pinned.bytes, np.uint8)
    with driver_probe.held(work.handle) as hold:
        if direction == "to the device":
            array.copy_to_device(host, stream=work)
        else:
            array.copy_to_host(host, stream=work)
        assert array.__cuda_array_interface__["stream"] == exported
        assert not driver_probe.is_done(exported), "the exported stream does not wait for the work"
        hold.release()
        driver_probe.synchronize(exported)
        assert driver_probe.is_done(work.handle)


def test_exported_stream_is_independent_of_context_thread_and_current_stream(driver: str) -> None:
    stream = cuarray.stream()
    array = cuarray.to_device([1, 2, 3], stream=stream)
    read: list[Any] = [array.__cuda_array_interface__["stream"]]
    with driver_probe.primary_context():
        read.append(array.__cuda_array_interface__["stream"])
    thread = threading.Thread(target=lambda: read.append(array.__cuda_array_interface__["stream"]))
    thread.start()
    thread.join()
    with cuarray.stream().auto_synchronize():
        read.append(array.__cuda_array_interface__["stream"])
    assert read == [stream.handle] * 4


TWO_DEVICES = """
import ctypes, cuarray, driver_probe
count = ctypes.c_int()
driver_probe.call("cuInit", 0)
driver_probe.call("cuDeviceGetCount", ctypes.byref(count))
if count.value < 2:
    print("one device")
else:
    with driver_probe.primary_context(1):
        stream = cuarray.stream()
        array = cuarray.to_device([1, 2, 3], stream=stream)
        with driver_probe.primary_context(0):
            assert array.__cuda_array_interface__["stream"] == stream.handle
            assert array.copy_to_host().tolist() == [1, 2, 3]
            assert array.device == 1, array.device
    print("passed")
"""


def test_exported_stream_is_on_the_device_of_the_array(driver: str) -> None:
    output = driver_probe.run_python(TWO_DEVICES, CUARRAY_SIM_DEVICES="2").strip()
    if output == "one device":
        pytest.skip("needs two devices")
    assert output == "passed"


class CurrentStreamProducer:
    """A producer that exports the current stream, as CuPy does, instead of the stream of the work."""

    current = 1

    def __init__(self, array: cuarray.DeviceArray) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, "stream": self.current}


def test_user_can_order_uncovered_work_with_an_event(foreign_stream: driver_probe.ForeignStream) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = CurrentStreamProducer(memory)
    with driver_probe.held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, 7, 4, foreign_stream.handle)
        # The exported stream does not cover the work, so the import returns at once.
        cuarray.as_cuda_array(producer)
        assert hold.is_held
        # The event makes the exported stream wait for the work.
        done = cuarray.event(timing=False)
        done.record(foreign_stream)
        cuarray.legacy_default_stream().wait(done)
        hold.release_soon()
        array = cuarray.as_cuda_array(producer)
        assert not hold.is_held
        assert array.copy_to_host().tolist() == [7] * 4


def test_imported_array_keeps_the_stream_exported_at_import(foreign_stream: driver_probe.ForeignStream) -> None:
    memory = cuarray.to_device(np.arange(4))
    producer = CurrentStreamProducer(memory)
    producer.current = foreign_stream.handle
    array = cuarray.as_cuda_array(producer)
    producer.current = 1
    assert array.__cuda_array_interface__["stream"] == foreign_stream.handle
