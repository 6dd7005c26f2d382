"""Host functions and callbacks: their thread, their order, the calls they may make, and errors (docs/explanation/happens-before.md)."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ...gates import SOON, Call, HostGate, Order, finish, held, host_function, in_thread, loaded, wait_until
from ...question import Facts, question, series
from ..graphs.structures import Graph, host_node
from ..waits.cases import place

StreamCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def thread_of_host_function(driver: Driver, stream: int) -> int:
    """The native id of the thread that runs a host function, without a call that waits for it."""
    found: list[int] = []
    function = host_function(lambda: found.append(threading.get_native_id()))
    driver.do("cuLaunchHostFunc", stream, function, None)
    wait_until(lambda: bool(found), 2)
    finish(driver)
    return found[0]


@question("host_function.threads")
def threads(driver: Driver, facts: Facts) -> None:
    first, second, own = driver.stream(), driver.stream(), threading.get_native_id()
    one, again, two = (thread_of_host_function(driver, stream) for stream in (first, first, second))
    legacy = thread_of_host_function(driver, 0)
    facts["is_not_the_calling_thread"] = own not in (one, two, legacy)
    facts["is_the_same_for_one_stream"] = one == again
    facts["is_the_same_for_two_streams"] = one == two
    facts["is_the_same_for_the_legacy_stream"] = one == legacy
    found: list[int] = []
    callback = StreamCallback(lambda stream, status, data: found.append(threading.get_native_id()))
    driver.do("cuStreamAddCallback", first, callback, None, 0)
    wait_until(lambda: bool(found), 2)
    facts["is_the_same_for_callbacks"] = found == [one]
    other = in_thread(driver, lambda: thread_of_host_function(driver, first))
    facts["is_the_same_for_calls_of_another_thread"] = other == one


@question("host_function.held_function_and_another_stream")
def two_streams(driver: Driver, facts: Facts) -> None:
    """Whether a host function that waits holds the host functions of another stream too. The manual allows it."""
    first, second, order = driver.stream(), driver.stream(), Order(driver)
    with held(driver, first, by=HostGate):
        order.note("second", second)
        facts["function_of_another_stream_runs"] = order.has("second")
        event = driver.event()
        driver.do("cuEventRecord", event, first)
        call = Call(driver, lambda: driver.code("cuEventSynchronize", event))
        facts["event_behind_the_function_waits"] = not call.returned(SOON)
    finish(driver)


@question("host_function.order")
def order_of_functions(driver: Driver, facts: Facts) -> None:
    """Functions of one stream run in order; those of two streams that are released at once."""
    first, order = driver.stream(), Order(driver)
    for number in range(20):
        order.note(str(number), first)
    finish(driver)
    facts["one_stream"] = order.names == [str(number) for number in range(20)]


@question("host_function.order_with_callbacks")
def order_with_callbacks(driver: Driver, facts: Facts) -> None:
    stream, names = driver.stream(), []
    functions = []
    for number in range(6):
        if number % 2:
            functions.append(StreamCallback(lambda stream, status, data, number=number: names.append(number)))
            driver.do("cuStreamAddCallback", stream, functions[-1], None, 0)
        else:
            driver.do("cuLaunchHostFunc", stream, host_function(lambda number=number: names.append(number)), None)
    finish(driver)
    facts["order"] = names


CALLS: dict[str, Callable[[Driver, dict[str, int]], Any]] = {
    "cuCtxGetCurrent": lambda d, t: d.code("cuCtxGetCurrent", place()),
    "cuCtxSetCurrent": lambda d, t: d.code("cuCtxSetCurrent", t["context"]),
    "cuMemAlloc": lambda d, t: d.code("cuMemAlloc_v2", place(ctypes.c_uint64), 64),
    "cuMemFree": lambda d, t: d.code("cuMemFree_v2", t["memory"]),
    "cuStreamQuery": lambda d, t: d.code("cuStreamQuery", t["stream"]),
    "cuEventQuery": lambda d, t: d.code("cuEventQuery", t["event"]),
    "cuEventRecord": lambda d, t: d.code("cuEventRecord", t["event"], t["stream"]),
    "cuEventCreate": lambda d, t: d.code("cuEventCreate", place(), 0),
    "cuMemcpyHtoDAsync": lambda d, t: d.code("cuMemcpyHtoDAsync_v2", t["memory"], t["pinned"], 16, t["stream"]),
    "cuDeviceGetCount": lambda d, t: d.code("cuDeviceGetCount", place(ctypes.c_int)),
    "cuDriverGetVersion": lambda d, t: d.code("cuDriverGetVersion", place(ctypes.c_int)),
    "cuGetErrorName": lambda d, t: d.code("cuGetErrorName", 0, place()),
    "cuPointerGetAttribute": lambda d, t: d.code("cuPointerGetAttribute", place(ctypes.c_uint64), 2, t["memory"]),
    "cuDeviceGetAttribute": lambda d, t: d.code("cuDeviceGetAttribute", place(ctypes.c_int), 1, 0),
    "cuMemGetInfo": lambda d, t: d.code("cuMemGetInfo_v2", place(ctypes.c_size_t), place(ctypes.c_size_t)),
    "cuInit": lambda d, t: d.code("cuInit", 0),
    "cuLaunchHostFunc": lambda d, t: d.code("cuLaunchHostFunc", t["stream"], host_function(lambda: None), None),
    "cuStreamIsCapturing": lambda d, t: d.code("cuStreamIsCapturing", t["stream"], place(ctypes.c_int)),
    "cuGetProcAddress": lambda d, t: d.code("cuGetProcAddress_v2", "cuInit", place(), 12000, 0, None),
}


@series(
    "host_function.call_inside",
    lambda: [f"{name}.{how}" for name in CALLS for how in ("function", "callback", "graph")],
    seconds=8,
)
def call_inside(driver: Driver, facts: Facts, step: str) -> None:
    """A driver call in a host function, in a callback, and in a host function of a graph (CUDA_ERROR_NOT_PERMITTED)."""
    name, how = step.split(".")
    things = {
        "context": driver.made("cuCtxGetCurrent"),
        "memory": driver.allocate(64),
        "pinned": driver.pinned(64),
        "stream": driver.stream(),
        "event": driver.event(),
    }
    found: list[int | str] = []
    # Results are named later: their names are driver calls too.
    body = lambda: found.append(CALLS[name](Numbers(driver), things))  # noqa: E731
    stream = driver.stream()
    if how == "graph":
        graph = Graph(driver)
        graph.host(host_node(body))
        driver.do("cuGraphLaunch", graph.instantiate(), stream)
    elif how == "callback":
        callback = StreamCallback(lambda stream, status, data: body())
        KEPT.append(callback)
        driver.do("cuStreamAddCallback", stream, callback, None, 0)
    else:
        driver.do("cuLaunchHostFunc", stream, host_function(body), None)
    wait_until(lambda: bool(found), 4)
    facts[""] = driver.name(int(found[0])) if found else "it did not run, or did not return"
    finish(driver)


KEPT: list[Any] = []


class Numbers(Driver):
    """A driver whose results are numbers, so that their names can be asked later."""

    def __init__(self, driver: Driver) -> None:
        self.path, self.library = driver.path, driver.library

    def code(self, name: str, *arguments: Any) -> Any:
        return self.number(name, *arguments)


FAULT = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry fault() {
    .reg .u64 %a;
    mov.u64 %a, 16;
    st.global.u32 [%a], 1;
    ret;
}
"""


@question("host_function.after_an_error", seconds=10)
def after_an_error(driver: Driver, facts: Facts) -> None:
    """A callback runs after an error and gets its code; a host function does not run (manual, cuLaunchHostFunc)."""
    fault = loaded(driver, driver.function(driver.module(FAULT), "fault"))
    stream, other, order = driver.stream(), driver.stream(), Order(driver)
    codes: list[int] = []
    callback = StreamCallback(lambda stream, status, data: codes.append(status))
    event = driver.event()
    with held(driver, stream):
        driver.launch(fault, stream=stream)
        driver.do("cuStreamAddCallback", stream, callback, None, 0)
        order.note("same stream", stream)
        driver.do("cuEventRecord", event, stream)
        driver.do("cuStreamWaitEvent", other, event, 0)
        order.note("other stream", other)
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)
    wait_until(lambda: len(codes) + len(order.names) == 3, 1)
    facts["callback_codes"] = [driver.name(code) for code in codes]
    facts["host_function_of_the_stream_ran"] = "same stream" in order.names
    facts["host_function_of_a_waiting_stream_ran"] = "other stream" in order.names
    facts["launch_after_the_error"] = driver.code("cuLaunchHostFunc", other, host_function(lambda: None), None)
    facts["add_callback_after_the_error"] = driver.code("cuStreamAddCallback", other, callback, None, 0)


@question("host_function.callback_arguments")
def callback_arguments(driver: Driver, facts: Facts) -> None:
    stream, seen = driver.stream(), []
    callback = StreamCallback(lambda stream, status, data: seen.append((stream, status, data)))
    driver.do("cuStreamAddCallback", stream, callback, 0x1234, 0)
    finish(driver)
    facts["stream_is_the_handle"] = seen[0][0] == stream
    facts["status_is_success"] = driver.name(seen[0][1]) == CUDA_SUCCESS
    facts["data_is_passed"] = seen[0][2] == 0x1234
    facts["unknown_flags"] = driver.code("cuStreamAddCallback", stream, callback, None, 1)
    for name, handle in (("null", 0), ("legacy", 1), ("per_thread", 2)):
        seen.clear()
        driver.do("cuStreamAddCallback", handle, callback, None, 0)
        finish(driver)
        facts[f"stream_of_{name}"] = (
            "null" if seen[0][0] is None else str(seen[0][0] if seen[0][0] < 16 else "a handle")
        )
