"""Streams, events, and the functions of the driver."""

from __future__ import annotations

import numpy as np

import cuarray

from .table import Attempt, operation


@operation("stream")
def stream() -> Attempt:
    return lambda: cuarray.stream() is not None


@operation("stream, of the second device", "stream")
def stream_of_the_second_device() -> Attempt:
    return lambda: cuarray.stream(device=1) is not None


@operation("default_stream", "default_stream", "legacy_default_stream", "per_thread_default_stream")
def default_streams() -> Attempt:
    return lambda: (
        cuarray.default_stream().handle,
        cuarray.legacy_default_stream().handle,
        cuarray.per_thread_default_stream().handle,
    )


@operation("external_stream")
def external_stream() -> Attempt:
    own = cuarray.stream()
    return lambda: cuarray.external_stream(own.handle).query()


@operation("Stream.synchronize")
def synchronize() -> Attempt:
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, "i4"), stream=stream)

    def attempt() -> object:
        array[:] = 1
        return stream.synchronize()

    return attempt


@operation("Stream.query")
def query() -> Attempt:
    stream = cuarray.stream()
    return lambda: stream.query()


@operation("Stream.wait")
def wait() -> Attempt:
    stream, event = cuarray.stream(), cuarray.event()
    event.record(cuarray.stream())
    return lambda: stream.wait(event)


@operation(
    "Stream.auto_synchronize", "Stream.auto_synchronize", "AutoSynchronize.__enter__", "AutoSynchronize.__exit__"
)
def auto_synchronize() -> Attempt:
    stream = cuarray.stream()

    def attempt() -> object:
        with stream.auto_synchronize():
            return cuarray.to_device(np.zeros(4, "i4"), stream=stream).shape

    return attempt


@operation(
    "Stream, without calls",
    *(f"Stream.{name}" for name in ("__cuda_stream__", "__eq__", "__ne__", "__hash__", "__repr__", "handle")),
)
def stream_properties() -> Attempt:
    stream = cuarray.stream()
    return lambda: (stream.__cuda_stream__(), stream == stream, stream != stream, hash(stream), repr(stream))


@operation("event")
def event() -> Attempt:
    return lambda: (cuarray.event() is not None, cuarray.event(timing=False) is not None)


@operation("Event.record")
def record() -> Attempt:
    event, stream = cuarray.event(), cuarray.stream()
    return lambda: (event.record(stream), event.record())


@operation("Event.wait")
def event_wait() -> Attempt:
    event, stream = cuarray.event(), cuarray.stream()
    event.record(stream)
    return lambda: (event.wait(stream), event.wait())


@operation(
    "Event.synchronize", "Event.synchronize", "Event.query", "Event.elapsed_time", "Event.handle", "Event.__repr__"
)
def event_synchronize() -> Attempt:
    start, end, stream = cuarray.event(), cuarray.event(), cuarray.stream()
    start.record(stream)
    end.record(stream)

    def attempt() -> object:
        end.synchronize()
        return (end.query(), start.elapsed_time(end) >= 0, end.handle, repr(end))

    return attempt


@operation(
    "pointer_attributes",
    "pointer_attributes",
    *(
        f"PointerAttributes.{name}"
        for name in ["__repr__", "context", "is_managed", "device_ptr", "host_ptr", "memory_type", "range", "device"]
    ),
)
def pointer_attributes() -> Attempt:
    array = cuarray.to_device(np.zeros(4, "i4"))

    def attempt() -> object:
        found = cuarray.pointer_attributes(array.ptr)
        assert found is not None
        names = "context is_managed device_ptr host_ptr memory_type range device"
        return (repr(found), [getattr(found, name) for name in names.split()])

    return attempt


@operation("driver_path")
def driver_path() -> Attempt:
    return lambda: cuarray.driver_path()


@operation("reclaim")
def reclaim() -> Attempt:
    stream, source = cuarray.stream(), cuarray.pinned_array(8, "i4")

    def attempt() -> object:
        array = cuarray.device_array(8, "i4", stream=stream)
        array.copy_to_device(source, stream=stream)
        del array
        return cuarray.reclaim()

    return attempt
