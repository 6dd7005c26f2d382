"""Memory pools: attributes, access, properties, and the memory that they hold."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from .asking import a_stream, ask, compared, device_memory, memory_pool, no_context
from .structures import (
    ADDRESS,
    CU_MEM_ACCESS_FLAGS_PROT_NONE,
    CU_MEM_ACCESS_FLAGS_PROT_READ,
    CU_MEM_ALLOCATION_TYPE_INVALID,
    CU_MEM_ALLOCATION_TYPE_MANAGED,
    CU_MEM_HANDLE_TYPE_FABRIC,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    CU_MEM_HANDLE_TYPE_WIN32,
    CU_MEM_LOCATION_TYPE_HOST_NUMA,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
    CU_MEM_LOCATION_TYPE_INVALID,
    INT,
    MIB,
    UINT,
    AccessDesc,
    Location,
    PoolProps,
    device_location,
    host_location,
    pool_props,
)

CU_MEMPOOL_ATTR = {
    1: "reuse_follow_event_dependencies",
    2: "reuse_allow_opportunistic",
    3: "reuse_allow_internal_dependencies",
    4: "release_threshold",
    5: "reserved_current",
    6: "reserved_high",
    7: "used_current",
    8: "used_high",
    9: "allocation_type",
    10: "export_handle_types",
    11: "location_id",
    12: "location_type",
    13: "max_pool_size",
    14: "hw_decompress_enabled",
    15: "locality_domain_id",
}
RELEASE_THRESHOLD = 4
COUNTERS = {5: "reserved_current", 6: "reserved_high", 7: "used_current", 8: "used_high"}
KEEP_ALL = (1 << 64) - 1


def pool_attribute(driver: Driver, pool: int, number: int) -> Any:
    value = ADDRESS()
    code = driver.code("cuMemPoolGetAttribute", pool, number, ctypes.byref(value))
    return value.value if code == CUDA_SUCCESS else code


def attributes_of(driver: Driver, pool: int) -> dict[str, Any]:
    return {name: pool_attribute(driver, pool, number) for number, name in CU_MEMPOOL_ATTR.items()}


def counters(driver: Driver, pool: int) -> dict[str, Any]:
    """The counters of a pool. Reserved memory depends on the driver's own chunks, so it is given in such of 32 MiB too."""
    return {name: pool_attribute(driver, pool, number) for number, name in COUNTERS.items()}


def created(props: PoolProps) -> Callable[[Driver], dict[str, Any]]:
    """Create a pool; if that succeeds, all its attributes, and whether it allocates."""

    def case(driver: Driver) -> dict[str, Any]:
        pool = ctypes.c_void_p()
        code = driver.code("cuMemPoolCreate", ctypes.byref(pool), ctypes.byref(props))
        if code != CUDA_SUCCESS:
            return {"code": code}
        found = {"code": code} | attributes_of(driver, pool.value or 0)
        address = ADDRESS()
        found["allocation"] = driver.code("cuMemAllocFromPoolAsync", ctypes.byref(address), 4096, pool, 0)
        if address.value:
            found["fill"] = driver.code("cuMemsetD8Async", address.value, 0, 16, 0)
            driver.number("cuMemFreeAsync", address.value, 0)
        found["wait"] = driver.code("cuCtxSynchronize")
        driver.do("cuMemPoolDestroy", pool)
        return found

    return case


def with_reserved_byte() -> PoolProps:
    props = pool_props()
    props.reserved[50] = 1
    return props


def with_usage(usage: int) -> PoolProps:
    props = pool_props()
    props.usage = usage
    return props


ask(
    "pools.default",
    {
        "of_the_device": lambda driver: attributes_of(driver, driver.made("cuDeviceGetDefaultMemPool", 0)),
        "is_current": lambda driver: (
            driver.made("cuDeviceGetDefaultMemPool", 0) == driver.made("cuDeviceGetMemPool", 0)
        ),
        "of_device_99": lambda driver: driver.code("cuDeviceGetDefaultMemPool", ctypes.byref(ADDRESS()), 99),
    },
)
ask(
    "pools.created",
    {
        "plain": created(pool_props()),
        "for_other_processes": created(pool_props(handles=CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)),
        "for_windows": created(pool_props(handles=CU_MEM_HANDLE_TYPE_WIN32)),
        "for_fabric": created(pool_props(handles=CU_MEM_HANDLE_TYPE_FABRIC)),
        "for_unknown_handles": created(pool_props(handles=64)),
        "of_host_memory": created(pool_props(host_location())),
        "of_host_memory_for_other_processes": created(
            pool_props(host_location(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        ),
        "of_node_0": created(pool_props(Location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0))),
        "of_node_1000": created(pool_props(Location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 1000))),
        "of_the_current_node": created(pool_props(Location(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0))),
        "of_device_99": created(pool_props(device_location(99))),
        "of_device_minus_1": created(pool_props(device_location(-1))),
        "of_no_location": created(pool_props(Location(CU_MEM_LOCATION_TYPE_INVALID, 0))),
        "of_no_type": created(pool_props(kind=CU_MEM_ALLOCATION_TYPE_INVALID)),
        "of_managed_memory_of_the_device": created(pool_props(kind=CU_MEM_ALLOCATION_TYPE_MANAGED)),
        "of_managed_memory_of_no_location": created(
            pool_props(Location(CU_MEM_LOCATION_TYPE_INVALID, 0), kind=CU_MEM_ALLOCATION_TYPE_MANAGED)
        ),
        "of_size_1": created(pool_props(size=1)),
        "of_size_64_mib": created(pool_props(size=64 * MIB)),
        "of_size_1_pib": created(pool_props(size=1 << 50)),
        "with_usage_1": created(with_usage(1)),
        "with_usage_2": created(with_usage(2)),
        "with_usage_4": created(with_usage(4)),
        "with_a_reserved_byte": created(with_reserved_byte()),
        "without_properties": lambda driver: driver.code("cuMemPoolCreate", ctypes.byref(ADDRESS()), None),
        "without_result": lambda driver: driver.code("cuMemPoolCreate", None, ctypes.byref(pool_props())),
    },
)


def set_attribute(number: int, value: int) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        with memory_pool(driver) as pool:
            code = driver.code("cuMemPoolSetAttribute", pool, number, ctypes.byref(ADDRESS(value)))
            return {"code": code, "value": pool_attribute(driver, pool, number)}

    return case


ask(
    "pools.set",
    {
        f"{name}_to_{value_name}": set_attribute(number, value)
        for number, name in CU_MEMPOOL_ATTR.items()
        for value_name, value in (("0", 0), ("1", 1), ("2", 2), ("64_mib", 64 * MIB), ("all_bits", KEEP_ALL))
    }
    | {"attribute_0_to_1": set_attribute(0, 1), "attribute_99_to_1": set_attribute(99, 1)},
)


def history(size: int, count: int, threshold: int | None, explicit: bool) -> Callable[[Driver], dict[str, Any]]:
    """The counters through allocations, releases, waits and trims. Every step but the first two is waited for."""

    def case(driver: Driver) -> dict[str, Any]:
        with memory_pool(driver) as pool, a_stream(driver) as stream:
            if threshold is not None:
                driver.do("cuMemPoolSetAttribute", pool, RELEASE_THRESHOLD, ctypes.byref(ADDRESS(threshold)))
            found: dict[str, Any] = {}

            def note(when: str) -> None:
                found.update({f"{when}.{name}": value for name, value in counters(driver, pool).items()})

            note("at_first")
            addresses = [driver.made("cuMemAllocFromPoolAsync", size, pool, stream, kind=ADDRESS) for _ in range(count)]
            driver.do("cuStreamSynchronize", stream)
            note("allocated")
            for address in addresses:
                driver.do("cuMemFreeAsync", address, stream) if explicit else driver.do("cuMemFree_v2", address)
            if explicit:
                driver.do("cuStreamSynchronize", stream)
                note("released_and_stream_waited_for")
            driver.do("cuCtxSynchronize")
            note("released_and_context_waited_for")
            driver.do("cuMemPoolTrimTo", pool, 4 * MIB)
            note("trimmed_to_4_mib")
            driver.do("cuMemPoolTrimTo", pool, 0)
            note("trimmed_to_0")
            for number in (6, 8):
                found[f"reset_{CU_MEMPOOL_ATTR[number]}"] = driver.code(
                    "cuMemPoolSetAttribute", pool, number, ctypes.byref(ADDRESS(0))
                )
            note("reset")
            return found

    return case


ask(
    "pools.counters",
    {
        "one_byte": history(1, 1, None, True),
        "1000_bytes": history(1000, 1, None, True),
        "1000_bytes_kept": history(1000, 1, KEEP_ALL, True),
        "three_of_4_mib": history(4 * MIB, 3, None, True),
        "three_of_4_mib_kept": history(4 * MIB, 3, KEEP_ALL, True),
        "three_of_4_mib_with_a_threshold_of_6_mib": history(4 * MIB, 3, 6 * MIB, True),
        "100_mib_kept": history(100 * MIB, 1, KEEP_ALL, True),
        "three_of_4_mib_released_without_a_stream": history(4 * MIB, 3, KEEP_ALL, False),
    },
)


def used_before_the_wait(driver: Driver) -> dict[str, Any]:
    """By docs/reference/simulator.md, "Assumptions", used memory falls when the release runs: here after 50 ms at the latest."""
    with memory_pool(driver) as pool, a_stream(driver) as stream:
        address = driver.made("cuMemAllocFromPoolAsync", 4096, pool, stream, kind=ADDRESS)
        found = {"used_after_the_call_at_least": pool_attribute(driver, pool, 7) > 0}
        driver.do("cuMemFreeAsync", address, stream)
        driver.do("cuStreamSynchronize", stream)
        return found | {"used_after_release_and_wait": pool_attribute(driver, pool, 7)}


def access_of(driver: Driver, pool: int, location: Location) -> Any:
    flags = UINT(99)
    code = driver.code("cuMemPoolGetAccess", ctypes.byref(flags), pool, ctypes.byref(location))
    return flags.value if code == CUDA_SUCCESS else code


def access(props: PoolProps) -> Callable[[Driver], dict[str, Any]]:
    """The access at first, and after each change that the driver accepts."""

    def case(driver: Driver) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, location in (
            ("device", device_location()),
            ("host", host_location()),
            ("node_0", Location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0)),
            ("device_99", device_location(99)),
        ):
            for flags in (CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, 2, 3, 4):
                with memory_pool(driver, props) as pool:
                    if not flags:
                        found[f"{name}.at_first"] = access_of(driver, pool, location)
                    wanted = AccessDesc(location, flags)
                    found[f"{name}.set_{flags}"] = driver.code("cuMemPoolSetAccess", pool, ctypes.byref(wanted), 1)
                    found[f"{name}.after_{flags}"] = access_of(driver, pool, location)
        return found

    return case


ask("pools.used", {"before_the_wait": used_before_the_wait})
ask("pools.access", {"of_the_device": access(pool_props()), "of_the_host": access(pool_props(host_location()))})


def default_access(driver: Driver) -> dict[str, Any]:
    pool = driver.made("cuDeviceGetDefaultMemPool", 0)
    none = AccessDesc(device_location(), CU_MEM_ACCESS_FLAGS_PROT_NONE)
    return {
        "device": access_of(driver, pool, device_location()),
        "host": access_of(driver, pool, host_location()),
        "take_away": driver.code("cuMemPoolSetAccess", pool, ctypes.byref(none), 1),
        "set_none_of_them": driver.code("cuMemPoolSetAccess", pool, ctypes.byref(none), 0),
        "set_without_list": driver.code("cuMemPoolSetAccess", pool, None, 1),
    }


def current_pool(driver: Driver) -> dict[str, Any]:
    """Allocations of a device use its current pool."""
    default = driver.made("cuDeviceGetDefaultMemPool", 0)
    with memory_pool(driver) as pool:
        found: dict[str, Any] = {"set": driver.code("cuDeviceSetMemPool", 0, pool)}
        found["current"] = compared(driver.made("cuDeviceGetMemPool", 0), pool=pool, default=default)
        address = driver.made("cuMemAllocAsync", 4096, 0, kind=ADDRESS)
        owner = ADDRESS()
        driver.do("cuPointerGetAttribute", ctypes.byref(owner), 17, address)
        found["pool_of_an_allocation"] = compared(owner.value, pool=pool, default=default)
        driver.do("cuMemFreeAsync", address, 0)
        driver.do("cuCtxSynchronize")
        found["set_null"] = driver.code("cuDeviceSetMemPool", 0, None)
        found["set_default"] = driver.code("cuDeviceSetMemPool", 0, default)
    with memory_pool(driver, pool_props(host_location())) as host:
        found["set_a_pool_of_the_host"] = driver.code("cuDeviceSetMemPool", 0, host)
        driver.do("cuDeviceSetMemPool", 0, default)
    return found


def exported(driver: Driver) -> dict[str, Any]:
    """A pool as a file descriptor, and pointers of it, in one process."""
    found: dict[str, Any] = {}
    file = INT(-1)
    fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    with memory_pool(driver) as pool:
        found["of_a_pool_without_handles"] = driver.code(
            "cuMemPoolExportToShareableHandle", ctypes.byref(file), pool, fd, 0
        )
    default = driver.made("cuDeviceGetDefaultMemPool", 0)
    found["of_the_default_pool"] = driver.code("cuMemPoolExportToShareableHandle", ctypes.byref(file), default, fd, 0)
    with memory_pool(driver, pool_props(handles=fd)) as pool:
        export = ("cuMemPoolExportToShareableHandle", ctypes.byref(file), pool)
        found["with_flags"] = driver.code(*export, fd, 1)
        found["of_another_type"] = driver.code(*export, CU_MEM_HANDLE_TYPE_WIN32, 0)
        found["code"] = driver.code(*export, fd, 0)
        imported = ctypes.c_void_p()
        found["import_in_the_same_process"] = driver.code(
            "cuMemPoolImportFromShareableHandle", ctypes.byref(imported), ctypes.c_void_p(file.value), fd, 0
        )
        address = driver.made("cuMemAllocFromPoolAsync", 4096, pool, 0, kind=ADDRESS)
        data = ctypes.create_string_buffer(64)
        found["pointer_before_a_wait"] = driver.code("cuMemPoolExportPointer", data, address)
        driver.do("cuCtxSynchronize")
        found["pointer"] = driver.code("cuMemPoolExportPointer", data, address)
        found["pointer_inside"] = driver.code("cuMemPoolExportPointer", data, address + 64)
        if imported.value:
            place = ADDRESS()
            found["allocation_from_the_imported"] = driver.code(
                "cuMemAllocFromPoolAsync", ctypes.byref(ADDRESS()), 64, imported, 0
            )
            found["import_of_the_pointer"] = driver.code("cuMemPoolImportPointer", ctypes.byref(place), imported, data)
            found["destroy_the_imported"] = driver.code("cuMemPoolDestroy", imported)
        driver.do("cuMemFreeAsync", address, 0)
        driver.do("cuCtxSynchronize")
        with contextlib.suppress(OSError):
            os.close(file.value)
    with device_memory(driver) as address:
        found["pointer_of_cuMemAlloc"] = driver.code("cuMemPoolExportPointer", data, address)
    return found


def limited(driver: Driver) -> dict[str, str]:
    """A pool of at most 32 MiB, and larger requests."""
    with memory_pool(driver, pool_props(size=32 * MIB)) as pool:
        found = {}
        for name, size in (("16_mib", 16 * MIB), ("32_mib", 32 * MIB), ("33_mib", 33 * MIB), ("128_mib", 128 * MIB)):
            address = ADDRESS()
            found[name] = driver.code("cuMemAllocFromPoolAsync", ctypes.byref(address), size, pool, 0)
            if address.value:
                driver.do("cuMemFreeAsync", address.value, 0)
                driver.do("cuCtxSynchronize")
        return found


def without_context(driver: Driver) -> dict[str, Any]:
    """By docs/reference/simulator.md, "Assumptions", calls on pools need no current context."""
    pool = driver.made("cuDeviceGetDefaultMemPool", 0)
    with no_context(driver):
        return {
            "attribute": pool_attribute(driver, pool, RELEASE_THRESHOLD),
            "set_attribute": driver.code("cuMemPoolSetAttribute", pool, RELEASE_THRESHOLD, ctypes.byref(ADDRESS(0))),
            "access": access_of(driver, pool, device_location()),
            "trim": driver.code("cuMemPoolTrimTo", pool, 0),
            "current": driver.code("cuDeviceGetMemPool", ctypes.byref(ADDRESS()), 0),
            "set_current": driver.code("cuDeviceSetMemPool", 0, pool),
        }


def by_location(driver: Driver) -> dict[str, Any]:
    """Default pools by location (CUDA 13.0)."""
    found = {}
    for place, location in (
        ("device", device_location()),
        ("host", host_location()),
        ("node_0", Location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0)),
        ("no_location", Location(CU_MEM_LOCATION_TYPE_INVALID, 0)),
        ("device_99", device_location(99)),
    ):
        for name, kind in (("pinned", 1), ("managed", 2), ("invalid", 0)):
            pool = ctypes.c_void_p()
            code = driver.code("cuMemGetDefaultMemPool", ctypes.byref(pool), ctypes.byref(location), kind)
            found[f"{place}.{name}"] = code
            if code == CUDA_SUCCESS and pool.value:
                found[f"{place}.{name}.threshold"] = pool_attribute(driver, pool.value, RELEASE_THRESHOLD)
                found[f"{place}.{name}.access_of_the_device"] = access_of(driver, pool.value, device_location())
    return found


ask(
    "pools.calls",
    {
        "access_of_the_default_pool": default_access,
        "current_pool": current_pool,
        "export": exported,
        "size_limit": limited,
        "without_a_context": without_context,
        "by_location": by_location,
        "of_null": lambda driver: {
            "attribute": pool_attribute(driver, 0, 1),
            "trim": driver.code("cuMemPoolTrimTo", None, 0),
            "allocation": driver.code("cuMemAllocFromPoolAsync", ctypes.byref(ADDRESS()), 16, None, 0),
        },
    },
)
