"""Captures of several streams (docs/reference/simulator.md, *Stream capture*)."""

from __future__ import annotations

from ...driver import Driver
from ...question import Facts, question
from ..graphs.structures import end_capture, status
from .streams import RELAXED, Streams, dependencies


@question("capture.join.fork_and_join")
def fork_and_join(driver: Driver, facts: Facts) -> None:
    """Each kind of node once, in two branches: the order of the nodes and their edges."""
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    facts["join"] = s.edge(s.first, s.second)
    facts["status_of_joined"] = status(driver, s.second)
    s.host(s.second)
    s.launch(s.first)
    s.fill(s.second)
    facts["join_back"] = s.edge(s.second, s.first, 1)
    facts["status_of_joined_after"] = status(driver, s.second)
    s.host(s.first)
    s.end(facts, s.first)
    facts["status_of_joined_after_the_end"] = status(driver, s.second)


@question("capture.join.without_work")
def join_without_work(driver: Driver, facts: Facts) -> None:
    """A stream that waited, and has no work of its own, need not be joined back."""
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    s.edge(s.first, s.second)
    s.end(facts, s.first)
    facts["status_of_joined_after"] = status(driver, s.second)


@question("capture.join.before_any_work")
def join_before_work(driver: Driver, facts: Facts) -> None:
    """An event that is recorded before any captured work has no nodes; the waiting stream joins nevertheless."""
    s = Streams(driver)
    s.begin(s.first)
    facts["join"] = s.edge(s.first, s.second)
    facts["status_of_joined"] = status(driver, s.second)
    s.fill(s.second)
    facts["join_back"] = s.edge(s.second, s.first, 1)
    s.end(facts, s.first)


@question("capture.join.unjoined")
def unjoined(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    s.edge(s.first, s.second)
    s.fill(s.second)
    s.end(facts, s.first)
    facts["status_after"] = status(driver, s.first)
    facts["status_of_joined_after"] = status(driver, s.second)
    facts["fill_in_joined_after"] = s.fill(s.second)
    facts["second_end"] = end_capture(driver, s.first)[0]


@question("capture.join.joined_by_event_of_earlier_work_only")
def partly_joined(driver: Driver, facts: Facts) -> None:
    """The event that joins back was recorded before the last work of the second stream."""
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    s.edge(s.first, s.second)
    s.fill(s.second)
    driver.do("cuEventRecord", s.events[1], s.second)
    s.host(s.second)
    facts["join_back"] = driver.code("cuStreamWaitEvent", s.first, s.events[1], 0)
    s.end(facts, s.first)


@question("capture.join.through_a_third_stream")
def third(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.edge(s.first, s.second)
    s.fill(s.second)
    s.edge(s.second, s.third, 1)
    s.host(s.third)
    s.edge(s.third, s.first, 2)
    s.end(facts, s.first)
    for name in ("second", "third"):
        facts[f"status_of_{name}"] = status(driver, getattr(s, name))


@question("capture.join.end_in_joined_stream")
def end_in_joined(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.edge(s.first, s.second)
    s.fill(s.second)
    facts["end_in_joined"] = end_capture(driver, s.second)[0]
    facts["status_of_joined"] = status(driver, s.second)
    facts["status_of_origin"] = status(driver, s.first)
    s.end(facts, s.first)
    facts["status_after"] = status(driver, s.first)


@question("capture.join.begin_in_joined_stream")
def begin_in_joined(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.edge(s.first, s.second)
    facts["begin"] = driver.code("cuStreamBeginCapture_v2", s.second, RELAXED)
    facts["status"] = status(driver, s.first)
    s.end(facts, s.first)


@question("capture.join.merge")
def merge(driver: Driver, facts: Facts) -> None:
    """An event of one capture, waited for in another one."""
    s = Streams(driver)
    s.begin(s.first)
    s.begin(s.second)
    s.fill(s.first)
    facts["wait"] = s.edge(s.first, s.second)
    facts["status_of_recording"], facts["status_of_waiting"] = status(driver, s.first), status(driver, s.second)
    facts["end_of_recording"] = end_capture(driver, s.first)[0]
    facts["end_of_waiting"] = end_capture(driver, s.second)[0]


@question("capture.join.wait_of_capturing_stream_for_its_own_event")
def own_event(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    facts["wait"] = s.edge(s.first, s.first)
    s.fill(s.first)
    s.end(facts, s.first)


@question("capture.join.order_of_dependencies")
def several(driver: Driver, facts: Facts) -> None:
    """A stream that waits for two events has three dependencies; one that waits for an ancestor has no more."""
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    driver.do("cuEventRecord", s.events[3], s.first)
    s.edge(s.first, s.second)
    s.edge(s.first, s.third)
    s.fill(s.second)
    s.host(s.third)
    s.edge(s.third, s.first, 1)
    s.edge(s.second, s.first, 2)
    facts["dependencies_after_two_waits"] = dependencies(driver, s.first)
    driver.do("cuStreamWaitEvent", s.first, s.events[3], 0)
    facts["dependencies_after_a_wait_for_an_ancestor"] = dependencies(driver, s.first)
    s.launch(s.first)
    s.end(facts, s.first)


@question("capture.join.duplicate_wait")
def duplicate(driver: Driver, facts: Facts) -> None:
    s = Streams(driver)
    s.begin(s.first)
    s.fill(s.first)
    s.edge(s.first, s.second)
    s.fill(s.second)
    s.edge(s.second, s.first, 1)
    facts["wait_again"] = driver.code("cuStreamWaitEvent", s.first, s.events[1], 0)
    facts["dependencies"] = dependencies(driver, s.first)
    s.host(s.first)
    s.end(facts, s.first)
