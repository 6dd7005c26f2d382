"""Green contexts of cuda.core: each name as documented, and with a wrong argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

MULTIPROCESSORS = 132


@pytest.fixture
def groups(device: Any) -> tuple[list[Any], Any]:
    """Two parts of the device with 16 multiprocessors each, and the remainder."""
    from cuda.core import SMResourceOptions

    return device.resources.sm.split(SMResourceOptions(count=(16, 16)))


@pytest.fixture
def contexts(device: Any, groups: tuple[list[Any], Any]) -> Iterator[list[Any]]:
    """A green context for each part."""
    from cuda.core import ContextOptions

    made = [device.create_context(ContextOptions(resources=[group])) for group in groups[0]]
    yield made
    for context in made:
        context.close()


def test_multiprocessors_of_a_device_are_split(device: Any, groups: tuple[list[Any], Any]) -> None:
    from cuda.core import SMResourceOptions

    whole, (parts, remainder) = device.resources.sm, groups
    assert [part.sm_count for part in (whole, *parts, remainder)] == [MULTIPROCESSORS, 16, 16, 100]
    assert (whole.min_partition_size, whole.coscheduled_alignment, whole.flags) == (8, 8, 0)
    assert whole.handle != 0
    (found,), _ = whole.split(SMResourceOptions(count=None), dry_run=True)
    assert found.sm_count == 128
    (filled, rest), _ = whole.split(SMResourceOptions(count=(66, 66), backfill=True))
    assert (filled.sm_count, rest.sm_count) == (66, 66)
    with pytest.raises(Exception, match="CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION"):
        whole.split(SMResourceOptions(count=66))
    with pytest.raises(ValueError, match="non-negative"):
        whole.split(SMResourceOptions(count=-1))


def test_work_queues_are_configured(device: Any, groups: tuple[list[Any], Any]) -> None:
    from cuda.core import ContextOptions, WorkqueueResourceOptions

    queues = device.resources.workqueue
    assert (queues.concurrency_limit, str(queues.sharing_scope), queues.device.device_id) == (8, "device_ctx", 0)
    queues.configure(WorkqueueResourceOptions(sharing_scope="green_ctx_balanced", concurrency_limit=4))
    context = device.create_context(ContextOptions(resources=[groups[0][0], queues]))
    own = context.resources.workqueue
    assert own.handle != 0
    assert (own.concurrency_limit, str(own.sharing_scope)) == (4, "green_ctx_balanced")
    context.close()
    with pytest.raises(Exception, match=r"options|WorkqueueResourceOptions"):
        queues.configure(3)


def test_streams_and_events_of_a_green_context_state_it(device: Any, contexts: list[Any]) -> None:
    context = contexts[0]
    assert context.is_green
    assert context.resources.sm.sm_count == 16
    stream = context.create_stream()
    event = stream.record()
    assert stream.context == context
    assert event.context == context
    assert stream.resources.sm.sm_count == 16
    event.sync()
    stream.close()
    with pytest.raises(TypeError):
        context.create_stream(3)
    with pytest.raises(TypeError):
        device.create_context(3)


def test_current_green_context_gives_its_stream_and_is_not_closed(device: Any, contexts: list[Any]) -> None:
    previous = device.set_current(contexts[0])
    try:
        assert device.create_stream().context == contexts[0]
        with pytest.raises(RuntimeError, match="current"):
            contexts[0].close()
    finally:
        assert device.set_current(previous) is contexts[0]


def test_event_orders_the_streams_of_two_green_contexts(device: Any, contexts: list[Any]) -> None:
    from cuda.core import LegacyPinnedMemoryResource

    writer, reader = (context.create_stream() for context in contexts)
    buffer, host = device.allocate(64, stream=writer), LegacyPinnedMemoryResource().allocate(64)
    buffer.fill(7, stream=writer)
    reader.wait(writer.record())
    buffer.copy_to(host, stream=reader)
    reader.sync()
    assert (np.from_dlpack(host).view("uint8") == 7).all()
    buffer.close(stream=reader)
    writer.close()
    reader.close()
