"""Events: creation, queries, times and handles for other processes (driver manual, *Event Management*)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from ...driver import CUDA_SUCCESS, Driver
from ...gates import after_a_while, finish, held, made, stream_of
from ...question import Facts, question, series

CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING, CU_EVENT_INTERPROCESS = 1, 2, 4


def elapsed(driver: Driver, start: int, end: int) -> tuple[str, float]:
    passed = ctypes.c_float(-7.0)
    return driver.code("cuEventElapsedTime_v2", ctypes.byref(passed), start, end), passed.value


@series("event.create_with_flags", lambda: [f"{flags:#x}" for flags in (*range(9), 0x10, 0x20, 0x80000000)])
def create(driver: Driver, facts: Facts, step: str) -> None:
    facts[""], event = made(driver, "cuEventCreate", int(step, 16))
    if event:
        facts["query"] = driver.code("cuEventQuery", event)
        facts["record"] = driver.code("cuEventRecord", event, 0)
        facts["synchronize"] = driver.code("cuEventSynchronize", event)
        facts["elapsed_time"] = elapsed(driver, event, event)[0]
        facts["ipc_handle"] = driver.code("cuIpcGetEventHandle", (ctypes.c_ubyte * 64)(), event)


@question("event.ipc_handle_in_own_process")
def own_handle(driver: Driver, facts: Facts) -> None:
    """A process that opens the handle of its own event (docs/reference/simulator.md, *Events of other processes*)."""
    event, handle = driver.event(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS), (ctypes.c_uint64 * 8)()
    facts["get"] = driver.code("cuIpcGetEventHandle", handle, event)
    again = (ctypes.c_uint64 * 8)()
    driver.do("cuIpcGetEventHandle", again, event)
    facts["handle_is_equal_each_time"] = list(handle) == list(again)


@question("event.ipc_handle_opened_in_own_process")
def open_own_handle(driver: Driver, facts: Facts) -> None:
    """cuIpcOpenEventHandle takes a structure of 64 bytes by value."""
    event, handle = driver.event(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS), (ctypes.c_ubyte * 64)()

    class Handle(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_ubyte * 64)]

    driver.do("cuIpcGetEventHandle", handle, event)
    opened = ctypes.c_void_p()
    facts["open"] = driver.code("cuIpcOpenEventHandle", ctypes.byref(opened), Handle.from_buffer_copy(handle))


STATES = ("never_recorded", "recorded", "pending", "without_timing", "blocking_sync", "of_another_stream", "null")


def pairs() -> Iterable[str]:
    return [f"{start}_to_{end}" for start in STATES for end in STATES]


@series("event.elapsed_time", pairs)
def elapsed_time(driver: Driver, facts: Facts, step: str) -> None:
    """The result for each pair of states. Both events were recorded in this order, if they were."""
    stream, other, holding = (stream_of(driver, "non_blocking", which) for which in range(3))
    with held(driver, holding):
        events = []
        for state in step.split("_to_"):
            if state == "null":
                events.append(0)
                continue
            flags = {"without_timing": CU_EVENT_DISABLE_TIMING, "blocking_sync": CU_EVENT_BLOCKING_SYNC}.get(state, 0)
            events.append(driver.event(flags))
            if state != "never_recorded":
                where = {"pending": holding, "of_another_stream": other}.get(state, stream)
                driver.do("cuEventRecord", events[-1], where)
                driver.do("cuMemsetD8Async", scratch(driver), 0, 1 << 20, where)
        driver.do("cuStreamSynchronize", stream)
        driver.do("cuStreamSynchronize", other)
        code, passed = elapsed(driver, *events)
        facts[""] = code
        if code == CUDA_SUCCESS and "another_stream" not in step:
            facts["not_negative"] = passed >= 0
    finish(driver)


_scratch: list[int] = []


def scratch(driver: Driver) -> int:
    if not _scratch:
        _scratch.append(driver.allocate(1 << 20))
    return _scratch[0]


@question("event.elapsed_time.values")
def values(driver: Driver, facts: Facts) -> None:
    start, end, stream = driver.event(), driver.event(), driver.stream()
    memory = driver.allocate(1 << 26)
    driver.do("cuEventRecord", start, stream)
    for _ in range(4):
        driver.do("cuMemsetD8Async", memory, 0, 1 << 26, stream)
    driver.do("cuEventRecord", end, stream)
    driver.do("cuStreamSynchronize", stream)
    forward, backward, same = elapsed(driver, start, end), elapsed(driver, end, start), elapsed(driver, start, start)
    facts["forward"], facts["forward_is_positive"] = forward[0], forward[1] > 0
    facts["backward"], facts["backward_is_the_negative"] = backward[0], backward[1] == -forward[1]
    facts["same"], facts["same_is_zero"] = same[0], same[1] == 0
    passed = ctypes.c_float(-7)
    facts["first_version"] = driver.code("cuEventElapsedTime", ctypes.byref(passed), start, end)
    facts["first_version_is_equal"] = passed.value == forward[1]


@question("event.elapsed_time.adjacent_records")
def adjacent(driver: Driver, facts: Facts) -> None:
    """The resolution: the time between two records without work between them, in 20 tries."""
    stream, times = driver.stream(), []
    for _ in range(20):
        start, end = driver.event(), driver.event()
        driver.do("cuEventRecord", start, stream)
        driver.do("cuEventRecord", end, stream)
        driver.do("cuStreamSynchronize", stream)
        times.append(elapsed(driver, start, end)[1])
    facts["never_negative"] = all(time >= 0 for time in times)
    facts["sometimes_positive"] = any(time > 0 for time in times)


@question("event.pending")
def pending(driver: Driver, facts: Facts) -> None:
    stream, event = driver.stream(), driver.event()
    with held(driver, stream):
        driver.do("cuEventRecord", event, stream)
        facts["query"] = after_a_while(driver, "cuEventQuery", event)
        facts["stream_query"] = after_a_while(driver, "cuStreamQuery", stream)
        facts["elapsed_time"] = elapsed(driver, event, event)[0]
        facts["record_again_in_the_same_stream"] = driver.code("cuEventRecord", event, stream)
    driver.do("cuStreamSynchronize", stream)
    facts["query_after"] = driver.code("cuEventQuery", event)


@question("event.recorded_again_while_synchronized_with")
def recorded_again(driver: Driver, facts: Facts) -> None:
    """The time of an event that was recorded twice is that of the later record."""
    stream, first, second = driver.stream(), driver.event(), driver.event()
    memory = driver.allocate(1 << 26)
    driver.do("cuEventRecord", second, stream)
    driver.do("cuEventRecord", first, stream)
    for _ in range(4):
        driver.do("cuMemsetD8Async", memory, 0, 1 << 26, stream)
    driver.do("cuEventRecord", second, stream)
    driver.do("cuStreamSynchronize", stream)
    facts["later_record_counts"] = elapsed(driver, first, second)[1] > 0
