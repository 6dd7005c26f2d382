"""The information about captures, changes of their dependencies, captures to graphs, and their ends.

docs/reference/simulator.md, *Stream capture* and *Assumptions where the manual is silent*.
"""

from __future__ import annotations

import ctypes

from ...driver import Driver
from ...gates import Call, finish
from ...question import Facts, question, series
from ..graphs.structures import MODES, Graph, end_capture, handles, host_node, status
from .streams import RELAXED, Streams, dependencies, info


@question("capture.info")
def capture_info(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    before = info(driver, s.first)
    facts["before.code"], facts["before.status"] = before["code"], before["status"]
    s.begin(s.first)
    empty = info(driver, s.first)
    facts["empty.code"], facts["empty.status"], facts["empty.count"] = empty["code"], empty["status"], empty["count"]
    facts["empty.has_graph"], facts["empty.id_is_zero"] = bool(empty["graph"]), empty["id"] == 0
    s.fill(s.first)
    filled = info(driver, s.first)
    facts["filled.count"], facts["filled.has_edge_data"] = filled["count"], filled["has_data"]
    facts["id_stays"] = filled["id"] == empty["id"]
    s.edge(s.first, s.second)
    joined = info(driver, s.second)
    facts["joined.count"], facts["joined.has_same_id"] = joined["count"], joined["id"] == filled["id"]
    facts["joined.has_same_graph"] = joined["graph"] == filled["graph"]
    facts["version_2_code"] = driver.code(
        "cuStreamGetCaptureInfo_v2", s.first, ctypes.byref(ctypes.c_int()), None, None, None, None
    )
    _, graph = end_capture(driver, s.first)
    facts["graph_is_the_one_of_the_info"] = graph is not None and graph.handle == filled["graph"]
    s.begin(s.first)
    facts["next_capture_has_another_id"] = info(driver, s.first)["id"] != filled["id"]
    s.begin(s.third)
    facts["other_capture_has_another_id"] = info(driver, s.third)["id"] != info(driver, s.first)["id"]
    end_capture(driver, s.first)
    end_capture(driver, s.third)
    after = info(driver, s.first)
    facts["after.code"], facts["after.status"] = after["code"], after["status"]


@question("capture.info.of_invalidated_capture")
def info_invalidated(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    facts["query"] = driver.code("cuStreamQuery", s.first)
    found = info(driver, s.first)
    facts["code"], facts["status"], facts["count"] = found["code"], found["status"], found["count"]
    facts["fill"] = s.fill(s.first)
    facts["event_record"] = driver.code("cuEventRecord", s.events[0], s.first)
    facts["wait_elsewhere_for_that_event"] = driver.code("cuStreamWaitEvent", s.second, s.events[0], 0)
    facts["query_again"] = driver.code("cuStreamQuery", s.first)
    facts["begin_again"] = driver.code("cuStreamBeginCapture_v2", s.first, RELAXED)
    s.end(facts, s.first)
    facts["status_after_the_end"] = status(driver, s.first)
    facts["fill_after_the_end"] = s.fill(s.first)


CU_STREAM_ADD_CAPTURE_DEPENDENCIES, CU_STREAM_SET_CAPTURE_DEPENDENCIES = 0, 1


@question("capture.update_dependencies")
def update_dependencies(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)

    def change(nodes: list[int], flags: int, stream: int = s.first) -> str:
        return driver.code("cuStreamUpdateCaptureDependencies_v2", stream, handles(nodes), None, len(nodes), flags)

    facts["without_capture"] = change([], CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    s.begin(s.first)
    s.fill(s.first)
    graph = Graph(driver, info(driver, s.first)["graph"])
    added = graph.host(host_node())
    facts["nodes_with_one_added_by_hand"] = graph.types()
    facts["add"] = change([added], CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
    facts["after_add"] = dependencies(driver, s.first)
    facts["add_again"] = change([added], CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
    facts["after_add_again"] = dependencies(driver, s.first)
    facts["set"] = change([added], CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    facts["after_set"] = dependencies(driver, s.first)
    facts["set_twice_in_one_call"] = change([added, added], CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    facts["after_set_twice"] = dependencies(driver, s.first)
    foreign = Graph(driver).empty()
    facts["node_of_another_graph"] = change([foreign], CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
    facts["unknown_flags"] = change([added], 2)
    facts["status"] = status(driver, s.first)
    facts["set_none"] = change([], CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    facts["after_set_none"] = dependencies(driver, s.first)
    s.launch(s.first)
    s.end(facts, s.first)


@question("capture.to_graph")
def to_graph(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    graph = Graph(driver)
    node = graph.empty()
    begin = "cuStreamBeginCaptureToGraph"
    facts["begin"] = driver.code(begin, s.first, graph.handle, handles([node]), None, 1, RELAXED)
    s.fill(s.first)
    facts["graph_is_the_infos"] = info(driver, s.first)["graph"] == graph.handle
    facts["second_capture_to_the_graph"] = driver.code(begin, s.second, graph.handle, None, None, 0, RELAXED)
    facts["instantiate_meanwhile"] = graph.instantiation()
    code, same = end_capture(driver, s.first)
    facts["end"], facts["end_returns_the_graph"] = code, same is not None and same.handle == graph.handle
    driver.number("cuStreamEndCapture", s.second, ctypes.byref(ctypes.c_void_p()))
    graph.describe(facts)
    facts["foreign_dependency"] = driver.code(
        begin, s.third, graph.handle, handles([Graph(driver).empty()]), None, 1, RELAXED
    )
    facts["status_after_foreign_dependency"] = status(driver, s.third)
    driver.number("cuStreamEndCapture", s.third, ctypes.byref(ctypes.c_void_p()))


@question("capture.to_graph.invalidated")
def to_graph_invalidated(driver: Driver, facts: Facts) -> None:
    """The graph of the program after its capture was invalidated: the manual is silent about its nodes."""
    s = Streams(driver)
    graph = Graph(driver)
    graph.empty()
    driver.do("cuStreamBeginCaptureToGraph", s.first, graph.handle, None, None, 0, RELAXED)
    s.fill(s.first)
    facts["query"] = driver.code("cuStreamQuery", s.first)
    facts["end"] = end_capture(driver, s.first)[0]
    facts["nodes"] = graph.types()
    facts["destroy"] = driver.code("cuGraphDestroy", graph.handle)


@series("capture.end_in_another_thread", lambda: MODES)
def end_elsewhere(driver: Driver, facts: Facts, step: str) -> None:
    s = Streams(driver)
    s.begin(s.first, MODES[step])
    s.fill(s.first)
    call = Call(driver, lambda: end_capture(driver, s.first))
    facts["returned"] = call.returned(5)
    facts["end"] = call.result[0]
    facts["status"] = status(driver, s.first)
    facts["end_in_own_thread"] = end_capture(driver, s.first)[0]
    finish(driver)


@question("capture.end.codes")
def end_codes(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    place = ctypes.c_void_p(1)
    facts["not_begun"] = driver.code("cuStreamEndCapture", s.first, ctypes.byref(place))
    facts["not_begun_writes_null"] = place.value is None
    facts["legacy"] = end_capture(driver, 0)[0]
    s.begin(s.first)
    code, graph = end_capture(driver, s.first)
    facts["of_nothing"], facts["of_nothing_has_a_graph"] = code, graph is not None
    facts["of_nothing_nodes"] = graph.types() if graph else None
    facts["begin_with_unknown_mode"] = driver.code("cuStreamBeginCapture_v2", s.first, 3)
    facts["begin_in_per_thread_stream"] = driver.code("cuStreamBeginCapture_v2", 2, RELAXED)
    facts["end_in_per_thread_stream"] = end_capture(driver, 2)[0]


@question("capture.end.without_place_for_the_graph")
def end_without_place(driver: Driver, facts: Facts) -> None:
    """cuStreamEndCapture with a null pointer for the graph (/work/shared/cases: endcapture_null.cu)."""
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    facts["end"] = driver.code("cuStreamEndCapture", s.first, None)
    facts["status"] = status(driver, s.first)


@question("capture.stream_destroyed")
def stream_destroyed(driver: Driver, facts: Facts) -> None:
    """The stream in which a capture began is destroyed; another stream of the capture remains."""
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    s.edge(s.first, s.second)
    facts["destroy"] = driver.code("cuStreamDestroy_v2", s.first)
    facts["status_of_joined"] = status(driver, s.second)
    facts["fill_in_joined"] = s.fill(s.second)


@question("capture.joined_stream_destroyed")
def joined_destroyed(driver: Driver, facts: Facts) -> None:
    """A joined stream with work is destroyed before it is joined back."""
    s = Streams(driver)
    s.begin(s.first)
    s.edge(s.first, s.second)
    s.fill(s.second)
    facts["destroy"] = driver.code("cuStreamDestroy_v2", s.second)
    facts["status"] = status(driver, s.first)
    s.end(facts, s.first)


@question("capture.joined_stream_destroyed_after_its_event")
def joined_destroyed_with_event(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.edge(s.first, s.second)
    s.fill(s.second)
    driver.do("cuEventRecord", s.events[1], s.second)
    facts["destroy"] = driver.code("cuStreamDestroy_v2", s.second)
    facts["wait"] = driver.code("cuStreamWaitEvent", s.first, s.events[1], 0)
    s.end(facts, s.first)
