"""The order of work in streams, of events, and of waits between them (docs/explanation/happens-before.md, *Edges*)."""

from __future__ import annotations

from collections.abc import Iterable

from ...driver import Driver
from ...gates import (
    CU_STREAM_LEGACY,
    CU_STREAM_PER_THREAD,
    SOON,
    STREAMS,
    Call,
    HostGate,
    Order,
    after_a_while,
    finish,
    held,
    in_thread,
    stream_of,
)
from ...question import Facts, question, series


def pairs() -> Iterable[str]:
    return [f"{first}_then_{second}" for first in STREAMS for second in STREAMS]


@series("order.streams", pairs)
def streams(driver: Driver, facts: Facts, step: str) -> None:
    """Whether work in a stream waits for earlier work in another one."""
    first, second = (stream_of(driver, kind, which) for which, kind in enumerate(step.split("_then_")))
    order, event = Order(driver), driver.event()
    with held(driver, first):
        order.note("later", second)
        facts["waits_if_held_by_a_word"] = not order.has("later")
    finish(driver)
    with held(driver, first, by=HostGate):
        driver.do("cuEventRecord", event, second)
        call = Call(driver, lambda: driver.code("cuEventSynchronize", event))
        facts["waits_if_held_by_a_host_function"] = not call.returned(SOON)
    finish(driver)


def third_streams() -> Iterable[str]:
    return [f"{first}_then_{second}_then_{third}" for first, second, third in THIRD]


THIRD = (
    ("blocking", "legacy", "blocking"),
    ("blocking", "legacy", "non_blocking"),
    ("blocking", "legacy", "per_thread"),
    ("blocking", "non_blocking", "legacy"),
    ("legacy", "blocking", "legacy"),
    ("legacy", "non_blocking", "blocking"),
    ("per_thread", "legacy", "blocking"),
    ("non_blocking", "legacy", "blocking"),
    ("non_blocking", "blocking", "legacy"),
    ("blocking", "per_thread", "blocking"),
)


@series("order.three_streams", third_streams)
def three_streams(driver: Driver, facts: Facts, step: str) -> None:
    """Whether work in a third stream waits for the first, with work in the second between them."""
    first, second, third = (stream_of(driver, kind, which) for which, kind in enumerate(step.split("_then_")))
    order = Order(driver)
    with held(driver, first):
        order.note("second", second)
        order.note("third", third)
        facts["third_waits"] = not order.has("third")
        facts["second_waits"] = not order.has("second")
    finish(driver)
    facts["all_ran"] = sorted(order.names) == ["second", "third"]


@question("order.three_streams.without_work_in_the_legacy_stream")
def no_work_between(driver: Driver, facts: Facts) -> None:
    """Two blocking streams without legacy work between them do not wait for each other."""
    order, first, second = Order(driver), driver.stream(0), driver.stream(0)
    with held(driver, first):
        order.note("second", second)
        facts["second_waits"] = not order.has("second")
    finish(driver)


@question("order.per_thread_streams_of_two_threads")
def threads(driver: Driver, facts: Facts) -> None:
    order = Order(driver)
    with held(driver, CU_STREAM_PER_THREAD):
        in_thread(driver, lambda: order.note("other", CU_STREAM_PER_THREAD))
        facts["other_threads_stream_waits"] = not order.has("other")
        order.note("own", CU_STREAM_PER_THREAD)
        facts["own_stream_waits"] = not order.has("own")
    finish(driver)


@question("order.per_thread_stream.legacy_work_of_another_thread")
def legacy_of_another_thread(driver: Driver, facts: Facts) -> None:
    """The per-thread stream of one thread, held; legacy work that another thread enqueues."""
    order = Order(driver)
    with held(driver, CU_STREAM_PER_THREAD):
        in_thread(driver, lambda: order.note("legacy", CU_STREAM_LEGACY))
        facts["legacy_work_waits"] = not order.has("legacy")
    finish(driver)


EVENT_STREAMS = ("legacy", "per_thread", "blocking", "non_blocking")


def kinds() -> Iterable[str]:
    return EVENT_STREAMS


@series("order.wait_counts_as_work.before_legacy_work", kinds)
def wait_before_legacy(driver: Driver, facts: Facts, step: str) -> None:
    """A stream has only a wait, for an event of a held non-blocking stream. Does later legacy work follow that wait?"""
    source, event, order = stream_of(driver, "non_blocking", 1), driver.event(), Order(driver)
    waiting = stream_of(driver, step)
    with held(driver, source):
        driver.do("cuEventRecord", event, source)
        driver.do("cuStreamWaitEvent", waiting, event, 0)
        order.note("legacy", CU_STREAM_LEGACY)
        facts["legacy_work_waits"] = not order.has("legacy")
    finish(driver)


@series("order.wait_counts_as_work.of_the_legacy_stream", kinds)
def wait_of_legacy(driver: Driver, facts: Facts, step: str) -> None:
    """The legacy stream has only a wait, for an event of a held non-blocking stream. Does other work follow that wait?"""
    source, event, order = stream_of(driver, "non_blocking", 1), driver.event(), Order(driver)
    later = stream_of(driver, step)
    with held(driver, source):
        driver.do("cuEventRecord", event, source)
        driver.do("cuStreamWaitEvent", CU_STREAM_LEGACY, event, 0)
        order.note("later", later)
        facts["later_work_waits"] = not order.has("later")
    finish(driver)


@series("order.wait_for_done_event_follows_legacy", kinds)
def wait_for_done_event(driver: Driver, facts: Facts, step: str) -> None:
    """The legacy stream is held. A stream waits for an event that is done; then an event is recorded there."""
    event, after = driver.event(), driver.event()
    other = stream_of(driver, "non_blocking", 1)
    stream = stream_of(driver, step)
    driver.do("cuEventRecord", event, other)
    driver.do("cuEventSynchronize", event)
    with held(driver, CU_STREAM_LEGACY):
        driver.do("cuStreamWaitEvent", stream, event, 0)
        driver.do("cuEventRecord", after, stream)
        facts["event_behind_the_wait"] = after_a_while(driver, "cuEventQuery", after)
    finish(driver)


@series(
    "order.record_follows", lambda: [f"{first}_then_{second}" for first in EVENT_STREAMS for second in EVENT_STREAMS]
)
def record_follows(driver: Driver, facts: Facts, step: str) -> None:
    """The record of an event is work too: does it wait for a held stream of another kind?"""
    first, second = (stream_of(driver, kind, which) for which, kind in enumerate(step.split("_then_")))
    event = driver.event()
    with held(driver, first):
        driver.do("cuEventRecord", event, second)
        call = Call(driver, lambda: driver.code("cuEventSynchronize", event))
        facts["event_waits"] = not call.returned(SOON)
    finish(driver)


def waiting_calls() -> Iterable[str]:
    return [f"{call}_{kind}" for call in ("synchronize", "query") for kind in STREAMS]


@series("order.host", waiting_calls)
def host_waits(driver: Driver, facts: Facts, step: str) -> None:
    """Another stream is held: do synchronizing with an idle stream, and querying it, notice?"""
    call, kind = step.split("_", 1)
    for name in ("blocking", "non_blocking", "legacy", "per_thread"):
        stream = stream_of(driver, kind)
        with held(driver, stream_of(driver, name, 1)):
            if call == "query":
                facts[f"while_{name}_is_held"] = after_a_while(driver, "cuStreamQuery", stream)
            else:
                made = Call(driver, lambda stream=stream: driver.code("cuStreamSynchronize", stream))
                facts[f"returns_while_{name}_is_held"] = made.returned(SOON)
        finish(driver)


@question("order.legacy_synchronize_enqueues_work")
def synchronize_is_work(driver: Driver, facts: Facts) -> None:
    """Whether a synchronization with the idle legacy stream, which waits for A, makes later work of B wait for A."""
    order, first, second = Order(driver), driver.stream(0), driver.stream(0)
    with held(driver, first):
        waiting = Call(driver, lambda: driver.code("cuStreamSynchronize", CU_STREAM_LEGACY))
        facts["synchronization_returns"] = waiting.returned(SOON)
        order.note("second", second)
        facts["second_waits"] = not order.has("second")
    finish(driver)


@question("order.legacy_query_enqueues_work")
def query_is_work(driver: Driver, facts: Facts) -> None:
    """Whether a query of the idle legacy stream, while A is held, makes later work of B wait for A."""
    order, first, second = Order(driver), driver.stream(0), driver.stream(0)
    with held(driver, first):
        facts["query"] = after_a_while(driver, "cuStreamQuery", CU_STREAM_LEGACY)
        order.note("second", second)
        facts["second_waits"] = not order.has("second")
    finish(driver)


@question("order.other_context")
def other_context(driver: Driver, facts: Facts) -> None:
    """Legacy default streams of two contexts of one device do not wait for each other."""
    order, primary = Order(driver), driver.made("cuCtxGetCurrent")
    other = driver.made("cuCtxCreate_v2", 0, 0)
    driver.do("cuCtxSetCurrent", primary)
    with held(driver, CU_STREAM_LEGACY):
        driver.do("cuCtxSetCurrent", other)
        order.note("other", CU_STREAM_LEGACY)
        facts["other_contexts_legacy_stream_waits"] = not order.has("other")
        finish(driver)
        driver.do("cuCtxSetCurrent", primary)
    finish(driver)
    driver.do("cuCtxDestroy_v2", other)
    driver.do("cuCtxSetCurrent", primary)


@question("order.event_never_recorded")
def never_recorded(driver: Driver, facts: Facts) -> None:
    event, order, stream = driver.event(), Order(driver), driver.stream()
    facts["wait"] = driver.code("cuStreamWaitEvent", stream, event, 0)
    order.note("later", stream)
    facts["work_behind_the_wait_runs"] = order.has("later")
    facts["query"] = driver.code("cuEventQuery", event)
    facts["synchronize"] = driver.code("cuEventSynchronize", event)


@question("order.event_recorded_again_between_wait_and_run")
def recorded_again(driver: Driver, facts: Facts) -> None:
    """A wait means the record at the time of the call (cuStreamWaitEvent)."""
    first, second, third = driver.stream(), driver.stream(), driver.stream()
    event, order = driver.event(), Order(driver)
    driver.do("cuEventRecord", event, first)
    with held(driver, second):
        driver.do("cuStreamWaitEvent", third, event, 0)
        driver.do("cuEventRecord", event, second)
        order.note("later", third)
        facts["wait_follows_the_later_record"] = not order.has("later")
        facts["query"] = after_a_while(driver, "cuEventQuery", event)
    finish(driver)
    order = Order(driver)
    with held(driver, first):
        driver.do("cuEventRecord", event, first)
        driver.do("cuStreamWaitEvent", third, event, 0)
        driver.do("cuEventRecord", event, second)
        order.note("later", third)
        facts["wait_follows_the_earlier_record"] = not order.has("later")
        facts["query_after_a_later_record_that_is_done"] = after_a_while(driver, "cuEventQuery", event)
    finish(driver)


@question("order.event_destroyed_while_waited_for")
def event_destroyed(driver: Driver, facts: Facts) -> None:
    first, second = driver.stream(), driver.stream()
    event, order = driver.event(), Order(driver)
    with held(driver, first):
        driver.do("cuEventRecord", event, first)
        driver.do("cuStreamWaitEvent", second, event, 0)
        facts["destroy"] = driver.code("cuEventDestroy_v2", event)
        order.note("later", second)
        facts["wait_remains"] = not order.has("later")
    finish(driver)
    facts["ran"] = order.has("later")


@question("order.stream_destroyed_with_pending_work")
def stream_destroyed(driver: Driver, facts: Facts) -> None:
    stream, order, event = driver.stream(), Order(driver), driver.event()
    with held(driver, stream):
        order.note("pending", stream)
        driver.do("cuEventRecord", event, stream)
        facts["destroy"] = driver.code("cuStreamDestroy_v2", stream)
        facts["runs_while_held"] = order.has("pending")
        facts["event"] = after_a_while(driver, "cuEventQuery", event)
    facts["event_synchronize"] = driver.code("cuEventSynchronize", event)
    facts["ran"] = order.has("pending")


@question("order.context_waits_for_a_destroyed_stream")
def context_and_destroyed_stream(driver: Driver, facts: Facts) -> None:
    stream = driver.stream()
    with held(driver, stream):
        driver.do("cuStreamDestroy_v2", stream)
        call = Call(driver, lambda: driver.code("cuCtxSynchronize"))
        facts["context_synchronize_returns_while_held"] = call.returned(SOON)
    finish(driver)


@question("order.stream_waits_for_its_own_event")
def own_event(driver: Driver, facts: Facts) -> None:
    stream, event = driver.stream(), driver.event()
    driver.do("cuEventRecord", event, stream)
    facts["wait"] = driver.code("cuStreamWaitEvent", stream, event, 0)
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)


@question("order.context_event")
def context_event(driver: Driver, facts: Facts) -> None:
    """cuCtxRecordEvent and cuCtxWaitEvent, with a blocking or a non-blocking stream held."""
    context, other = driver.made("cuCtxGetCurrent"), stream_of(driver, "non_blocking", 1)
    for kind in ("blocking", "non_blocking", "legacy"):
        event, order = driver.event(), Order(driver)
        with held(driver, stream_of(driver, kind)):
            facts[f"record_with_{kind}_held"] = driver.code("cuCtxRecordEvent", context, event)
            facts[f"query_with_{kind}_held"] = after_a_while(driver, "cuEventQuery", event)
            facts[f"wait_with_{kind}_held"] = driver.code("cuCtxWaitEvent", context, event)
            order.note("later", other)
            facts[f"later_work_waits_with_{kind}_held"] = not order.has("later")
        finish(driver)
        facts[f"query_after_{kind}"] = driver.code("cuEventQuery", event)
