"""Access to mapped memory: what can be set, what is read back, and what calls do without it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import Driver
from .asking import ask, mapped_memory, then
from .structures import (
    ADDRESS,
    CU_MEM_LOCATION_TYPE_HOST_NUMA,
    GRANULE,
    AccessDesc,
    Location,
    device_location,
    host_location,
)


def access_flags(driver: Driver, location: Location, address: int) -> Any:
    return driver.got("cuMemGetAccess", ctypes.byref(location), address, kind=ADDRESS)


def access(location: Location, at: int = 0, size: int = GRANULE) -> Callable[[Driver], dict[str, Any]]:
    """Access at first, then after each value that is set."""

    def case(driver: Driver) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for flags in (0, 1, 2, 3, 4):
            with mapped_memory(driver, access=False) as address:
                if not flags:
                    found["at_first"] = access_flags(driver, location, address)
                wanted = AccessDesc(location, flags)
                found[f"set_{flags}"] = driver.code("cuMemSetAccess", address + at, size, ctypes.byref(wanted), 1)
                found[f"after_{flags}"] = access_flags(driver, location, address)
        return found

    return case


def used(flags: int, *call: Any) -> Callable[[Driver], dict[str, str]]:
    """A call on mapped memory of this access; the address replaces ``None``."""

    def case(driver: Driver) -> dict[str, str]:
        with mapped_memory(driver, access=False) as address:
            wanted = AccessDesc(device_location(), flags)
            driver.do("cuMemSetAccess", address, GRANULE, ctypes.byref(wanted), 1)
            return then(driver, *(address if argument is None else argument for argument in call))

    return case


HOST = ctypes.create_string_buffer(64)
ask(
    "virtual_memory.use_with_access",
    {
        f"{name}.{flags}": used(flags, *call)
        for flags in (0, 1, 3)
        for name, call in {
            "read": ("cuMemcpyDtoH_v2", HOST, None, 16),
            "write": ("cuMemcpyHtoD_v2", None, HOST, 16),
            "fill": ("cuMemsetD8_v2", None, 1, 16),
            "fill_in_a_stream": ("cuMemsetD32Async", None, 1, 4, 0),
            "copy_within": ("cuMemcpy", None, None, 16),
        }.items()
    },
    seconds=8,
)

ask(
    "virtual_memory.access",
    {
        "device": access(device_location()),
        "host": access(host_location()),
        "node_0": access(Location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0)),
        "device_99": access(device_location(99)),
        "half": access(device_location(), 0, GRANULE // 2),
        "more": access(device_location(), 0, 2 * GRANULE),
        "no_bytes": access(device_location(), 0, 0),
    },
)


def taken_away(driver: Driver) -> dict[str, Any]:
    with mapped_memory(driver) as address:
        none = AccessDesc(device_location(), 0)
        found = {"set": driver.code("cuMemSetAccess", address, GRANULE, ctypes.byref(none), 1)}
        found["access"] = access_flags(driver, device_location(), address)
        found["none_of_them"] = driver.code("cuMemSetAccess", address, GRANULE, ctypes.byref(none), 0)
        found["inside"] = access_flags(driver, device_location(), address + 100)
        found["past_the_end"] = access_flags(driver, device_location(), address + GRANULE)
        return found


ask("virtual_memory.access_of_the_device", {"taken_away": taken_away})
