"""Launches of graphs: their order with other work, when values are read, and what may be destroyed meanwhile (docs/reference/simulator.md)."""

from __future__ import annotations

import ctypes

from ...driver import Driver
from ...gates import CU_STREAM_PER_THREAD, STREAMS, Order, finish, held, stream_of
from ...question import Facts, question, series
from .nodes import SIZE, Things
from .structures import (
    CU_MEMORYTYPE_DEVICE,
    CU_MEMORYTYPE_HOST,
    Graph,
    copy_node,
    host_node,
    kernel_node,
    memset_node,
    side,
)


def noting(graph: Graph, order: Order, name: str, *after: int) -> int:
    return graph.host(host_node(lambda: order.names.append(name)), *after)


@question("graph.launch.diamond")
def diamond(driver: Driver, facts: Facts) -> None:
    graph, order, stream = Graph(driver), Order(driver), driver.stream()
    first = noting(graph, order, "first")
    left, right = noting(graph, order, "left", first), noting(graph, order, "right", first)
    noting(graph, order, "last", left, right)
    ready = graph.instantiate()
    driver.do("cuGraphLaunch", ready, stream)
    finish(driver)
    facts["first_is_first"], facts["last_is_last"] = order.names[0] == "first", order.names[-1] == "last"
    facts["all_ran"] = sorted(order.names) == ["first", "last", "left", "right"]


@question("graph.launch.twice_in_two_streams")
def twice(driver: Driver, facts: Facts) -> None:
    """Launches of one executable graph are ordered, those of two from one graph are not."""
    graph, order = Graph(driver), Order(driver)
    first, second, third = driver.stream(), driver.stream(), driver.stream()
    noting(graph, order, "graph")
    ready, other = graph.uploaded(), graph.uploaded()
    with held(driver, first):
        driver.do("cuGraphLaunch", ready, first)
        driver.do("cuGraphLaunch", ready, second)
        order.note("behind the second launch", second)
        driver.do("cuGraphLaunch", other, third)
        order.note("behind the other graph", third)
        facts["launch_of_the_same_waits"] = not order.has("behind the second launch")
        facts["launch_of_another_waits"] = not order.has("behind the other graph")
    finish(driver)
    facts["runs"] = order.names.count("graph")


@series(
    "graph.launch.in_stream",
    lambda: [f"{kind}_with_{holding}_held" for kind in STREAMS for holding in ("legacy", "blocking")],
)
def in_stream(driver: Driver, facts: Facts, step: str) -> None:
    """A launch follows the legacy stream's rules as other work does."""
    kind, holding = step.removesuffix("_held").split("_with_")
    graph, order = Graph(driver), Order(driver)
    noting(graph, order, "graph")
    ready = graph.uploaded()
    stream = stream_of(driver, kind)
    with held(driver, stream_of(driver, holding, 1)):
        facts["launch"] = driver.code("cuGraphLaunch", ready, stream)
        facts["waits"] = not order.has("graph")
    finish(driver)
    facts["ran"] = order.names == ["graph"]


@question("graph.launch.branches_run_at_once")
def branches(driver: Driver, facts: Facts) -> None:
    """Two root nodes: whether one runs while the other one waits for an event."""
    graph, order, stream, event = Graph(driver), Order(driver), driver.stream(), driver.event()
    holding = driver.stream()
    wait = graph.add("cuGraphAddEventWaitNode", event)
    noting(graph, order, "behind the wait", wait)
    noting(graph, order, "beside the wait")
    ready = graph.uploaded()
    with held(driver, holding):
        driver.do("cuEventRecord", event, holding)
        driver.do("cuGraphLaunch", ready, stream)
        facts["node_beside_the_wait_runs"] = order.has("beside the wait")
        facts["node_behind_the_wait_runs"] = order.has("behind the wait")
    finish(driver)


@question("graph.launch.destroyed_while_pending")
def destroyed(driver: Driver, facts: Facts) -> None:
    graph, order, stream = Graph(driver), Order(driver), driver.stream()
    noting(graph, order, "graph")
    ready = graph.uploaded()
    with held(driver, stream):
        driver.do("cuGraphLaunch", ready, stream)
        facts["destroy_executable"] = driver.code("cuGraphExecDestroy", ready)
        facts["destroy_graph"] = driver.code("cuGraphDestroy", graph.handle)
        facts["runs_while_held"] = order.has("graph")
    finish(driver)
    facts["ran"] = order.names == ["graph"]


@question("graph.launch.after_a_change_of_the_graph")
def changed(driver: Driver, facts: Facts) -> None:
    """Changes of a graph after its instantiation have no effect on the executable graph."""
    graph, things, stream = Graph(driver), Things(driver), driver.stream()
    driver.do("cuMemsetD8_v2", things.memory, 0, SIZE)
    finish(driver)
    node = graph.memset(memset_node(things.memory, 1, 16))
    ready = graph.instantiate()
    new = memset_node(things.memory, 2, 16)
    facts["set_parameters"] = driver.code("cuGraphMemsetNodeSetParams", node, ctypes.byref(new))
    graph.memset(memset_node(things.memory + 64, 3, 16))
    driver.do("cuGraphLaunch", ready, stream)
    finish(driver)
    seen = driver.download(things.memory, 128)
    facts["bytes"] = [seen[0], seen[64]]


@question("graph.launch.when_arguments_are_read")
def arguments(driver: Driver, facts: Facts) -> None:
    """The arguments of a kernel node are copied when the node is added."""
    graph, things, stream = Graph(driver), Things(driver), driver.stream()
    driver.do("cuMemsetD8_v2", things.memory, 0, SIZE)
    driver.do("cuMemsetD8_v2", things.other, 0, SIZE)
    finish(driver)
    parameters = kernel_node(things.kernels["count"], things.memory)
    graph.kernel(parameters)
    place = ctypes.c_void_p.from_address(parameters.parameters).value
    assert place is not None
    ctypes.c_uint64.from_address(place).value = things.other
    driver.do("cuGraphLaunch", graph.instantiate(), stream)
    finish(driver)
    facts["first"] = int.from_bytes(driver.download(things.memory, 4), "little")
    facts["changed"] = int.from_bytes(driver.download(things.other, 4), "little")


@series("graph.launch.when_host_memory_is_read", lambda: ("pageable", "pinned"))
def host_memory(driver: Driver, facts: Facts, step: str) -> None:
    """The source of a copy node changes: before the instantiation, before the launch, and while the launch is held."""
    graph, things, stream = Graph(driver), Things(driver), driver.stream()
    source = things.pinned if step == "pinned" else ctypes.addressof(things.pageable)
    ctypes.memset(source, 1, SIZE)
    graph.copy(copy_node(side(CU_MEMORYTYPE_HOST, source), side(CU_MEMORYTYPE_DEVICE, things.memory), SIZE))
    ctypes.memset(source, 2, SIZE)
    ready = graph.instantiate()
    ctypes.memset(source, 3, SIZE)
    driver.do("cuGraphLaunch", ready, stream)
    finish(driver)
    facts["at_launch"] = driver.download(things.memory, 1)[0]
    with held(driver, stream):
        driver.do("cuGraphLaunch", ready, stream)
        ctypes.memset(source, 4, SIZE)
    finish(driver)
    facts["while_held"] = driver.download(things.memory, 1)[0]


@question("graph.launch.memory_freed_before")
def freed(driver: Driver, facts: Facts) -> None:
    """A launch of a graph whose memory was freed (docs: the launch fails as a whole)."""
    graph, stream = Graph(driver), driver.stream()
    memory = driver.allocate(SIZE)
    graph.memset(memset_node(memory, 1, 16))
    ready = graph.instantiate()
    driver.do("cuMemFree_v2", memory)
    facts["launch"] = driver.code("cuGraphLaunch", ready, stream)
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)


@question("graph.launch.event_nodes")
def event_nodes(driver: Driver, facts: Facts) -> None:
    """An event record node: streams wait for it after the launch, and the query before the launch."""
    graph, order = Graph(driver), Order(driver)
    stream, other, event = driver.stream(), driver.stream(), driver.event()
    graph.add("cuGraphAddEventRecordNode", event)
    ready = graph.uploaded()
    facts["query_before_launch"] = driver.code("cuEventQuery", event)
    with held(driver, stream):
        driver.do("cuGraphLaunch", ready, stream)
        driver.do("cuStreamWaitEvent", other, event, 0)
        order.note("other", other)
        facts["wait_follows_the_node"] = not order.has("other")
    finish(driver)
    facts["query_after"] = driver.code("cuEventQuery", event)


@question("graph.launch.event_wait_node")
def event_wait_node(driver: Driver, facts: Facts) -> None:
    """An event wait node means the record at the time of the launch."""
    graph, order = Graph(driver), Order(driver)
    stream, first, second, event = driver.stream(), driver.stream(), driver.stream(), driver.event()
    noting(graph, order, "graph", graph.add("cuGraphAddEventWaitNode", event))
    ready = graph.uploaded()
    with held(driver, second):
        driver.do("cuEventRecord", event, first)
        driver.do("cuGraphLaunch", ready, stream)
        driver.do("cuEventRecord", event, second)
        facts["waits_for_a_record_after_the_launch"] = not order.has("graph")
    finish(driver)
    order.names.clear()
    with held(driver, second):
        driver.do("cuEventRecord", event, second)
        driver.do("cuGraphLaunch", ready, stream)
        facts["waits_for_a_record_before_the_launch"] = not order.has("graph")
    finish(driver)


@question("graph.launch.codes")
def codes(driver: Driver, facts: Facts) -> None:
    graph = Graph(driver)
    ready, stream = graph.instantiate(), driver.stream()
    facts["empty_graph"] = driver.code("cuGraphLaunch", ready, stream)
    facts["empty_graph_in_per_thread_stream"] = driver.code("cuGraphLaunch", ready, CU_STREAM_PER_THREAD)
    facts["upload_empty_graph"] = driver.code("cuGraphUpload", ready, stream)
    facts["synchronize"] = driver.code("cuCtxSynchronize")


@question("graph.launch.order_of_200_launches")
def many(driver: Driver, facts: Facts) -> None:
    """Launches of a graph in one stream run in order, each as a whole."""
    graph, stream, numbers = Graph(driver), driver.stream(), []
    first = graph.host(host_node(lambda: numbers.append(1)))
    graph.host(host_node(lambda: numbers.append(2)), first)
    ready = graph.instantiate()
    for _ in range(200):
        driver.do("cuGraphLaunch", ready, stream)
    finish(driver)
    facts["in_order"] = numbers == [1, 2] * 200


@question("graph.launch.kernel_node_attributes")
def attributes(driver: Driver, facts: Facts) -> None:
    """Each number of CUkernelNodeAttrID: whether nodes have it, its first words at first, and whether zeros can be set."""
    graph, things = Graph(driver), Things(driver)
    node = graph.kernel(things.kernel())
    for number in range(20):
        value = (ctypes.c_uint32 * 16)()
        code = driver.code("cuGraphKernelNodeGetAttribute", node, number, value)
        facts[f"get_{number:02}"] = code
        if code == "CUDA_SUCCESS":
            facts[f"value_{number:02}"] = list(value)[:4]
        facts[f"set_zeros_{number:02}"] = driver.code(
            "cuGraphKernelNodeSetAttribute", node, number, (ctypes.c_uint32 * 16)()
        )
    other = graph.kernel(things.kernel())
    facts["copy"] = driver.code("cuGraphKernelNodeCopyAttributes", other, node)
    facts["of_a_memset_node"] = driver.code(
        "cuGraphKernelNodeGetAttribute", graph.memset(things.memset()), 8, (ctypes.c_uint32 * 16)()
    )
