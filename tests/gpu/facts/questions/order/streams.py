"""Streams: their creation, properties and attributes, and calls with special handles (driver manual, *Stream Management*)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ...gates import STREAMS, after_a_while, finish, in_thread, made, stream_of
from ...question import Facts, question, series


def read(driver: Driver, name: str, stream: int, kind: Any = ctypes.c_int) -> Any:
    """The value that a query of a stream writes, or the name of the error."""
    value = kind()
    code = driver.code(name, stream, ctypes.byref(value))
    return value.value if code == CUDA_SUCCESS else code


@series("stream.create_with_flags", lambda: [f"{flags:#x}" for flags in (0, 1, 2, 3, 4, 0x10, 0x80000000)])
def create(driver: Driver, facts: Facts, step: str) -> None:
    facts[""], stream = made(driver, "cuStreamCreate", int(step, 16))
    if stream:
        facts["flags"] = read(driver, "cuStreamGetFlags", stream)


@series("stream.create_with_priority", lambda: [str(priority) for priority in range(-8, 4)])
def priority(driver: Driver, facts: Facts, step: str) -> None:
    facts[""], stream = made(driver, "cuStreamCreateWithPriority", 1, int(step))
    if stream:
        facts["priority"] = read(driver, "cuStreamGetPriority", stream)


@question("stream.priority_range")
def priority_range(driver: Driver, facts: Facts) -> None:
    least, greatest = ctypes.c_int(), ctypes.c_int()
    facts["result"] = driver.code("cuCtxGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest))
    facts["least"], facts["greatest"] = least.value, greatest.value
    facts["without_places"] = driver.code("cuCtxGetStreamPriorityRange", None, None)


@series("stream.properties", lambda: STREAMS)
def properties(driver: Driver, facts: Facts, step: str) -> None:
    stream = stream_of(driver, step)
    facts["flags"] = read(driver, "cuStreamGetFlags", stream)
    facts["priority"] = read(driver, "cuStreamGetPriority", stream)
    facts["device"] = read(driver, "cuStreamGetDevice", stream)
    context = read(driver, "cuStreamGetCtx", stream, ctypes.c_void_p)
    facts["context_is_current"] = context == driver.made("cuCtxGetCurrent")
    number = read(driver, "cuStreamGetId", stream, ctypes.c_uint64)
    facts["id_is_the_null_streams"] = number == read(driver, "cuStreamGetId", 0, ctypes.c_uint64)
    facts["id_is_stable"] = number == read(driver, "cuStreamGetId", stream, ctypes.c_uint64)
    facts["id_is_the_handle"] = number == stream
    other = in_thread(driver, lambda: read(driver, "cuStreamGetId", stream, ctypes.c_uint64))
    facts["id_is_equal_in_another_thread"] = number == other
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)
    facts["query"] = driver.code("cuStreamQuery", stream)
    green = ctypes.c_void_p(1)
    facts["green_context"] = code = driver.code("cuStreamGetGreenCtx", stream, ctypes.byref(green))
    if code == CUDA_SUCCESS:
        facts["green_context_is_null"] = green.value is None


@question("stream.ids")
def ids(driver: Driver, facts: Facts) -> None:
    first, second = driver.stream(), driver.stream()
    numbers = [read(driver, "cuStreamGetId", stream, ctypes.c_uint64) for stream in (first, second, 0, 1, 2)]
    facts["ids_of_two_streams_differ"] = numbers[0] != numbers[1]
    facts["ids_grow"] = numbers[0] < numbers[1]
    facts["number_of_ids_of_null_legacy_and_per_thread"] = len(set(numbers[2:]))
    driver.do("cuStreamDestroy_v2", second)
    third = driver.stream()
    facts["id_is_used_again"] = read(driver, "cuStreamGetId", third, ctypes.c_uint64) == numbers[1]
    facts["handle_is_used_again"] = third == second


@series("stream.destroy", lambda: ("null", "legacy", "per_thread"))
def destroy(driver: Driver, facts: Facts, step: str) -> None:
    facts[""] = driver.code("cuStreamDestroy_v2", stream_of(driver, step))
    facts["synchronize_after"] = driver.code("cuStreamSynchronize", stream_of(driver, step))


CU_EVENT_DISABLE_TIMING = 2

WITHOUT_CONTEXT: dict[str, Callable[[Driver, int, int, int], str]] = {
    "synchronize": lambda d, stream, event, memory: d.code("cuStreamSynchronize", stream),
    "query": lambda d, stream, event, memory: after_a_while(d, "cuStreamQuery", stream),
    "record": lambda d, stream, event, memory: d.code("cuEventRecord", event, stream),
    "wait": lambda d, stream, event, memory: d.code("cuStreamWaitEvent", stream, event, 0),
    "event_query": lambda d, stream, event, memory: after_a_while(d, "cuEventQuery", event),
    "event_synchronize": lambda d, stream, event, memory: d.code("cuEventSynchronize", event),
    "elapsed_time": lambda d, stream, event, memory: d.code(
        "cuEventElapsedTime_v2", ctypes.byref(ctypes.c_float()), event, event
    ),
    "fill": lambda d, stream, event, memory: d.code("cuMemsetD8Async", memory, 0, 16, stream),
    "copy": lambda d, stream, event, memory: d.code("cuMemcpyDtoDAsync_v2", memory, memory + 512, 16, stream),
    "flags": lambda d, stream, event, memory: str(read(d, "cuStreamGetFlags", stream)),
    "is_capturing": lambda d, stream, event, memory: str(read(d, "cuStreamIsCapturing", stream)),
    "begin_capture": lambda d, stream, event, memory: d.code("cuStreamBeginCapture_v2", stream, 2),
    "end_capture": lambda d, stream, event, memory: d.code(
        "cuStreamEndCapture", stream, ctypes.byref(ctypes.c_void_p())
    ),
    "legacy_fill": lambda d, stream, event, memory: d.code("cuMemsetD8Async", memory, 0, 16, 0),
    "legacy_record": lambda d, stream, event, memory: d.code("cuEventRecord", event, 0),
    "per_thread_record": lambda d, stream, event, memory: d.code("cuEventRecord", event, 2),
    "create_stream": lambda d, stream, event, memory: made(d, "cuStreamCreate", 1)[0],
    "create_event": lambda d, stream, event, memory: made(d, "cuEventCreate", 0)[0],
    "graph_create": lambda d, stream, event, memory: made(d, "cuGraphCreate", 0)[0],
    "free": lambda d, stream, event, memory: d.code("cuMemFree_v2", memory),
    "event_destroy": lambda d, stream, event, memory: d.code("cuEventDestroy_v2", event),
    "stream_destroy": lambda d, stream, event, memory: d.code("cuStreamDestroy_v2", stream),
}


@question("stream.calls_without_current_context")
def without_context(driver: Driver, facts: Facts) -> None:
    """docs/explanation/open-ends.md: whether a driver asks for a context where the call names a stream or an event."""
    stream, event, memory, context = (
        driver.stream(),
        driver.event(),
        driver.allocate(1024),
        driver.made("cuCtxGetCurrent"),
    )
    driver.do("cuEventRecord", event, stream)
    finish(driver)
    driver.do("cuCtxSetCurrent", None)
    for name, call in WITHOUT_CONTEXT.items():
        facts[name] = call(driver, stream, event, memory)
    driver.do("cuCtxSetCurrent", context)


@question("stream.of_another_context")
def another_context(driver: Driver, facts: Facts) -> None:
    """Calls with a stream and an event whose context is not current; a record in a stream of another context is an error."""
    stream, event, memory, primary = (
        driver.stream(),
        driver.event(),
        driver.allocate(1024),
        driver.made("cuCtxGetCurrent"),
    )
    other = driver.made("cuCtxCreate_v2", 0, 0)
    here = driver.event()
    facts["record_own_event_there"] = driver.code("cuEventRecord", here, stream)
    facts["record_its_event_there"] = driver.code("cuEventRecord", event, stream)
    facts["record_its_event_here"] = driver.code("cuEventRecord", event, 0)
    facts["wait_there_for_own_event"] = driver.code("cuStreamWaitEvent", stream, here, 0)
    facts["wait_here_for_its_event"] = driver.code("cuStreamWaitEvent", 0, event, 0)
    facts["fill_there"] = driver.code("cuMemsetD8Async", memory, 0, 16, stream)
    facts["synchronize_there"] = driver.code("cuStreamSynchronize", stream)
    facts["begin_capture_there"] = driver.code("cuStreamBeginCapture_v2", stream, 2)
    facts["end_capture_there"] = driver.code("cuStreamEndCapture", stream, ctypes.byref(ctypes.c_void_p()))
    driver.do("cuCtxDestroy_v2", other)
    driver.do("cuCtxSetCurrent", primary)


CU_LAUNCH_ATTRIBUTE_PRIORITY = 8


def attributes() -> Iterable[str]:
    return [f"{number:02}" for number in range(20)]


@series("stream.attribute", attributes)
def attribute(driver: Driver, facts: Facts, step: str) -> None:
    """Each number of CUstreamAttrID: whether streams have it, its value at first, and whether zeros can be set."""
    stream, value = driver.stream(), (ctypes.c_uint32 * 16)()
    facts["get"] = code = driver.code("cuStreamGetAttribute", stream, int(step), value)
    if code == CUDA_SUCCESS:
        facts["words_at_first"] = list(value)[:6]
        facts["set_the_same"] = driver.code("cuStreamSetAttribute", stream, int(step), value)
    facts["set_zeros"] = driver.code("cuStreamSetAttribute", stream, int(step), (ctypes.c_uint32 * 16)())
    ones = (ctypes.c_uint32 * 16)(1)
    facts["set_one"] = driver.code("cuStreamSetAttribute", stream, int(step), ones)
    many = (ctypes.c_uint32 * 16)(77)
    facts["set_77"] = driver.code("cuStreamSetAttribute", stream, int(step), many)


@question("stream.attribute.priority_of_a_stream")
def priority_attribute(driver: Driver, facts: Facts) -> None:
    stream, value = driver.made("cuStreamCreateWithPriority", 1, -1), ctypes.c_int()
    facts["get"] = driver.code(
        "cuStreamGetAttribute", stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, (place := (ctypes.c_int * 16)())
    )
    facts["value"] = place[0]
    new = (ctypes.c_int * 16)(-2)
    facts["set"] = driver.code("cuStreamSetAttribute", stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, new)
    driver.do("cuStreamGetPriority", stream, ctypes.byref(value))
    facts["priority_after"] = value.value
    other = driver.stream()
    facts["copy_attributes"] = driver.code("cuStreamCopyAttributes", other, stream)
    driver.do("cuStreamGetPriority", other, ctypes.byref(value))
    facts["priority_of_the_copy"] = value.value


NULL: dict[str, Callable[[Driver], str]] = {
    "create": lambda d: d.code("cuStreamCreate", None, 0),
    "get_flags": lambda d: d.code("cuStreamGetFlags", 0, None),
    "get_id": lambda d: d.code("cuStreamGetId", 0, None),
    "is_capturing": lambda d: d.code("cuStreamIsCapturing", 0, None),
    "wait_for_no_event": lambda d: d.code("cuStreamWaitEvent", 0, None, 0),
    "launch_no_host_function": lambda d: d.code("cuLaunchHostFunc", 0, None, None),
    "add_no_callback": lambda d: d.code("cuStreamAddCallback", 0, None, None, 0),
    "query_no_event": lambda d: d.code("cuEventQuery", None),
    "synchronize_no_event": lambda d: d.code("cuEventSynchronize", None),
    "destroy_no_event": lambda d: d.code("cuEventDestroy_v2", None),
    "record_no_event": lambda d: d.code("cuEventRecord", None, 0),
    "create_no_event": lambda d: d.code("cuEventCreate", None, 0),
    "begin_no_graph": lambda d: d.code("cuStreamBeginCaptureToGraph", d.stream(), None, None, None, 0, 2),
    "launch_no_graph": lambda d: d.code("cuGraphLaunch", None, 0),
}


@series("stream.null", lambda: NULL)
def null(driver: Driver, facts: Facts, step: str) -> None:
    """Calls with null in place of an object or of a place for a result. A driver might crash."""
    facts[""] = NULL[step](driver)
