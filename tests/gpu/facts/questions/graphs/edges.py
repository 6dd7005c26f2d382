"""Edges of graphs: which are accepted, with which data, and in which order the driver lists them (docs/reference/simulator.md, *Graphs*)."""

from __future__ import annotations

import ctypes

from ...driver import Driver
from ...question import Facts, question, series
from .nodes import Things, all_kinds, dependencies
from .structures import EdgeData, Graph, handles


@question("graph.edges.add_and_remove")
def edges(driver: Driver, facts: Facts) -> None:
    graph = Graph(driver)
    a, b, c = graph.empty(), graph.empty(), graph.empty()
    facts["add"] = dependencies(driver, graph, (a, b))
    facts["add_again"] = dependencies(driver, graph, (a, b))
    facts["add_twice_in_one_call"] = dependencies(driver, graph, (a, c), (a, c))
    facts["edges_after_that"] = graph.edges()
    facts["add_new_and_existing_in_one_call"] = dependencies(driver, graph, (b, c), (a, b))
    facts["edges_after_new_and_existing"] = graph.edges()
    facts["self"] = dependencies(driver, graph, (a, a))
    facts["cycle_of_two"] = dependencies(driver, graph, (b, a))
    facts["edges_after_cycle"] = graph.edges()
    facts["foreign_node"] = dependencies(driver, graph, (a, Graph(driver).empty()))
    facts["none"] = dependencies(driver, graph)
    facts["remove_absent"] = dependencies(driver, graph, (c, b), remove=True)
    facts["remove"] = dependencies(driver, graph, (a, b), remove=True)
    facts["remove_again"] = dependencies(driver, graph, (a, b), remove=True)
    facts["edges_at_the_end"] = graph.edges()


@question("graph.edges.cycle")
def cycle(driver: Driver, facts: Facts) -> None:
    """A cycle of three nodes: whether the edge or the instantiation is refused."""
    graph = Graph(driver)
    a = graph.empty()
    b = graph.empty(a)
    c = graph.empty(b)
    facts["add"] = dependencies(driver, graph, (c, a))
    facts["edges"] = graph.edges()
    facts["instantiation"] = graph.instantiation()
    facts["clone"] = driver.code("cuGraphClone", ctypes.byref(ctypes.c_void_p()), graph.handle)


@question("graph.edges.to_a_node_of_a_child_graph")
def child_edge(driver: Driver, facts: Facts) -> None:
    graph, inner = Graph(driver), Graph(driver)
    inner.empty()
    node, first = graph.child(inner), graph.empty()
    embedded = Graph(driver, graph_of_child(driver, node))
    facts["nodes_of_the_child"] = embedded.types()
    facts["is_the_given_graph"] = embedded.handle == inner.handle
    facts["edge_into_the_child"] = dependencies(driver, graph, (first, embedded.nodes()[0]))
    facts["add_to_the_child"] = embedded.adding("cuGraphAddEmptyNode")
    facts["instantiate_the_child"] = embedded.instantiation()
    facts["destroy_the_child"] = driver.code("cuGraphDestroy", embedded.handle)


def graph_of_child(driver: Driver, node: int) -> int:
    found = ctypes.c_void_p()
    driver.do("cuGraphChildGraphNodeGetGraph", node, ctypes.byref(found))
    return found.value or 0


@question("graph.order_of_lists")
def order(driver: Driver, facts: Facts) -> None:
    """The order of nodes, roots, edges and dependencies in the lists of the driver."""
    graph, things = Graph(driver), Things(driver)
    nodes = list(all_kinds(graph, things))
    facts["nodes"] = [nodes.index(node) for node in graph.nodes()]
    facts["types"] = graph.types()
    last = graph.empty(nodes[3], nodes[0], nodes[2])
    dependencies(driver, graph, (nodes[1], nodes[3]))
    facts["roots"] = places(driver, "cuGraphGetRootNodes", graph.handle, nodes)
    facts["dependencies"] = places(driver, "cuGraphNodeGetDependencies", last, nodes)
    facts["dependents_of_the_first"] = places(driver, "cuGraphNodeGetDependentNodes", nodes[1], nodes)
    of, to, count = (ctypes.c_void_p * 8)(), (ctypes.c_void_p * 8)(), ctypes.c_size_t(8)
    driver.do("cuGraphGetEdges_v2", graph.handle, of, to, None, ctypes.byref(count))
    every = [*nodes, last]
    facts["edges"] = [[every.index(of[i] or 0), every.index(to[i] or 0)] for i in range(count.value)]
    facts["destroy_node"] = driver.code("cuGraphDestroyNode", nodes[3])
    facts["edges_after_destruction"] = len(graph.edges())
    facts["types_after_destruction"] = graph.types()


def places(driver: Driver, name: str, of: int, nodes: list[int]) -> list[int]:
    found, count = (ctypes.c_void_p * 16)(), ctypes.c_size_t(16)
    driver.do(name, of, found, ctypes.byref(count))
    return [nodes.index(found[index] or 0) for index in range(count.value)]


@question("graph.lists_that_are_too_short_or_long")
def short_lists(driver: Driver, facts: Facts) -> None:
    graph = Graph(driver)
    for _ in range(3):
        graph.empty()
    for room in (1, 3, 5):
        found, count = (ctypes.c_void_p * 8)(), ctypes.c_size_t(room)
        facts[f"room_{room}"] = driver.code("cuGraphGetNodes", graph.handle, found, ctypes.byref(count))
        facts[f"room_{room}_count"] = count.value
        facts[f"room_{room}_written"] = sum(each is not None for each in found)
    facts["without_count"] = driver.code("cuGraphGetNodes", graph.handle, None, None)


@question("graph.edges.null_node")
def null_node(driver: Driver, facts: Facts) -> None:
    graph = Graph(driver)
    facts[""] = dependencies(driver, graph, (graph.empty(), 0))


PROGRAMMATIC = 1
"""CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC"""

KINDS = ("kernel", "memset", "memcpy", "host", "empty", "event_record", "event_wait", "child")


def ports() -> list[str]:
    found = [f"kernel_to_kernel.{of}_{to}_{kind}" for of in range(4) for to in range(3) for kind in range(3)]
    for one in KINDS:
        for other in ("kernel", "memset"):
            found += [f"{one}_to_{other}.{data}" for data in ("1_0_1", "2_0_0", "0_0_1")]
    return sorted(set(found))


@series("graph.edge_data", ports)
def edge_data(driver: Driver, facts: Facts, step: str) -> None:
    """An edge with from_port, to_port and type between two kinds of nodes: its addition, instantiation and launch."""
    kinds, data = step.split(".")
    one, other = kinds.split("_to_")
    graph, things = Graph(driver), Things(driver)
    nodes = dict(zip(KINDS, all_kinds(graph, things), strict=True))
    second = graph.kernel(things.kernel()) if other == "kernel" else graph.memset(things.memset())
    edge = EdgeData(*(int(number) for number in data.split("_")))
    of, to = handles([nodes[one]]), handles([second])
    facts["add"] = code = driver.code("cuGraphAddDependencies_v2", graph.handle, of, to, ctypes.byref(edge), 1)
    if code == "CUDA_SUCCESS":
        facts["edges"] = [found[2:] for found in graph.edges()]
        facts["instantiation"] = graph.instantiation()
        count = ctypes.c_size_t(8)
        room = (ctypes.c_void_p * 8)()
        facts["old_query"] = driver.code("cuGraphNodeGetDependencies", second, room, ctypes.byref(count))
        facts["old_removal"] = driver.code("cuGraphRemoveDependencies", graph.handle, of, to, 1)
        facts["removal"] = driver.code("cuGraphRemoveDependencies_v2", graph.handle, of, to, ctypes.byref(edge), 1)


@question("graph.edge_data.two_edges_between_two_nodes")
def two_edges(driver: Driver, facts: Facts) -> None:
    """Two edges with different data. Their identity is data too, or only the two nodes."""
    graph, things = Graph(driver), Things(driver)
    first, second = graph.kernel(things.kernel()), graph.kernel(things.kernel())
    of, to = handles([first]), handles([second])
    for name, data in (
        ("default", EdgeData()),
        ("programmatic", EdgeData(1, 0, PROGRAMMATIC)),
        ("launch", EdgeData(2, 0, 0)),
    ):
        facts[f"add_{name}"] = driver.code("cuGraphAddDependencies_v2", graph.handle, of, to, ctypes.byref(data), 1)
    facts["edges"] = graph.edges()
    wrong = EdgeData(1, 0, PROGRAMMATIC)
    facts["remove_with_programmatic_data"] = driver.code(
        "cuGraphRemoveDependencies_v2", graph.handle, of, to, ctypes.byref(wrong), 1
    )
    facts["remove_without_data"] = driver.code("cuGraphRemoveDependencies_v2", graph.handle, of, to, None, 1)
    facts["edges_after"] = graph.edges()


@question("graph.edge_data.reserved_bytes")
def reserved(driver: Driver, facts: Facts) -> None:
    graph, things = Graph(driver), Things(driver)
    first, second = graph.kernel(things.kernel()), graph.kernel(things.kernel())
    data = EdgeData()
    data.reserved[0] = 1
    facts[""] = driver.code(
        "cuGraphAddDependencies_v2", graph.handle, handles([first]), handles([second]), ctypes.byref(data), 1
    )
