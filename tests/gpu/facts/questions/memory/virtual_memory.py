"""Virtual memory management: granularities, mappings, access, handles."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from .asking import ask, compared, mapped_memory, no_context, reserved_addresses
from .structures import (
    ADDRESS,
    CU_MEM_HANDLE_TYPE_FABRIC,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    CU_MEM_HANDLE_TYPE_WIN32,
    CU_MEM_LOCATION_TYPE_HOST_NUMA,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
    CU_MEM_LOCATION_TYPE_INVALID,
    GRANULE,
    INT,
    SIZE,
    AllocationProp,
    Location,
    allocation_prop,
    device_location,
    host_location,
    read_write,
)

FD = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
MINIMUM, RECOMMENDED = 0, 1


def with_fields(**fields: int) -> AllocationProp:
    prop = allocation_prop()
    for name, value in fields.items():
        setattr(prop, name, value)
    return prop


PROPS = {
    "device": allocation_prop(),
    "device_for_other_processes": allocation_prop(handles=FD),
    "device_for_fabric": allocation_prop(handles=CU_MEM_HANDLE_TYPE_FABRIC),
    "device_for_windows": allocation_prop(handles=CU_MEM_HANDLE_TYPE_WIN32),
    "device_compressed": with_fields(compressionType=1),
    "device_with_rdma": with_fields(gpuDirectRDMACapable=1),
    "device_for_tiles": with_fields(usage=1),
    "device_with_usage_64": with_fields(usage=64),
    "managed": with_fields(type=2),
    "no_type": with_fields(type=0),
    "device_99": allocation_prop(device_location(99)),
    "host": allocation_prop(host_location()),
    "node_0": allocation_prop(Location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0)),
    "node_1000": allocation_prop(Location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 1000)),
    "current_node": allocation_prop(Location(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0)),
    "no_location": allocation_prop(Location(CU_MEM_LOCATION_TYPE_INVALID, 0)),
}


def properties(prop: AllocationProp) -> Callable[[Driver], dict[str, Any]]:
    """The granularities, and the properties of a handle with these properties."""

    def case(driver: Driver) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, option in (("minimum", MINIMUM), ("recommended", RECOMMENDED), ("option_2", 2)):
            found[name] = driver.got("cuMemGetAllocationGranularity", ctypes.byref(prop), option, kind=SIZE)
        handle = ADDRESS()
        found["create"] = driver.code("cuMemCreate", ctypes.byref(handle), GRANULE, ctypes.byref(prop), 0)
        if found["create"] == CUDA_SUCCESS:
            read = AllocationProp()
            driver.do("cuMemGetAllocationPropertiesFromHandle", ctypes.byref(read), handle)
            found |= {
                "read.type": read.type,
                "read.handle_types": read.requestedHandleTypes,
                "read.location": [read.location.type, read.location.id],
                "read.compression": read.compressionType,
                "read.rdma": read.gpuDirectRDMACapable,
                "read.usage": read.usage,
            }
            driver.do("cuMemRelease", handle)
        return found

    return case


ask("virtual_memory.properties", {name: properties(prop) for name, prop in PROPS.items()})


def create(size: int, flags: int = 0, release: int = 1) -> Callable[[Driver], list[str]]:
    """The code of ``cuMemCreate``, then of releases."""

    def case(driver: Driver) -> list[str]:
        handle = ADDRESS()
        codes = [driver.code("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(allocation_prop()), flags)]
        if codes[0] == CUDA_SUCCESS:
            codes += [driver.code("cuMemRelease", handle) for _ in range(release)]
        return codes

    return case


def reserve(size: int, alignment: int = 0, address: int = 0, flags: int = 0) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        found = ADDRESS()
        code = driver.code("cuMemAddressReserve", ctypes.byref(found), size, alignment, address, flags)
        if code != CUDA_SUCCESS:
            return {"code": code}
        driver.do("cuMemAddressFree", found.value, size)
        return {
            "code": code,
            "aligned_by_2_mib": found.value % GRANULE == 0,
            "aligned_as_asked": found.value % max(alignment, 1) == 0,
        }

    return case


ask(
    "virtual_memory.create",
    {
        "no_bytes": create(0),
        "4_kib": create(4096),
        "64_kib": create(65536),
        "2_mib": create(GRANULE),
        "3_mib": create(3 << 20),
        "1_tib": create(1 << 40),
        "1_pib": create(1 << 50),
        "flags_1": create(GRANULE, 1),
        "released_twice": create(GRANULE, 0, 2),
        "release_of_handle_0": lambda driver: driver.code("cuMemRelease", 0),
        "release_of_a_number": lambda driver: driver.code("cuMemRelease", 12345),
        "without_properties": lambda driver: driver.code("cuMemCreate", ctypes.byref(ADDRESS()), GRANULE, None, 0),
    },
)
ask(
    "virtual_memory.reserve",
    {
        "4_kib": reserve(4096),
        "64_kib": reserve(65536),
        "2_mib": reserve(GRANULE),
        "3_mib": reserve(3 << 20),
        "1_tib": reserve(1 << 40),
        "alignment_1": reserve(GRANULE, 1),
        "alignment_4_kib": reserve(GRANULE, 4096),
        "alignment_2_mib": reserve(GRANULE, GRANULE),
        "alignment_3_mib": reserve(GRANULE, 3 << 20),
        "alignment_1_gib": reserve(GRANULE, 1 << 30),
        "flags_1": reserve(GRANULE, 0, 0, 1),
        "at_an_odd_address": reserve(GRANULE, 0, 12345),
    },
)


@contextlib.contextmanager
def handle(driver: Driver, size: int = GRANULE, prop: AllocationProp | None = None) -> Iterator[int]:
    number = driver.made("cuMemCreate", size, ctypes.byref(prop or allocation_prop()), 0, kind=ADDRESS)
    try:
        yield number
    finally:
        driver.number("cuMemRelease", number)


def map_with(size: int = GRANULE, at: int = 0, offset: int = 0, flags: int = 0) -> Callable[[Driver], str]:
    """Map memory of 4 MiB into a reservation of 4 MiB."""

    def case(driver: Driver) -> str:
        with reserved_addresses(driver, 2 * GRANULE) as address, handle(driver, 2 * GRANULE) as memory:
            code = driver.code("cuMemMap", address + at, size, offset, memory, flags)
            if code == CUDA_SUCCESS:
                driver.do("cuMemUnmap", address + at, size)
            return code

    return case


def unmap(*parts: tuple[int, int]) -> Callable[[Driver], list[str]]:
    """Unmap parts of two adjacent mappings of 2 MiB; then release the addresses."""

    def case(driver: Driver) -> list[str]:
        address = driver.made("cuMemAddressReserve", 2 * GRANULE, 0, 0, 0, kind=ADDRESS)
        with handle(driver) as first, handle(driver) as second:
            driver.do("cuMemMap", address, GRANULE, 0, first, 0)
            driver.do("cuMemMap", address + GRANULE, GRANULE, 0, second, 0)
            codes = [driver.code("cuMemUnmap", address + at, size) for at, size in parts]
            codes.append(driver.code("cuMemAddressFree", address, 2 * GRANULE))
            for at in (0, GRANULE):
                driver.number("cuMemUnmap", address + at, GRANULE)
            driver.number("cuMemAddressFree", address, 2 * GRANULE)
            return codes

    return case


ask(
    "virtual_memory.map",
    {
        "all": map_with(2 * GRANULE),
        "half": map_with(GRANULE),
        "half_at_the_second_half": map_with(GRANULE, GRANULE),
        "offset_of_half": map_with(GRANULE, 0, GRANULE),
        "offset_of_4_kib": map_with(GRANULE, 0, 4096),
        "all_at_the_second_half": map_with(2 * GRANULE, GRANULE),
        "more_than_the_memory": map_with(3 * GRANULE),
        "at_an_address_of_4_kib": map_with(GRANULE, 4096),
        "size_of_4_kib": map_with(4096),
        "no_bytes": map_with(0),
        "flags_1": map_with(GRANULE, 0, 0, 1),
        "handle_0": lambda driver: refused_map(driver, 0),
        "handle_of_a_number": lambda driver: refused_map(driver, 12345),
        "not_reserved": lambda driver: map_unreserved(driver),
    },
)
ask(
    "virtual_memory.unmap",
    {
        "each": unmap((0, GRANULE), (GRANULE, GRANULE)),
        "both": unmap((0, 2 * GRANULE)),
        "first": unmap((0, GRANULE)),
        "first_twice": unmap((0, GRANULE), (0, GRANULE)),
        "half_of_each": unmap((GRANULE // 2, GRANULE)),
        "half_of_the_first": unmap((0, GRANULE // 2)),
        "more_than_both": unmap((0, 3 * GRANULE)),
        "no_bytes": unmap((0, 0)),
        "none": unmap(),
    },
)


def refused_map(driver: Driver, number: int) -> str:
    with reserved_addresses(driver) as address:
        return driver.code("cuMemMap", address, GRANULE, 0, number, 0)


def map_unreserved(driver: Driver) -> str:
    with handle(driver) as memory:
        return driver.code("cuMemMap", 1 << 46, GRANULE, 0, memory, 0)


def freed_addresses(*parts: tuple[int, int]) -> Callable[[Driver], list[str]]:
    def case(driver: Driver) -> list[str]:
        address = driver.made("cuMemAddressReserve", 2 * GRANULE, 0, 0, 0, kind=ADDRESS)
        codes = [driver.code("cuMemAddressFree", address + at, size) for at, size in parts]
        driver.number("cuMemAddressFree", address, 2 * GRANULE)
        return codes

    return case


ask(
    "virtual_memory.address_free",
    {
        "all_twice": freed_addresses((0, 2 * GRANULE), (0, 2 * GRANULE)),
        "first_half": freed_addresses((0, GRANULE)),
        "second_half": freed_addresses((GRANULE, GRANULE)),
        "more": freed_addresses((0, 4 * GRANULE)),
        "no_bytes": freed_addresses((0, 0)),
    },
)


def over_two_mappings(driver: Driver) -> dict[str, Any]:
    """By docs/reference/simulator.md, mappings side by side are contiguous for copies and fills."""
    with reserved_addresses(driver, 2 * GRANULE) as address, handle(driver) as first, handle(driver) as second:
        driver.do("cuMemMap", address, GRANULE, 0, first, 0)
        driver.do("cuMemMap", address + GRANULE, GRANULE, 0, second, 0)
        wanted = read_write()
        found: dict[str, Any] = {
            "access": driver.code("cuMemSetAccess", address, 2 * GRANULE, ctypes.byref(wanted), 1),
            "fill": driver.code("cuMemsetD8_v2", address, 7, 2 * GRANULE),
            "copy": driver.code("cuMemcpyDtoD_v2", address, address + GRANULE - 64, 128),
            "wait": driver.code("cuCtxSynchronize"),
        }
        base, size = ADDRESS(), SIZE()
        driver.do("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), address + GRANULE + 8)
        found["range_starts_at"] = compared(base.value, reservation=address, mapping=address + GRANULE)
        found["range_size"] = size.value
        for at in (0, GRANULE):
            driver.do("cuMemUnmap", address + at, GRANULE)
        return found


def one_memory_twice(driver: Driver) -> dict[str, Any]:
    """Two mappings of one physical allocation are the same bytes."""
    with reserved_addresses(driver, 2 * GRANULE) as address, handle(driver) as memory:
        codes = [driver.code("cuMemMap", address + at, GRANULE, 0, memory, 0) for at in (0, GRANULE)]
        codes.append(driver.code("cuMemMap", address, GRANULE, 0, memory, 0))
        wanted = read_write()
        driver.do("cuMemSetAccess", address, 2 * GRANULE, ctypes.byref(wanted), 1)
        driver.do("cuMemsetD8_v2", address, 9, 16)
        driver.do("cuCtxSynchronize")
        same = driver.download(address + GRANULE, 16) == b"\x09" * 16
        for at in (0, GRANULE):
            driver.do("cuMemUnmap", address + at, GRANULE)
        return {"map": codes, "same_bytes": same}


def released_before_unmapping(driver: Driver) -> dict[str, Any]:
    """By the manual, memory lives until its last handle is released and its last mapping is removed."""
    with mapped_memory(driver) as address:
        retained = ADDRESS()
        found = {
            "fill": driver.code("cuMemsetD8_v2", address, 1, 16),
            "retain": driver.code("cuMemRetainAllocationHandle", ctypes.byref(retained), address),
            "retain_inside": driver.code("cuMemRetainAllocationHandle", ctypes.byref(ADDRESS()), address + 100),
            "release": driver.code("cuMemRelease", retained),
            "map_released": "",
            "wait": driver.code("cuCtxSynchronize"),
        }
        with reserved_addresses(driver) as other:
            found["map_released"] = driver.code("cuMemMap", other, GRANULE, 0, retained, 0)
            if found["map_released"] == CUDA_SUCCESS:
                driver.do("cuMemUnmap", other, GRANULE)
        return found


def retained_of_others(driver: Driver) -> dict[str, str]:
    device, pinned = driver.allocate(GRANULE), driver.pinned(4096)
    pool = driver.made("cuMemAllocAsync", GRANULE, 0, kind=ADDRESS)
    driver.do("cuCtxSynchronize")
    found = {}
    for name, address in (("device", device), ("pinned", pinned), ("pool", pool), ("null", 0)):
        number = ADDRESS()
        found[name] = driver.code("cuMemRetainAllocationHandle", ctypes.byref(number), address)
        if found[name] == CUDA_SUCCESS:
            driver.number("cuMemRelease", number)
    driver.do("cuMemFree_v2", device)
    driver.do("cuMemFreeHost", pinned)
    driver.do("cuMemFreeAsync", pool, 0)
    driver.do("cuCtxSynchronize")
    return found


def exported(driver: Driver) -> dict[str, Any]:
    """A file descriptor of memory, imported into the process that made it."""
    found: dict[str, Any] = {}
    file = INT(-1)
    with handle(driver) as plain:
        found["without_handle_types"] = driver.code("cuMemExportToShareableHandle", ctypes.byref(file), plain, FD, 0)
    with handle(driver, prop=allocation_prop(handles=FD)) as memory:
        export = ("cuMemExportToShareableHandle", ctypes.byref(file), memory)
        found["flags_1"] = driver.code(*export, FD, 1)
        found["another_type"] = driver.code(*export, CU_MEM_HANDLE_TYPE_WIN32, 0)
        found["no_type"] = driver.code(*export, 0, 0)
        found["code"] = driver.code(*export, FD, 0)
        imported = ADDRESS()
        place = ctypes.c_void_p(file.value)
        found["import"] = driver.code("cuMemImportFromShareableHandle", ctypes.byref(imported), place, FD)
        found["imported_is_the_handle"] = imported.value == memory
        if imported.value:
            found["release_imported"] = driver.code("cuMemRelease", imported)
        with contextlib.suppress(OSError):
            os.close(file.value)
    found["import_of_a_closed_file"] = driver.code("cuMemImportFromShareableHandle", ctypes.byref(imported), place, FD)
    return found


def without_context(driver: Driver) -> dict[str, str]:
    """By docs/reference/simulator.md, no call of virtual memory management needs a current context."""
    prop, wanted = allocation_prop(), read_write()
    with no_context(driver):
        address, memory = ADDRESS(), ADDRESS()
        return {
            "granularity": driver.code("cuMemGetAllocationGranularity", ctypes.byref(SIZE()), ctypes.byref(prop), 0),
            "reserve": driver.code("cuMemAddressReserve", ctypes.byref(address), GRANULE, 0, 0, 0),
            "create": driver.code("cuMemCreate", ctypes.byref(memory), GRANULE, ctypes.byref(prop), 0),
            "map": driver.code("cuMemMap", address.value, GRANULE, 0, memory.value, 0),
            "access": driver.code("cuMemSetAccess", address.value, GRANULE, ctypes.byref(wanted), 1),
            "unmap": driver.code("cuMemUnmap", address.value, GRANULE),
            "release": driver.code("cuMemRelease", memory.value),
            "free": driver.code("cuMemAddressFree", address.value, GRANULE),
        }


def fresh_memory(driver: Driver) -> bool:
    """By docs/reference/simulator.md, physical memory starts as zeros."""
    with mapped_memory(driver) as address:
        return driver.download(address, GRANULE) == bytes(GRANULE)


ask(
    "virtual_memory.calls",
    {
        "over_two_mappings": over_two_mappings,
        "one_memory_twice": one_memory_twice,
        "release_before_unmapping": released_before_unmapping,
        "retain": retained_of_others,
        "export": exported,
        "without_a_context": without_context,
        "fresh_memory_is_zero": fresh_memory,
    },
)
