"""Memory of graphs: allocation and free nodes, their lifetime, and captured allocations (driver manual, *cuGraphAddMemAllocNode*)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ...gates import finish, stream_of
from ...question import Facts, question, series
from .nodes import SIZE, dependencies
from .structures import AllocNode, Graph, Location, PoolProperties, end_capture, memset_node, update

CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_ALLOCATION_TYPE_MANAGED = 1, 2
CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA = 1, 2, 3
CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH = 1
CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 0, 2
PAGE = 2 << 20


def parameters(
    size: int = SIZE, kind: int = CU_MEM_ALLOCATION_TYPE_PINNED, place: int = 1, number: int = 0, **more: Any
) -> AllocNode:
    return AllocNode(PoolProperties(type=kind, location=Location(place, number), **more), None, 0, size, 0)


def allocation(graph: Graph, size: int = SIZE, *after: int) -> tuple[int, int]:
    """Add an allocation node; return it and the address."""
    given = parameters(size)
    node = graph.add("cuGraphAddMemAllocNode", ctypes.byref(given), after=after)
    return node, given.address


def free(graph: Graph, address: int, *after: int) -> int:
    return graph.add("cuGraphAddMemFreeNode", address, after=after)


ALLOCATIONS: dict[str, Callable[[], AllocNode]] = {
    "right": parameters,
    "no_bytes": lambda: parameters(0),
    "one_byte": lambda: parameters(1),
    "too_much": lambda: parameters(1 << 44),
    "device_1000": lambda: parameters(number=1000),
    "no_location": lambda: parameters(place=0),
    "host": lambda: parameters(place=CU_MEM_LOCATION_TYPE_HOST),
    "host_numa_0": lambda: parameters(place=CU_MEM_LOCATION_TYPE_HOST_NUMA),
    "managed": lambda: parameters(kind=CU_MEM_ALLOCATION_TYPE_MANAGED),
    "no_kind": lambda: parameters(kind=0),
    "kind_9": lambda: parameters(kind=9),
    "file_descriptor": lambda: parameters(handle_types=1),
    "max_size_below_size": lambda: parameters(max_size=16),
}


@series("graph.memory.allocation", lambda: ALLOCATIONS)
def allocations(driver: Driver, facts: Facts, step: str) -> None:
    graph, given = Graph(driver), ALLOCATIONS[step]()
    facts[""] = code = graph.adding("cuGraphAddMemAllocNode", ctypes.byref(given))
    facts["has_address"] = given.address != 0
    if code == CUDA_SUCCESS:
        facts["aligned_to_512"] = given.address % 512 == 0
        facts["free_node"] = graph.adding("cuGraphAddMemFreeNode", given.address, after=graph.nodes())
        facts["instantiation"] = graph.instantiation()


@question("graph.memory.frees")
def frees(driver: Driver, facts: Facts) -> None:
    """The results of adding free nodes for wrong addresses."""
    graph = Graph(driver)
    node, address = allocation(graph)
    facts["inside_the_allocation"] = graph.adding("cuGraphAddMemFreeNode", address + 512, after=[node])
    facts["of_cuMemAlloc"] = graph.adding("cuGraphAddMemFreeNode", driver.allocate(SIZE), after=[node])
    facts["null"] = graph.adding("cuGraphAddMemFreeNode", 0, after=[node])
    facts["without_dependency_on_the_allocation"] = graph.adding("cuGraphAddMemFreeNode", address)
    facts["types_after_that"] = graph.types()


@question("graph.memory.second_free_node")
def second_free(driver: Driver, facts: Facts) -> None:
    graph = Graph(driver)
    node, address = allocation(graph)
    first = free(graph, address, node)
    facts["second"] = graph.adding("cuGraphAddMemFreeNode", address, after=[first])
    facts["use_after_the_free_node"] = graph.adding(
        "cuGraphAddMemsetNode", ctypes.byref(memset_node(address, 1, 16)), graph.context(), after=[first]
    )
    facts["use_beside_the_free_node"] = graph.adding(
        "cuGraphAddMemsetNode", ctypes.byref(memset_node(address, 1, 16)), graph.context(), after=[node]
    )
    facts["use_before_the_allocation"] = graph.adding(
        "cuGraphAddMemsetNode", ctypes.byref(memset_node(address, 1, 16)), graph.context()
    )


@question("graph.memory.free_in_another_graph")
def other_graph(driver: Driver, facts: Facts) -> None:
    """One graph allocates, another one frees: the results of launches in either order."""
    one, two, stream = Graph(driver), Graph(driver), driver.stream()
    _, address = allocation(one)
    facts["add_free"] = two.adding("cuGraphAddMemFreeNode", address)
    first = one.instantiate()
    facts["instantiation_of_the_freeing_graph"], second = "", ctypes.c_void_p()
    facts["instantiation_of_the_freeing_graph"] = driver.code(
        "cuGraphInstantiateWithFlags", ctypes.byref(second), two.handle, 0
    )
    facts["free_before_allocation"] = driver.code("cuGraphLaunch", second, stream)
    facts["allocate"] = driver.code("cuGraphLaunch", first, stream)
    facts["allocate_again_without_free"] = driver.code("cuGraphLaunch", first, stream)
    facts["free"] = driver.code("cuGraphLaunch", second, stream)
    facts["free_again"] = driver.code("cuGraphLaunch", second, stream)
    facts["allocate_after_free"] = driver.code("cuGraphLaunch", first, stream)
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)


@question("graph.memory.free_outside")
def free_outside(driver: Driver, facts: Facts) -> None:
    """Memory that a graph allocated, freed by cuMemFree and cuMemFreeAsync."""
    graph, stream = Graph(driver), driver.stream()
    _, address = allocation(graph)
    facts["free_before_launch"] = driver.code("cuMemFree_v2", address)
    facts["use_before_launch"] = driver.code("cuMemsetD8Async", address, 1, 16, stream)
    ready = graph.instantiate()
    driver.do("cuGraphLaunch", ready, stream)
    driver.do("cuStreamSynchronize", stream)
    facts["use_after_launch"] = driver.code("cuMemsetD8Async", address, 1, 16, stream)
    facts["free_async"] = driver.code("cuMemFreeAsync", address, stream)
    facts["free_async_again"] = driver.code("cuMemFreeAsync", address, stream)
    facts["use_after_free"] = driver.code("cuMemsetD8Async", address, 1, 16, stream)
    facts["launch_again"] = driver.code("cuGraphLaunch", ready, stream)
    driver.do("cuStreamSynchronize", stream)
    facts["free"] = driver.code("cuMemFree_v2", address)
    facts["launch_after_free"] = driver.code("cuGraphLaunch", ready, stream)
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)


@question("graph.memory.auto_free")
def auto_free(driver: Driver, facts: Facts) -> None:
    graph, stream = Graph(driver), driver.stream()
    node, address = allocation(graph)
    graph.memset(memset_node(address, 3, 16), node)
    ready = graph.instantiate(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
    facts["launches"] = [driver.code("cuGraphLaunch", ready, stream) for _ in range(3)]
    driver.do("cuStreamSynchronize", stream)
    facts["byte"] = driver.download(address, 1)[0]
    facts["destroy"] = driver.code("cuGraphExecDestroy", ready)
    facts["use_after_destroy"] = driver.code("cuMemsetD8Async", address, 1, 16, stream)
    facts["free_after_destroy"] = driver.code("cuMemFreeAsync", address, stream)
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)


@question("graph.memory.two_executables")
def two_executables(driver: Driver, facts: Facts) -> None:
    """A graph with an allocation node has one executable graph at a time, and no clone or child (manual)."""
    graph, other = Graph(driver), Graph(driver)
    node, address = allocation(graph)
    free(graph, address, node)
    ready = graph.instantiate()
    facts["second_instantiation"] = graph.instantiation()
    facts["update_with_itself"] = update(driver, ready, graph)
    facts["clone"] = driver.code("cuGraphClone", ctypes.byref(ctypes.c_void_p()), graph.handle)
    facts["child"] = other.adding("cuGraphAddChildGraphNode", graph.handle)
    driver.do("cuGraphExecDestroy", ready)
    facts["instantiation_after_destroy"] = graph.instantiation()


@question("graph.memory.changes")
def changes(driver: Driver, facts: Facts) -> None:
    """Nodes of memory may not be destroyed, nor their edges removed (manual)."""
    graph = Graph(driver)
    node, address = allocation(graph)
    middle = graph.memset(memset_node(address, 1, 16), node)
    last = free(graph, address, middle)
    facts["destroy_allocation"] = driver.code("cuGraphDestroyNode", node)
    facts["destroy_free"] = driver.code("cuGraphDestroyNode", last)
    facts["remove_edge_from_allocation"] = dependencies(driver, graph, (node, middle), remove=True)
    facts["remove_edge_to_free"] = dependencies(driver, graph, (middle, last), remove=True)
    facts["destroy_node_between"] = driver.code("cuGraphDestroyNode", middle)
    facts["add_edge"] = dependencies(driver, graph, (node, last))
    facts["types"], facts["edges"] = graph.types(), graph.edges()
    facts["destroy_graph"] = driver.code("cuGraphDestroy", graph.handle)


@question("graph.memory.parameters")
def get_parameters(driver: Driver, facts: Facts) -> None:
    graph, stream = Graph(driver), driver.stream()
    node, address = allocation(graph)
    found, place = AllocNode(), ctypes.c_uint64()
    facts["get"] = driver.code("cuGraphMemAllocNodeGetParams", node, ctypes.byref(found))
    facts["size"], facts["address_is_equal"] = found.size, found.address == address
    facts["location"] = [found.pool.location.type, found.pool.location.id]
    last = free(graph, address, node)
    facts["get_free"] = driver.code("cuGraphMemFreeNodeGetParams", last, ctypes.byref(place))
    facts["free_address_is_equal"] = place.value == address
    facts["get_of_another_kind"] = driver.code("cuGraphMemFreeNodeGetParams", node, ctypes.byref(place))
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    facts["address_range_before_launch"] = driver.code(
        "cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), address
    )
    kind = ctypes.c_uint(9)
    facts["pointer_attribute_before_launch"] = driver.code("cuPointerGetAttribute", ctypes.byref(kind), 2, address)
    driver.do("cuGraphLaunch", graph.instantiate(), stream)
    driver.do("cuStreamSynchronize", stream)
    facts["pointer_attribute_after_free"] = driver.code("cuPointerGetAttribute", ctypes.byref(kind), 2, address)


def attribute(driver: Driver, number: int) -> int:
    value = ctypes.c_uint64()
    driver.do("cuDeviceGetGraphMemAttribute", 0, number, ctypes.byref(value))
    return value.value


@question("graph.memory.attributes_of_device")
def device_attributes(driver: Driver, facts: Facts) -> None:
    """Memory that counts as used and reserved: after the node, a launch, the free node and a trim."""
    graph, stream = Graph(driver), driver.stream()
    used, reserved = CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT

    def note(name: str) -> None:
        facts[f"{name}.used"] = attribute(driver, used) > 0
        facts[f"{name}.reserved"] = attribute(driver, reserved) > 0

    note("at_first")
    node, address = allocation(graph, PAGE)
    note("after_node")
    free(graph, address, node)
    ready = graph.instantiate()
    note("after_instantiation")
    driver.do("cuGraphLaunch", ready, stream)
    driver.do("cuStreamSynchronize", stream)
    note("after_launch")
    facts["used_high_is_a_page"] = attribute(driver, 1) == PAGE
    facts["trim"] = driver.code("cuDeviceGraphMemTrim", 0)
    note("after_trim")
    driver.do("cuGraphExecDestroy", ready)
    driver.do("cuGraphDestroy", graph.handle)
    note("after_destruction")
    driver.do("cuDeviceGraphMemTrim", 0)
    note("after_second_trim")
    facts["reset_high"] = driver.code("cuDeviceSetGraphMemAttribute", 0, 1, ctypes.byref(ctypes.c_uint64(0)))
    facts["set_high_to_one"] = driver.code("cuDeviceSetGraphMemAttribute", 0, 1, ctypes.byref(ctypes.c_uint64(1)))
    facts["set_current"] = driver.code("cuDeviceSetGraphMemAttribute", 0, 0, ctypes.byref(ctypes.c_uint64(0)))
    facts["unknown"] = driver.code("cuDeviceGetGraphMemAttribute", 0, 9, ctypes.byref(ctypes.c_uint64(0)))


@question("graph.memory.addresses")
def addresses(driver: Driver, facts: Facts) -> None:
    """Whether two allocations whose lives do not overlap share an address, within a graph and between two."""
    graph = Graph(driver)
    node, first = allocation(graph)
    last = free(graph, first, node)
    _, second = allocation(graph, SIZE, last)
    facts["behind_a_free_node"] = first == second
    _, third = allocation(graph)
    facts["beside_it"] = third in (first, second)
    _, fourth = allocation(Graph(driver))
    facts["in_another_graph"] = fourth in (first, second, third)


@question("graph.memory.captured")
def captured(driver: Driver, facts: Facts) -> None:
    """Allocations that are captured: their nodes, and releases of memory from outside of the capture."""
    stream, outside = driver.stream(), ctypes.c_uint64()
    pool = driver.made("cuDeviceGetDefaultMemPool", 0)
    driver.do("cuMemAllocAsync", ctypes.byref(outside), SIZE, stream)
    finish(driver)
    driver.do("cuStreamBeginCapture_v2", stream, 2)
    address, none, second = ctypes.c_uint64(), ctypes.c_uint64(1), ctypes.c_uint64()
    facts["allocate"] = driver.code("cuMemAllocAsync", ctypes.byref(address), SIZE, stream)
    facts["allocate_no_bytes"] = driver.code("cuMemAllocAsync", ctypes.byref(none), 0, stream)
    facts["no_bytes_is_null"] = none.value == 0
    facts["allocate_from_pool"] = driver.code("cuMemAllocFromPoolAsync", ctypes.byref(second), SIZE, pool, stream)
    facts["fill"] = driver.code("cuMemsetD8Async", address, 1, SIZE, stream)
    facts["free"] = driver.code("cuMemFreeAsync", address, stream)
    facts["free_again"] = driver.code("cuMemFreeAsync", address, stream)
    facts["free_from_outside"] = driver.code("cuMemFreeAsync", outside, stream)
    facts["free_in_another_stream"] = driver.code("cuMemFreeAsync", second, stream_of(driver, "non_blocking", 2))
    facts["end"], graph = end_capture(driver, stream)
    if graph:
        graph.describe(facts)
