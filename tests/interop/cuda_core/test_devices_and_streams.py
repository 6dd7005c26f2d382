"""Devices, contexts, streams and events of cuda.core: each name as documented, and with a wrong argument."""

from __future__ import annotations

import uuid
from typing import Any

import pytest


def test_device_describes_itself(device: Any) -> None:
    major, minor = device.compute_capability
    assert device.arch == f"{major}{minor}"
    assert device.device_id == 0
    assert device.name
    assert uuid.UUID(device.uuid)
    domain, bus, _ = device.pci_bus_id.split(":")
    assert int(domain, 16) == 0
    assert int(bus, 16) >= 0
    assert device.properties.multiprocessor_count > 0
    assert device.properties.max_threads_per_block == 1024


def test_every_property_of_the_device_has_a_value(device: Any) -> None:
    names = [name for name in dir(device.properties) if not name.startswith("_")]
    assert len(names) > 80
    for name in names:
        assert isinstance(getattr(device.properties, name), int | bool), name


def test_devices_are_listed_and_a_missing_one_is_an_error(device: Any) -> None:
    from cuda.core import Device

    devices = Device.get_all_devices()
    assert devices[0].device_id == 0
    with pytest.raises(ValueError, match="device_id"):
        Device(len(devices))


def test_peer_access_to_a_missing_device_is_an_error(device: Any) -> None:
    assert device.can_access_peer(0) is True
    with pytest.raises(ValueError, match="device_id"):
        device.can_access_peer(999)


def test_system_device_is_the_same_device(device: Any) -> None:
    assert device.to_system_device().uuid_without_prefix == device.uuid
    assert device.to_system_device().to_cuda_device().device_id == 0


def test_context_of_the_device_is_current_and_is_not_green(device: Any) -> None:
    context = device.context
    assert int(context.handle) != 0
    assert not context.is_closed
    assert not context.is_green
    assert device.set_current(context).handle == context.handle
    with pytest.raises(TypeError):
        device.set_current(3)


def test_context_without_resources_is_an_error(device: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        device.create_context()


def test_stream_has_its_options(device: Any) -> None:
    from cuda.core import StreamOptions

    blocking = device.create_stream(options=StreamOptions(nonblocking=False, priority=-1))
    assert (blocking.is_nonblocking, blocking.priority) == (False, -1)
    assert device.create_stream().is_nonblocking
    assert (blocking.device.device_id, blocking.context.handle) == (0, device.context.handle)
    with pytest.raises(ValueError, match="priority=99"):
        device.create_stream(options=StreamOptions(priority=99))
    blocking.close()
    assert blocking.is_closed


def test_stream_of_a_handle_is_that_stream(device: Any, stream: Any) -> None:
    from cuda.core import Stream

    again = Stream.from_handle(int(stream.handle))
    assert int(again.handle) == int(stream.handle)
    again.sync()
    with pytest.raises(TypeError):
        Stream.from_handle("stream")


def test_default_streams_differ(device: Any) -> None:
    from cuda.core import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM

    assert int(LEGACY_DEFAULT_STREAM.handle) == 1
    assert int(PER_THREAD_DEFAULT_STREAM.handle) == 2
    assert int(device.default_stream.handle) in (1, 2)
    LEGACY_DEFAULT_STREAM.sync()
    PER_THREAD_DEFAULT_STREAM.sync()


def test_event_is_done_after_its_stream(device: Any, stream: Any) -> None:
    buffer = device.allocate(1 << 20, stream=stream)
    buffer.fill(1, stream=stream)
    event = stream.record()
    event.sync()
    assert event.is_done
    assert (event.device.device_id, event.context.handle) == (0, device.context.handle)
    assert (event.is_timing_enabled, event.is_blocking_sync, event.is_ipc_enabled) == (False, False, False)
    event.close()
    assert event.is_closed
    buffer.close(stream)


def test_time_between_events_needs_timing(device: Any, stream: Any) -> None:
    from cuda.core import EventOptions

    first = stream.record(options=EventOptions(timing_enabled=True))
    second = stream.record(options=EventOptions(timing_enabled=True))
    second.sync()
    assert second - first > 0
    without = stream.record()
    without.sync()
    with pytest.raises(RuntimeError, match="timing"):
        without - first


def test_event_can_be_created_and_recorded_again(device: Any, stream: Any) -> None:
    from cuda.core import EventOptions

    event = device.create_event(EventOptions(blocking_sync=True))
    assert event.is_blocking_sync
    assert stream.record(event) is event
    event.sync()
    with pytest.raises(TypeError):
        stream.record(3)


def test_interprocess_event_has_a_descriptor(device: Any, stream: Any) -> None:
    from cuda.core import EventOptions

    event = stream.record(options=EventOptions(ipc_enabled=True))
    assert event.is_ipc_enabled
    assert event.ipc_descriptor
    with pytest.raises((TypeError, ValueError)):
        device.create_event(EventOptions(ipc_enabled=True, timing_enabled=True))
    with pytest.raises(TypeError):
        type(event).from_ipc_descriptor(3)
    event.sync()


def test_stream_waits_for_events_and_streams_only(device: Any, stream: Any) -> None:
    other = device.create_stream()
    buffer = device.allocate(256, stream=stream)
    buffer.fill(7, stream=stream)
    other.wait(stream)
    buffer.fill(8, stream=other)
    stream.wait(other.record())
    buffer.close(stream)
    device.sync()
    with pytest.raises(ValueError, match="can be waited"):
        stream.wait(3)
