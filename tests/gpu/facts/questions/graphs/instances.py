"""Clones of graphs, instantiations and their flags (driver manual, *Graph Management*)."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path

from ...driver import Driver
from ...gates import finish, held, host_function, wait_until
from ...question import Facts, question, series
from .nodes import SIZE, Things, all_kinds, dependencies
from .structures import Graph, host_node, memset_node


@question("graph.clone")
def clone(driver: Driver, facts: Facts) -> None:
    graph, things = Graph(driver), Things(driver)
    nodes = list(all_kinds(graph, things))
    dependencies(driver, graph, (nodes[0], nodes[3]), (nodes[3], nodes[1]))
    copied = Graph(driver, driver.made("cuGraphClone", graph.handle))
    facts["nodes_are_equal"], facts["edges_are_equal"] = (
        copied.types() == graph.types(),
        copied.edges() == graph.edges(),
    )
    found = ctypes.c_void_p()
    facts["find"] = driver.code("cuGraphNodeFindInClone", ctypes.byref(found), nodes[3], copied.handle)
    facts["found_is_at_the_same_place"] = copied.nodes().index(found.value or 0) == graph.nodes().index(nodes[3])
    facts["find_in_the_original"] = driver.code("cuGraphNodeFindInClone", ctypes.byref(found), nodes[3], graph.handle)
    driver.do("cuGraphDestroyNode", nodes[3])
    facts["clone_keeps_its_node"] = len(copied.types()) == len(graph.types()) + 1
    facts["find_destroyed_kind"] = driver.code("cuGraphNodeFindInClone", ctypes.byref(found), nodes[0], copied.handle)


@question("graph.destroyed_graph_and_its_executable")
def destroyed(driver: Driver, facts: Facts) -> None:
    graph, things, stream = Graph(driver), Things(driver), driver.stream()
    driver.do("cuMemsetD8_v2", things.memory, 0, SIZE)
    finish(driver)
    graph.memset(memset_node(things.memory, 7, 16))
    ready = graph.instantiate()
    facts["destroy"] = driver.code("cuGraphDestroy", graph.handle)
    facts["launch"] = driver.code("cuGraphLaunch", ready, stream)
    driver.do("cuStreamSynchronize", stream)
    facts["bytes"] = driver.download(things.memory, 1)[0]
    facts["exec_destroy"] = driver.code("cuGraphExecDestroy", ready)


@series("graph.create_with_flags", lambda: ("0", "1", "2"))
def create(driver: Driver, facts: Facts, step: str) -> None:
    facts[""] = driver.code("cuGraphCreate", ctypes.byref(ctypes.c_void_p()), int(step))


@series("graph.instantiate_with_flags", lambda: [str(flags) for flags in (*range(17), 32)])
def instantiate(driver: Driver, facts: Facts, step: str) -> None:
    """1 frees memory at launches, 2 uploads, 4 allows launches from devices, 8 uses priorities of nodes."""
    graph, things = Graph(driver), Things(driver)
    graph.kernel(things.kernel())
    ready = ctypes.c_void_p()
    facts[""] = driver.code("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph.handle, int(step))
    if ready.value:
        flags = ctypes.c_uint64()
        driver.do("cuGraphExecGetFlags", ready, ctypes.byref(flags))
        facts["flags"] = flags.value
        facts["launch"] = driver.code("cuGraphLaunch", ready, 0)


@question("graph.ids")
def ids(driver: Driver, facts: Facts) -> None:
    """cuGraphGetId and its siblings are in drivers from CUDA 13.1 on."""
    graph = Graph(driver)
    first, second = graph.empty(), graph.empty()
    numbers = [ctypes.c_uint(), ctypes.c_uint()]
    facts["local_id"] = driver.code("cuGraphNodeGetLocalId", first, ctypes.byref(numbers[0]))
    driver.code("cuGraphNodeGetLocalId", second, ctypes.byref(numbers[1]))
    facts["local_ids"] = [number.value for number in numbers]
    facts["graph_id"] = driver.code("cuGraphGetId", graph.handle, ctypes.byref(numbers[0]))


class InstantiateParameters(ctypes.Structure):
    """CUDA_GRAPH_INSTANTIATE_PARAMS"""

    _fields_ = [
        ("flags", ctypes.c_uint64),
        ("upload_stream", ctypes.c_void_p),
        ("error_node", ctypes.c_void_p),
        ("result", ctypes.c_int),
    ]


@question("graph.instantiate_with_parameters")
def with_parameters(driver: Driver, facts: Facts) -> None:
    """The result of the structure, and the node that it names, for a right graph and one with a cycle."""
    for name in ("right", "cycle", "device_launch_with_host_node"):
        graph, things = Graph(driver), Things(driver)
        first, second = graph.memset(things.memset()), graph.kernel(things.kernel())
        dependencies(driver, graph, (first, second))
        if name == "cycle":
            dependencies(driver, graph, (second, first))
        if name == "device_launch_with_host_node":
            graph.host(host_node())
        given = InstantiateParameters(flags=4 if "device" in name else 0, result=-1)
        ready = ctypes.c_void_p()
        facts[f"{name}.code"] = driver.code(
            "cuGraphInstantiateWithParams", ctypes.byref(ready), graph.handle, ctypes.byref(given)
        )
        facts[f"{name}.result"] = given.result
        nodes = graph.nodes()
        facts[f"{name}.error_node"] = nodes.index(given.error_node) if given.error_node in nodes else None


@question("graph.instantiate_with_upload_stream")
def with_upload(driver: Driver, facts: Facts) -> None:
    graph, things, stream = Graph(driver), Things(driver), driver.stream()
    graph.memset(things.memset())
    given, ready = InstantiateParameters(flags=2, upload_stream=stream, result=-1), ctypes.c_void_p()
    facts["code"] = driver.code("cuGraphInstantiateWithParams", ctypes.byref(ready), graph.handle, ctypes.byref(given))
    facts["result"] = given.result
    facts["upload"] = driver.code("cuGraphUpload", ready, stream)
    facts["upload_in_legacy_stream"] = driver.code("cuGraphUpload", ready, 0)
    facts["launch"] = driver.code("cuGraphLaunch", ready, stream)


DOT_FLAGS = 1
"""CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE"""


@question("graph.dot_print")
def dot_print(driver: Driver, facts: Facts) -> None:
    """cuGraphDebugDotPrint: the first and the last line, and how many nodes and edges the text has."""
    graph, things = Graph(driver), Things(driver)
    nodes = list(all_kinds(graph, things))
    dependencies(driver, graph, (nodes[0], nodes[3]), (nodes[3], nodes[1]))
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in (("plain", 0), ("verbose", DOT_FLAGS)):
            path = Path(folder) / name
            facts[f"{name}.code"] = code = driver.code("cuGraphDebugDotPrint", graph.handle, str(path), flags)
            if code == "CUDA_SUCCESS":
                lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                facts[f"{name}.first_line"], facts[f"{name}.last_line"] = lines[0], lines[-1]
                facts[f"{name}.edges"] = sum("->" in line for line in lines)
                facts[f"{name}.has_subgraphs"] = any("subgraph" in line for line in lines)
        facts["no_such_folder"] = driver.code("cuGraphDebugDotPrint", graph.handle, f"{folder}/none/graph", 0)
        facts["null_path"] = driver.code("cuGraphDebugDotPrint", graph.handle, None, 0)


@question("graph.user_object")
def user_object(driver: Driver, facts: Facts) -> None:
    """When the destructor of a user object has run; each time the driver gets half a second."""
    calls: list[int] = []
    made = ctypes.c_void_p()
    destructor = host_function(lambda: calls.append(1))

    def released() -> bool:
        return wait_until(lambda: bool(calls))

    create = "cuUserObjectCreate"
    facts["create_without_the_flag"] = driver.code(create, ctypes.byref(made), None, destructor, 1, 0)
    facts["create_with_no_references"] = driver.code(create, ctypes.byref(made), None, destructor, 0, 1)
    facts["create"] = driver.code(create, ctypes.byref(made), None, destructor, 1, 1)
    graph, things, stream = Graph(driver), Things(driver), driver.stream()
    graph.memset(things.memset())
    facts["retain_for_graph"] = driver.code("cuGraphRetainUserObject", graph.handle, made, 1, 0)
    facts["release_own_reference"] = driver.code("cuUserObjectRelease", made, 1)
    facts["runs_after_own_release"] = released()
    copied = driver.made("cuGraphClone", graph.handle)
    ready = graph.instantiate()
    driver.do("cuGraphDestroy", graph.handle)
    facts["runs_after_graph_is_destroyed"] = released()
    driver.do("cuGraphDestroy", copied)
    facts["runs_after_clone_is_destroyed"] = released()
    with held(driver, stream):
        driver.do("cuGraphLaunch", ready, stream)
        driver.do("cuGraphExecDestroy", ready)
        facts["runs_while_the_launch_is_held"] = released()
    driver.do("cuStreamSynchronize", stream)
    facts["runs_after_the_launch"] = released()
    facts["number_of_runs"] = len(calls)


@question("graph.user_object.moved")
def moved(driver: Driver, facts: Facts) -> None:
    """CU_GRAPH_USER_OBJECT_MOVE is 1: the graph takes a reference of the caller."""
    calls: list[int] = []
    made = ctypes.c_void_p()
    driver.do("cuUserObjectCreate", ctypes.byref(made), None, host_function(lambda: calls.append(1)), 2, 1)
    graph = Graph(driver)
    facts["move"] = driver.code("cuGraphRetainUserObject", graph.handle, made, 1, 1)
    facts["release_from_graph"] = driver.code("cuGraphReleaseUserObject", graph.handle, made, 1)
    facts["runs_after_release_from_graph"] = wait_until(lambda: bool(calls))
    facts["retain"] = driver.code("cuUserObjectRetain", made, 1)
    facts["release_all"] = driver.code("cuUserObjectRelease", made, 2)
    facts["runs"] = wait_until(lambda: bool(calls))
