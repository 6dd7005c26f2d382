"""Graph builders of cuda.core, which capture: each name as documented, and with a wrong argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def config(device: Any) -> Any:
    from cuda.core import LaunchConfig

    return LaunchConfig(grid=1, block=1)


def add(builder: Any, config: Any, kernels: Any, index: int, value: int = 1) -> None:
    from cuda.core import launch

    launch(builder, config, kernels.add, kernels.counter(index), value)


def test_builder_captures_branches_and_joins_them(kernels: Any, config: Any, device: Any, tmp_path: Path) -> None:
    from cuda.core.graph import GraphBuilder, GraphCompleteOptions, GraphDebugPrintOptions

    builder = device.create_graph_builder().begin_building()
    assert builder.is_building
    assert builder.stream is not None
    add(builder, config, kernels, 0)
    first, second = builder.split(2)
    assert second.is_join_required
    add(first, config, kernels, 1)
    add(second, config, kernels, 2)
    joined = GraphBuilder.join(first, second)
    add(joined, config, kernels, 0, 4)
    calls: list[int] = []
    joined.callback(lambda: calls.append(1))
    joined.end_building()
    assert not joined.is_building
    path = tmp_path / "graph.dot"
    joined.debug_dot_print(str(path), GraphDebugPrintOptions(verbose=True))
    assert path.read_text().count("KERNEL") == 4
    assert len(joined.graph_definition.nodes()) == 5
    graph = joined.complete(GraphCompleteOptions(auto_free_on_launch=True, use_node_priority=True))
    for _ in range(2):
        graph.launch(kernels.stream)
    assert kernels.values()[:3] == [10, 2, 2]
    assert calls == [1, 1]
    joined.close()
    assert joined.is_closed
    with pytest.raises(Exception, match=r"INVALID_VALUE|upload"):
        device.create_graph_builder().begin_building().end_building().complete(
            GraphCompleteOptions(device_launch=True, auto_free_on_launch=True)
        )


def test_embedded_builder_is_a_child_graph(kernels: Any, config: Any, device: Any) -> None:
    child = device.create_graph_builder().begin_building()
    add(child, config, kernels, 1, 3)
    child.end_building()
    builder = device.create_graph_builder().begin_building()
    add(builder, config, kernels, 0)
    builder.embed(child)
    graph = builder.end_building().complete()
    graph.launch(kernels.stream)
    assert kernels.values()[:2] == [1, 3]
    # An update needs the same shape.
    with pytest.raises(Exception, match="update"):
        graph.update(child)


def test_conditional_builders_capture_their_bodies(kernels: Any, config: Any, device: Any) -> None:
    from cuda.core import launch

    builder = device.create_graph_builder().begin_building()

    def body(builders: Any, index: int) -> None:
        builders.begin_building()
        add(builders, config, kernels, index)
        builders.end_building()

    body(builder.if_then(builder.create_condition(default_value=1)), 0)
    for index, branch in enumerate(builder.if_else(builder.create_condition(default_value=0))):
        body(branch, 1 + index)
    for index, branch in enumerate(builder.switch(builder.create_condition(default_value=1), 3)):
        body(branch, 3 + index)
    condition = builder.create_condition(default_value=1)
    loop = builder.while_loop(condition)
    loop.begin_building()
    add(loop, config, kernels, 6)
    launch(loop, config, kernels.count_down, kernels.counter(7), condition)
    loop.end_building()
    graph = builder.end_building().complete()
    kernels.set(7, 4)
    graph.launch(kernels.stream)
    assert kernels.values() == [1, 0, 1, 0, 1, 0, 4, 0]
    assert int(condition.handle) != 0


def test_calls_out_of_order_are_refused(device: Any, stream: Any) -> None:
    builder = device.create_graph_builder()
    with pytest.raises(RuntimeError, match="build"):
        builder.end_building()
    with pytest.raises(RuntimeError, match="build"):
        builder.complete()
    with pytest.raises(ValueError, match=r"mode|capture"):
        builder.begin_building(mode="wrong")
    builder.begin_building()
    with pytest.raises(ValueError, match="count"):
        builder.split(1)
    builder.end_building()
    with pytest.raises(RuntimeError, match="build"):
        builder.begin_building()
