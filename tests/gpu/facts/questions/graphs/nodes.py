"""Nodes and edges of graphs: which are accepted, with which results, and in which order they are listed (docs/reference/simulator.md, *Graphs*)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

from ...driver import Driver
from ...gates import polling
from ...question import Facts, series
from .structures import (
    CU_MEMORYTYPE_DEVICE,
    CU_MEMORYTYPE_HOST,
    CU_MEMORYTYPE_UNIFIED,
    Copy3D,
    Graph,
    HostNode,
    KernelNode,
    MemsetNode,
    Side,
    copy_node,
    handles,
    host_node,
    kernel_node,
    memset_node,
    side,
)

SIZE = 4096


class Things:
    """The memory, kernels and events of nodes."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.memory, self.other = driver.allocate(SIZE), driver.allocate(SIZE)
        self.pinned = driver.pinned(SIZE)
        self.pageable = ctypes.create_string_buffer(SIZE)
        self.kernels = polling(driver)
        self.event = driver.event()

    def kernel(self) -> KernelNode:
        return kernel_node(self.kernels["count"], self.memory)

    def memset(self) -> MemsetNode:
        return memset_node(self.memory, 1, 64)

    def copy(self) -> Copy3D:
        return copy_node(self.device(self.memory), self.device(self.other), 64)

    @staticmethod
    def device(address: int) -> Side:
        return side(CU_MEMORYTYPE_DEVICE, address)


Case = Callable[[Driver, Graph, Things], str]
CASES: dict[str, Case] = {}


def kernel(name: str, change: Callable[[KernelNode, Things], None]) -> None:
    def answer(driver: Driver, graph: Graph, things: Things) -> str:
        parameters = things.kernel()
        change(parameters, things)
        return graph.adding("cuGraphAddKernelNode_v2", ctypes.byref(parameters))

    CASES[f"kernel.{name}"] = answer


def setting(field: str, value: object) -> Callable[[KernelNode, Things], None]:
    return lambda parameters, things: setattr(parameters, field, value)


def dimensions(*numbers: int) -> object:
    return (ctypes.c_uint * 3)(*numbers)


kernel("right", lambda parameters, things: None)
kernel("no_function", setting("function", None))
kernel("no_blocks", setting("blocks", dimensions(0, 1, 1)))
kernel("no_blocks_in_z", setting("blocks", dimensions(1, 1, 0)))
kernel("too_many_blocks_in_y", setting("blocks", dimensions(1, 65536, 1)))
kernel("too_many_blocks_in_x", setting("blocks", dimensions(1 << 31, 1, 1)))
kernel("no_threads", setting("threads", dimensions(0, 1, 1)))
kernel("1025_threads", setting("threads", dimensions(1025, 1, 1)))
kernel("65_threads_in_z", setting("threads", dimensions(1, 1, 65)))
kernel("48_KiB_of_shared_memory", setting("shared", 48 << 10))
kernel("49_KiB_of_shared_memory", setting("shared", 49 << 10))
kernel("1_MiB_of_shared_memory", setting("shared", 1 << 20))
kernel("without_parameters", setting("parameters", None))


def memset(name: str, make: Callable[[Things], MemsetNode]) -> None:
    CASES[f"memset.{name}"] = lambda driver, graph, things: graph.adding(
        "cuGraphAddMemsetNode", ctypes.byref(make(things)), graph.context()
    )


memset("right", lambda t: memset_node(t.memory, 1, 64))
memset("elements_of_2", lambda t: memset_node(t.memory, 1, 64, 2))
memset("elements_of_4", lambda t: memset_node(t.memory, 1, 64, 4))
memset("elements_of_3", lambda t: memset_node(t.memory, 1, 64, 3))
memset("elements_of_0", lambda t: memset_node(t.memory, 1, 64, 0))
memset("elements_of_8", lambda t: memset_node(t.memory, 1, 64, 8))
memset("unaligned_elements_of_4", lambda t: memset_node(t.memory + 2, 1, 64, 4))
memset("value_beyond_its_element", lambda t: memset_node(t.memory, 0x1FF, 64))
memset("width_0", lambda t: memset_node(t.memory, 1, 0))
memset("height_0", lambda t: memset_node(t.memory, 1, 64, 1, 0))
memset("two_rows", lambda t: memset_node(t.memory, 1, 64, 1, 2, 128))
memset("pitch_below_width", lambda t: memset_node(t.memory, 1, 64, 1, 2, 32))
memset("pitch_0_with_two_rows", lambda t: memset_node(t.memory, 1, 64, 1, 2, 0))
memset("beyond_the_allocation", lambda t: memset_node(t.memory, 1, 64 << 20))
memset("unknown_address", lambda t: memset_node(0x1000, 1, 64))
memset("null_address", lambda t: memset_node(0, 1, 64))
memset("pinned", lambda t: memset_node(t.pinned, 1, 64))
memset("pageable", lambda t: memset_node(ctypes.addressof(t.pageable), 1, 64))


def copy(name: str, make: Callable[[Things], Copy3D]) -> None:
    CASES[f"memcpy.{name}"] = lambda driver, graph, things: graph.adding(
        "cuGraphAddMemcpyNode", ctypes.byref(make(things)), graph.context()
    )


def between(
    source: str, target: str, width: int = 64, kinds: tuple[int, int] | None = None
) -> Callable[[Things], Copy3D]:
    """A copy between two memories by name, whose kinds are those of the memories."""

    def address(things: Things, name: str) -> int:
        found = getattr(things, name)
        return found if isinstance(found, int) else ctypes.addressof(found)

    def kind(name: str) -> int:
        return CU_MEMORYTYPE_DEVICE if name in ("memory", "other") else CU_MEMORYTYPE_HOST

    def make(things: Things) -> Copy3D:
        of, to = kinds or (kind(source), kind(target))
        return copy_node(side(of, address(things, source)), side(to, address(things, target)), width)

    return make


def with_fields(make: Callable[[Things], Copy3D], **fields: int) -> Callable[[Things], Copy3D]:
    """A copy with other fields: a name with two parts is one of the source or target."""

    def changed(things: Things) -> Copy3D:
        made = make(things)
        for name, value in fields.items():
            of, _, field = name.rpartition("__")
            setattr(getattr(made, of) if of else made, field, value)
        return made

    return changed


RIGHT = between("memory", "other")
copy("device_to_device", RIGHT)
copy("pinned_to_device", between("pinned", "memory"))
copy("pageable_to_device", between("pageable", "memory"))
copy("device_to_pageable", between("memory", "pageable"))
copy("pinned_to_pinned", between("pinned", "pinned"))
copy("pageable_to_pinned", between("pageable", "pinned"))
copy("unified", between("memory", "other", kinds=(CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED)))
copy("unified_to_pageable", between("memory", "pageable", kinds=(CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED)))
copy("unknown_kind", between("memory", "other", kinds=(CU_MEMORYTYPE_DEVICE, 9)))
copy("kind_0", between("memory", "other", kinds=(0, CU_MEMORYTYPE_DEVICE)))
copy("device_memory_as_host_memory", between("memory", "other", kinds=(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE)))
copy("width_0", between("memory", "other", 0))
copy("height_0", with_fields(RIGHT, height=0))
copy("depth_0", with_fields(RIGHT, depth=0))
copy("beyond_the_allocation", between("memory", "other", 64 << 20))
copy("onto_itself", between("memory", "memory"))
copy("two_rows_without_pitch", with_fields(RIGHT, height=2))
copy("two_rows", with_fields(RIGHT, height=2, source__pitch=128, target__pitch=64))
copy("pitch_below_width", with_fields(RIGHT, height=2, source__pitch=32, target__pitch=64))
copy("two_slices_without_height", with_fields(RIGHT, height=2, depth=2, source__pitch=64, target__pitch=64))
copy("level_1", with_fields(RIGHT, source__level=1))
copy("reserved_not_null", with_fields(RIGHT, source__reserved=1))


def other(name: str) -> Callable[[Case], Case]:
    def declare(made: Case) -> Case:
        CASES[name] = made
        return made

    return declare


CASES["host.right"] = lambda d, graph, t: graph.adding("cuGraphAddHostNode", ctypes.byref(host_node()))
CASES["host.no_function"] = lambda d, graph, t: graph.adding("cuGraphAddHostNode", ctypes.byref(HostNode(None, None)))
CASES["event_record.right"] = lambda d, graph, t: graph.adding("cuGraphAddEventRecordNode", t.event)
CASES["event_record.null"] = lambda d, graph, t: graph.adding("cuGraphAddEventRecordNode", None)
CASES["event_record.interprocess"] = lambda d, graph, t: graph.adding("cuGraphAddEventRecordNode", d.event(6))
CASES["event_wait.right"] = lambda d, graph, t: graph.adding("cuGraphAddEventWaitNode", t.event)
CASES["event_wait.null"] = lambda d, graph, t: graph.adding("cuGraphAddEventWaitNode", None)
CASES["empty.right"] = lambda d, graph, t: graph.adding("cuGraphAddEmptyNode")
CASES["child.empty_graph"] = lambda d, graph, t: graph.adding("cuGraphAddChildGraphNode", Graph(d).handle)
CASES["child.null"] = lambda d, graph, t: graph.adding("cuGraphAddChildGraphNode", None)
CASES["child.itself"] = lambda d, graph, t: graph.adding("cuGraphAddChildGraphNode", graph.handle)


@other("child.graph_with_a_node")
def child(driver: Driver, graph: Graph, things: Things) -> str:
    inner = Graph(driver)
    inner.empty()
    return graph.adding("cuGraphAddChildGraphNode", inner.handle)


@other("child.of_a_child")
def child_of_child(driver: Driver, graph: Graph, things: Things) -> str:
    inner, middle = Graph(driver), Graph(driver)
    inner.empty()
    middle.child(inner)
    return graph.adding("cuGraphAddChildGraphNode", middle.handle)


@other("dependency.of_another_graph")
def foreign(driver: Driver, graph: Graph, things: Things) -> str:
    return graph.adding("cuGraphAddEmptyNode", after=[Graph(driver).empty()])


@other("dependency.twice")
def twice(driver: Driver, graph: Graph, things: Things) -> str:
    node = graph.empty()
    return graph.adding("cuGraphAddEmptyNode", after=[node, node])


@other("dependency.null_list_with_a_count")
def null_list(driver: Driver, graph: Graph, things: Things) -> str:
    return driver.code("cuGraphAddEmptyNode", ctypes.byref(ctypes.c_void_p()), graph.handle, None, 1)


@series("graph.add", lambda: CASES)
def add(driver: Driver, facts: Facts, step: str) -> None:
    """The result of adding a node, of the instantiation if it is added, and of a launch."""
    graph, things = Graph(driver), Things(driver)
    before = len(graph.nodes())
    facts[""] = CASES[step](driver, graph, things)
    facts["nodes"] = len(graph.nodes()) - before
    if facts[""] == "CUDA_SUCCESS":
        facts["instantiation"] = graph.instantiation()


def all_kinds(graph: Graph, things: Things) -> Iterator[int]:
    """One node of each simple kind, unordered."""
    yield graph.kernel(things.kernel())
    yield graph.memset(things.memset())
    yield graph.copy(things.copy())
    yield graph.host(host_node())
    yield graph.empty()
    yield graph.add("cuGraphAddEventRecordNode", things.event)
    yield graph.add("cuGraphAddEventWaitNode", things.event)
    inner = Graph(graph.driver)
    inner.empty()
    yield graph.child(inner)


def dependencies(driver: Driver, graph: Graph, *pairs: tuple[int, int], remove: bool = False) -> str:
    name = "cuGraphRemoveDependencies_v2" if remove else "cuGraphAddDependencies_v2"
    of, to = handles([pair[0] for pair in pairs]), handles([pair[1] for pair in pairs])
    return driver.code(name, graph.handle, of, to, None, len(pairs))
