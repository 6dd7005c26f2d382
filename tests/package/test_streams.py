"""Streams: stream objects, waits, and the order of transfers.

Each test holds a stream (`driver_probe.held`), so work behind it is known to be pending. An operation that does not wait finds
the old values; one that waits finds the new values. This holds on the simulated driver and on a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import time
import weakref
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream, held
from producers import foreign

import cuarray

OLD, NEW = 0x11, 0x22


@pytest.fixture
def array(driver: str) -> cuarray.DeviceArray:
    """Sixteen bytes of OLD."""
    return cuarray.to_device(np.full(16, OLD, np.uint8))


def bytes_now(array: cuarray.DeviceArray) -> set[int]:
    """The content of the memory now, read in a stream that waits for nothing."""
    stream = ForeignStream()
    target = np.zeros(array.nbytes, np.uint8)
    with driver_probe.primary_context():
        driver_probe.call(
            "cuMemcpyDtoHAsync_v2",
            target.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_uint64(array.ptr),
            ctypes.c_size_t(array.nbytes),
            ctypes.c_void_p(stream.handle),
        )
    driver_probe.synchronize(stream.handle)
    stream.destroy()
    return set(target.tolist())


# --- stream objects ---------------------------------------------------------------------------------------------------------


def test_default_streams_have_handles_1_and_2(driver: str) -> None:
    assert cuarray.default_stream().handle == cuarray.legacy_default_stream().handle == 1
    assert cuarray.per_thread_default_stream().handle == 2
    assert cuarray.default_stream() == cuarray.legacy_default_stream() != cuarray.per_thread_default_stream()


def test_new_streams_have_distinct_handles_and_compare_by_handle(driver: str) -> None:
    first, second = cuarray.stream(), cuarray.stream()
    assert first != second
    assert first.handle != second.handle
    assert min(first.handle, second.handle) > 2
    assert first == first
    assert first != first.handle
    assert len({first, second, cuarray.external_stream(first.handle)}) == 2


def test_repr_names_default_and_external_streams(driver: str) -> None:
    assert repr(cuarray.default_stream()) == "<cuarray.Stream: legacy default>"
    assert repr(cuarray.per_thread_default_stream()) == "<cuarray.Stream: per-thread default>"
    stream = cuarray.stream()
    assert repr(stream) == f"<cuarray.Stream {stream.handle:#x}>"
    assert repr(cuarray.external_stream(stream.handle)) == f"<cuarray.Stream {stream.handle:#x}, external>"


def test_cuda_stream_protocol_gives_version_and_handle(driver: str) -> None:
    for stream in (cuarray.stream(), cuarray.default_stream(), cuarray.per_thread_default_stream()):
        assert stream.__cuda_stream__() == (0, stream.handle)


class Provider:
    """An object with the stream protocol; its method returns ``result``, or raises it."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def __cuda_stream__(self) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.mark.parametrize("spell", [lambda s: s, lambda s: s.handle, lambda s: Provider((0, s.handle))])
def test_stream_arguments_accept_objects_handles_and_protocol(driver: str, spell: Callable[[Any], Any]) -> None:
    stream = cuarray.stream()
    given = spell(stream)
    assert cuarray.external_stream(given) == stream
    array = cuarray.device_array(4, "u1", stream=given)
    assert array.stream == stream
    array.copy_to_device(np.zeros(4, np.uint8), stream=given)
    array.copy_to_host(stream=given)
    assert cuarray.to_device([1], stream=given).stream == stream
    event = cuarray.event()
    event.record(given)
    event.wait(given)
    stream.synchronize()


@pytest.mark.parametrize(
    "given", ["1", 1.0, None, True, (0, 1), [1], pytest.param(object(), id="object()"), b"1"], ids=repr
)
def test_stream_argument_of_wrong_type_raises_type_error(driver: str, given: Any) -> None:
    with pytest.raises(TypeError, match="stream") as raised:
        cuarray.external_stream(given)
    assert type(given).__name__ in str(raised.value)
    if given is not None:
        for take in (
            lambda: cuarray.device_array(1, stream=given),
            lambda: cuarray.to_device([1], stream=given),
            lambda: cuarray.to_device([1]).copy_to_host(stream=given),
            lambda: cuarray.to_device([1]).copy_to_device([2], stream=given),
            lambda: cuarray.event().record(given),
        ):
            with pytest.raises(TypeError, match="stream"):
                take()


@pytest.mark.parametrize(
    "result",
    [1, None, (1,), (0, 1, 2), [0, 1], "01", (1, 1), (-1, 1), ("0", 1), (0, -1), (0, 2**64), (0, "1")],
    ids=repr,
)
def test_malformed_cuda_stream_result_raises_value_error(driver: str, result: Any) -> None:
    with pytest.raises(ValueError, match=r"__cuda_stream__|handle"):
        cuarray.external_stream(Provider(result))


def test_exception_of_cuda_stream_method_passes_through(driver: str) -> None:
    for error in (RuntimeError("closed"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as raised:
            cuarray.external_stream(Provider(error))
        assert raised.value is error


@pytest.mark.parametrize("handle", [-1, 2**64])
def test_handle_outside_64_bits_is_refused(driver: str, handle: int) -> None:
    with pytest.raises(ValueError, match=str(handle)):
        cuarray.external_stream(handle)


def test_stream_provider_lives_while_its_stream_is_used(driver: str) -> None:
    provider = Provider((0, 2))
    reference = weakref.ref(provider)
    array = cuarray.device_array(4, "u1", stream=provider)
    del provider
    assert reference() is not None
    stream = array.stream
    del array
    assert reference() is not None
    del stream
    assert reference() is None


def test_owned_stream_lives_as_long_as_its_arrays(driver: str) -> None:
    stream = cuarray.stream()
    reference = weakref.ref(stream)
    array = cuarray.device_array(4, "u1", stream=stream)
    assert array.stream is stream
    del stream
    gc.collect()
    assert reference() is not None
    array.stream.synchronize()
    del array
    assert reference() is None


# --- synchronize and query ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [cuarray.stream, lambda: cuarray.external_stream(cuarray.stream())], ids=["new", "external"]
)
def test_query_is_false_until_synchronize_has_waited(driver: str, make: Callable[[], cuarray.Stream]) -> None:
    stream = make()
    assert stream.query() is True
    with held(stream.handle) as hold:
        assert stream.query() is False
        hold.release_soon()
        stream.synchronize()
        assert not hold.is_held
        assert stream.query() is True


@pytest.mark.parametrize("default", [cuarray.default_stream, cuarray.per_thread_default_stream])
def test_default_streams_synchronize_waits_for_their_work(driver: str, default: Callable[[], cuarray.Stream]) -> None:
    stream = default()
    with held(stream.handle) as hold:
        assert stream.query() is False
        hold.release_soon()
        stream.synchronize()
        assert not hold.is_held


def test_waiting_releases_the_gil(driver: str) -> None:
    """Python code on another thread ends the hold, which it can do only if the wait has released the GIL."""
    for wait in (
        lambda stream, array: stream.synchronize(),
        lambda stream, array: array.copy_to_host(),
        lambda stream, array: array.copy_to_device(np.zeros(4, np.uint8)),
        lambda stream, array: cuarray.as_cuda_array(foreign(array)),
    ):
        stream = cuarray.stream()
        array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
        with held(stream.handle) as hold:
            hold.release_soon()
            wait(stream, array)
            assert not hold.is_held


def test_auto_synchronize_waits_at_end_of_block(driver: str) -> None:
    stream = cuarray.stream()
    with held(stream.handle) as hold:
        with stream.auto_synchronize() as entered:
            assert entered is stream
            hold.release_soon()
        assert not hold.is_held


def test_auto_synchronize_waits_after_exception(driver: str) -> None:
    stream = cuarray.stream()
    with held(stream.handle) as hold:
        hold.release_soon()
        with pytest.raises(KeyError), stream.auto_synchronize():
            raise KeyError
        assert not hold.is_held


# --- order of transfers -----------------------------------------------------------------------------------------------------


@pytest.mark.cuarray_sim(expect="data-race")  # reads pending data on purpose
def test_memory_is_stale_until_stream_is_synchronized(
    array: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(array.ptr, NEW, array.nbytes, foreign_stream.handle)
        assert bytes_now(array) == {OLD}
        hold.release()
        driver_probe.synchronize(foreign_stream.handle)
        assert bytes_now(array) == {NEW}


def test_copy_to_host_waits_for_home_stream(array: cuarray.DeviceArray, foreign_stream: ForeignStream) -> None:
    imported = cuarray.as_cuda_array(foreign(array, stream=foreign_stream.handle), sync=False)
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(array.ptr, NEW, array.nbytes, foreign_stream.handle)
        hold.release_soon()
        assert set(imported.copy_to_host().tolist()) == {NEW}


def test_copy_to_device_runs_after_work_in_home_stream(
    array: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    imported = cuarray.as_cuda_array(foreign(array, stream=foreign_stream.handle), sync=False)
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(array.ptr, NEW, array.nbytes, foreign_stream.handle)
        hold.release_soon()
        imported.copy_to_device(np.full(16, 0x33, np.uint8))
        assert bytes_now(array) == {0x33}


@pytest.mark.cuarray_sim(expect="data-race")  # reads pending data on purpose
@pytest.mark.parametrize("spell", [lambda s: s, lambda s: s.handle, cuarray.external_stream])
def test_copy_in_other_stream_runs_after_work_in_home_stream(
    array: cuarray.DeviceArray, foreign_stream: ForeignStream, spell: Callable[[Any], Any]
) -> None:
    """Forward edge: the home stream has pending work, and the copy is requested in another stream."""
    imported = cuarray.as_cuda_array(foreign(array, stream=foreign_stream.handle), sync=False)
    target, other = cuarray.to_device(np.zeros(16, np.uint8)), ForeignStream()
    with contextlib.ExitStack() as stack:
        stack.callback(other.destroy)
        hold = stack.enter_context(held(foreign_stream.handle))
        driver_probe.fill(array.ptr, NEW, array.nbytes, foreign_stream.handle)
        target.copy_to_device(imported, stream=spell(other))
        assert not driver_probe.is_done(other.handle)
        assert bytes_now(target) == {0}
        hold.release()
        driver_probe.synchronize(other.handle)
        assert bytes_now(target) == {NEW}


@pytest.mark.cuarray_sim(expect="data-race")  # reads pending data on purpose
def test_home_stream_waits_for_copy_in_other_stream(array: cuarray.DeviceArray, foreign_stream: ForeignStream) -> None:
    """Backward edge: later work in the home stream must not overtake the copy."""
    imported = cuarray.as_cuda_array(foreign(array, stream=foreign_stream.handle), sync=False)
    target, other = cuarray.to_device(np.zeros(16, np.uint8)), ForeignStream()
    with contextlib.ExitStack() as stack:
        stack.callback(other.destroy)
        hold = stack.enter_context(held(other.handle))
        target.copy_to_device(imported, stream=other)
        driver_probe.fill(array.ptr, NEW, array.nbytes, foreign_stream.handle)
        assert not driver_probe.is_done(foreign_stream.handle)
        assert bytes_now(array) == {OLD}
        hold.release()
        driver_probe.synchronize(foreign_stream.handle)
        assert (bytes_now(target), bytes_now(array)) == ({OLD}, {NEW})


def test_copy_in_other_stream_runs_after_work_in_home_stream_of_target(
    array: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    """Forward edge for the array that is written."""
    imported = cuarray.as_cuda_array(foreign(array, stream=foreign_stream.handle), sync=False)
    source, other = cuarray.to_device(np.full(16, 0x33, np.uint8)), ForeignStream()
    with contextlib.ExitStack() as stack:
        stack.callback(other.destroy)
        hold = stack.enter_context(held(foreign_stream.handle))
        driver_probe.fill(array.ptr, NEW, array.nbytes, foreign_stream.handle)
        imported.copy_to_device(source, stream=other)
        assert not driver_probe.is_done(other.handle)
        hold.release()
        driver_probe.synchronize(foreign_stream.handle)
        assert bytes_now(array) == {0x33}


def test_copy_between_arrays_of_two_home_streams_waits_for_both(
    array: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    stream = cuarray.stream()
    target = cuarray.to_device(np.zeros(16, np.uint8), stream=stream)
    imported = cuarray.as_cuda_array(foreign(array, stream=foreign_stream.handle), sync=False)
    with held(stream.handle) as first, held(foreign_stream.handle) as second:
        driver_probe.fill(target.ptr, 0x44, 16, stream.handle)
        driver_probe.fill(array.ptr, NEW, 16, foreign_stream.handle)
        first.release_soon()
        second.release_soon(0.2)
        target.copy_to_device(imported)
        assert not first.is_held
        assert not second.is_held
        assert bytes_now(target) == {NEW}


def test_copy_without_stream_waits_for_blocking_streams(array: cuarray.DeviceArray) -> None:
    """A copy without a stream runs in the legacy default stream, which waits for blocking streams."""
    stream = cuarray.stream()
    with held(stream.handle) as hold:
        driver_probe.fill(array.ptr, NEW, 16, stream.handle)
        hold.release_soon()
        assert set(array.copy_to_host().tolist()) == {NEW}


@pytest.mark.parametrize("stream_of_target", [False, True])
@pytest.mark.parametrize("stream_of_source", [False, True])
def test_device_to_device_copy_without_stream_argument_is_complete_on_return(
    array: cuarray.DeviceArray, foreign_stream: ForeignStream, stream_of_target: bool, stream_of_source: bool
) -> None:
    target = cuarray.device_array(16, "u1", stream=cuarray.stream() if stream_of_target else None)
    source = foreign(array, stream=foreign_stream.handle if stream_of_source else None)
    target.copy_to_device(source)
    assert bytes_now(target) == {OLD}
    assert driver_probe.is_done(foreign_stream.handle) or stream_of_target


def test_copy_in_home_stream_needs_no_event_and_no_wait(array: cuarray.DeviceArray, simulator: str) -> None:
    """A copy in the array's home stream is ordered already."""
    import cuarray_sim

    stream = cuarray.stream()
    target = cuarray.device_array(16, "u1", stream=stream)
    source = cuarray.as_cuda_array(foreign(array, stream=stream.handle), sync=False)
    before = cuarray_sim.statistics()["calls"]
    target.copy_to_device(source, stream=stream)
    target.copy_to_device(source, stream=stream.handle)
    target.copy_to_device(np.zeros(16, np.uint8), stream=stream)
    after = cuarray_sim.statistics()["calls"]
    for call in ("cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize", "cuCtxSynchronize"):
        assert after.get(call, 0) == before.get(call, 0), call
    stream.synchronize()


def test_dropping_array_with_pending_copy_keeps_its_values_readable(driver: str, foreign_stream: ForeignStream) -> None:
    """The array is dropped while a copy from it is pending."""
    stream = cuarray.stream()
    target = cuarray.to_device(np.zeros(16, np.uint8))
    source = cuarray.to_device(np.full(16, NEW, np.uint8))
    with held(stream.handle) as hold:
        target.copy_to_device(source, stream=stream)
        hold.release_soon()
        del source
        cuarray.to_device(np.full(16, OLD, np.uint8))
        stream.synchronize()
    assert bytes_now(target) == {NEW}


def test_dropped_stream_completes_its_pending_work(array: cuarray.DeviceArray) -> None:
    stream = cuarray.stream()
    with held(stream.handle) as hold:
        driver_probe.fill(array.ptr, NEW, 16, stream.handle)
        hold.release()
        driver_probe.synchronize(stream.handle)
        array.copy_to_device(np.full(16, 0x33, np.uint8), stream=stream)
    del stream, hold
    gc.collect()
    deadline = time.monotonic() + driver_probe.PATIENCE
    while bytes_now(array) != {0x33} and time.monotonic() < deadline:
        time.sleep(0.01)
    assert bytes_now(array) == {0x33}
