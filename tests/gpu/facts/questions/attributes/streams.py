"""Attributes of streams, events, nodes and launches, and the objects' own queries."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ..memory.asking import a_stream, ask, compared, no_context
from ..memory.structures import ADDRESS, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, INT, UINT
from .kernels import LaunchAttribute, LaunchConfig, kernel

CU_LAUNCH_ATTRIBUTE = {
    0: "ignore",
    1: "access_policy_window",
    2: "cooperative",
    3: "synchronization_policy",
    4: "cluster_dimension",
    5: "cluster_scheduling_policy_preference",
    6: "programmatic_stream_serialization",
    7: "programmatic_event",
    8: "priority",
    9: "mem_sync_domain_map",
    10: "mem_sync_domain",
    11: "preferred_cluster_dimension",
    12: "launch_completion_event",
    13: "device_updatable_kernel_node",
    14: "preferred_shared_memory_carveout",
    15: "unnamed_15",
    16: "nvlink_util_centric_scheduling",
    17: "portable_cluster_size_mode",
    18: "shared_memory_mode",
    19: "after_the_last",
}
WORDS = 16
PLACES = {"null": 0, "legacy": CU_STREAM_LEGACY, "per_thread": CU_STREAM_PER_THREAD}


def words(*values: int) -> Any:
    return (UINT * WORDS)(*(value & 0xFFFFFFFF for value in values))


def read(driver: Driver, call: str, handle: int, number: int) -> Any:
    """The first six words of an attribute, or the name of the error. The buffer holds 85 before the call."""
    value = words(*[85] * WORDS)
    code = driver.code(call, handle, number, value)
    return list(value)[:6] if code == CUDA_SUCCESS else code


def stream_attribute(number: int, values: tuple[int, ...] | None = None) -> Callable[[Driver], Any]:
    """An attribute of a new stream, or what a value that was set reads like."""

    def case(driver: Driver) -> Any:
        with a_stream(driver) as stream:
            if values is None:
                return read(driver, "cuStreamGetAttribute", stream, number)
            code = driver.code("cuStreamSetAttribute", stream, number, words(*values))
            return {"code": code, "value": read(driver, "cuStreamGetAttribute", stream, number)}

    return case


ask("attributes.stream", {name: stream_attribute(number) for number, name in CU_LAUNCH_ATTRIBUTE.items()})
ask(
    "attributes.default_stream",
    {
        f"{place}.{CU_LAUNCH_ATTRIBUTE[number]}": lambda driver, handle=handle, number=number: read(
            driver, "cuStreamGetAttribute", handle, number
        )
        for place, handle in PLACES.items()
        for number in (1, 3, 8, 9, 10)
    },
)
VALUES: dict[str, tuple[int, ...]] = {
    "0": (0,),
    "1": (1,),
    "2": (2,),
    "3": (3,),
    "4": (4,),
    "5": (5,),
    "minus_1": (-1,),
    "minus_5": (-5,),
    "minus_6": (-6,),
    "0_1": (0, 1),
    "1_0": (1, 0),
    "1_1_1": (1, 1, 1),
}
ask(
    "attributes.set_of_stream",
    {
        f"{name}_to_{shown}": stream_attribute(number, value)
        for number, name in CU_LAUNCH_ATTRIBUTE.items()
        for shown, value in VALUES.items()
    },
)


def copied(driver: Driver) -> dict[str, Any]:
    """Which attributes ``cuStreamCopyAttributes`` copies."""
    with a_stream(driver) as source, a_stream(driver) as target:
        driver.do("cuStreamSetAttribute", source, 3, words(2))
        driver.number("cuStreamSetAttribute", source, 8, words(-2))
        return {
            "code": driver.code("cuStreamCopyAttributes", target, source),
            "synchronization_policy": read(driver, "cuStreamGetAttribute", target, 3),
            "priority": read(driver, "cuStreamGetAttribute", target, 8),
            "to_itself": driver.code("cuStreamCopyAttributes", source, source),
            "to_the_default_stream": driver.code("cuStreamCopyAttributes", 0, source),
        }


ask("attributes.copy_of_stream", {"all": copied})


def launched(
    number: int, values: tuple[int, ...], name: str = "plain_for_sm_90", blocks: int = 4
) -> Callable[[Driver], list[str]]:
    """A launch with one attribute: its code, and that of the wait."""

    def case(driver: Driver) -> list[str]:
        with kernel(driver, name) as function, a_stream(driver) as stream:
            attribute = (LaunchAttribute * 1)(LaunchAttribute(id=number))
            for index, value in enumerate(values):
                attribute[0].value[index] = value & 0xFFFFFFFF
            config = LaunchConfig(
                grid=(blocks, 1, 1),
                block=(32, 1, 1),
                hStream=stream,
                attrs=ctypes.addressof(attribute),
                numAttrs=1,
            )
            code = driver.code("cuLaunchKernelEx", ctypes.byref(config), function, None, None)
            return [code, driver.code("cuStreamSynchronize", stream)]

    return case


ask(
    "attributes.launch_with",
    {
        f"{name}_{shown}": launched(number, value)
        for number, name in CU_LAUNCH_ATTRIBUTE.items()
        if number not in {7, 12}  # they hold an event
        for shown, value in VALUES.items()
        # A dimension has three numbers.
        if number not in {4, 11} or shown in {"0", "1_1_1"}
    }
    | {
        "cluster_dimension_2_1_1": launched(4, (2, 1, 1)),
        "cluster_dimension_4_1_1": launched(4, (4, 1, 1)),
        "cluster_dimension_8_1_1_of_4_blocks": launched(4, (8, 1, 1)),
        "cluster_dimension_8_1_1": launched(4, (8, 1, 1), blocks=8),
        "cluster_dimension_16_1_1": launched(4, (16, 1, 1), blocks=16),
        "cluster_dimension_3_1_1": launched(4, (3, 1, 1)),
        "cluster_dimension_2_2_1": launched(4, (2, 2, 1)),
        "cluster_dimension_of_a_required_cluster_of_2": launched(4, (2, 1, 1), "required_cluster_2"),
        "cluster_dimension_4_of_a_required_cluster_of_2": launched(4, (4, 1, 1), "required_cluster_2"),
        "cluster_dimension_2_of_a_kernel_for_sm_75": launched(4, (2, 1, 1), "plain"),
        "cluster_dimension_8_of_at_most_4": launched(4, (8, 1, 1), "max_cluster_rank_4", 8),
        "cooperative_of_a_large_grid": launched(2, (1,), blocks=100000),
        "programmatic_event_null": launched(7, (0,)),
        "launch_completion_event_null": launched(12, (0,)),
        "cluster_dimension_2_of_an_explicit_cluster": launched(4, (2, 1, 1), "explicit_cluster"),
    },
    seconds=8,
)


def node_attribute(number: int) -> Callable[[Driver], Any]:
    """An attribute of a kernel node that was captured in a stream of priority -2."""

    def case(driver: Driver) -> Any:
        stream = driver.made("cuStreamCreateWithPriority", 1, -2 & (1 << 64) - 1)
        with kernel(driver) as function:
            driver.do("cuStreamBeginCapture_v2", stream, 2)
            driver.launch(function, stream=stream)
            graph = end_capture(driver, stream)
            nodes, count = (ctypes.c_void_p * 1)(), ctypes.c_size_t(1)
            driver.do("cuGraphGetNodes", graph, nodes, ctypes.byref(count))
            found = read(driver, "cuGraphKernelNodeGetAttribute", nodes[0], number)
            driver.do("cuGraphDestroy", graph)
        driver.do("cuStreamDestroy_v2", stream)
        return found

    return case


def end_capture(driver: Driver, stream: int) -> int:
    graph = ctypes.c_void_p()
    driver.do("cuStreamEndCapture", stream, ctypes.byref(graph))
    return graph.value or 0


ask("attributes.kernel_node", {name: node_attribute(number) for number, name in CU_LAUNCH_ATTRIBUTE.items()})


def created(flags: int, priority: int | None = None) -> Callable[[Driver], dict[str, Any]]:
    """A stream's flags and priority, as they were asked for and as they are read."""

    def case(driver: Driver) -> dict[str, Any]:
        stream = ctypes.c_void_p()
        if priority is None:
            code = driver.code("cuStreamCreate", ctypes.byref(stream), flags)
        else:
            code = driver.code("cuStreamCreateWithPriority", ctypes.byref(stream), flags, INT(priority))
        if code != CUDA_SUCCESS:
            return {"code": code}
        found = {"code": code} | of_stream(driver, stream.value or 0)
        driver.do("cuStreamDestroy_v2", stream)
        return found

    return case


def of_stream(driver: Driver, stream: int) -> dict[str, Any]:
    flags, priority, device, context = UINT(77), INT(77), INT(77), ctypes.c_void_p()
    number, green = ADDRESS(), ctypes.c_void_p(77)
    codes = [
        driver.code("cuStreamGetFlags", stream, ctypes.byref(flags)),
        driver.code("cuStreamGetPriority", stream, ctypes.byref(priority)),
        driver.code("cuStreamGetDevice", stream, ctypes.byref(device)),
        driver.code("cuStreamGetCtx", stream, ctypes.byref(context)),
        driver.code("cuStreamGetId", stream, ctypes.byref(number)),
        driver.code("cuStreamGetCtx_v2", stream, ctypes.byref(ctypes.c_void_p()), ctypes.byref(green)),
    ]
    return {
        "codes": codes,
        "flags": flags.value,
        "priority": priority.value,
        "device": device.value,
        "context": compared(context.value or 0, current=driver.made("cuCtxGetCurrent")),
        "green_context_is_null": not green.value,
    }


def ids(driver: Driver) -> dict[str, Any]:
    """Ids of streams are unique in the life of the program. Those of the default streams are their own."""

    def of(stream: int) -> int:
        number = ADDRESS()
        driver.do("cuStreamGetId", stream, ctypes.byref(number))
        return number.value

    with a_stream(driver) as first, a_stream(driver) as second:
        return {
            "grow": of(second) > of(first),
            "null_is_legacy": of(0) == of(CU_STREAM_LEGACY),
            "legacy_is_per_thread": of(CU_STREAM_LEGACY) == of(CU_STREAM_PER_THREAD),
            "same_twice": of(first) == of(first),
        }


ask(
    "attributes.stream_created",
    {f"flags_{flags}": created(flags) for flags in (0, 1, 2, 3, 4, 1 << 31)}
    | {f"priority_{priority}": created(1, priority) for priority in (-100, -6, -5, -4, -1, 0, 1, 5, 100)}
    | {f"{place}": lambda driver, handle=handle: of_stream(driver, handle) for place, handle in PLACES.items()}
    | {"ids": ids},
)


def without_context(driver: Driver) -> dict[str, Any]:
    """Queries of streams and events: docs/explanation/open-ends.md says that it is not known whether they need a context."""
    event = driver.event()
    with a_stream(driver) as stream, no_context(driver):
        number = ctypes.byref(ADDRESS())
        found = {
            call: driver.code(call, stream, number)
            for call in (
                "cuStreamGetFlags",
                "cuStreamGetPriority",
                "cuStreamGetDevice",
                "cuStreamGetCtx",
                "cuStreamGetId",
                "cuStreamIsCapturing",
            )
        }
        found |= {f"{call}_of_the_default_stream": driver.code(call, 0, number) for call in list(found)}
        found["cuStreamGetAttribute"] = driver.code("cuStreamGetAttribute", stream, 3, words())
        found["cuStreamSynchronize"] = driver.code("cuStreamSynchronize", stream)
        found["cuStreamQuery"] = driver.code("cuStreamQuery", stream)
        found["cuEventRecord"] = driver.code("cuEventRecord", event, stream)
        found["cuEventSynchronize"] = driver.code("cuEventSynchronize", event)
        found["cuEventQuery"] = driver.code("cuEventQuery", event)
        found["cuStreamWaitEvent"] = driver.code("cuStreamWaitEvent", stream, event, 0)
        found["cuStreamBeginCapture"] = driver.code("cuStreamBeginCapture_v2", stream, 2)
        found["cuStreamEndCapture"] = driver.code("cuStreamEndCapture", stream, ctypes.byref(ctypes.c_void_p()))
        found["cuStreamDestroy"] = driver.code("cuStreamDestroy_v2", stream)
        found["cuEventDestroy"] = driver.code("cuEventDestroy_v2", event)
        return found


def event(flags: int) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        handle, other = ctypes.c_void_p(), driver.event()
        found: dict[str, Any] = {"create": driver.code("cuEventCreate", ctypes.byref(handle), flags)}
        if found["create"] == CUDA_SUCCESS:
            milliseconds = ctypes.c_float(-1)
            found["query_before_a_record"] = driver.code("cuEventQuery", handle)
            found["wait_before_a_record"] = driver.code("cuEventSynchronize", handle)
            found["time_before_a_record"] = driver.code("cuEventElapsedTime", ctypes.byref(milliseconds), handle, other)
            found["record"] = driver.code("cuEventRecord", handle, 0)
            driver.do("cuEventRecord", other, 0)
            driver.do("cuCtxSynchronize")
            found["time"] = driver.code("cuEventElapsedTime", ctypes.byref(milliseconds), handle, other)
            found["time_is_not_negative"] = milliseconds.value >= 0
            found["time_to_itself"] = driver.code("cuEventElapsedTime", ctypes.byref(milliseconds), handle, handle)
            found["destroy"] = driver.code("cuEventDestroy_v2", handle)
        return found

    return case


ask("attributes.without_a_context", {"of_streams_and_events": without_context})
ask("attributes.event", {f"flags_{flags}": event(flags) for flags in (0, 1, 2, 3, 4, 6, 7, 8, 16)})
