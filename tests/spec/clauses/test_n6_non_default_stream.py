"""Clause N6: the text's example of a non-default stream, with `import cuarray as cuda`.

An array has one of two streams as its home stream. Work on the array runs in the other stream, an event orders the two, and a consumer
reads the array. The text launches a kernel; here the driver makes a copy, because cuarray would order its own copy without
the event.
"""

from __future__ import annotations

import ctypes
from typing import Any

import driver_probe
import numpy as np
import pytest

import cuarray as cuda

N = 16384


def initialize_array(stream: cuda.Stream, x: cuda.DeviceArray, indices: cuda.DeviceArray) -> None:
    """Sets each element of `x` to its index, in `stream`, instead of the text's kernel."""
    with driver_probe.primary_context():
        driver_probe.call(
            "cuMemcpyDtoDAsync_v2",
            ctypes.c_uint64(x.ptr),
            ctypes.c_uint64(indices.ptr),
            ctypes.c_size_t(x.nbytes),
            ctypes.c_void_p(stream.handle),
        )


class OtherCaiLibrary:
    """A consumer that waits only for the exported stream, and reads in its own stream."""

    def __init__(self) -> None:
        self.own_stream = cuda.stream()

    def consume(self, array: Any) -> np.ndarray[Any, Any]:
        interface = array.__cuda_array_interface__
        if interface["stream"] is not None:
            driver_probe.synchronize(interface["stream"])
        data = np.full(interface["shape"], -1, interface["typestr"])
        memory = cuda.from_cuda_array_interface({**interface, "stream": None})
        memory.copy_to_host(data, stream=self.own_stream)
        self.own_stream.synchronize()
        return data


def test_n6_consumer_of_exported_stream_reads_finished_work(driver: str) -> None:
    other_cai_library = OtherCaiLibrary()
    indices = cuda.to_device(np.arange(N, dtype="int32"))

    array_stream = cuda.stream()
    kernel_stream = cuda.stream()
    x = cuda.device_array(N, "int32", stream=array_stream)
    with driver_probe.held(kernel_stream.handle) as hold:
        initialize_array(kernel_stream, x, indices)
        # Create event
        evt = cuda.event()
        # Record the event after the kernel launch in kernel_stream
        evt.record(kernel_stream)
        # Wait for the event in array_stream
        evt.wait(array_stream)

        # Neither call waits: the work is still held.
        assert hold.is_held
        hold.release_soon()
        assert (other_cai_library.consume(x) == np.arange(N)).all()


def test_n6_numba_as_consumer_reads_finished_work(driver_kind: str) -> None:
    """Numba's import waits for the exported stream (clause N1), and that stream waits for the event."""
    numba_cuda = pytest.importorskip("numba.cuda", reason="numba-cuda is not installed; `make peers` installs it")
    indices = cuda.to_device(np.arange(N, dtype="int32"))
    array_stream = cuda.stream()
    kernel_stream = cuda.stream()
    x = cuda.device_array(N, "int32", stream=array_stream)
    initialize_array(kernel_stream, x, indices)
    evt = cuda.event()
    evt.record(kernel_stream)
    evt.wait(array_stream)
    consumed = numba_cuda.as_cuda_array(x)
    assert int(consumed.stream) == array_stream.handle
    reading = numba_cuda.stream()
    data = consumed.copy_to_host(stream=reading)
    reading.synchronize()
    assert (data == np.arange(N)).all()


@pytest.mark.cuarray_sim(expect="data-race")
def test_n6_consumer_reads_too_early_without_the_event(simulator: str) -> None:
    """The text warns of this race. It has an effect on every run only if the driver defers all work."""
    other_cai_library = OtherCaiLibrary()
    indices = cuda.to_device(np.arange(N, dtype="int32"))
    before = cuda.to_device(np.zeros(N, "int32"))
    array_stream = cuda.stream()
    kernel_stream = cuda.stream()
    x = cuda.device_array(N, "int32", stream=array_stream)
    x.copy_to_device(before)
    initialize_array(kernel_stream, x, indices)
    assert (other_cai_library.consume(x) == 0).all()
    kernel_stream.synchronize()
    assert (other_cai_library.consume(x) == np.arange(N)).all()
