"""D18: the producer may not run ahead of the consumer.

numba and CuPy wait for the producer's stream, and return with work of their own pending in another; cuda.core and DALI make their
stream wait, and nothing in the other direction. Whatever the producer enqueues next may overwrite what the consumer has yet to
read. Nobody implements this half of version 3.

The text: a consumer that works in a stream of its own lets no work start in the producer's stream before its own is done,
by an event that the producer's stream waits for, or by not returning until then (S3).

cuarray: each of its copies leaves an edge in the stream of *both* arrays, or returns when it is done. The same for a user's own kernels,
``borrow``, is not built yet.
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
def theirs(foreign_stream: driver_probe.ForeignStream) -> Producer:
    """Another library's array of four ones, on a stream of that library's."""
    return foreign(cuarray.to_device(np.ones(4, np.uint8)), stream=foreign_stream.handle)


@pytest.fixture
def pinned(driver: str) -> Iterator[Any]:
    memory = driver_probe.Pinned(4)
    yield np.frombuffer(memory.bytes, np.uint8)
    memory.free()


@pytest.mark.parametrize("where", ["on the device", "to the host"])
def test_the_producer_cannot_overwrite_what_is_yet_to_be_read(
    theirs: Producer, foreign_stream: driver_probe.ForeignStream, pinned: Any, where: str
) -> None:
    stream, target = cuarray.stream(), cuarray.to_device(np.zeros(4, np.uint8))
    with driver_probe.held(stream.handle) as hold:
        if where == "on the device":
            target.copy_to_device(theirs, stream=stream)
        else:
            cuarray.as_cuda_array(theirs).copy_to_host(pinned, stream=stream)
        # The producer goes on with its array, in its own stream.
        driver_probe.fill(theirs.__cuda_array_interface__["data"][0], 9, 4, foreign_stream.handle)
        assert hold.is_held, "the host waited"
        assert not driver_probe.is_done(foreign_stream.handle), "the producer's stream ran ahead"
        hold.let_go()
        driver_probe.synchronize(foreign_stream.handle)
        assert stream.query()
    assert (target.copy_to_host() if where == "on the device" else pinned).tolist() == [1] * 4


def test_the_producer_comes_after_what_is_written_into_its_array(
    theirs: Producer, foreign_stream: driver_probe.ForeignStream, pinned: Any
) -> None:
    stream, pinned[:] = cuarray.stream(), 5
    with driver_probe.held(stream.handle) as hold:
        cuarray.as_cuda_array(theirs).copy_to_device(pinned, stream=stream)
        assert not driver_probe.is_done(foreign_stream.handle), "the producer's stream ran ahead"
        hold.let_go()
        driver_probe.synchronize(foreign_stream.handle)
    assert cuarray.as_cuda_array(theirs).copy_to_host().tolist() == [5] * 4


def test_both_arrays_of_a_copy_have_their_edges(theirs: Producer, foreign_stream: driver_probe.ForeignStream) -> None:
    """Three streams: the target's, the source's, and the one that the copy is in."""
    home, stream = cuarray.stream(), cuarray.stream()
    target = cuarray.to_device(np.zeros(4, np.uint8), stream=home)
    home.synchronize()
    with driver_probe.held(stream.handle) as hold:
        target.copy_to_device(theirs, stream=stream)
        assert not home.query()
        assert not driver_probe.is_done(foreign_stream.handle)
        hold.let_go()
        home.synchronize()
        driver_probe.synchronize(foreign_stream.handle)
    with driver_probe.held(foreign_stream.handle) as hold:
        target.copy_to_device(theirs, stream=stream)
        assert not stream.query(), "the copy did not wait for its source"
        hold.let_go()
    with driver_probe.held(home.handle) as hold:
        target.copy_to_device(theirs, stream=stream)
        assert not stream.query(), "the copy did not wait for its target"
        hold.let_go()


@pytest.mark.parametrize(
    "work",
    [
        lambda obj: cuarray.as_cuda_array(obj).copy_to_host(),
        lambda obj: cuarray.as_cuda_array(obj).copy_to_device(np.ones(4, np.uint8)),
        lambda obj: cuarray.to_device(np.zeros(4, np.uint8)).copy_to_device(obj),
        lambda obj: cuarray.to_device(np.zeros(4, np.uint8), stream=cuarray.stream()).copy_to_device(obj),
        lambda obj: cuarray.to_device(obj),
    ],
    ids=["to the host", "to the device", "between two", "between two with streams", "into a new one"],
)
def test_without_a_stream_nothing_is_pending_when_it_returns(
    theirs: Producer, foreign_stream: driver_probe.ForeignStream, work: Callable[[Any], object]
) -> None:
    with driver_probe.held(foreign_stream.handle) as hold:
        hold.let_go_soon()
        work(theirs)
        assert driver_probe.is_done(foreign_stream.handle)


def test_there_is_no_edge_where_none_is_needed(driver: str, driver_calls: Callable[[], Any]) -> None:
    """A copy in the array's own stream needs no event."""
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    with driver_calls() as calls:
        array.copy_to_host(stream=stream)
        array.copy_to_host()
    assert not [name for name in calls if name.startswith(("cuEventRecord", "cuStreamWaitEvent"))]


def test_cuda_core_lets_the_producer_run_ahead(driver: str, strided_memory_view: Callable[..., Any]) -> None:
    """What the others do, and how a user of theirs closes the gap: with an event of ours, say."""
    stream, consumer = cuarray.stream(), cuarray.stream()
    array = cuarray.to_device(np.ones(4, np.uint8), stream=stream)
    strided_memory_view(array, consumer.handle)
    with driver_probe.held(consumer.handle) as hold:
        stream.synchronize()
        assert hold.is_held, "cuda.core has been mended: D18 has lost one of its causes"
        done = cuarray.event(timing=False)
        done.record(consumer)
        assert array.stream is not None
        array.stream.wait(done)
        assert not stream.query()
        hold.let_go()
        stream.synchronize()
