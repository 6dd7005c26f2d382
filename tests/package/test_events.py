"""Events: recording, waiting, queries and elapsed time."""

from __future__ import annotations

import weakref

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream, held

import cuarray


def test_unrecorded_event_is_done(driver: str) -> None:
    event = cuarray.event()
    assert event.query() is True
    event.synchronize()
    event.wait(cuarray.stream())
    assert event.handle != cuarray.event().handle


def test_event_is_done_after_work_before_its_record(driver: str, foreign_stream: ForeignStream) -> None:
    event = cuarray.event()
    with held(foreign_stream.handle) as hold:
        event.record(foreign_stream)
        assert event.query() is False
        hold.release_soon()
        event.synchronize()
        assert not hold.is_held
        assert event.query() is True


def test_event_does_not_wait_for_work_after_its_record(driver: str, foreign_stream: ForeignStream) -> None:
    event = cuarray.event()
    event.record(foreign_stream)
    with held(foreign_stream.handle) as hold:
        event.synchronize()
        assert event.query() is True
        assert hold.is_held


@pytest.mark.parametrize("by", ["event", "stream"])
def test_stream_waits_for_event(driver: str, foreign_stream: ForeignStream, by: str) -> None:
    event, stream = cuarray.event(), cuarray.stream()
    array = cuarray.to_device(np.zeros(16, np.uint8))
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(array.ptr, 1, 16, foreign_stream.handle)
        event.record(foreign_stream)
        if by == "event":
            event.wait(stream)
        else:
            stream.wait(event)
        driver_probe.fill(array.ptr, 2, 16, stream.handle)
        assert not stream.query()
        hold.release()
        stream.synchronize()
    assert set(array.copy_to_host().tolist()) == {2}


def test_wait_refers_to_latest_record_before_it(driver: str, foreign_stream: ForeignStream) -> None:
    event, stream = cuarray.event(), cuarray.stream()
    event.record(foreign_stream)
    event.wait(stream)
    with held(foreign_stream.handle):
        event.record(foreign_stream)
        assert event.query() is False
        stream.synchronize()
        assert stream.query() is True


def test_event_uses_default_stream_without_argument(driver: str) -> None:
    default_stream, event = cuarray.default_stream(), cuarray.event()
    with held(default_stream.handle) as hold:
        event.record()
        assert event.query() is False
        hold.release()
        event.synchronize()
    event.wait()
    default_stream.synchronize()


def test_elapsed_time_between_two_events_in_milliseconds(driver: str) -> None:
    stream, start, end = cuarray.stream(), cuarray.event(), cuarray.event()
    start.record(stream)
    with held(stream.handle) as hold:
        end.record(stream)
        hold.release_soon(0.05)
        end.synchronize()
    milliseconds = start.elapsed_time(end)
    assert isinstance(milliseconds, float)
    assert 0.0 <= milliseconds < 1000 * driver_probe.PATIENCE


def test_elapsed_time_of_unrecorded_or_pending_event_raises_cuda_error(
    driver: str, foreign_stream: ForeignStream
) -> None:
    start, end = cuarray.event(), cuarray.event()
    with pytest.raises(cuarray.CudaError) as raised:
        start.elapsed_time(end)
    assert raised.value.name == "CUDA_ERROR_INVALID_HANDLE"
    start.record(foreign_stream)
    with held(foreign_stream.handle):
        end.record(foreign_stream)
        with pytest.raises(cuarray.CudaError) as raised:
            start.elapsed_time(end)
        assert raised.value.name == "CUDA_ERROR_NOT_READY"


def test_elapsed_time_of_event_without_timing_raises_cuda_error(driver: str) -> None:
    start, end, stream = cuarray.event(timing=False), cuarray.event(timing=False), cuarray.stream()
    start.record(stream)
    end.record(stream)
    stream.synchronize()
    with pytest.raises(cuarray.CudaError) as raised:
        start.elapsed_time(end)
    assert raised.value.name == "CUDA_ERROR_INVALID_HANDLE"
    assert "cuEventElapsedTime" in str(raised.value.call)


@pytest.mark.parametrize("other", [None, 1, "event", pytest.param(object(), id="object()")], ids=repr)
def test_event_argument_of_wrong_type_is_refused(driver: str, other: object) -> None:
    with pytest.raises(TypeError):
        cuarray.event().elapsed_time(other)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        cuarray.stream().wait(other)  # type: ignore[arg-type]


def test_event_may_be_dropped_while_a_stream_waits_for_it(driver: str, foreign_stream: ForeignStream) -> None:
    event, stream = cuarray.event(), cuarray.stream()
    reference = weakref.ref(event)
    with held(foreign_stream.handle) as hold:
        event.record(foreign_stream)
        event.wait(stream)
        del event
        assert reference() is None
        assert not stream.query()
        hold.release()
        stream.synchronize()


def test_repr_of_event_shows_handle(driver: str) -> None:
    event = cuarray.event()
    assert repr(event) == f"<cuarray.Event {event.handle:#x}>"
