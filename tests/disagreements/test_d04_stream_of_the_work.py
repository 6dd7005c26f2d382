"""D4: the exported stream is the one that the work is ordered in.

CuPy exports the stream that is current when the attribute is read, on the device that is current then. Work that was queued in a
`with Stream(non_blocking=True)` block and exported behind it is announced on stream 1, which does not wait for it.

The text: synchronizing on the exported stream is enough to wait for all pending work on the data (P1).

cuarray: an array exports *its* stream, whoever reads it and wherever. Work that is done on it in another stream puts an edge back
into its own, so the exported stream covers that work too. What CuPy announces wrongly cannot be seen; a user who knows
where the work is says so with an event, in the stream that is announced.
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
    """Host memory that an asynchronous copy reads and writes without waiting."""
    memory = driver_probe.Pinned(16)
    yield memory
    memory.free()


@pytest.mark.parametrize("direction", ["to the device", "to the host"])
@pytest.mark.parametrize("own", [True, False], ids=["own default stream", "foreign default stream"])
def test_the_exported_stream_covers_work_in_another(
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
        hold.let_go()
        driver_probe.synchronize(exported)
        assert driver_probe.is_done(work.handle)


def test_it_does_not_matter_who_reads_where(driver: str) -> None:
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
    print("right")
"""


def test_an_array_of_another_device_names_the_stream_of_its_own(driver: str) -> None:
    said = driver_probe.run_python(TWO_DEVICES, CUARRAY_SIM_DEVICES="2").strip()
    if said == "one device":
        pytest.skip("needs two devices")
    assert said == "right"


class CurrentStreamProducer:
    """As CuPy exports: the stream that is current when the attribute is read, and not where the work is."""

    current = 1

    def __init__(self, array: cuarray.DeviceArray) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, "stream": self.current}


def test_a_user_can_say_where_the_work_is(foreign_stream: driver_probe.ForeignStream) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = CurrentStreamProducer(memory)
    with driver_probe.held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, 7, 4, foreign_stream.handle)
        # What is announced does not cover the work: the import returns at once.
        cuarray.as_cuda_array(producer)
        assert hold.is_held
        # The work's end, made part of what is announced.
        done = cuarray.event(timing=False)
        done.record(foreign_stream)
        cuarray.legacy_default_stream().wait(done)
        hold.let_go_soon()
        array = cuarray.as_cuda_array(producer)
        assert not hold.is_held
        assert array.copy_to_host().tolist() == [7] * 4


def test_what_is_imported_keeps_the_stream_that_was_announced(foreign_stream: driver_probe.ForeignStream) -> None:
    memory = cuarray.to_device(np.arange(4))
    producer = CurrentStreamProducer(memory)
    producer.current = foreign_stream.handle
    array = cuarray.as_cuda_array(producer)
    producer.current = 1
    assert array.__cuda_array_interface__["stream"] == foreign_stream.handle
