"""D18: the producer's later work waits for the consumer.

numba and CuPy wait for the producer's stream, and return with their own work pending in another stream.
In cuda.core and DALI the consumer's stream waits, but not the producer's. The producer's next work may thus overwrite
elements before the consumer reads them. No other library implements this half of version 3.

The text: a consumer that works in its own stream must finish before later work of the producer's stream starts. Either the
producer's stream waits for an event, or the consumer does not return until then (S3).

cuarray: after each copy the streams of *both* arrays wait for it, or the call returns after the copy is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, foreign

import cuarray


@pytest.fixture
def producer(foreign_stream: driver_probe.ForeignStream) -> Producer:
    """Return another library's array of four ones, with that library's stream."""
    return foreign(cuarray.to_device(np.ones(4, np.uint8)), stream=foreign_stream.handle)


@pytest.fixture
def pinned(driver: str) -> Iterator[Any]:
    memory = driver_probe.Pinned(4)
    yield np.frombuffer(memory.bytes, np.uint8)
    memory.free()


@pytest.mark.parametrize("where", ["on the device", "to the host"])
def test_producers_next_write_waits_for_pending_copy_from_its_array(
    producer: Producer, foreign_stream: driver_probe.ForeignStream, pinned: Any, where: str
) -> None:
    stream, target = cuarray.stream(), cuarray.to_device(np.zeros(4, np.uint8))
    with driver_probe.held(stream.handle) as hold:
        if where == "on the device":
            target.copy_to_device(producer, stream=stream)
        else:
            cuarray.as_cuda_array(producer).copy_to_host(pinned, stream=stream)
        # The producer overwrites its array in its own stream.
        driver_probe.fill(producer.__cuda_array_interface__["data"][0], 9, 4, foreign_stream.handle)
        assert hold.is_held, "the host waited"
        assert not driver_probe.is_done(foreign_stream.handle), "the producer's stream ran ahead"
        hold.release()
        driver_probe.synchronize(foreign_stream.handle)
        assert stream.query()
    assert (target.copy_to_host() if where == "on the device" else pinned).tolist() == [1] * 4


def test_producers_stream_waits_for_pending_copy_into_its_array(
    producer: Producer, foreign_stream: driver_probe.ForeignStream, pinned: Any
) -> None:
    stream, pinned[:] = cuarray.stream(), 5
    with driver_probe.held(stream.handle) as hold:
        cuarray.as_cuda_array(producer).copy_to_device(pinned, stream=stream)
        assert not driver_probe.is_done(foreign_stream.handle), "the producer's stream ran ahead"
        hold.release()
        driver_probe.synchronize(foreign_stream.handle)
    assert cuarray.as_cuda_array(producer).copy_to_host().tolist() == [5] * 4


def test_copy_in_a_third_stream_is_ordered_with_both_arrays(
    producer: Producer, foreign_stream: driver_probe.ForeignStream
) -> None:
    home, stream = cuarray.stream(), cuarray.stream()
    target = cuarray.to_device(np.zeros(4, np.uint8), stream=home)
    home.synchronize()
    with driver_probe.held(stream.handle) as hold:
        target.copy_to_device(producer, stream=stream)
        assert not home.query()
        assert not driver_probe.is_done(foreign_stream.handle)
        hold.release()
        home.synchronize()
        driver_probe.synchronize(foreign_stream.handle)
    with driver_probe.held(foreign_stream.handle) as hold:
        target.copy_to_device(producer, stream=stream)
        assert not stream.query(), "the copy did not wait for its source"
        hold.release()
    with driver_probe.held(home.handle) as hold:
        target.copy_to_device(producer, stream=stream)
        assert not stream.query(), "the copy did not wait for its target"
        hold.release()


@pytest.mark.parametrize(
    "work",
    [
        lambda obj: cuarray.as_cuda_array(obj).copy_to_host(),
        lambda obj: cuarray.as_cuda_array(obj).copy_to_device(np.ones(4, np.uint8)),
        lambda obj: cuarray.to_device(np.zeros(4, np.uint8)).copy_to_device(obj),
        lambda obj: cuarray.to_device(np.zeros(4, np.uint8), stream=cuarray.stream()).copy_to_device(obj),
        lambda obj: cuarray.to_device(obj),
    ],
    ids=["to the host", "to the device", "between arrays", "between arrays with streams", "into a new array"],
)
def test_copy_without_stream_argument_leaves_no_pending_work(
    producer: Producer, foreign_stream: driver_probe.ForeignStream, work: Callable[[Any], object]
) -> None:
    with driver_probe.held(foreign_stream.handle) as hold:
        hold.release_soon()
        work(producer)
        assert driver_probe.is_done(foreign_stream.handle)


def test_copy_in_the_home_stream_makes_no_event_call(driver: str, driver_calls: Callable[[], Any]) -> None:
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    with driver_calls() as calls:
        array.copy_to_host(stream=stream)
        array.copy_to_host()
    assert not [name for name in calls if name.startswith(("cuEventRecord", "cuStreamWaitEvent"))]


def test_cuda_core_does_not_make_the_producer_wait(driver: str, strided_memory_view: Callable[..., Any]) -> None:
    """A user of cuda.core can add the missing edge with an event."""
    stream, consumer = cuarray.stream(), cuarray.stream()
    array = cuarray.to_device(np.ones(4, np.uint8), stream=stream)
    strided_memory_view(array, consumer.handle)
    with driver_probe.held(consumer.handle) as hold:
        stream.synchronize()
        assert hold.is_held, "cuda.core now makes the producer wait: D18 is resolved for it"
        done = cuarray.event(timing=False)
        done.record(consumer)
        assert array.stream is not None
        array.stream.wait(done)
        assert not stream.query()
        hold.release()
        stream.synchronize()
