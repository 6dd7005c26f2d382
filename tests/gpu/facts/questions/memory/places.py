"""Addresses of each kind of memory, for questions about pointers."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...driver import Driver, kernels
from .asking import (
    PAGE,
    a_stream,
    device_memory,
    managed_memory,
    mapped_memory,
    memory_pool,
    no_context,
    pages,
    pinned_memory,
    pool_memory,
    registered_memory,
    reserved_addresses,
)
from .structures import (
    CU_MEM_ATTACH_HOST,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    CU_MEMHOSTALLOC_DEVICEMAP,
    CU_MEMHOSTALLOC_PORTABLE,
    CU_MEMHOSTALLOC_WRITECOMBINED,
    CU_MEMHOSTREGISTER_DEVICEMAP,
    CU_MEMHOSTREGISTER_PORTABLE,
    GRANULE,
    AccessDesc,
    AllocationNodeParams,
    host_location,
    pool_props,
    read_write,
)


@dataclass(frozen=True)
class Place:
    """An address to ask about, the start of its memory, and its pool."""

    address: int
    base: int
    pool: int = 0


PLACES: dict[str, Callable[[Driver], contextlib.AbstractContextManager[Place]]] = {}
"""The kinds of addresses by name."""


def place(name: str) -> Callable[[Callable[[Driver], Iterator[Place]]], Callable[[Driver], Any]]:
    def declare(make: Callable[[Driver], Iterator[Place]]) -> Callable[[Driver], Any]:
        PLACES[name] = contextlib.contextmanager(make)
        return PLACES[name]

    return declare


def offset(
    name: str,
    memory: Callable[..., contextlib.AbstractContextManager[int]],
    by: int,
    *arguments: Any,
    pool: bool = False,
) -> None:
    """Declare an address at an offset in memory."""

    def make(driver: Driver) -> Iterator[Place]:
        with memory(driver, *arguments) as base:
            default = driver.made("cuDeviceGetDefaultMemPool", 0) if pool else 0
            yield Place(base + by, base, default)

    place(name)(make)


def freed(name: str, memory: Callable[..., contextlib.AbstractContextManager[int]], *arguments: Any) -> None:
    """Declare an address of memory that has been freed."""

    def make(driver: Driver) -> Iterator[Place]:
        with memory(driver, *arguments) as base:
            pass
        yield Place(base, base)

    place(name)(make)


offset("device", device_memory, 0)
offset("device_inside", device_memory, 100)
offset("device_of_1000_bytes_at_1000", device_memory, 1000, 1000)
offset("device_of_1000_bytes_at_1024", device_memory, 1024, 1000)
offset("device_of_2_mib_at_its_end", device_memory, GRANULE, GRANULE)
offset("device_of_3_mib_inside", device_memory, GRANULE + 5, GRANULE * 3 // 2)
freed("device_freed", device_memory)
for _name, _flags in (
    ("pinned", CU_MEMHOSTALLOC_DEVICEMAP),
    ("pinned_without_flags", 0),
    ("pinned_portable", CU_MEMHOSTALLOC_PORTABLE),
    ("pinned_write_combined", CU_MEMHOSTALLOC_WRITECOMBINED),
):
    offset(_name, pinned_memory, 0, 4096, _flags)
offset("pinned_inside", pinned_memory, 100)
offset("pinned_of_100_bytes_at_100", pinned_memory, 100, 100)
offset("pinned_of_100_bytes_at_4096", pinned_memory, 4096, 100)
freed("pinned_freed", pinned_memory)
offset("registered", registered_memory, 0)
offset("registered_without_flags", registered_memory, 0, 4, 0)
offset("registered_portable", registered_memory, 0, 4, CU_MEMHOSTREGISTER_PORTABLE)
offset("registered_inside", registered_memory, PAGE + 9)
freed("registered_and_unregistered", registered_memory)
offset("managed", managed_memory, 0)
offset("managed_inside", managed_memory, 100)
offset("managed_of_100_bytes_at_4096", managed_memory, 4096, 100)
offset("managed_attached_to_host", managed_memory, 0, 4096, CU_MEM_ATTACH_HOST)
freed("managed_freed", managed_memory)
offset("pool", pool_memory, 0, pool=True)
offset("pool_inside", pool_memory, 100, pool=True)
offset("pool_of_1000_bytes_at_1000", pool_memory, 1000, 1000, pool=True)
freed("pool_freed", pool_memory)
offset("reserved", reserved_addresses, 0)
offset("reserved_inside", reserved_addresses, 100)
freed("reserved_and_freed", reserved_addresses)
offset("mapped", mapped_memory, 0)
offset("mapped_inside", mapped_memory, 100)
offset("mapped_without_access", mapped_memory, 0, GRANULE, False)
offset("pageable", lambda _: pages(), 0)


@place("registered_part_of_a_page")
def registered_part_of_a_page(driver: Driver) -> Iterator[Place]:
    """The page of a registered range of 100 bytes, past the range."""
    with pages() as address:
        driver.do("cuMemHostRegister_v2", address + 8, 100, CU_MEMHOSTREGISTER_DEVICEMAP)
        try:
            yield Place(address + 200, address + 8)
        finally:
            driver.number("cuMemHostUnregister", address + 8)


@place("null")
def null(_: Driver) -> Iterator[Place]:
    yield Place(0, 0)


@place("small_number")
def small_number(_: Driver) -> Iterator[Place]:
    yield Place(4096, 0)


@place("number_above_all_addresses")
def number_above_all_addresses(_: Driver) -> Iterator[Place]:
    yield Place(1 << 63, 0)


@place("stack_of_the_host")
def stack_of_the_host(_: Driver) -> Iterator[Place]:
    variable = ctypes.c_uint64()
    yield Place(ctypes.addressof(variable), ctypes.addressof(variable))


@place("pool_freed_in_stream_order_not_waited_for")
def pool_freed_in_stream_order(driver: Driver) -> Iterator[Place]:
    """By docs/reference/simulator.md, "Assumptions": pointer queries do not know memory after ``cuMemFreeAsync``."""
    with a_stream(driver) as stream:
        address = driver.made("cuMemAllocAsync", 4096, stream, kind=ctypes.c_uint64)
        driver.do("cuMemFreeAsync", address, stream)
        yield Place(address, address)
        driver.number("cuStreamSynchronize", stream)


@place("pool_of_its_own")
def pool_of_its_own(driver: Driver) -> Iterator[Place]:
    with memory_pool(driver) as pool, pool_memory(driver, 4096, 0, pool) as base:
        yield Place(base, base, pool)


@place("pool_for_other_processes")
def pool_for_other_processes(driver: Driver) -> Iterator[Place]:
    props = pool_props(handles=CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    with memory_pool(driver, props) as pool, pool_memory(driver, 4096, 0, pool) as base:
        yield Place(base, base, pool)


@place("pool_of_host_memory")
def pool_of_host_memory(driver: Driver) -> Iterator[Place]:
    with memory_pool(driver, pool_props(host_location())) as pool, pool_memory(driver, 4096, 0, pool) as base:
        yield Place(base, base, pool)


@place("pool_allocated_and_not_waited_for")
def pool_not_waited_for(driver: Driver) -> Iterator[Place]:
    with a_stream(driver) as stream:
        address = driver.made("cuMemAllocAsync", 4096, stream, kind=ctypes.c_uint64)
        yield Place(address, address, driver.made("cuDeviceGetDefaultMemPool", 0))
        driver.number("cuMemFreeAsync", address, stream)
        driver.number("cuStreamSynchronize", stream)


def graph_allocation(driver: Driver, graph: int) -> tuple[int, int]:
    """Add an allocation node; return the node and its address."""
    access = (AccessDesc * 1)(read_write())
    params = AllocationNodeParams(
        poolProps=pool_props(), accessDescs=ctypes.addressof(access), accessDescCount=1, bytesize=4096
    )
    node = driver.made("cuGraphAddMemAllocNode", graph, None, 0, ctypes.byref(params))
    return node, params.dptr


def in_graph(name: str, launch: bool, free: bool) -> None:
    """Declare memory of a graph: before a launch, after it, or after the release in another stream-ordered call."""

    def make(driver: Driver) -> Iterator[Place]:
        graph = driver.made("cuGraphCreate", 0)
        _, address = graph_allocation(driver, graph)
        executable = driver.made("cuGraphInstantiateWithFlags", graph, 0)
        if launch:
            driver.do("cuGraphLaunch", executable, 0)
            driver.do("cuCtxSynchronize")
        if free:
            driver.do("cuMemFreeAsync", address, 0)
            driver.do("cuCtxSynchronize")
        yield Place(address, address)
        if launch and not free:
            driver.number("cuMemFreeAsync", address, 0)
            driver.number("cuCtxSynchronize")
        driver.number("cuGraphExecDestroy", executable)
        driver.number("cuGraphDestroy", graph)

    place(name)(make)


in_graph("graph_before_its_launch", launch=False, free=False)
in_graph("graph_after_its_launch", launch=True, free=False)
in_graph("graph_after_its_release", launch=True, free=True)


@place("unmapped")
def unmapped(driver: Driver) -> Iterator[Place]:
    with reserved_addresses(driver) as address:
        with mapped_memory(driver) as mapped:
            del mapped
        yield Place(address, address)


VARIABLES = kernels(
    ".visible .global .align 8 .b8 global_variable[24];\n.visible .const .align 4 .b8 constant[12];\n"
    ".visible .global .attribute(.managed) .align 4 .b8 managed_variable[12];\n.visible .entry none() { ret; }"
)


def variable(name: str) -> None:
    def make(driver: Driver) -> Iterator[Place]:
        module = driver.module(VARIABLES)
        address = driver.made("cuModuleGetGlobal_v2", None, module, name, kind=ctypes.c_uint64)
        yield Place(address, address)
        driver.number("cuModuleUnload", module)

    place(f"module_{name}")(make)


for _name in ("global_variable", "constant", "managed_variable"):
    variable(_name)


@place("device_of_a_destroyed_context")
def of_a_destroyed_context(driver: Driver) -> Iterator[Place]:
    current = driver.made("cuCtxGetCurrent")
    with no_context(driver):
        context = driver.made("cuCtxCreate_v2", 0, 0)
        address = driver.allocate(4096)
        driver.do("cuCtxDestroy_v2", context)
        driver.do("cuCtxSetCurrent", current)
        yield Place(address, address)


@place("device_of_another_context")
def of_another_context(driver: Driver) -> Iterator[Place]:
    current = driver.made("cuCtxGetCurrent")
    context = driver.made("cuCtxCreate_v2", 0, 0)
    address = driver.allocate(4096)
    driver.do("cuCtxSetCurrent", current)
    yield Place(address, address)
    driver.number("cuCtxDestroy_v2", context)
