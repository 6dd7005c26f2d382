"""Attributes of launches (cuLaunchKernelEx), clusters, and dependent launches (docs/reference/simulator.md, *Launch attributes*)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

from ...driver import Driver
from ...gates import POLLING, SEEN, finish, host_function
from ...question import Facts, question, series
from ..graphs.structures import Graph, LaunchAttribute, LaunchConfig, end_capture

CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 2, 4
CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT = 6, 7
CU_LAUNCH_ATTRIBUTE_PRIORITY, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = 8, 11
CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT = 12
CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
CU_EVENT_DISABLE_TIMING = 2


def attribute(number: int, *words: int) -> LaunchAttribute:
    made = LaunchAttribute(number)
    ctypes.memmove(made.value, (ctypes.c_uint32 * 16)(*words), 64)
    return made


def launch(
    driver: Driver,
    function: int,
    attributes: Sequence[LaunchAttribute],
    *arguments: int,
    blocks: int | Sequence[int] = 1,
    threads: int = 32,
    stream: int = 0,
) -> str:
    """cuLaunchKernelEx with arguments of 64 bits."""
    size = ctypes.c_uint * 3
    dimensions = size(blocks, 1, 1) if isinstance(blocks, int) else size(*blocks)
    listed = (LaunchAttribute * max(len(attributes), 1))(*attributes)
    config = LaunchConfig(dimensions, size(threads, 1, 1), 0, stream, listed, len(attributes))
    values = [ctypes.c_uint64(argument) for argument in arguments]
    places = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
    return driver.code("cuLaunchKernelEx", ctypes.byref(config), function, places, None)


VALUES = {"zeros": (), "one": (1,), "ones": (1, 1, 1), "77": (77,), "1000": (1000,), "minus_one": (0xFFFFFFFF,)}


HANDLES = (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
"""Attributes whose value begins with a handle. Other handles than null could crash the driver."""


def steps() -> Iterable[str]:
    found = [(number, name) for number in (*range(20), 99) for name in VALUES]
    return [f"{number:02}.{name}" for number, name in found if number not in HANDLES or name == "zeros"]


@series("launch.attribute", steps)
def attributes(driver: Driver, facts: Facts, step: str) -> None:
    """Each number of CUlaunchAttributeID with simple values: the launch, and the same launch in a capture."""
    number, name = step.split(".")
    function = driver.function(driver.module(POLLING), "nothing")
    given = [attribute(int(number), *VALUES[name])]
    facts[""] = launch(driver, function, given)
    facts["synchronize"] = driver.code("cuCtxSynchronize")
    stream = driver.stream()
    driver.do("cuStreamBeginCapture_v2", stream, 2)
    facts["captured"] = launch(driver, function, given, stream=stream)
    facts["end"], graph = end_capture(driver, stream)
    if graph:
        facts["nodes"] = graph.types()


@question("launch.attributes.lists")
def lists(driver: Driver, facts: Facts) -> None:
    function = driver.function(driver.module(POLLING), "nothing")
    facts["none"] = launch(driver, function, [])
    priority = attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, 0)
    facts["one_twice"] = launch(driver, function, [priority, priority])
    facts["conflict"] = launch(driver, function, [attribute(4, 1, 1, 1), attribute(4, 2, 1, 1)], blocks=2)
    config = LaunchConfig((1, 1, 1), (32, 1, 1), 0, 0, None, 1)
    facts["count_without_list"] = driver.code("cuLaunchKernelEx", ctypes.byref(config), function, None, None)


@series(
    "launch.attribute_with_event",
    lambda: [f"{kind}.{flags}" for kind in ("programmatic", "completion") for flags in (0, 2)],
)
def with_event(driver: Driver, facts: Facts, step: str) -> None:
    """A programmatic event and a launch completion event. The event must be without timing (header)."""
    kind, flags = step.split(".")
    function, event = driver.function(driver.module(POLLING), "nothing"), driver.event(int(flags))
    number = (
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT
        if kind == "programmatic"
        else CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT
    )
    facts[""] = launch(driver, function, [attribute(number, event & 0xFFFFFFFF, event >> 32)])
    facts["synchronize"] = driver.code("cuCtxSynchronize")
    facts["query"] = driver.code("cuEventQuery", event)


CLUSTERS = (
    ((1, 1, 1), (1, 1, 1)),
    ((2, 1, 1), (2, 1, 1)),
    ((2, 1, 1), (3, 1, 1)),
    ((4, 2, 1), (4, 2, 1)),
    ((8, 1, 1), (8, 1, 1)),
    ((9, 1, 1), (9, 1, 1)),
    ((16, 1, 1), (16, 1, 1)),
    ((32, 1, 1), (32, 1, 1)),
    ((0, 1, 1), (1, 1, 1)),
    ((3, 1, 1), (3, 1, 1)),
    ((1, 1, 8), (1, 1, 8)),
)


def clusters() -> Iterable[str]:
    return [f"{'x'.join(map(str, cluster))}_in_{'x'.join(map(str, grid))}" for cluster, grid in CLUSTERS]


@series("launch.cluster", clusters)
def cluster(driver: Driver, facts: Facts, step: str) -> None:
    """Clusters of a grid, with and without the attribute of the function that allows sizes that are not portable."""
    size, grid = ([int(part) for part in shape.split("x")] for shape in step.split("_in_"))
    function = driver.function(
        driver.module(POLLING.replace("sm_75", "sm_90").replace(".version 7.0", ".version 7.8")), "nothing"
    )
    given = [attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, *size)]
    facts["portable"] = launch(driver, function, given, blocks=grid)
    number = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    facts["allow"] = driver.code("cuFuncSetAttribute", function, number, 1)
    facts["not_portable"] = launch(driver, function, given, blocks=grid)
    preferred = attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, *size)
    facts["preferred_alone"] = launch(driver, function, [preferred], blocks=grid)
    facts["preferred_with_clusters_of_one"] = launch(
        driver, function, [attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 1, 1, 1), preferred], blocks=grid
    )
    facts["synchronize"] = driver.code("cuCtxSynchronize")


DEPENDENT = """
.version 7.8
.target sm_90
.address_size 64

// Lets the dependent launch begin, then polls a word for half a second; writes 1 or 2.
.visible .entry primary(.param .u64 flag, .param .u64 result, .param .u64 trigger) {
    .reg .u64 %flag, %result, %trigger, %start, %now;
    .reg .u32 %value, %count;
    .reg .pred %p;
    ld.param.u64 %flag, [flag];
    ld.param.u64 %result, [result];
    ld.param.u64 %trigger, [trigger];
    setp.eq.u64 %p, %trigger, 0;
    @%p bra begin;
    griddepcontrol.launch_dependents;
begin:
    mov.u32 %count, 0;
    mov.u64 %start, %globaltimer;
again:
    ld.volatile.global.u32 %value, [%flag];
    setp.ne.u32 %p, %value, 0;
    @%p bra seen;
    nanosleep.u32 1000;
    add.u32 %count, %count, 1;
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %start;
    setp.gt.u64 %p, %now, 500000000;
    @%p bra late;
    setp.lt.u32 %p, %count, 131072;
    @%p bra again;
late:
    st.volatile.global.u32 [%result], 2;
    ret;
seen:
    st.volatile.global.u32 [%result], 1;
    ret;
}

// Stores 1, before or after a wait for the primary kernel.
.visible .entry secondary(.param .u64 flag, .param .u64 wait) {
    .reg .u64 %flag, %wait;
    .reg .pred %p;
    ld.param.u64 %flag, [flag];
    ld.param.u64 %wait, [wait];
    setp.eq.u64 %p, %wait, 0;
    @%p bra store;
    griddepcontrol.wait;
store:
    st.volatile.global.u32 [%flag], 1;
    ret;
}
"""

BETWEEN = ("nothing", "fill", "copy", "event_record", "event_wait", "host_function", "kernel")


def dependent_cases() -> Iterable[str]:
    found = [f"{attributed}.{trigger}.{wait}" for attributed in "YN" for trigger in "YN" for wait in "YN"]
    names = {"Y": ("attribute", "trigger", "wait"), "N": ("no_attribute", "no_trigger", "no_wait")}
    return [".".join(names[letter][place] for place, letter in enumerate(each.split("."))) for each in found]


def overlap(
    driver: Driver, attributed: bool, trigger: bool, wait: bool, between: str = "nothing", captured: bool = False
) -> bool | str:
    """Whether the primary kernel sees the store of the dependent one."""
    module = driver.module(DEPENDENT)
    primary, secondary = driver.function(module, "primary"), driver.function(module, "secondary")
    nothing = driver.function(driver.module(POLLING), "nothing")
    stream, words, event = driver.stream(), driver.allocate(4096), driver.event(CU_EVENT_DISABLE_TIMING)
    driver.do("cuMemsetD8_v2", words, 0, 4096)
    driver.do("cuEventRecord", event, 0)
    # Both kernels are loaded first, as a load may wait for the device.
    launch(driver, nothing, [], stream=stream)
    launch(driver, secondary, [], words + 2048, 0, threads=1, stream=stream)
    launch(driver, primary, [], words + 2048, words + 2052, 0, threads=1, stream=stream)
    finish(driver)
    if captured:
        driver.do("cuStreamBeginCapture_v2", stream, 2)
    launch(driver, primary, [], words, words + 64, int(trigger), threads=1, stream=stream)
    work: dict[str, Any] = {
        "nothing": lambda: None,
        "fill": lambda: driver.do("cuMemsetD8Async", words + 1024, 0, 64, stream),
        "copy": lambda: driver.do("cuMemcpyDtoDAsync_v2", words + 1024, words + 1280, 64, stream),
        "event_record": lambda: driver.do("cuEventRecord", event, stream),
        "event_wait": lambda: driver.do("cuStreamWaitEvent", stream, event, 0),
        "host_function": lambda: driver.do("cuLaunchHostFunc", stream, host_function(lambda: None), None),
        "kernel": lambda: launch(driver, nothing, [], stream=stream),
    }
    work[between]()
    given = [attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1)] if attributed else []
    code = launch(driver, secondary, given, words, int(wait), threads=1, stream=stream)
    if captured:
        _, graph = end_capture(driver, stream)
        assert isinstance(graph, Graph)
        driver.do("cuGraphLaunch", graph.instantiate(), stream)
    if code != "CUDA_SUCCESS":
        return code
    finish(driver)
    return int.from_bytes(driver.download(words + 64, 4), "little") == SEEN


@series("launch.dependent", dependent_cases, seconds=15)
def dependent(driver: Driver, facts: Facts, step: str) -> None:
    """Whether the second kernel begins before the first one ends: with the attribute, the trigger and the wait, or without."""
    attributed, trigger, wait = (not part.startswith("no_") for part in step.split("."))
    facts["overlaps"] = overlap(driver, attributed, trigger, wait)


@series("launch.dependent_with_work_between", lambda: BETWEEN[1:], seconds=15)
def dependent_between(driver: Driver, facts: Facts, step: str) -> None:
    """Other work between the two launches: the manuals are silent (docs/explanation/happens-before.md, *Dependent launches*)."""
    facts["overlaps"] = overlap(driver, True, True, False, step)


@question("launch.dependent_in_a_graph", seconds=15)
def dependent_captured(driver: Driver, facts: Facts) -> None:
    facts["overlaps"] = overlap(driver, True, True, False, captured=True)


@question("launch.dependent_captured_edges")
def captured_edges(driver: Driver, facts: Facts) -> None:
    """The edges of captured dependent launches: of two in a row, and behind a fill."""
    module = driver.module(DEPENDENT)
    secondary, stream, words = driver.function(module, "secondary"), driver.stream(), driver.allocate(4096)
    given = [attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1)]
    driver.do("cuStreamBeginCapture_v2", stream, 2)
    launch(driver, secondary, given, words, 1, stream=stream)
    launch(driver, secondary, given, words, 1, stream=stream)
    launch(driver, secondary, given, words, 0, stream=stream)
    driver.do("cuMemsetD8Async", words, 0, 16, stream)
    launch(driver, secondary, given, words, 1, stream=stream)
    facts["end"], graph = end_capture(driver, stream)
    if graph:
        graph.describe(facts)
        facts["instantiation"] = graph.instantiation()
