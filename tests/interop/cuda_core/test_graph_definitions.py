"""Graph definitions of cuda.core, their nodes, and executable graphs: each name as documented, and with a wrong argument."""

from __future__ import annotations

import gc
import time
import weakref
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def definition(device: Any) -> Any:
    from cuda.core.graph import GraphDefinition

    return GraphDefinition()


def launched(kernels: Any, graph: Any) -> list[int]:
    graph.launch(kernels.stream)
    return kernels.values()


def test_definition_lists_its_nodes_and_edges(definition: Any, tmp_path: Path) -> None:
    from cuda.core.graph import GraphDebugPrintOptions

    first = definition.empty()
    second = first.join(definition.empty())
    assert len(definition.nodes()) == 3
    assert (first, second) in definition.edges()
    assert set(second.pred) == {node for node in definition.nodes() if node != second}
    assert set(first.succ) == {second}
    assert definition.is_valid
    assert int(definition.handle) != 0
    path = tmp_path / "graph.dot"
    definition.debug_dot_print(str(path), GraphDebugPrintOptions(handles=True))
    assert "EMPTY" in path.read_text()
    first.succ.discard(second)
    assert (first, second) not in definition.edges()
    first.destroy()
    assert not first.is_valid
    assert second.is_valid
    assert second.graph == definition


def test_kernel_node_is_updated_and_disabled(kernels: Any, definition: Any) -> None:
    from cuda.core import LaunchConfig

    config = LaunchConfig(grid=1, block=1)
    node = definition.launch(config, kernels.add, kernels.counter(0), 5)
    last = node.launch(config, kernels.add, kernels.counter(1), 2)
    assert (node.grid, node.block, node.shmem_size) == ((1, 1, 1), (1, 1, 1), 0)
    assert node.kernel is not None
    assert node.config.grid == (1, 1, 1)
    assert "KERNEL" in str(node.type)
    assert int(node.handle) != 0
    graph = definition.instantiate()
    assert launched(kernels, graph)[:2] == [5, 2]
    graph[last].update(config=config, kernel=kernels.add, args=(kernels.counter(2), 7))
    graph[node].disable()
    assert not graph[node].is_enabled
    assert launched(kernels, graph)[:3] == [5, 2, 7]
    graph[node].enable()
    node.update(args=(kernels.counter(3), 1))
    assert launched(kernels, graph)[:4] == [10, 2, 14, 0]
    graph.update(definition)
    assert launched(kernels, graph)[:4] == [10, 4, 14, 1]
    graph.upload(kernels.stream)
    assert int(graph.handle) != 0
    graph.close()
    assert graph.is_closed


def test_copies_and_fills_are_updated(kernels: Any, definition: Any) -> None:
    fill = definition.memset(kernels.counter(0), 1, 4)
    copy = fill.memcpy(kernels.counter(1), kernels.counter(0), 4)
    assert (fill.dptr, fill.value, fill.width, fill.height, fill.element_size) == (kernels.counter(0), 1, 4, 1, 1)
    assert fill.pitch >= 0
    assert (copy.dst, copy.src, copy.size) == (kernels.counter(1), kernels.counter(0), 4)
    graph = definition.instantiate()
    ones = 0x01010101
    assert launched(kernels, graph)[:3] == [ones, ones, 0]
    graph[fill].update(dst=kernels.counter(0), value=2, width=4)
    graph[copy].update(dst=kernels.counter(2), src=kernels.counter(0), size=4)
    assert launched(kernels, graph)[:3] == [2 * ones, ones, 2 * ones]
    fill.update(value=3)
    copy.update(dst=kernels.counter(3))
    assert launched(kernels, definition.instantiate())[:4] == [3 * ones, ones, 2 * ones, 3 * ones]
    with pytest.raises(OverflowError, match="too large"):
        definition.memset(kernels.counter(0), 256, 4)


def test_events_and_callbacks_run_in_the_order_of_the_edges(kernels: Any, definition: Any, device: Any) -> None:
    calls: list[str] = []
    event, other = device.create_event(), device.create_event()
    recorded = definition.callback(lambda: calls.append("first")).record(event)
    waited = recorded.wait(event)
    last = waited.callback(lambda: calls.append("second"))
    assert (recorded.event, waited.event) == (event, event)
    assert callable(last.callback) or last.callback is not None
    graph = definition.instantiate()
    graph.launch(kernels.stream)
    kernels.stream.sync()
    assert calls == ["first", "second"]
    recorded.update(other)
    assert recorded.event == other
    graph[waited].update(event)
    graph[recorded].update(other)
    last.update(lambda: calls.append("third"))
    graph.update(definition)
    graph.launch(kernels.stream)
    kernels.stream.sync()
    assert calls[2:] == ["first", "third"]


def test_graph_memory_is_allocated_and_released_by_nodes(kernels: Any, definition: Any, device: Any) -> None:
    memory = definition.allocate(64)
    assert (memory.bytesize, memory.device_id, memory.memory_type) == (64, device.device_id, "device")
    assert memory.peer_access == ()
    filled = memory.memset(memory.dptr, 1, 4)
    released = filled.memcpy(kernels.counter(0), memory.dptr, 4).deallocate(memory.dptr)
    assert released.dptr == memory.dptr
    assert launched(kernels, definition.instantiate())[0] == 0x01010101


def test_child_graph_is_embedded_and_replaced(kernels: Any, definition: Any) -> None:
    from cuda.core.graph import GraphDefinition

    children = []
    for value in (1, 2):
        child = GraphDefinition()
        child.memset(kernels.counter(0), value, 1)
        children.append(child)
    node = definition.embed(children[0])
    assert len(node.child_graph.nodes()) == 1
    graph = definition.instantiate()
    assert launched(kernels, graph)[0] == 1
    graph[node].update(children[1])
    assert launched(kernels, graph)[0] == 2
    node.update(children[1])
    assert launched(kernels, definition.instantiate())[0] == 2


def test_conditional_nodes_choose_their_bodies(kernels: Any, definition: Any) -> None:
    from cuda.core import LaunchConfig

    config = LaunchConfig(grid=1, block=1)

    def add(graph: Any, index: int, value: int) -> Any:
        return graph.launch(config, kernels.add, kernels.counter(index), value)

    then = definition.if_then(definition.create_condition(default_value=1))
    add(then.then, 0, 1)
    choice = then.if_else(definition.create_condition(default_value=0))
    add(choice.then, 1, 1)
    add(choice.else_, 2, 1)
    switch = choice.switch(definition.create_condition(default_value=2), 3)
    for index, branch in enumerate(switch.branches):
        add(branch, 3 + index, 1)
    condition = definition.create_condition(default_value=1)
    loop = switch.while_loop(condition)
    loop.body.launch(config, kernels.count_down, kernels.counter(7), condition)
    assert loop.condition.handle == condition.handle
    assert (str(then.cond_type), str(loop.cond_type), str(switch.cond_type)) == ("if", "while", "switch")
    graph = definition.instantiate()
    kernels.set(7, 3)
    assert launched(kernels, graph) == [1, 0, 1, 0, 0, 1, 0, 0]
    with pytest.raises(Exception, match="INVALID_VALUE"):
        definition.while_loop(condition)


def test_callbacks_in_bodies_end_with_their_conditional_node(definition: Any) -> None:
    references = []
    condition = definition.create_condition
    nodes = [
        definition.if_then(condition()),
        definition.if_else(condition()),
        definition.while_loop(condition()),
        definition.switch(condition(), 4),
    ]
    for node in nodes:
        for branch in node.branches:

            def callback() -> None:
                pass

            references.append(weakref.ref(callback))
            branch.callback(callback)
            del callback
    assert len(references) == 8
    with pytest.raises(Exception, match="invalid structure"):
        definition.instantiate()
    assert all(reference() is not None for reference in references)
    for node in nodes:
        node.destroy()
    gc.collect()
    deadline = time.monotonic() + 5
    while any(reference() is not None for reference in references) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all(reference() is None for reference in references)
