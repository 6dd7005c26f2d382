"""Calls while a stream captures: their results, the state of the capture after them, and the nodes that they make.

Each row of the table in docs/reference/simulator.md, *Stream capture*, in each mode, and in two threads.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import Driver
from ...gates import Call, finish, host_function, polling, stream_of, word
from ...question import Facts, series
from ..graphs.structures import MODES, Graph, end_capture, host_node, status
from ..waits import copies as waits_copies
from ..waits import memory as waits_memory
from ..waits import objects as waits_objects
from ..waits.cases import KIB, Case, Cases, fill, place

CASES = Cases()

CU_EVENT_RECORD_EXTERNAL = CU_EVENT_WAIT_EXTERNAL = 1
CU_EVENT_DISABLE_TIMING_INTERPROCESS = 6
CU_MEM_ATTACH_SINGLE, CU_MEM_ATTACH_GLOBAL = 4, 1
CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 2, 6
CU_STREAM_CAPTURE_MODE_GLOBAL = 0

StreamCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
NO_CALLBACK = StreamCallback(lambda stream, status, data: None)

LEFT_OUT = (
    "create_context",
    "destroy_another_context",
    "launch_256",
    "launch_900",
    "launch_1200",
    "launch_4200",
    "limit",
)
for cases in (waits_memory.CASES, waits_objects.CASES, waits_copies.CASES):
    for name, made in cases.items():
        if cases is waits_copies.CASES and ("65_KiB" in name or "4_MiB" in name or "1_KiB_held" in name):
            continue
        if not any(each in name for each in LEFT_OUT):
            CASES[name.replace("held", "capturing")] = made


class Things:
    """Objects that several cases use, made before any capture."""

    def __init__(self, driver: Driver) -> None:
        self.stream = stream_of(driver, "non_blocking", 1)
        self.memory, self.pinned = driver.allocate(4 * KIB), driver.pinned(4 * KIB)
        self.managed = driver.made("cuMemAllocManaged", 4 * KIB, CU_MEM_ATTACH_GLOBAL, kind=ctypes.c_uint64)
        self.event, self.second = driver.event(), driver.event()
        self.fresh = driver.event()
        driver.do("cuEventRecord", self.event, self.stream)
        driver.do("cuEventRecord", self.second, self.stream)
        self.interprocess = driver.event(CU_EVENT_DISABLE_TIMING_INTERPROCESS)
        self.context = driver.made("cuCtxGetCurrent")
        self.kernels = polling(driver)
        graph = Graph(driver)
        graph.host(host_node())
        self.graph, self.executable = graph.handle, graph.instantiate()
        finish(driver)


_things: list[Things] = []


def things(driver: Driver) -> Things:
    if not _things:
        _things.append(Things(driver))
    return _things[0]


def with_things(name: str, call: Callable[[Driver, Things, int], str]) -> None:
    """A call that takes the driver, the prepared objects and the capturing stream."""

    def answer(driver: Driver, stream: int) -> Case:
        prepared = things(driver)
        yield
        yield lambda: call(driver, prepared, stream)

    CASES[name] = answer


with_things("query_event_from_outside", lambda d, t, s: d.code("cuEventQuery", t.event))
with_things("query_event_never_recorded", lambda d, t, s: d.code("cuEventQuery", t.fresh))
with_things("synchronize_event_from_outside", lambda d, t, s: d.code("cuEventSynchronize", t.event))
with_things("elapsed_time_from_outside", lambda d, t, s: d.code("cuEventElapsedTime_v2", place(), t.event, t.second))
with_things("query_another_stream", lambda d, t, s: d.code("cuStreamQuery", t.stream))
with_things("synchronize_another_stream", lambda d, t, s: d.code("cuStreamSynchronize", t.stream))
with_things("query_capturing_stream", lambda d, t, s: d.code("cuStreamQuery", s))
with_things("synchronize_capturing_stream", lambda d, t, s: d.code("cuStreamSynchronize", s))
with_things("query_legacy_stream", lambda d, t, s: d.code("cuStreamQuery", 0))
with_things("synchronize_legacy_stream", lambda d, t, s: d.code("cuStreamSynchronize", 0))
with_things("synchronize_context", lambda d, t, s: d.code("cuCtxSynchronize"))
with_things("is_legacy_stream_capturing", lambda d, t, s: d.code("cuStreamIsCapturing", 0, place(ctypes.c_int)))
with_things("wait_for_event_from_outside", lambda d, t, s: d.code("cuStreamWaitEvent", s, t.event, 0))
with_things("wait_for_event_never_recorded", lambda d, t, s: d.code("cuStreamWaitEvent", s, t.fresh, 0))
with_things("wait_for_external_event", lambda d, t, s: d.code("cuStreamWaitEvent", s, t.event, CU_EVENT_WAIT_EXTERNAL))
with_things("wait_in_another_stream", lambda d, t, s: d.code("cuStreamWaitEvent", t.stream, t.event, 0))
with_things("record_event_in_another_stream", lambda d, t, s: d.code("cuEventRecord", t.event, t.stream))
with_things("record_event_in_legacy_stream", lambda d, t, s: d.code("cuEventRecord", t.event, 0))
with_things(
    "record_external_event",
    lambda d, t, s: d.code("cuEventRecordWithFlags", d.event(), s, CU_EVENT_RECORD_EXTERNAL),
)
with_things("record_event", lambda d, t, s: d.code("cuEventRecord", d.event(), s))
with_things("context_record_event", lambda d, t, s: d.code("cuCtxRecordEvent", t.context, t.second))
with_things("context_wait_event", lambda d, t, s: d.code("cuCtxWaitEvent", t.context, t.event))
with_things("add_callback", lambda d, t, s: d.code("cuStreamAddCallback", s, NO_CALLBACK, None, 0))
with_things(
    "add_callback_to_another_stream", lambda d, t, s: d.code("cuStreamAddCallback", t.stream, NO_CALLBACK, None, 0)
)
with_things(
    "host_function_in_another_stream",
    lambda d, t, s: d.code("cuLaunchHostFunc", t.stream, host_function(lambda: None), None),
)
with_things("attach_memory", lambda d, t, s: d.code("cuStreamAttachMemAsync", s, t.managed, 0, CU_MEM_ATTACH_SINGLE))
with_things("prefetch", lambda d, t, s: d.code("cuMemPrefetchAsync", t.managed, KIB, 0, s))
with_things("prefetch_in_another_stream", lambda d, t, s: d.code("cuMemPrefetchAsync", t.managed, KIB, 0, t.stream))
with_things("begin_capture_again", lambda d, t, s: d.code("cuStreamBeginCapture_v2", s, CU_STREAM_CAPTURE_MODE_GLOBAL))
with_things("end_capture_of_another_stream", lambda d, t, s: end_capture(d, t.stream)[0])
with_things(
    "begin_capture_in_legacy_stream",
    lambda d, t, s: d.code("cuStreamBeginCapture_v2", 0, CU_STREAM_CAPTURE_MODE_GLOBAL),
)
with_things("launch_kernel", lambda d, t, s: d.launch(t.kernels["nothing"], stream=s))
with_things("launch_kernel_in_legacy_stream", lambda d, t, s: d.launch(t.kernels["nothing"]))
with_things("launch_instantiated_graph", lambda d, t, s: d.code("cuGraphLaunch", t.executable, s))
with_things("launch_graph_in_legacy_stream", lambda d, t, s: d.code("cuGraphLaunch", t.executable, 0))
with_things("clone_graph", lambda d, t, s: d.code("cuGraphClone", place(), t.graph))
with_things("create_and_destroy_event", lambda d, t, s: d.code("cuEventDestroy_v2", d.event()))
with_things("create_and_destroy_stream", lambda d, t, s: d.code("cuStreamDestroy_v2", d.stream()))
with_things("stream_flags", lambda d, t, s: d.code("cuStreamGetFlags", s, place(ctypes.c_uint)))
with_things("stream_priority", lambda d, t, s: d.code("cuStreamGetPriority", s, place(ctypes.c_int)))
with_things("stream_context", lambda d, t, s: d.code("cuStreamGetCtx", s, place()))
with_things("stream_id", lambda d, t, s: d.code("cuStreamGetId", s, place(ctypes.c_uint64)))
with_things("stream_device", lambda d, t, s: d.code("cuStreamGetDevice", s, place(ctypes.c_int)))
with_things("copy_stream_attributes", lambda d, t, s: d.code("cuStreamCopyAttributes", s, t.stream))
with_things("write_value", lambda d, t, s: d.code("cuStreamWriteValue32_v2", s, t.pinned, 1, 0))
with_things("wait_value", lambda d, t, s: d.code("cuStreamWaitValue32_v2", s, t.pinned, 0, 0))
with_things(
    "write_value_in_another_stream", lambda d, t, s: d.code("cuStreamWriteValue32_v2", t.stream, t.pinned, 1, 0)
)
with_things("copy_peer", lambda d, t, s: d.code("cuMemcpyPeer", t.memory, t.context, t.memory + KIB, t.context, KIB))
with_things(
    "copy_peer_async",
    lambda d, t, s: d.code("cuMemcpyPeerAsync", t.memory, t.context, t.memory + KIB, t.context, KIB, s),
)
with_things("copy_in_device_async", lambda d, t, s: d.code("cuMemcpyDtoDAsync_v2", t.memory, t.memory + KIB, KIB, s))
with_things("copy_nothing", lambda d, t, s: d.code("cuMemcpyDtoDAsync_v2", t.memory, t.memory, 0, s))
with_things("fill_nothing", lambda d, t, s: d.code("cuMemsetD8Async", t.memory, 0, 0, s))
with_things(
    "pointer_attribute",
    lambda d, t, s: d.code("cuPointerGetAttribute", place(ctypes.c_uint64), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, t.memory),
)
with_things(
    "set_pointer_attribute",
    lambda d, t, s: d.code("cuPointerSetAttribute", place(ctypes.c_uint64), CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, t.memory),
)
with_things("ipc_memory_handle", lambda d, t, s: d.code("cuIpcGetMemHandle", (ctypes.c_ubyte * 64)(), t.memory))
with_things("ipc_event_handle", lambda d, t, s: d.code("cuIpcGetEventHandle", (ctypes.c_ubyte * 64)(), t.interprocess))
with_things(
    "occupancy",
    lambda d, t, s: d.code(
        "cuOccupancyMaxActiveBlocksPerMultiprocessor", place(ctypes.c_int), t.kernels["nothing"], 64, 0
    ),
)
with_things(
    "cooperative_launch",
    lambda d, t, s: d.code("cuLaunchCooperativeKernel", t.kernels["nothing"], 1, 1, 1, 1, 1, 1, 0, s, None),
)
with_things(
    "host_device_pointer", lambda d, t, s: d.code("cuMemHostGetDevicePointer_v2", place(ctypes.c_uint64), t.pinned, 0)
)
with_things("address_range", lambda d, t, s: d.code("cuMemGetAddressRange_v2", place(), place(), t.memory))


def reset_to_zero(driver: Driver, prepared: Things) -> None:
    """Undo what a case may have changed."""
    word(prepared.pinned).value = 0
    for event in (prepared.event, prepared.second):
        driver.number("cuEventRecord", event, prepared.stream)
    finish(driver)


def steps() -> list[str]:
    return [f"{name}.{mode}.{thread}" for name in CASES for mode in MODES for thread in ("own", "other")]


@series("capture.call", steps)
def calls(driver: Driver, facts: Facts, step: str) -> None:
    """A call while a non-blocking stream captures, in the capturing or another thread. It is made after one fill was captured."""
    name, mode, thread = step.split(".")
    answer(driver, facts, CASES[name], stream_of(driver, "non_blocking"), MODES[mode], thread == "own")


def answer(driver: Driver, facts: Facts, made: Callable[[Driver, int], Any], stream: int, mode: int, own: bool) -> None:
    prepared = things(driver)
    stream_of(driver, "non_blocking", 2)
    case = made(driver, stream)
    next(case)
    finish(driver)
    driver.do("cuStreamBeginCapture_v2", stream, mode)
    try:
        fill(driver, prepared.memory, stream)
        call = next(case)
        if own:
            facts["result"] = call()
        else:
            running = Call(driver, call)
            facts["result"] = running.result if running.returned(5) else "it does not return"
        facts["status"] = status(driver, stream)
    finally:
        code, graph = end_capture(driver, stream)
        with contextlib.suppress(Exception):
            finish(driver)
    facts["end"] = code
    if graph:
        facts["nodes"], facts["edges"] = graph.types(), graph.edges()
        driver.number("cuGraphDestroy", graph.handle)
    reset_to_zero(driver, prepared)


LEGACY = [
    name
    for name in CASES
    if "legacy" in name or name.startswith(("HtoD_", "DtoH_", "DtoD_", "cuMemcpy_", "MemsetD8_", "copy_peer"))
] + ["synchronize_context", "free_device_memory_not_in_use", "allocate_1_KiB", "context_record_event"]


@series("capture.call_with_blocking_stream", lambda: [f"{name}.{mode}" for name in LEGACY for mode in MODES])
def legacy_calls(driver: Driver, facts: Facts, step: str) -> None:
    """Calls while a blocking stream captures. They use the legacy stream, which depends on it."""
    name, mode = step.split(".")
    answer(driver, facts, CASES[name], stream_of(driver, "blocking"), MODES[mode], own=True)


def exchanged() -> list[str]:
    return [f"{mode}_in_{thread}_thread" for mode in MODES for thread in MODES]


UNSAFE = (
    ("allocate", lambda d, t: d.code("cuMemAlloc_v2", place(ctypes.c_uint64), KIB)),
    ("query_event", lambda d, t: d.code("cuEventQuery", t.event)),
    ("copy", lambda d, t: d.code("cuMemcpyDtoD_v2", t.memory, t.memory + KIB, KIB)),
)


@series("capture.exchanged_mode", exchanged)
def exchange(driver: Driver, facts: Facts, step: str) -> None:
    """cuThreadExchangeStreamCaptureMode of the calling thread, which captures in each mode, and of another thread."""
    mode, thread_mode = step.removesuffix("_thread").split("_in_")
    stream, prepared = stream_of(driver, "non_blocking"), things(driver)
    for name, call in UNSAFE:
        for own in (True, False):

            def exchanging(call: Any = call) -> str:
                place = ctypes.c_int(MODES[thread_mode])
                driver.do("cuThreadExchangeStreamCaptureMode", ctypes.byref(place))
                code = call(driver, prepared)
                driver.do("cuThreadExchangeStreamCaptureMode", ctypes.byref(place))
                return str(code)

            driver.do("cuStreamBeginCapture_v2", stream, MODES[mode])
            where = "own" if own else "other"
            if own:
                facts[f"{name}_in_{where}_thread"] = exchanging()
            else:
                running = Call(driver, exchanging)
                running.returned(5)
                facts[f"{name}_in_{where}_thread"] = running.result
            facts[f"status_after_{name}_in_{where}_thread"] = status(driver, stream)
            end_capture(driver, stream)
    finish(driver)
