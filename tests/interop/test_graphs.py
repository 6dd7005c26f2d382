"""Captures and graphs of cuda.core and cuda.bindings work on any driver.

On the simulated driver these tests show that its graphs behave as real clients expect.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuarray

BYTES = 64


@pytest.fixture
def definition(device: Any) -> Any:
    from cuda.core.graph import GraphDefinition

    return GraphDefinition()


@pytest.fixture
def buffers(device: Any, stream: Any) -> Callable[[int], list[Any]]:
    """Return a function that allocates cuda.core buffers of ones."""

    def make(count: int) -> list[Any]:
        made = [device.memory_resource.allocate(BYTES, stream=stream) for _ in range(count)]
        for buffer in made:
            buffer.fill(1, stream=stream)
        stream.sync()
        return made

    return make


def seen(buffer: Any) -> list[int]:
    """Return the distinct byte values in a buffer."""
    interface = {
        "version": 3,
        "shape": (BYTES,),
        "typestr": "|u1",
        "data": (int(buffer.handle), False),
        "strides": None,
    }
    array = cuarray.from_cuda_array_interface(interface, owner=buffer)
    return np.unique(array.copy_to_host()).tolist()


def test_captured_graph_runs_at_each_launch(device: Any, stream: Any, buffers: Any) -> None:
    source, target = buffers(2)
    builder = device.create_graph_builder().begin_building()
    assert builder.is_building
    target.copy_from(source, stream=builder.stream)
    source.fill(9, stream=builder.stream)
    graph = builder.end_building().complete()
    assert (seen(source), seen(target)) == ([1], [1])
    for expected in (1, 9):
        graph.launch(stream)
        stream.sync()
        assert (seen(source), seen(target)) == ([9], [expected])


def test_split_and_joined_branches_give_four_nodes_and_edges(device: Any, stream: Any, buffers: Any) -> None:
    first, second, third = buffers(3)
    builder = device.create_graph_builder().begin_building()
    first.fill(5, stream=builder.stream)
    left, right = builder.split(2)
    assert right.is_join_required
    second.copy_from(first, stream=left.stream)
    third.copy_from(first, stream=right.stream)
    joined = type(builder).join(left, right)
    first.fill(6, stream=joined.stream)
    joined.end_building()
    shape = joined.graph_definition
    assert (len(shape.nodes()), len(shape.edges())) == (4, 4)
    joined.complete().launch(stream)
    stream.sync()
    assert [seen(buffer) for buffer in (first, second, third)] == [[6], [5], [5]]


def test_capture_with_unjoined_branch_is_an_error(device: Any, buffers: Any) -> None:
    from cuda.bindings import driver

    (buffer,) = buffers(1)
    builder, other = device.create_graph_builder().begin_building(), device.create_stream()
    event = builder.stream.record()
    other.wait(event)
    buffer.fill(5, stream=other)
    code, _ = driver.cuStreamEndCapture(builder.stream.handle)
    assert code == driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
    assert seen(buffer) == [1]


def test_captured_callback_runs_at_each_launch(device: Any, stream: Any) -> None:
    calls: list[int] = []
    builder = device.create_graph_builder().begin_building()
    builder.callback(lambda: calls.append(len(calls)))
    graph = builder.end_building().complete()
    assert calls == []
    for _ in range(3):
        graph.launch(stream)
    stream.sync()
    assert calls == [0, 1, 2]


def test_graph_built_from_nodes_runs_in_order(stream: Any, definition: Any, buffers: Any) -> None:
    first, second = buffers(2)
    calls: list[str] = []
    filled = definition.memset(first, 7, BYTES)
    copied = filled.memcpy(second, first, BYTES)
    copied.callback(lambda: calls.append("copied"))
    definition.join(filled, copied).memset(first, 8, BYTES)
    assert copied.pred == {filled}
    assert copied in filled.succ
    graph = definition.instantiate()
    graph.launch(stream)
    stream.sync()
    assert (seen(first), seen(second), calls) == ([8], [7], ["copied"])


def test_node_parameters_and_edges_can_be_read_and_destroyed(definition: Any, buffers: Any) -> None:
    first, second = buffers(2)
    filled = definition.memset(first, 7, BYTES)
    copied = filled.memcpy(second, first, BYTES)
    found = {type(node).__name__: node for node in definition.nodes()}
    assert found["MemsetNode"].dptr == int(first.handle)
    assert (found["MemsetNode"].value, found["MemsetNode"].width, found["MemsetNode"].height) == (7, BYTES, 1)
    assert (found["MemcpyNode"].src, found["MemcpyNode"].dst) == (int(first.handle), int(second.handle))
    assert definition.edges() == {(filled, copied)}
    copied.destroy()
    assert definition.nodes() == {filled}
    assert not copied.is_valid


def test_embedded_graph_runs_in_order(stream: Any, definition: Any, buffers: Any) -> None:
    from cuda.core.graph import GraphDefinition

    first, second = buffers(2)
    child = GraphDefinition()
    child.memset(first, 7, BYTES).memcpy(second, first, BYTES)
    definition.embed(child).memset(first, 8, BYTES)
    definition.instantiate().launch(stream)
    stream.sync()
    assert (seen(first), seen(second)) == ([8], [7])


def test_event_nodes_order_graph_with_streams(device: Any, stream: Any, definition: Any, buffers: Any) -> None:
    first, second = buffers(2)
    other, before, after = device.create_stream(), device.create_event(), device.create_event()
    definition.wait(before).memcpy(second, first, BYTES).record(after)
    graph = definition.instantiate()
    for value in (3, 4):
        first.fill(value, stream=other)
        other.record(before)
        graph.launch(stream)
        after.sync()
        assert seen(second) == [value]


def test_graph_allocates_and_frees_memory_at_each_launch(
    device: Any, stream: Any, definition: Any, buffers: Any
) -> None:
    (target,) = buffers(1)
    allocated = definition.allocate(BYTES)
    filled = allocated.memset(allocated.dptr, 7, BYTES)
    filled.memcpy(target, allocated.dptr, BYTES).deallocate(allocated.dptr)
    graph = definition.instantiate()
    for _ in range(2):
        target.fill(0, stream=stream)
        graph.launch(stream)
        stream.sync()
        assert seen(target) == [7]


def test_memory_allocated_in_capture_belongs_to_the_graph(device: Any, stream: Any, buffers: Any) -> None:
    from cuda.core import GraphMemoryResource

    (target,) = buffers(1)
    memory = GraphMemoryResource(device)
    builder = device.create_graph_builder().begin_building()
    scratch = memory.allocate(BYTES, stream=builder.stream)
    scratch.fill(7, stream=builder.stream)
    target.copy_from(scratch, stream=builder.stream)
    scratch.close(builder.stream)
    graph = builder.end_building().complete()
    graph.launch(stream)
    stream.sync()
    assert seen(target) == [7]
    assert memory.attributes.used_mem_high >= BYTES
    memory.trim()


def test_update_takes_parameters_and_refuses_another_topology(stream: Any, buffers: Any) -> None:
    from cuda.core.graph import GraphDefinition

    first, second = buffers(2)

    def shape(value: int) -> Any:
        definition = GraphDefinition()
        definition.memset(first, value, BYTES).memcpy(second, first, BYTES)
        return definition

    graph = shape(5).instantiate()
    graph.update(shape(6))
    graph.launch(stream)
    stream.sync()
    assert (seen(first), seen(second)) == ([6], [6])
    other = GraphDefinition()
    other.memset(first, 7, BYTES)
    with pytest.raises(Exception, match=r"(?i)topology|update"):
        graph.update(other)
    graph.launch(stream)
    stream.sync()
    assert seen(first) == [6]


def test_graph_keeps_its_callback_alive(definition: Any, stream: Any) -> None:
    class Callback:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self) -> None:
            self.calls += 1

    callback = Callback()
    alive = weakref.ref(callback)
    definition.callback(callback)
    graph = definition.instantiate()
    del callback, definition
    gc.collect()
    graph.launch(stream)
    stream.sync()
    kept = alive()
    assert kept is not None
    assert kept.calls == 1


def test_update_replaces_the_callback_and_frees_the_old_one(stream: Any) -> None:
    from cuda.core.graph import GraphDefinition

    class Callback:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self) -> None:
            calls.append(self.name)

    def definition(name: str) -> tuple[Any, weakref.ref[Callback]]:
        made, callback = GraphDefinition(), Callback(name)
        made.callback(callback)
        return made, weakref.ref(callback)

    calls: list[str] = []
    old, old_callback = definition("old")
    new, new_callback = definition("new")
    graph = old.instantiate()
    graph.update(new)
    del old, new
    gc.collect()
    assert old_callback() is None
    assert new_callback() is not None
    graph.launch(stream)
    stream.sync()
    assert calls == ["new"]


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_allocation_in_the_capturing_stream_is_allowed_in_every_mode(
    device: Any, stream: Any, buffers: Any, mode: str
) -> None:
    from cuda.core import GraphMemoryResource

    source, target = buffers(2)
    memory = GraphMemoryResource(device)
    builder = device.create_graph_builder().begin_building(mode)
    scratch, nothing = memory.allocate(BYTES, stream=builder.stream), memory.allocate(0, stream=builder.stream)
    scratch.copy_from(source, stream=builder.stream)
    target.copy_from(scratch, stream=builder.stream)
    scratch.close()
    graph = builder.end_building().complete()
    graph.upload(stream)
    source.fill(5, stream=stream)
    graph.launch(stream)
    stream.sync()
    assert (seen(target), nothing.size) == ([5], 0)


def test_debug_dot_print_writes_a_digraph(tmp_path: Path, definition: Any, buffers: Any) -> None:
    first, second = buffers(2)
    definition.memset(first, 7, BYTES).memcpy(second, first, BYTES)
    path = tmp_path / "graph.dot"
    definition.debug_dot_print(str(path))
    text = path.read_text()
    assert text.startswith("digraph")
    assert "->" in text


def test_cuda_bindings_capture_launch_and_update_a_copy(device: Any, stream: Any) -> None:
    from cuda.bindings import driver

    def ok(answer: tuple[Any, ...]) -> Any:
        code, *values = answer
        assert code == driver.CUresult.CUDA_SUCCESS, code
        return values[0] if len(values) == 1 else tuple(values)

    source, target = cuarray.to_device(np.arange(16, dtype="u1")), cuarray.to_device(np.zeros(16, "u1"))
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    ok(driver.cuStreamBeginCapture(stream.handle, mode))
    ok(driver.cuMemcpyDtoDAsync(target.ptr, source.ptr, 16, stream.handle))
    status, number, graph, nodes, _edges, count = ok(driver.cuStreamGetCaptureInfo(stream.handle))
    assert status == driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE
    assert (int(number) > 0, count, len(nodes)) == (True, 1, 1)
    captured = ok(driver.cuStreamEndCapture(stream.handle))
    assert int(captured) == int(graph)
    (node,), _ = ok(driver.cuGraphGetNodes(captured, 1))
    params = ok(driver.cuGraphMemcpyNodeGetParams(node))
    assert (int(params.srcDevice), int(params.dstDevice), params.WidthInBytes) == (source.ptr, target.ptr, 16)
    graph_exec = ok(driver.cuGraphInstantiate(captured, 0))
    ok(driver.cuGraphLaunch(graph_exec, stream.handle))
    ok(driver.cuStreamSynchronize(stream.handle))
    assert target.copy_to_host().tolist() == list(range(16))
    params.WidthInBytes, params.srcDevice = 4, source.ptr + 8
    ok(driver.cuGraphExecMemcpyNodeSetParams(graph_exec, node, params, ok(driver.cuCtxGetCurrent())))
    ok(driver.cuGraphLaunch(graph_exec, stream.handle))
    ok(driver.cuStreamSynchronize(stream.handle))
    assert target.copy_to_host().tolist() == [8, 9, 10, 11, *range(4, 16)]
    ok(driver.cuGraphExecDestroy(graph_exec))
    ok(driver.cuGraphDestroy(captured))
