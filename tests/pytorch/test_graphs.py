"""CUDA graphs of PyTorch on the simulated driver."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import cuarray

COUNT = 1000


@pytest.fixture
def graph() -> torch.cuda.CUDAGraph:
    return torch.cuda.CUDAGraph()


def test_replay_repeats_the_captured_copies(graph: torch.cuda.CUDAGraph) -> None:
    source, target = torch.ones(COUNT).cuda(), torch.zeros(COUNT).cuda()
    with torch.cuda.graph(graph):
        target.copy_(source)
    assert target.cpu().sum() == 0, "captured work does not run"
    for value in (2, 3):
        source.copy_(torch.full((COUNT,), float(value)))
        graph.replay()
        assert target.cpu().sum() == value * COUNT


def test_tensors_made_in_a_capture_keep_their_addresses(graph: torch.cuda.CUDAGraph) -> None:
    source = torch.ones(COUNT).cuda()
    with torch.cuda.graph(graph):
        between = source.clone()
        result = between.clone()
        del between
    address = result.data_ptr()
    graph.replay()
    assert result.data_ptr() == address
    assert result.cpu().sum() == COUNT


def test_capture_spreads_to_a_waiting_stream(graph: torch.cuda.CUDAGraph) -> None:
    source, target, side = torch.ones(COUNT).cuda(), torch.zeros(COUNT).cuda(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            target.copy_(source)
        torch.cuda.current_stream().wait_stream(side)
    graph.replay()
    assert target.cpu().sum() == COUNT


def test_synchronization_during_a_capture_is_refused(graph: torch.cuda.CUDAGraph) -> None:
    tensor = torch.ones(COUNT).cuda()
    torch.cuda.synchronize()
    with pytest.raises(RuntimeError, match="during CUDA graph capture"):
        with torch.cuda.graph(graph):
            tensor.cpu()
    torch.cuda.synchronize()


@pytest.mark.cuarray_sim(expect="data-race")
def test_write_beside_a_replay_is_a_race(
    graph: torch.cuda.CUDAGraph, sides: Callable[[], list[tuple[str, str]]]
) -> None:
    source, target, other = torch.ones(COUNT).cuda(), torch.zeros(COUNT).cuda(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        target.copy_(source)
    torch.cuda.synchronize()
    graph.replay()
    with torch.cuda.stream(other):
        source.zero_()
    assert ("torch", "source.zero_()") in sides()


def test_graph_reads_an_array_of_cuarray(graph: torch.cuda.CUDAGraph) -> None:
    array = cuarray.device_array(COUNT, "float32")
    source, target = torch.from_dlpack(array), torch.zeros(COUNT).cuda()
    with torch.cuda.graph(graph):
        target.copy_(source)
    array.copy_to_device(torch.full((COUNT,), 4.0).numpy())
    array.stream.synchronize() if array.stream else torch.cuda.synchronize()
    graph.replay()
    assert target.cpu().sum() == 4 * COUNT
