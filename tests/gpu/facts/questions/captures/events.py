"""Events in captures and after them (docs/reference/simulator.md, *Stream capture* and *Assumptions*)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ...driver import Driver
from ...gates import finish
from ...question import Facts, question, series
from ..graphs.structures import MODES, Graph, end_capture, host_node, status
from .streams import RELAXED, Streams

USES: dict[str, Callable[[Driver, Streams], str]] = {
    "query": lambda d, s: d.code("cuEventQuery", s.events[0]),
    "synchronize": lambda d, s: d.code("cuEventSynchronize", s.events[0]),
    "elapsed_time": lambda d, s: d.code(
        "cuEventElapsedTime_v2", ctypes.byref(ctypes.c_float()), s.events[0], s.events[0]
    ),
    "wait_in_another_stream": lambda d, s: d.code("cuStreamWaitEvent", s.second, s.events[0], 0),
    "wait_in_legacy_stream": lambda d, s: d.code("cuStreamWaitEvent", 0, s.events[0], 0),
    "wait_in_per_thread_stream": lambda d, s: d.code("cuStreamWaitEvent", 2, s.events[0], 0),
    "external_wait_in_another_stream": lambda d, s: d.code("cuStreamWaitEvent", s.second, s.events[0], 1),
    "record_in_another_stream": lambda d, s: d.code("cuEventRecord", s.events[0], s.second),
    "record_in_legacy_stream": lambda d, s: d.code("cuEventRecord", s.events[0], 0),
    "record_with_external_flag": lambda d, s: d.code("cuEventRecordWithFlags", s.events[0], s.first, 1),
    "context_wait": lambda d, s: d.code("cuCtxWaitEvent", d.made("cuCtxGetCurrent"), s.events[0]),
    "destroy": lambda d, s: d.code("cuEventDestroy_v2", s.events[0]),
}


def timed(driver: Driver) -> Streams:
    streams = Streams(driver)
    streams.events[0] = driver.event()
    return streams


@series("capture.event.during", lambda: [f"{use}.{mode}" for use in USES for mode in MODES])
def during(driver: Driver, facts: Facts, step: str) -> None:
    """An event that was last recorded in a capture in progress."""
    use, mode = step.split(".")
    s = timed(driver)
    s.begin(s.first, MODES[mode])
    s.fill(s.first)
    driver.do("cuEventRecord", s.events[0], s.first)
    facts["result"] = USES[use](driver, s)
    facts["status"] = status(driver, s.first)
    facts["status_of_other_stream"] = status(driver, s.second)
    facts["status_of_per_thread_stream"] = status(driver, 2)
    s.end(facts, s.first)
    finish(driver)


@series("capture.event.of_blocking_stream", lambda: USES)
def of_blocking_stream(driver: Driver, facts: Facts, step: str) -> None:
    """Such an event, if the capturing stream is a blocking one."""
    s = timed(driver)
    s.first = driver.stream(0)
    s.begin(s.first)
    s.fill(s.first)
    driver.do("cuEventRecord", s.events[0], s.first)
    facts["result"] = USES[step](driver, s)
    facts["status"] = status(driver, s.first)
    s.end(facts, s.first)
    finish(driver)


@series("capture.event.after", lambda: USES)
def after(driver: Driver, facts: Facts, step: str) -> None:
    """An event that was last recorded in a capture that has ended."""
    s = timed(driver)
    s.begin(s.first)
    s.fill(s.first)
    driver.do("cuEventRecord", s.events[0], s.first)
    end_capture(driver, s.first)
    facts["result"] = USES[step](driver, s)
    finish(driver)


@series("capture.event.after_invalidated_capture", lambda: USES)
def after_invalidated(driver: Driver, facts: Facts, step: str) -> None:
    """An event that was recorded in a capture which was invalidated and ended."""
    s = timed(driver)
    s.begin(s.first)
    s.fill(s.first)
    driver.do("cuEventRecord", s.events[0], s.first)
    driver.number("cuStreamQuery", s.first)
    end_capture(driver, s.first)
    facts["result"] = USES[step](driver, s)
    finish(driver)


@question("capture.event.of_finished_capture_in_new_capture")
def in_new_capture(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    driver.do("cuEventRecord", s.events[0], s.first)
    end_capture(driver, s.first)
    s.begin(s.first)
    facts["wait"] = driver.code("cuStreamWaitEvent", s.first, s.events[0], 0)
    facts["status"] = status(driver, s.first)
    s.end(facts, s.first)


@question("capture.event.of_finished_capture_recorded_again")
def recorded_again(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    driver.do("cuEventRecord", s.events[0], s.first)
    end_capture(driver, s.first)
    facts["record"] = driver.code("cuEventRecord", s.events[0], s.second)
    facts["synchronize"] = driver.code("cuEventSynchronize", s.events[0])


@question("capture.event.earlier_record_is_kept")
def earlier_record(driver: Driver, facts: Facts) -> None:
    """An event that is done, and is then recorded in a capture: the earlier record is lost."""
    s = Streams(driver)
    driver.do("cuEventRecord", s.events[0], s.second)
    driver.do("cuEventSynchronize", s.events[0])
    s.begin(s.first)
    driver.do("cuEventRecord", s.events[0], s.first)
    facts["nodes"] = len(Graph(driver, end_of(s)).nodes())
    facts["query_after"] = driver.code("cuEventQuery", s.events[0])


def end_of(s: Streams) -> int:
    _, graph = end_capture(s.driver, s.first)
    return graph.handle if graph else 0


@question("capture.event.external")
def external(driver: Driver, facts: Facts) -> None:
    """An event that a captured external record records: its state before and after a launch."""
    s = timed(driver)
    s.begin(s.first)
    s.fill(s.first)
    facts["record"] = driver.code("cuEventRecordWithFlags", s.events[0], s.first, 1)
    facts["query_during_capture"] = driver.code("cuEventQuery", s.events[0])
    facts["wait_in_another_stream"] = driver.code("cuStreamWaitEvent", s.second, s.events[0], 0)
    facts["status_of_that_stream"] = status(driver, s.second)
    graph = s.end(facts, s.first)
    facts["query_before_launch"] = driver.code("cuEventQuery", s.events[0])
    if graph:
        ready = graph.instantiate()
        facts["query_after_instantiation"] = driver.code("cuEventQuery", s.events[0])
        driver.do("cuGraphLaunch", ready, s.second)
        finish(driver)
        facts["query_after_launch"] = driver.code("cuEventQuery", s.events[0])
        facts["elapsed_time"] = driver.code(
            "cuEventElapsedTime_v2", ctypes.byref(ctypes.c_float()), s.events[0], s.events[0]
        )


@question("capture.event.external_flag_without_capture")
def external_outside(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    facts["record"] = driver.code("cuEventRecordWithFlags", s.events[0], s.first, 1)
    facts["wait"] = driver.code("cuStreamWaitEvent", s.second, s.events[0], 1)
    facts["record_with_unknown_flag"] = driver.code("cuEventRecordWithFlags", s.events[0], s.first, 2)
    facts["wait_with_unknown_flag"] = driver.code("cuStreamWaitEvent", s.second, s.events[0], 2)


@question("capture.event.timing_of_graph_nodes")
def timing(driver: Driver, facts: Facts) -> None:
    """The time between two event record nodes of one graph is positive."""
    start, end, graph, stream = driver.event(), driver.event(), Graph(driver), driver.stream()
    first = graph.add("cuGraphAddEventRecordNode", start)
    host = graph.host(host_node(), first)
    graph.add("cuGraphAddEventRecordNode", end, after=[host])
    ready, passed = graph.instantiate(), ctypes.c_float(-1)
    driver.do("cuGraphLaunch", ready, stream)
    driver.do("cuStreamSynchronize", stream)
    facts["result"] = driver.code("cuEventElapsedTime_v2", ctypes.byref(passed), start, end)
    facts["is_positive"] = passed.value > 0


@question("capture.event.relaxed_mode_of_two_captures")
def two_captures(driver: Driver, facts: Facts) -> None:
    """An unsafe call while one capture is relaxed and another one is global: which of them it invalidates."""
    s = Streams(driver)
    s.begin(s.first, RELAXED)
    s.begin(s.second, MODES["global"])
    facts["allocate"] = driver.code("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 1024)
    facts["status_of_relaxed"], facts["status_of_global"] = status(driver, s.first), status(driver, s.second)
    facts["end_of_relaxed"] = end_capture(driver, s.first)[0]
    facts["end_of_global"] = end_capture(driver, s.second)[0]
