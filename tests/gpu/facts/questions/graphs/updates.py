"""Updates of executable graphs: as a whole (cuGraphExecUpdate) and node by node, for each kind of change."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import Driver
from ...gates import Order, finish, held
from ...question import Facts, question, series
from .nodes import SIZE, Things, dependencies
from .structures import (
    CU_MEMORYTYPE_DEVICE,
    CU_MEMORYTYPE_HOST,
    Graph,
    UpdateInfo,
    copy_node,
    host_node,
    kernel_node,
    memset_node,
    side,
    update,
)

Build = Callable[[Graph, Things], Any]

CHANGES: dict[str, tuple[Build, Build]] = {}
"""Pairs of graphs: the one that is instantiated, and the one for the update."""


def device(address: int) -> Any:
    return side(CU_MEMORYTYPE_DEVICE, address)


def host(address: int) -> Any:
    return side(CU_MEMORYTYPE_HOST, address)


def kernel(function: str = "count", argument: str = "memory", **settings: int) -> Build:
    return lambda graph, t: graph.kernel(kernel_node(t.kernels[function], getattr(t, argument), **settings))


def memset(
    value: int = 1, width: int = 64, element: int = 1, argument: str = "memory", height: int = 1, pitch: int = 0
) -> Build:
    return lambda graph, t: graph.memset(memset_node(getattr(t, argument), value, width, element, height, pitch))


def copy(of: Callable[[Things], Any], to: Callable[[Things], Any], width: int = 64, height: int = 1) -> Build:
    def build(graph: Graph, things: Things) -> None:
        made = copy_node(of(things), to(things), width, height)
        made.source.pitch = made.target.pitch = 128
        graph.copy(made)

    return build


def several(*builds: Build, edges: tuple[tuple[int, int], ...] = ()) -> Build:
    def build(graph: Graph, things: Things) -> None:
        for each in builds:
            each(graph, things)
        nodes = graph.nodes()
        for start, end in edges:
            dependencies(graph.driver, graph, (nodes[start], nodes[end]))

    return build


def empty(graph: Graph, things: Things) -> None:
    graph.empty()


def host_function(graph: Graph, things: Things) -> None:
    graph.host(host_node())


def record(graph: Graph, things: Things) -> None:
    graph.add("cuGraphAddEventRecordNode", graph.driver.event())


def wait(graph: Graph, things: Things) -> None:
    graph.add("cuGraphAddEventWaitNode", graph.driver.event())


def child(*builds: Build, edges: tuple[tuple[int, int], ...] = ()) -> Build:
    def build(graph: Graph, things: Things) -> None:
        inner = Graph(graph.driver)
        several(*builds, edges=edges)(inner, things)
        graph.child(inner)

    return build


TO_DEVICE = copy(lambda t: host(t.pinned), lambda t: device(t.memory))
WITHIN = copy(lambda t: device(t.memory), lambda t: device(t.other))

CHANGES |= {
    "nothing": (several(kernel(), memset(), edges=((0, 1),)), several(kernel(), memset(), edges=((0, 1),))),
    "nodes_of_two_kinds_in_another_order": (several(kernel(), memset()), several(memset(), kernel())),
    "nodes_in_another_order_with_edges": (
        several(kernel(), memset(), edges=((0, 1),)),
        several(memset(), kernel(), edges=((1, 0),)),
    ),
    "equal_nodes_in_another_order": (several(memset(1), memset(2)), several(memset(2), memset(1))),
    "node_added": (memset(), several(memset(), memset())),
    "node_removed": (several(memset(), memset()), memset()),
    "edge_added": (several(memset(), memset()), several(memset(), memset(), edges=((0, 1),))),
    "edge_removed": (several(memset(), memset(), edges=((0, 1),)), several(memset(), memset())),
    "edge_reversed": (
        several(memset(), kernel(), edges=((0, 1),)),
        several(memset(), kernel(), edges=((1, 0),)),
    ),
    "kind_of_a_node": (memset(), kernel()),
    "host_node_to_empty": (host_function, empty),
    "kernel.arguments": (kernel(), kernel(argument="other")),
    "kernel.function_of_the_same_module": (kernel(), kernel("nothing")),
    "kernel.blocks": (kernel(), kernel(blocks=2)),
    "kernel.threads": (kernel(), kernel(threads=64)),
    "kernel.shared_memory": (kernel(), kernel(shared=1024)),
    "memset.value": (memset(), memset(2)),
    "memset.width": (memset(), memset(width=128)),
    "memset.target": (memset(), memset(argument="other")),
    "memset.target_to_pinned": (memset(), memset(argument="pinned")),
    "memset.element_size": (memset(), memset(width=16, element=4)),
    "memset.two_rows": (memset(), memset(height=2, pitch=128)),
    "memset.two_rows_to_other_rows": (memset(height=2, pitch=128), memset(height=2, pitch=256, width=32)),
    "memcpy.width": (TO_DEVICE, copy(lambda t: host(t.pinned), lambda t: device(t.memory), 128)),
    "memcpy.target": (TO_DEVICE, copy(lambda t: host(t.pinned), lambda t: device(t.other))),
    "memcpy.source_within_host_memory": (TO_DEVICE, copy(lambda t: host(t.pinned + 64), lambda t: device(t.memory))),
    "memcpy.source_to_pageable": (
        TO_DEVICE,
        copy(lambda t: host(ctypes.addressof(t.pageable)), lambda t: device(t.memory)),
    ),
    "memcpy.direction": (TO_DEVICE, copy(lambda t: device(t.memory), lambda t: host(t.pinned))),
    "memcpy.host_to_device_source": (TO_DEVICE, WITHIN),
    "memcpy.device_source_to_another": (
        WITHIN,
        copy(lambda t: device(t.memory + 256), lambda t: device(t.other + 256)),
    ),
    "memcpy.two_rows": (TO_DEVICE, copy(lambda t: host(t.pinned), lambda t: device(t.memory), 64, 2)),
    "memcpy.rows_to_one_row": (copy(lambda t: host(t.pinned), lambda t: device(t.memory), 64, 2), TO_DEVICE),
    "host.function": (host_function, host_function),
    "event_record.event": (record, record),
    "event_wait.event": (wait, wait),
    "event_record_to_wait": (record, wait),
    "child.value_inside": (child(memset()), child(memset(2))),
    "child.node_added_inside": (child(memset()), child(memset(), memset())),
    "child.edge_added_inside": (child(memset(), memset()), child(memset(), memset(), edges=((0, 1),))),
    "empty_graph": (several(), several()),
    "empty_graph_to_node": (several(), memset()),
}


@series("graph.update", lambda: CHANGES)
def updates(driver: Driver, facts: Facts, step: str) -> None:
    """The results of the call and of the update, and whether the executable graph can be launched after it."""
    things, stream = Things(driver), driver.stream()
    before, after = Graph(driver), Graph(driver)
    CHANGES[step][0](before, things)
    CHANGES[step][1](after, things)
    ready = before.instantiate()
    facts["code"], facts["result"] = update(driver, ready, after)
    facts["launch"] = driver.code("cuGraphLaunch", ready, stream)
    finish(driver)


@question("graph.update.error_nodes")
def error_nodes(driver: Driver, facts: Facts) -> None:
    """The nodes that the information names, as places in the graph of the update."""
    things = Things(driver)
    for name in ("kind_of_a_node", "edge_added", "memcpy.direction", "edge_reversed", "node_added"):
        before, after = Graph(driver), Graph(driver)
        before.empty()
        after.empty()
        CHANGES[name][0](before, things)
        CHANGES[name][1](after, things)
        info = UpdateInfo(-1)
        driver.number("cuGraphExecUpdate_v2", before.instantiate(), after.handle, ctypes.byref(info))
        nodes = after.nodes()
        facts[f"{name}.node"] = nodes.index(info.node) if info.node in nodes else None
        facts[f"{name}.from_node"] = nodes.index(info.from_node) if info.from_node in nodes else None


@question("graph.update.takes_effect_at_the_next_launch")
def next_launch(driver: Driver, facts: Facts) -> None:
    """A launch that is held keeps its parameters, the next one has those of the update."""
    things, stream = Things(driver), driver.stream()
    driver.do("cuMemsetD8_v2", things.memory, 0, SIZE)
    finish(driver)
    before, after = Graph(driver), Graph(driver)
    before.memset(memset_node(things.memory, 1, 16))
    after.memset(memset_node(things.memory + 64, 2, 16))
    ready = before.instantiate()
    with held(driver, stream):
        driver.do("cuGraphLaunch", ready, stream)
        facts["update_while_held"] = update(driver, ready, after)[1]
        driver.do("cuGraphLaunch", ready, stream)
    finish(driver)
    seen = driver.download(things.memory, 128)
    facts["bytes"] = [seen[0], seen[64]]


@question("graph.update.failed_update_keeps_parameters")
def failed(driver: Driver, facts: Facts) -> None:
    """An update that fails at the second node: whether the first one has its new parameters."""
    things = Things(driver)
    driver.do("cuMemsetD8_v2", things.memory, 0, SIZE)
    finish(driver)
    before, after = Graph(driver), Graph(driver)
    before.memset(memset_node(things.memory, 1, 16))
    before.host(host_node())
    after.memset(memset_node(things.memory, 2, 16))
    after.empty()
    ready = before.instantiate()
    facts["result"] = update(driver, ready, after)[1]
    facts["launch"] = driver.code("cuGraphLaunch", ready, 0)
    finish(driver)
    facts["byte"] = driver.download(things.memory, 1)[0]


EXEC: dict[str, Callable[[Driver, int, dict[str, int], Things], str]] = {}
"""Changes of one node of an executable graph. They take the nodes by kind."""


def exec_case(name: str, call: Callable[[Driver, int, dict[str, int], Things], str]) -> None:
    EXEC[name] = call


def set_kernel(name: str, make: Callable[[Things], Any]) -> None:
    exec_case(
        f"kernel.{name}",
        lambda d, ready, nodes, t: d.code(
            "cuGraphExecKernelNodeSetParams_v2", ready, nodes["kernel"], ctypes.byref(make(t))
        ),
    )


def set_memset(name: str, make: Callable[[Things], Any]) -> None:
    exec_case(
        f"memset.{name}",
        lambda d, ready, nodes, t: d.code(
            "cuGraphExecMemsetNodeSetParams", ready, nodes["memset"], ctypes.byref(make(t)), d.made("cuCtxGetCurrent")
        ),
    )


def set_copy(name: str, make: Callable[[Things], Any]) -> None:
    exec_case(
        f"memcpy.{name}",
        lambda d, ready, nodes, t: d.code(
            "cuGraphExecMemcpyNodeSetParams", ready, nodes["memcpy"], ctypes.byref(make(t)), d.made("cuCtxGetCurrent")
        ),
    )


set_kernel("arguments", lambda t: kernel_node(t.kernels["count"], t.other))
set_kernel("function", lambda t: kernel_node(t.kernels["store"], t.other, 5))
set_kernel("blocks", lambda t: kernel_node(t.kernels["count"], t.memory, blocks=3))
set_kernel("no_blocks", lambda t: kernel_node(t.kernels["count"], t.memory, blocks=0))
set_memset("value", lambda t: memset_node(t.memory, 9, 64))
set_memset("width", lambda t: memset_node(t.memory, 1, 128))
set_memset("two_rows", lambda t: memset_node(t.memory, 1, 64, 1, 2, 128))
set_memset("element_size", lambda t: memset_node(t.memory, 1, 16, 4))
set_memset("unknown_address", lambda t: memset_node(0x1000, 1, 64))
set_memset("pinned", lambda t: memset_node(t.pinned, 1, 64))
set_copy("width", lambda t: copy_node(device(t.memory), device(t.other), 128))
set_copy("source_to_pinned", lambda t: copy_node(host(t.pinned), device(t.other), 64))
set_copy("target_to_pageable", lambda t: copy_node(device(t.memory), host(ctypes.addressof(t.pageable)), 64))
set_copy("two_rows", lambda t: copy_node(device(t.memory), device(t.other), 64, 2))
exec_case(
    "host.function", lambda d, e, n, t: d.code("cuGraphExecHostNodeSetParams", e, n["host"], ctypes.byref(host_node()))
)
exec_case(
    "event_record.event", lambda d, e, n, t: d.code("cuGraphExecEventRecordNodeSetEvent", e, n["record"], d.event())
)
exec_case("event_wait.event", lambda d, e, n, t: d.code("cuGraphExecEventWaitNodeSetEvent", e, n["wait"], d.event()))
exec_case(
    "event_wait.node_of_another_kind",
    lambda d, e, n, t: d.code("cuGraphExecEventWaitNodeSetEvent", e, n["host"], d.event()),
)


def child_change(*builds: Build) -> Callable[[Driver, int, dict[str, int], Things], str]:
    def call(driver: Driver, ready: int, nodes: dict[str, int], things: Things) -> str:
        inner = Graph(driver)
        several(*builds)(inner, things)
        return driver.code("cuGraphExecChildGraphNodeSetParams", ready, nodes["child"], inner.handle)

    return call


exec_case("child.value", child_change(memset(2)))
exec_case("child.node_added", child_change(memset(), memset()))
for kind in ("kernel", "memset", "memcpy", "host", "empty", "record", "wait", "child"):
    for enabled in (0, 1, 2):
        exec_case(
            f"enable.{kind}.{enabled}",
            lambda d, e, n, t, kind=kind, enabled=enabled: d.code("cuGraphNodeSetEnabled", e, n[kind], enabled),
        )
    exec_case(
        f"get_enabled.{kind}",
        lambda d, e, n, t, kind=kind: d.code("cuGraphNodeGetEnabled", e, n[kind], ctypes.byref(ctypes.c_uint())),
    )


@series("graph.exec", lambda: EXEC)
def exec_changes(driver: Driver, facts: Facts, step: str) -> None:
    """A change of one node of an executable graph with one node of each kind."""
    graph, things = Graph(driver), Things(driver)
    inner = Graph(driver)
    inner.memset(things.memset())
    nodes = {
        "kernel": graph.kernel(things.kernel()),
        "memset": graph.memset(things.memset()),
        "memcpy": graph.copy(things.copy()),
        "host": graph.host(host_node()),
        "empty": graph.empty(),
        "record": graph.add("cuGraphAddEventRecordNode", things.event),
        "wait": graph.add("cuGraphAddEventWaitNode", driver.event()),
        "child": graph.child(inner),
    }
    ready = graph.instantiate()
    facts[""] = EXEC[step](driver, ready, nodes, things)
    facts["launch"] = driver.code("cuGraphLaunch", ready, driver.stream())
    finish(driver)


@question("graph.disabled_nodes")
def disabled(driver: Driver, facts: Facts) -> None:
    """A disabled node does nothing, keeps its edges, and stays disabled after an update as a whole or not."""
    graph, things, order = Graph(driver), Things(driver), Order(driver)
    stream = driver.stream()
    driver.do("cuMemsetD8_v2", things.memory, 0, SIZE)
    finish(driver)
    node = graph.memset(memset_node(things.memory, 5, 16))
    graph.host(host_node(lambda: order.names.append("after")), node)
    ready, enabled = graph.instantiate(), ctypes.c_uint(9)
    driver.do("cuGraphNodeGetEnabled", ready, node, ctypes.byref(enabled))
    facts["enabled_at_first"] = enabled.value
    driver.do("cuGraphNodeSetEnabled", ready, node, 0)
    driver.do("cuGraphLaunch", ready, stream)
    finish(driver)
    facts["byte_with_disabled_node"] = driver.download(things.memory, 1)[0]
    facts["next_node_ran"] = order.names == ["after"]
    facts["update"] = update(driver, ready, graph)[1]
    driver.do("cuGraphNodeGetEnabled", ready, node, ctypes.byref(enabled))
    facts["enabled_after_update"] = enabled.value
    driver.do("cuGraphLaunch", ready, stream)
    finish(driver)
    facts["byte_after_update"] = driver.download(things.memory, 1)[0]


@question("graph.exec.node_of_another_graph")
def foreign_node(driver: Driver, facts: Facts) -> None:
    """The node of a clone, and of an unrelated graph, in calls for an executable graph."""
    graph, things = Graph(driver), Things(driver)
    node = graph.memset(things.memset())
    ready = graph.instantiate()
    clone = Graph(driver, driver.made("cuGraphClone", graph.handle))
    other = Graph(driver)
    unrelated = other.memset(things.memset())
    new = memset_node(things.memory, 3, 64)
    for name, each in (("clone", clone.nodes()[0]), ("unrelated", unrelated), ("own", node)):
        facts[name] = driver.code(
            "cuGraphExecMemsetNodeSetParams", ready, each, ctypes.byref(new), driver.made("cuCtxGetCurrent")
        )
    driver.do("cuGraphDestroyNode", node)
    later = graph.memset(things.memset())
    facts["added_after_instantiation"] = driver.code(
        "cuGraphExecMemsetNodeSetParams", ready, later, ctypes.byref(new), driver.made("cuCtxGetCurrent")
    )
