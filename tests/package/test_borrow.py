"""`borrow`: ordering before and after without host waits, and refusal of use after the end."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream, held
from producers import Producer, describe, foreign

import cuarray

pytestmark = pytest.mark.usefixtures("driver")

OLD, NEW = 1, 9


@pytest.fixture
def producer_stream() -> Iterator[ForeignStream]:
    stream = ForeignStream()
    yield stream
    stream.destroy()


@pytest.fixture
def consumer_stream() -> Iterator[ForeignStream]:
    stream = ForeignStream()
    yield stream
    stream.destroy()


@pytest.fixture
def memory() -> cuarray.DeviceArray:
    return cuarray.to_device(np.full(4, OLD, np.uint8))


def producers(memory: cuarray.DeviceArray, stream: ForeignStream) -> dict[str, Any]:
    return {"foreign": foreign(memory, stream=stream.handle), "bound": memory.bind(stream)}


@pytest.mark.parametrize("kind", ["foreign", "bound"])
def test_borrower_waits_for_producer_and_producer_for_borrower(
    memory: cuarray.DeviceArray, producer_stream: ForeignStream, consumer_stream: ForeignStream, kind: str
) -> None:
    producer = producers(memory, producer_stream)[kind]
    target = cuarray.to_device(np.zeros(4, np.uint8), stream=consumer_stream)
    with held(producer_stream.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, producer_stream.handle)
        with cuarray.borrow(producer, consumer_stream) as array:
            assert array.stream is not None
            assert array.stream.handle == consumer_stream.handle
            assert array.__cuda_array_interface__["stream"] == consumer_stream.handle
            target.copy_to_device(array, stream=consumer_stream)
        assert hold.is_held
        assert not driver_probe.is_done(consumer_stream.handle)
        hold.release()
        driver_probe.synchronize(consumer_stream.handle)
    assert target.copy_to_host().tolist() == [NEW] * 4
    with cuarray.borrow(producer, consumer_stream) as array:
        hold = driver_probe.Held(consumer_stream.handle)
        target.copy_to_device(array, stream=consumer_stream)
    # Later work of the producer must wait for the borrower.
    driver_probe.fill(memory.ptr, 5, 4, producer_stream.handle)
    assert not driver_probe.is_done(producer_stream.handle)
    hold.finish()
    driver_probe.synchronize(producer_stream.handle)
    assert target.copy_to_host().tolist() == [NEW] * 4
    assert memory.copy_to_host().tolist() == [5] * 4


ENDS: dict[str, Callable[[Any], None]] = {
    "exit": lambda borrow: borrow.__exit__(None, None, None),
    "drop": lambda borrow: None,
}


@pytest.mark.parametrize("end", list(ENDS))
def test_borrow_without_with_block_ends_with_last_array(
    memory: cuarray.DeviceArray, producer_stream: ForeignStream, consumer_stream: ForeignStream, end: str
) -> None:
    borrow = cuarray.borrow(foreign(memory, stream=producer_stream.handle), consumer_stream)
    array = borrow.__enter__()
    part = array[1:]
    gc.collect()
    with held(consumer_stream.handle) as hold:
        ENDS[end](borrow)
        del borrow, array
        gc.collect()
        driver_probe.fill(memory.ptr, NEW, 4, producer_stream.handle)
        if end == "drop":
            driver_probe.synchronize(producer_stream.handle)
            assert hold.is_held, "a view still borrows, so the producer must not wait yet"
        del part
        gc.collect()
        driver_probe.fill(memory.ptr, NEW, 4, producer_stream.handle)
        assert not driver_probe.is_done(producer_stream.handle)
        hold.release()


def test_borrow_ends_after_exception(
    memory: cuarray.DeviceArray, producer_stream: ForeignStream, consumer_stream: ForeignStream
) -> None:
    def work() -> None:
        with cuarray.borrow(foreign(memory, stream=producer_stream.handle), consumer_stream) as array:
            driver_probe.fill(array.ptr, NEW, 4, consumer_stream.handle)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    driver_probe.synchronize(producer_stream.handle)
    assert memory.copy_to_host().tolist() == [NEW] * 4


USES: dict[str, Callable[[Any], Any]] = {
    "ptr": lambda a: a.ptr,
    "interface": lambda a: a.__cuda_array_interface__,
    "copy_to_host": lambda a: a.copy_to_host(),
    "copy_to_device": lambda a: a.copy_to_device(np.zeros(a.shape, a.dtype)),
    "as a source": lambda a: cuarray.device_array_like(a).copy_to_device(a),
    "to_device": lambda a: cuarray.to_device(a),
    "item": lambda a: a[0] if a.ndim == 1 else a[0, 0],
    "assignment": lambda a: a.__setitem__(slice(None), 3),
    "numpy": np.asarray,
    "dlpack": lambda a: a.__dlpack__(stream=-1),
    "itself": lambda a: a.__setitem__(slice(None), a),
    "bind": lambda a: a.bind(cuarray.default_stream()),
    "record_stream": lambda a: a.record_stream(cuarray.default_stream()),
    "device": lambda a: a.device,
    "host_view": lambda a: a.host_view(),
    "ipc": lambda a: a.get_ipc_handle(),
    "borrow": lambda a: cuarray.borrow(a, cuarray.default_stream()).__enter__(),
    "bounds": lambda a: cuarray.as_cuda_array(a, bounds=True).ptr,
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda a: a,
    "a slice": lambda a: a[1:],
    "a reshape": lambda a: a.reshape(2, -1),
    "another type": lambda a: a.view("i1"),
    "without mask": lambda a: a.data,
}


@pytest.mark.parametrize("view", list(VIEWS))
def test_borrowed_array_cannot_be_used_after_the_end(memory: cuarray.DeviceArray, view: str) -> None:
    with cuarray.borrow(memory, cuarray.stream()) as array:
        part = VIEWS[view](array)
        assert part.ptr >= memory.ptr
    later = VIEWS[view](array)
    for name, use in USES.items():
        for ended in (part, later):
            with pytest.raises(BufferError, match="borrow has ended"):
                pytest.fail(f"{name}: {use(ended)!r}")
    assert "borrow ended" in repr(part)
    assert hex(memory.ptr) not in repr(part)
    assert part.shape == later.shape, "the shape stays readable"
    assert memory.copy_to_host().tolist() == [OLD] * 4


def test_borrow_is_entered_only_once(memory: cuarray.DeviceArray) -> None:
    borrow = cuarray.borrow(memory, cuarray.stream())
    assert "not entered" in repr(borrow)
    with borrow:
        assert "active" in repr(borrow)
    assert "ended" in repr(borrow)
    with pytest.raises(ValueError, match="once"):
        borrow.__enter__()
    borrow.__exit__(None, None, None)


def test_borrow_that_is_not_entered_makes_no_ordering_calls(memory: cuarray.DeviceArray, driver_calls: Any) -> None:
    stream = cuarray.stream()
    with driver_calls() as calls:
        cuarray.borrow(memory.bind(stream), stream)
    assert not ORDERING & calls.keys()


def test_read_only_borrow_gives_read_only_array(memory: cuarray.DeviceArray) -> None:
    stream = cuarray.stream()
    with cuarray.borrow(memory, stream, readonly=True) as array:
        assert array.readonly
        assert array.__cuda_array_interface__["data"][1] is True
        with pytest.raises(BufferError, match="read-only"):
            array[:] = 1
    locked = Producer({**memory.__cuda_array_interface__, "data": (memory.ptr, True)}, keeps=memory)
    with pytest.raises(BufferError, match="readonly=True"):
        cuarray.borrow(locked, stream).__enter__()
    with cuarray.borrow(locked, stream, readonly=True) as array:
        assert array.readonly


def test_writer_waits_for_readers_and_readers_do_not_wait_for_readers(simulator: str, driver_calls: Any) -> None:
    memory, first, second, third = cuarray.to_device(np.zeros(4, np.uint8)), *(ForeignStream() for _ in range(3))
    with contextlib.ExitStack() as stack:
        for stream in (first, second, third):
            stack.callback(stream.destroy)
        hold = stack.enter_context(held(first.handle))
        with cuarray.borrow(memory, first, readonly=True):
            pass
        with driver_calls() as calls, cuarray.borrow(memory, second, readonly=True):
            pass
        assert calls["cuStreamWaitEvent"] == 0
        driver_probe.synchronize(second.handle)
        assert hold.is_held
        with cuarray.borrow(memory, third) as array:
            driver_probe.fill(array.ptr, NEW, 4, third.handle)
        assert not driver_probe.is_done(third.handle)
        hold.release()
        driver_probe.synchronize(third.handle)


ORDERING = {"cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize", "cuEventSynchronize", "cuStreamIsCapturing"}


def test_borrow_takes_two_edges_in_other_stream_and_none_in_same_stream(
    memory: cuarray.DeviceArray, producer_stream: ForeignStream, consumer_stream: ForeignStream, driver_calls: Any
) -> None:
    producer = foreign(memory, stream=producer_stream.handle)
    for stream, edges in ((consumer_stream, 2), (producer_stream, 0)):
        with driver_calls() as calls, cuarray.borrow(producer, stream):
            pass
        assert (calls["cuEventRecord"], calls["cuStreamWaitEvent"]) == (edges, edges)
        assert calls["cuStreamSynchronize"] == calls["cuEventSynchronize"] == calls["cuCtxSynchronize"] == 0


def test_array_and_mask_in_one_stream_share_one_edge(
    memory: cuarray.DeviceArray, producer_stream: ForeignStream, consumer_stream: ForeignStream, driver_calls: Any
) -> None:
    valid = cuarray.to_device(np.array([True, False, True, True]))
    together = foreign(memory, stream=producer_stream.handle, mask=foreign(valid, stream=producer_stream.handle))
    with driver_calls() as calls, cuarray.borrow(together, consumer_stream) as array:
        assert array.mask.__cuda_array_interface__["stream"] == consumer_stream.handle
    assert (calls["cuEventRecord"], calls["cuStreamWaitEvent"]) == (2, 2)
    with pytest.raises(BufferError, match="borrow has ended"):
        assert array.mask.ptr
    # A mask with another stream needs its own edges.
    other = ForeignStream()
    apart = foreign(memory, stream=producer_stream.handle, mask=foreign(valid, stream=other.handle))
    with contextlib.ExitStack() as stack:
        stack.callback(other.destroy)
        hold = stack.enter_context(held(other.handle))
        with driver_calls() as calls, cuarray.borrow(apart, consumer_stream):
            assert not driver_probe.is_done(consumer_stream.handle)
        assert (calls["cuEventRecord"], calls["cuStreamWaitEvent"]) == (3, 4)
        hold.release()


@pytest.mark.parametrize("how", ["argument", "setting"])
def test_sync_off_removes_all_ordering_calls(
    memory: cuarray.DeviceArray,
    producer_stream: ForeignStream,
    consumer_stream: ForeignStream,
    driver_calls: Any,
    how: str,
) -> None:
    cuarray.config.sync = how != "setting"
    options = {"sync": False} if how == "argument" else {}
    for producer in producers(memory, producer_stream).values():  # no borrow waits, so the stream can stay held
        with held(producer_stream.handle) as hold:
            with driver_calls() as calls, cuarray.borrow(producer, consumer_stream, **options) as array:
                assert array.ptr == memory.ptr
            assert not ORDERING & calls.keys()
            assert hold.is_held
        with pytest.raises(BufferError, match="borrow has ended"):
            array.copy_to_host()


def test_event_argument_replaces_the_producer_stream(
    memory: cuarray.DeviceArray, producer_stream: ForeignStream, consumer_stream: ForeignStream, driver_calls: Any
) -> None:
    event = cuarray.event(timing=False)
    driver_probe.fill(memory.ptr, NEW, 4, producer_stream.handle)
    event.record(producer_stream)
    target = cuarray.to_device(np.zeros(4, np.uint8), stream=consumer_stream)
    numbered = type("Other", (), {"handle": event.handle})()
    for given in (event, event.handle, numbered):
        with held(producer_stream.handle) as hold:
            with cuarray.borrow(foreign(memory, stream=producer_stream.handle), consumer_stream, event=given) as array:
                target.copy_to_device(array, stream=consumer_stream)
            with (
                driver_calls() as calls,
                cuarray.borrow(foreign(memory, stream=producer_stream.handle), consumer_stream, event=given),
            ):
                pass
            # On entry only a wait; on exit an event in the consumer's stream, which the producer's stream waits for.
            assert (calls["cuEventRecord"], calls["cuStreamWaitEvent"]) == (1, 2)
            driver_probe.synchronize(consumer_stream.handle)
            assert hold.is_held, "work after the event must not be waited for"
        assert target.copy_to_host().tolist() == [NEW] * 4
    for wrong, error in (
        (0, ValueError),
        (True, TypeError),
        ("event", (TypeError, AttributeError)),
        (2**64, ValueError),
    ):
        with pytest.raises(error):
            cuarray.borrow(foreign(memory), consumer_stream, event=wrong).__enter__()


def test_invalid_borrow_arguments_are_refused(memory: cuarray.DeviceArray) -> None:
    with pytest.raises(TypeError):
        cuarray.borrow(memory)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="a cuarray stream, an object with __cuda_stream__, or a handle"):
        cuarray.borrow(memory, "stream")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        cuarray.borrow(memory, 1, streams=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="not a CUDA array"):
        cuarray.borrow([1, 2], 1).__enter__()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'shape'"):
        cuarray.borrow(Producer(describe(shape=(-1,))), 1).__enter__()


def test_borrow_accepts_import_options(memory: cuarray.DeviceArray) -> None:
    valid = cuarray.to_device(np.array([True, False, True, True]))
    with cuarray.borrow(foreign(memory, mask=foreign(valid)), 1, mask="ignore") as array:
        assert array.mask is None
    with cuarray.borrow(foreign(memory, typestr="|V1"), 1, dtype="float8_e5m2") as array:
        assert array.typestr == "float8_e5m2"


def test_work_after_borrow_waits_for_the_borrower(
    consumer_stream: ForeignStream, producer_stream: ForeignStream
) -> None:
    array = cuarray.to_device(np.zeros(4, np.uint8))
    with held(consumer_stream.handle) as hold:
        with cuarray.borrow(array, consumer_stream) as borrowed:
            driver_probe.fill(borrowed.ptr, NEW, 4, consumer_stream.handle)
        exported = array.__cuda_array_interface__["stream"]
        assert exported is not None
        with cuarray.borrow(array, producer_stream):
            pass
        assert not driver_probe.is_done(producer_stream.handle)
        hold.release()
        driver_probe.synchronize(exported)
    assert array.copy_to_host().tolist() == [NEW] * 4


def test_release_of_memory_is_deferred_until_borrower_is_done(simulator: str, consumer_stream: ForeignStream) -> None:
    from cuarray_sim import statistics

    def allocations() -> int:
        return len(statistics()["allocations"])

    cuarray.reclaim()
    before = allocations()
    array = cuarray.to_device(np.zeros(4, np.uint8))
    with held(consumer_stream.handle) as hold:
        with cuarray.borrow(array, consumer_stream) as borrowed:
            driver_probe.fill(borrowed.ptr, NEW, 4, consumer_stream.handle)
        del array, borrowed
        gc.collect()
        cuarray.reclaim(wait=False)
        assert allocations() == before + 1
        assert hold.is_held
        hold.release()
    cuarray.reclaim()
    assert allocations() == before
