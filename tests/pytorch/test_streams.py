"""Streams, events, pinned memory and devices of PyTorch on the simulated driver, and races between its streams."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import cuarray

Sides = Callable[[], list[tuple[str, str]]]

COUNT = 1000


def on_device(value: int = 0) -> torch.Tensor:
    """A tensor on device 0 whose elements have been written."""
    tensor = torch.full((COUNT,), value).cuda()
    torch.cuda.synchronize()
    return tensor


def pinned() -> torch.Tensor:
    return torch.empty(COUNT, dtype=torch.int64, pin_memory=True)


def test_work_of_a_stream_is_pending_until_a_synchronization() -> None:
    source, target, stream = on_device(1), pinned(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        target.copy_(source, non_blocking=True)
    assert not stream.query()
    stream.synchronize()
    assert stream.query()
    assert target.tolist() == [1] * COUNT


def test_waiting_stream_has_no_findings() -> None:
    source, between, target = on_device(1), on_device(), pinned()
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        between.copy_(source)
    second.wait_stream(first)
    with torch.cuda.stream(second):
        target.copy_(between, non_blocking=True)
    second.synchronize()
    assert target.tolist() == [1] * COUNT


def test_stream_that_waits_for_an_event_has_no_findings() -> None:
    source, between, target = on_device(2), on_device(), pinned()
    first, second, event = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()
    with torch.cuda.stream(first):
        between.copy_(source)
        event.record()
    with torch.cuda.stream(second):
        event.wait()
        target.copy_(between, non_blocking=True)
    second.synchronize()
    assert target.tolist() == [2] * COUNT


@pytest.mark.cuarray_sim(expect="data-race")
def test_missing_wait_between_streams_is_a_race_at_the_users_lines(sides: Sides) -> None:
    source, between, target = on_device(1), on_device(), pinned()
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        between.copy_(source)
    with torch.cuda.stream(second):
        target.copy_(between, non_blocking=True)
    assert sides() == [("torch", "between.copy_(source)"), ("torch", "target.copy_(between, non_blocking=True)")]


@pytest.mark.cuarray_sim(expect="data-race")
def test_host_that_does_not_wait_for_a_non_blocking_copy_is_a_race(sides: Sides) -> None:
    source, target = on_device(1), pinned()
    target.copy_(source, non_blocking=True)
    target.sum()
    assert [line for _, line in sides()] == ["target.copy_(source, non_blocking=True)", "target.sum()"]


@pytest.mark.cuarray_sim(expect="data-race")
def test_host_that_overwrites_pinned_memory_before_its_copy_is_a_race(sides: Sides) -> None:
    source, target = pinned().fill_(3), on_device()
    target.copy_(source, non_blocking=True)
    source.fill_(4)
    assert [line for _, line in sides()] == ["target.copy_(source, non_blocking=True)", "source.fill_(4)"]


def test_pinned_memory_is_recognised() -> None:
    assert pinned().is_pinned()
    assert torch.arange(3).pin_memory().is_pinned()
    assert not torch.arange(3).is_pinned()


def test_timing_events_measure_work_in_order() -> None:
    first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    source, target = on_device(1), on_device()
    first.record()
    target.copy_(source)
    second.record()
    assert not second.query()
    second.synchronize()
    assert first.elapsed_time(second) >= 0


def test_stream_of_cuarray_is_an_external_stream_of_pytorch() -> None:
    own = cuarray.stream()
    source, target = on_device(5), on_device()
    with torch.cuda.stream(torch.cuda.ExternalStream(own.handle)):
        target.copy_(source)
    own.synchronize()
    assert cuarray.as_cuda_array(target).copy_to_host().tolist() == [5] * COUNT


def test_streams_have_priorities() -> None:
    lowest, highest = torch.cuda.Stream.priority_range()
    assert lowest > highest
    assert torch.cuda.Stream(priority=highest).priority == highest


def test_each_thread_has_its_own_current_stream() -> None:
    found: list[float] = []

    def work(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            tensor = torch.full((COUNT,), number).pin_memory().cuda(non_blocking=True)
            found.append(int(tensor.clone().cpu()[0]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(8))


def test_copy_between_devices_keeps_values_and_order(second_device: str) -> None:
    tensor = torch.arange(COUNT).cuda()
    assert tensor.to(second_device, non_blocking=True).cpu().tolist() == list(range(COUNT))
    assert torch.cuda.can_device_access_peer(0, 1)


@pytest.mark.cuarray_sim(expect="data-race")
def test_missing_wait_between_devices_is_a_race(second_device: str, sides: Sides) -> None:
    source, target = on_device(1), torch.zeros(COUNT, dtype=torch.int64).to(second_device)
    torch.cuda.synchronize(second_device)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        source.zero_()
    target.copy_(source)
    assert sides() == [("torch", "source.zero_()"), ("torch", "target.copy_(source)")]


def test_tensor_of_second_device_is_exchanged_on_its_device(second_device: str) -> None:
    tensor = torch.arange(COUNT).to(second_device)
    torch.cuda.synchronize(second_device)
    array = cuarray.as_cuda_array(tensor)
    assert array.device == 1
    np.testing.assert_array_equal(array.copy_to_host(), np.arange(COUNT))
    assert torch.from_dlpack(array).device == torch.device(second_device)


@pytest.mark.parametrize(
    ("settings", "device", "is_shared"),
    [
        ({}, 1, True),
        ({"copy": False}, 1, True),
        ({"device": 1}, 1, True),
        ({"stream": -1}, 1, True),
        ({"copy": True}, 1, False),
        ({"device": 0}, 0, False),
    ],
)
def test_dlpack_tensor_of_second_device_is_imported_while_the_first_is_current(
    second_device: str, settings: dict[str, Any], device: int, is_shared: bool
) -> None:
    tensor = torch.arange(COUNT).to(second_device)
    torch.cuda.synchronize(second_device)
    array = cuarray.from_dlpack(tensor, **settings)
    assert (array.device, torch.cuda.current_device()) == (device, 0)
    assert (array.ptr == tensor.data_ptr()) == is_shared
    np.testing.assert_array_equal(array.copy_to_host(), np.arange(COUNT))


@pytest.mark.cuarray_sim(allow="refused-module")
def test_kernel_without_image_is_an_error_and_later_work_runs() -> None:
    tensor = on_device(1)
    with pytest.raises(RuntimeError, match="no kernel image is available"):
        tensor + 1
    assert tensor.clone().cpu().tolist() == [1] * COUNT
