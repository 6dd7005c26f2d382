"""Memory of graphs: the counters of a device, and the parameters of allocation nodes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from .asking import a_stream, ask
from .structures import (
    ADDRESS,
    CU_MEM_ALLOCATION_TYPE_MANAGED,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    MIB,
    AccessDesc,
    AllocationNodeParams,
    PoolProps,
    device_location,
    host_location,
    pool_props,
    read_write,
)

CU_GRAPH_MEM_ATTR = {0: "used", 1: "used_high", 2: "reserved", 3: "reserved_high"}
AUTO_FREE_ON_LAUNCH = 1


def counter(driver: Driver, number: int, device: int = 0) -> Any:
    value = ADDRESS(77)
    code = driver.code("cuDeviceGetGraphMemAttribute", device, number, ctypes.byref(value))
    return value.value if code == CUDA_SUCCESS else code


def counters(driver: Driver) -> dict[str, Any]:
    return {name: counter(driver, number) for number, name in CU_GRAPH_MEM_ATTR.items()}


def fresh(driver: Driver) -> None:
    """Give back what earlier graphs of the process left."""
    driver.do("cuCtxSynchronize")
    driver.do("cuDeviceGraphMemTrim", 0)
    for number in (1, 3):
        driver.do("cuDeviceSetGraphMemAttribute", 0, number, ctypes.byref(ADDRESS(0)))


def added(driver: Driver, graph: int, size: int, props: PoolProps | None = None) -> tuple[str, int, int]:
    """Add an allocation node: the code, the node, and its address."""
    access = (AccessDesc * 1)(read_write())
    params = AllocationNodeParams(
        poolProps=props or pool_props(), accessDescs=ctypes.addressof(access), accessDescCount=1, bytesize=size
    )
    node = ctypes.c_void_p()
    code = driver.code("cuGraphAddMemAllocNode", ctypes.byref(node), graph, None, 0, ctypes.byref(params))
    return code, node.value or 0, params.dptr


def history(size: int, count: int, released_in_graph: bool, flags: int = 0) -> Callable[[Driver], dict[str, Any]]:
    """The counters from the node to the trim. Peers expect that memory counts as used right after the launch."""

    def case(driver: Driver) -> dict[str, Any]:
        fresh(driver)
        found: dict[str, Any] = {}

        def note(when: str) -> None:
            found.update({f"{when}.{name}": value for name, value in counters(driver).items()})

        graph = driver.made("cuGraphCreate", 0)
        places, last = [], (ctypes.c_void_p * 1)()
        for _ in range(count):
            _code, node, address = added(driver, graph, size)
            places.append(address)
            if released_in_graph:
                last[0] = node
                driver.made("cuGraphAddMemFreeNode", graph, last, 1, address)
        note("added")
        executable = driver.made("cuGraphInstantiateWithFlags", graph, flags)
        note("instantiated")
        with a_stream(driver) as stream:
            driver.do("cuGraphUpload", executable, stream)
            driver.do("cuStreamSynchronize", stream)
            note("uploaded")
            driver.do("cuGraphLaunch", executable, stream)
            note("launched")
            driver.do("cuStreamSynchronize", stream)
            note("waited_for")
            found["second_launch"] = driver.code("cuGraphLaunch", executable, stream)
            driver.do("cuStreamSynchronize", stream)
            note("launched_again")
            found["trim"] = driver.code("cuDeviceGraphMemTrim", 0)
            note("trimmed")
            if not released_in_graph:
                found["releases"] = [driver.code("cuMemFreeAsync", address, stream) for address in places]
                driver.do("cuStreamSynchronize", stream)
                note("released")
        driver.do("cuGraphExecDestroy", executable)
        driver.do("cuGraphDestroy", graph)
        driver.do("cuCtxSynchronize")
        note("destroyed")
        driver.do("cuDeviceGraphMemTrim", 0)
        note("destroyed_and_trimmed")
        return found

    return case


ask(
    "memory_of_graphs.counters",
    {
        "1_byte_released": history(1, 1, True),
        "4_kib_released": history(4096, 1, True),
        "8_mib_released": history(8 * MIB, 1, True),
        "three_of_8_mib_released": history(8 * MIB, 3, True),
        "4_kib": history(4096, 1, False),
        "8_mib": history(8 * MIB, 1, False),
        "8_mib_freed_on_launch": history(8 * MIB, 1, False, AUTO_FREE_ON_LAUNCH),
    },
)


def set_counter(number: int, value: int) -> Callable[[Driver], str]:
    return lambda driver: driver.code("cuDeviceSetGraphMemAttribute", 0, number, ctypes.byref(ADDRESS(value)))


ask(
    "memory_of_graphs.set",
    {f"{name}_to_{value}": set_counter(number, value) for number, name in CU_GRAPH_MEM_ATTR.items() for value in (0, 1)}
    | {
        "attribute_9": set_counter(9, 0),
        "query_of_attribute_9": lambda driver: counter(driver, 9),
        "query_of_device_99": lambda driver: counter(driver, 0, 99),
        "trim_of_device_99": lambda driver: driver.code("cuDeviceGraphMemTrim", 99),
    },
)


def node(size: int, props: PoolProps) -> Callable[[Driver], dict[str, Any]]:
    """Add a node, and read its parameters."""

    def case(driver: Driver) -> dict[str, Any]:
        graph = driver.made("cuGraphCreate", 0)
        code, handle, address = added(driver, graph, size, props)
        found: dict[str, Any] = {"code": code, "has_address": address != 0}
        if code == CUDA_SUCCESS:
            params = AllocationNodeParams()
            driver.do("cuGraphMemAllocNodeGetParams", handle, ctypes.byref(params))
            found |= {
                "size": params.bytesize,
                "same_address": params.dptr == address,
                "aligned_by_512": address % 512 == 0,
                "accesses": params.accessDescCount,
                "handle_types": params.poolProps.handleTypes,
                "location": [params.poolProps.location.type, params.poolProps.location.id],
                "clone": driver.code("cuGraphClone", ctypes.byref(ADDRESS()), graph),
            }
        driver.do("cuGraphDestroy", graph)
        return found

    return case


ask(
    "memory_of_graphs.node",
    {
        "of_no_bytes": node(0, pool_props()),
        "of_1_byte": node(1, pool_props()),
        "of_1000_bytes": node(1000, pool_props()),
        "of_3_mib": node(3 * MIB, pool_props()),
        "of_1_pib": node(1 << 50, pool_props()),
        "of_device_99": node(64, pool_props(device_location(99))),
        "for_other_processes": node(64, pool_props(handles=CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)),
        "of_host_memory": node(64, pool_props(host_location())),
        "of_managed_memory": node(64, pool_props(kind=CU_MEM_ALLOCATION_TYPE_MANAGED)),
        "of_no_type": node(64, pool_props(kind=0)),
        "of_a_maximum_size": node(64, pool_props(size=MIB)),
    },
)


def releases(driver: Driver) -> dict[str, str]:
    """Releases of memory in the wrong graph, twice, at an inner address, or before the launch."""
    found = {}
    graph, other = driver.made("cuGraphCreate", 0), driver.made("cuGraphCreate", 0)
    _, first, address = added(driver, graph, 4096)
    one = (ctypes.c_void_p * 1)(first)

    def release(into: int, at: int, dependencies: Any, count: int) -> str:
        return driver.code("cuGraphAddMemFreeNode", ctypes.byref(ADDRESS()), into, dependencies, count, at)

    found["before_the_launch"] = driver.code("cuMemFreeAsync", address, 0)
    found["before_the_launch_without_a_stream"] = driver.code("cuMemFree_v2", address)
    found["node_at_an_inner_address"] = release(graph, address + 64, one, 1)
    found["node_of_null"] = release(graph, 0, one, 1)
    found["node_in_another_graph"] = release(other, address, None, 0)
    found["node"] = release(graph, address, one, 1)
    found["second_node"] = release(graph, address, one, 1)
    found["fill_before_the_launch"] = driver.code("cuMemsetD8_v2", address, 0, 16)
    executable = driver.made("cuGraphInstantiateWithFlags", graph, 0)
    found["second_instantiation"] = driver.code("cuGraphInstantiateWithFlags", ctypes.byref(ADDRESS()), graph, 0)
    driver.do("cuGraphLaunch", executable, 0)
    driver.do("cuCtxSynchronize")
    found["after_the_launch"] = driver.code("cuMemFreeAsync", address, 0)
    found["wait"] = driver.code("cuCtxSynchronize")
    return found


def unordered_release(driver: Driver) -> str:
    """A release that does not follow the allocation: the manual wants a path between the two."""
    graph = driver.made("cuGraphCreate", 0)
    _, _, address = added(driver, graph, 4096)
    code = driver.code("cuGraphAddMemFreeNode", ctypes.byref(ADDRESS()), graph, None, 0, address)
    driver.do("cuGraphDestroy", graph)
    return code


def left_unreleased(driver: Driver) -> dict[str, str]:
    """A graph whose memory lives is destroyed. By the manual, the memory stays until it is released."""
    graph = driver.made("cuGraphCreate", 0)
    _, _, address = added(driver, graph, 4096)
    executable = driver.made("cuGraphInstantiateWithFlags", graph, 0)
    driver.do("cuGraphLaunch", executable, 0)
    driver.do("cuCtxSynchronize")
    return {
        "destroy_executable": driver.code("cuGraphExecDestroy", executable),
        "destroy_graph": driver.code("cuGraphDestroy", graph),
        "fill_after": driver.code("cuMemsetD8_v2", address, 0, 16),
        "wait": driver.code("cuCtxSynchronize"),
        "release_without_a_stream": driver.code("cuMemFree_v2", address),
        "release_again": driver.code("cuMemFreeAsync", address, 0),
    }


ask(
    "memory_of_graphs.release",
    {"of_a_node": releases, "after_the_graph": left_unreleased, "without_an_order": unordered_release},
)
