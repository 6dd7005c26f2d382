"""Buffers and memory resources of cuda.core: each name as documented, and with a wrong argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

SIZE = 1 << 16


def contents(buffer: Any, stream: Any) -> np.ndarray:
    """The bytes of a buffer."""
    from cuda.core import LegacyPinnedMemoryResource

    host = LegacyPinnedMemoryResource().allocate(buffer.size)
    buffer.copy_to(host, stream=stream)
    stream.sync()
    return np.from_dlpack(host).view("uint8").copy()


@pytest.fixture
def resource(device: Any) -> Callable[[str], Any]:
    """Make a memory resource of a class by its name."""

    def resource(name: str) -> Any:
        import cuda.core

        own = name in ("PinnedMemoryResource", "ManagedMemoryResource", "LegacyPinnedMemoryResource")
        return getattr(cuda.core, name)(*(() if own else (device,)))

    return resource


POOLS = ["DeviceMemoryResource", "PinnedMemoryResource", "ManagedMemoryResource"]
# The memory that the host and devices can access, and whether it is managed.
ACCESS = {
    "DeviceMemoryResource": (False, True, False),
    "PinnedMemoryResource": (True, True, False),
    "ManagedMemoryResource": (True, True, True),
    "VirtualMemoryResource": (False, True, False),
    "LegacyPinnedMemoryResource": (True, True, False),
}


@pytest.mark.parametrize("name", ACCESS)
def test_buffer_of_each_resource_is_filled_and_copied(resource: Any, stream: Any, name: str) -> None:
    memory = resource(name)
    buffer = memory.allocate(SIZE, stream=stream)
    assert buffer.size >= SIZE
    assert buffer.memory_resource is memory
    access = (buffer.is_host_accessible, buffer.is_device_accessible, buffer.is_managed)
    assert access == ACCESS[name] == (memory.is_host_accessible, memory.is_device_accessible, memory.is_managed)
    buffer.fill(7, stream=stream)
    assert (contents(buffer, stream) == 7).all()
    buffer.close(stream)
    assert buffer.is_closed
    assert int(buffer.handle or 0) == 0
    stream.sync()


@pytest.mark.parametrize("name", ACCESS)
def test_size_that_no_device_has_is_an_error(resource: Any, stream: Any, name: str) -> None:
    memory = resource(name)
    with pytest.raises(Exception, match=r"OUT_OF_MEMORY|INVALID_VALUE") as caught:
        memory.allocate(1 << 60, stream=stream)
    assert type(caught.value).__name__ in ("CUDAError", "MemoryError", "RuntimeError")


@pytest.mark.parametrize("name", POOLS)
def test_pool_states_its_attributes_and_is_closed(resource: Any, stream: Any, name: str) -> None:
    pool = resource(name)
    assert (pool.is_ipc_enabled, pool.is_mapped, pool.uuid) == (False, False, None)
    attributes = pool.attributes
    assert attributes.release_threshold >= 0
    buffer = pool.allocate(SIZE, stream=stream)
    assert attributes.used_mem_current >= SIZE
    assert attributes.used_mem_high >= attributes.used_mem_current
    assert attributes.reserved_mem_current >= attributes.used_mem_current
    assert attributes.reserved_mem_high >= attributes.reserved_mem_current
    for reuse in ("reuse_follow_event_dependencies", "reuse_allow_opportunistic", "reuse_allow_internal_dependencies"):
        assert getattr(attributes, reuse) is True
    buffer.close(stream)
    stream.sync()
    if pool.is_handle_owned:
        pool.close()
        assert pool.is_closed


def test_host_pools_of_options_are_owned_and_limited(device: Any, stream: Any) -> None:
    from cuda.core import (
        ManagedMemoryResource,
        ManagedMemoryResourceOptions,
        PinnedMemoryResource,
        PinnedMemoryResourceOptions,
    )

    pinned = PinnedMemoryResource(PinnedMemoryResourceOptions(max_size=SIZE))
    buffer = pinned.allocate(SIZE, stream=stream)
    stream.sync()
    view = np.from_dlpack(buffer).view("uint8")
    view[:] = 3
    assert (contents(buffer, stream) == 3).all()
    with pytest.raises(Exception, match="OUT_OF_MEMORY"):
        pinned.allocate(1, stream=stream)
    del view
    buffer.close(stream)
    pinned.close()
    node = PinnedMemoryResource(PinnedMemoryResourceOptions(numa_id=0))
    assert node.numa_id == 0
    node.close()
    managed = ManagedMemoryResource(ManagedMemoryResourceOptions(preferred_location=0))
    assert managed.is_handle_owned
    assert managed.preferred_location == ("device", 0)
    other = managed.allocate(SIZE, stream=stream)
    assert other.preferred_location == device
    other.close(stream)
    stream.sync()
    managed.close()
    with pytest.raises(ValueError, match="preferred_location"):
        ManagedMemoryResource(ManagedMemoryResourceOptions(preferred_location=-2))


def test_pool_of_options_is_owned(device: Any, stream: Any) -> None:
    from cuda.core import DeviceMemoryResource, DeviceMemoryResourceOptions

    pool = DeviceMemoryResource(device, DeviceMemoryResourceOptions(max_size=1 << 26))
    assert pool.is_handle_owned
    assert int(pool.handle) != 0
    assert pool.device_id == 0
    with pytest.raises(RuntimeError, match="IPC"):
        pool.allocation_handle  # noqa: B018 - reading it raises
    assert set(pool.peer_accessible_by) == set()
    pool.close()
    with pytest.raises(TypeError):
        DeviceMemoryResource(device, 3)


def test_deallocation_is_ordered_in_the_chosen_stream(device: Any, stream: Any) -> None:
    other = device.create_stream()
    buffer = device.allocate(SIZE, stream=stream)
    buffer.fill(1, stream=stream)
    other.wait(stream)
    buffer.fill(2, stream=other)
    buffer.set_deallocation_stream(other)
    buffer.close()
    device.sync()
    with pytest.raises((TypeError, RuntimeError)):
        buffer.set_deallocation_stream(3)


@pytest.mark.parametrize(("value", "expected"), [(9, [9]), (b"\x01\x02", [1, 2]), (b"\x01\x02\x03\x04", [1, 2, 3, 4])])
def test_fill_repeats_values_of_1_2_and_4_bytes(device: Any, stream: Any, value: Any, expected: list[int]) -> None:
    buffer = device.allocate(64, stream=stream)
    buffer.fill(value, stream=stream)
    assert contents(buffer, stream).tolist() == expected * (64 // len(expected))
    buffer.close(stream)


def test_fill_with_another_size_is_an_error(device: Any, stream: Any) -> None:
    buffer = device.allocate(64, stream=stream)
    with pytest.raises(ValueError, match="1, 2, or 4 bytes"):
        buffer.fill(b"abc", stream=stream)
    with pytest.raises(OverflowError):
        buffer.fill(300, stream=stream)
    buffer.close(stream)


def test_copies_need_equal_sizes(device: Any, stream: Any) -> None:
    source, target, short = (device.allocate(size, stream=stream) for size in (64, 64, 10))
    source.fill(5, stream=stream)
    target.copy_from(source, stream=stream)
    fresh = target.copy_to(stream=stream)
    assert (contents(fresh, stream) == 5).all()
    with pytest.raises(ValueError, match="sizes"):
        source.copy_to(short, stream=stream)
    for buffer in (source, target, short, fresh):
        buffer.close(stream)


def test_copy_with_options_copies(device: Any, stream: Any) -> None:
    from cuda.core.utils import CopyOptions

    source, target = (device.allocate(64, stream=stream) for _ in range(2))
    source.fill(6, stream=stream)
    source.copy_to(target, stream=stream, options=CopyOptions(src_access_order="stream"))
    assert (contents(target, stream) == 6).all()
    with pytest.raises(ValueError, match="sometimes"):
        CopyOptions(src_access_order="sometimes")
    source.close(stream)
    target.close(stream)


def test_batch_of_copies_copies_all(device: Any, stream: Any) -> None:
    from cuda.core.utils import copy_batch

    sources, targets = ([device.allocate(64, stream=stream) for _ in range(3)] for _ in range(2))
    for number, source in enumerate(sources):
        source.fill(number, stream=stream)
    copy_batch(stream, sources, targets)
    assert [int(contents(target, stream)[63]) for target in targets] == [0, 1, 2]
    with pytest.raises(ValueError, match=r"dsts|length|same"):
        copy_batch(stream, sources, targets[:1])
    for buffer in (*sources, *targets):
        buffer.close(stream)


def test_buffer_of_a_handle_keeps_its_owner(device: Any, stream: Any) -> None:
    from cuda.core import Buffer

    memory = device.allocate(64, stream=stream)
    alias = Buffer.from_handle(memory.handle, 64, owner=memory)
    assert (int(alias.handle), alias.size, alias.owner) == (int(memory.handle), 64, memory)
    assert alias.device_id == 0
    assert not alias.is_mapped
    with pytest.raises(RuntimeError, match="IPC"):
        memory.ipc_descriptor  # noqa: B018 - reading it raises
    with pytest.raises((TypeError, ValueError)):
        Buffer.from_handle(memory.handle, "64")
    alias.close()
    memory.close(stream)
    stream.sync()


def test_managed_memory_has_advice_and_is_prefetched(device: Any, stream: Any, resource: Any) -> None:
    from cuda.core import Host

    memory = resource("ManagedMemoryResource")
    buffer = memory.allocate(SIZE, stream=stream)
    buffer.read_mostly = True
    buffer.preferred_location = device
    buffer.accessed_by.add(device)
    assert buffer.read_mostly is True
    assert buffer.preferred_location == device
    assert device in buffer.accessed_by
    buffer.accessed_by.remove(device)
    buffer.prefetch(device, stream=stream)
    buffer.fill(4, stream=stream)
    buffer.prefetch(Host(), stream=stream)
    assert (contents(buffer, stream) == 4).all()
    buffer.discard(stream=stream)
    buffer.discard_prefetch(device, stream=stream)
    with pytest.raises((TypeError, ValueError)):
        buffer.prefetch("somewhere", stream=stream)
    buffer.close(stream)
    stream.sync()


def test_batches_of_managed_memory_are_prefetched_and_discarded(device: Any, stream: Any, resource: Any) -> None:
    from cuda.core.utils import discard_batch, discard_prefetch_batch, prefetch_batch

    memory = resource("ManagedMemoryResource")
    buffers = [memory.allocate(SIZE, stream=stream) for _ in range(2)]
    for buffer in buffers:
        buffer.fill(3, stream=stream)
    prefetch_batch(stream, buffers, device)
    assert all((contents(buffer, stream) == 3).all() for buffer in buffers)
    discard_batch(stream, buffers)
    discard_prefetch_batch(stream, buffers, [device, device])
    with pytest.raises(ValueError, match=r"location|length"):
        prefetch_batch(stream, buffers, [device])
    for buffer in buffers:
        buffer.close(stream)
    stream.sync()


def test_graph_memory_is_for_captures_only(device: Any, stream: Any) -> None:
    from cuda.core import GraphMemoryResource

    memory = GraphMemoryResource(device)
    with pytest.raises(RuntimeError, match="non-capturing"):
        memory.allocate(SIZE, stream=stream)
    builder = device.create_graph_builder().begin_building()
    buffer = memory.allocate(SIZE, stream=builder)
    buffer.fill(1, stream=builder)
    buffer.close(builder)
    graph = builder.end_building().complete()
    graph.launch(stream)
    stream.sync()
    assert memory.attributes.reserved_mem_high >= SIZE
    graph.close()
    memory.trim()
    assert memory.attributes.used_mem_current == 0
