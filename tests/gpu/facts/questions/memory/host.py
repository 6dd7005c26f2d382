"""Pinned and registered host memory: flags, ranges, device addresses."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from .asking import (
    PAGE,
    ask,
    compared,
    device_memory,
    managed_memory,
    no_context,
    pages,
    pinned_memory,
    registered_memory,
)
from .structures import (
    ADDRESS,
    CU_MEMHOSTREGISTER_DEVICEMAP,
    CU_MEMHOSTREGISTER_READ_ONLY,
    UINT,
)

MAPPED = CU_MEMHOSTREGISTER_DEVICEMAP
FLAGS = (0, 1, 2, 3, 4, 5, 6, 7)


def host_flags(driver: Driver, address: int) -> Any:
    """By ``cuMemHostGetFlags``: the flags, or the name of the error."""
    flags = UINT(99)
    code = driver.code("cuMemHostGetFlags", ctypes.byref(flags), address)
    return flags.value if code == CUDA_SUCCESS else code


def device_address(driver: Driver, address: int, base: int) -> str:
    """By ``cuMemHostGetDevicePointer``: what the address is, or the name of the error."""
    found = ADDRESS()
    code = driver.code("cuMemHostGetDevicePointer_v2", ctypes.byref(found), address, 0)
    known = {"the_address": address} | ({"the_base": base} if base != address else {})
    return compared(found.value, **known) if code == CUDA_SUCCESS else code


def pinned(flags: int) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        address = ADDRESS()
        code = driver.code("cuMemHostAlloc", ctypes.byref(address), 100, flags)
        if code != CUDA_SUCCESS:
            return {"code": code}
        start = address.value
        found = {
            "code": code,
            "flags": host_flags(driver, start),
            "flags_inside": host_flags(driver, start + 50),
            "flags_past_the_end": host_flags(driver, start + 100),
            "device_address": device_address(driver, start, start),
            "device_address_inside": device_address(driver, start + 50, start),
            "device_address_past_the_end": device_address(driver, start + 100, start),
        }
        driver.do("cuMemFreeHost", start)
        return found

    return case


ask("host_memory.pinned", {f"flags_{flags}": pinned(flags) for flags in FLAGS} | {"flags_8": pinned(8)})


def by_alloc_host(driver: Driver) -> dict[str, Any]:
    address = driver.made("cuMemAllocHost_v2", 100)
    found = {"flags": host_flags(driver, address), "device_address": device_address(driver, address, address)}
    driver.do("cuMemFreeHost", address)
    return found


def of_others(driver: Driver) -> dict[str, Any]:
    """Flags and device addresses of memory that is no host memory of the driver."""
    with device_memory(driver) as device, managed_memory(driver) as managed, pages() as pageable:
        found = {}
        for name, address in (("device", device), ("managed", managed), ("pageable", pageable), ("null", 0)):
            found[f"{name}_flags"] = host_flags(driver, address)
            found[f"{name}_device_address"] = device_address(driver, address, address)
        return found


def bad_queries(driver: Driver) -> dict[str, str]:
    with pinned_memory(driver) as address:
        found = {
            "flags_without_result": driver.code("cuMemHostGetFlags", None, address),
            "device_address_without_result": driver.code("cuMemHostGetDevicePointer_v2", None, address, 0),
            "device_address_with_flags": driver.code(
                "cuMemHostGetDevicePointer_v2", ctypes.byref(ADDRESS()), address, 1
            ),
        }
        with no_context(driver):
            found["flags_without_a_context"] = str(host_flags(driver, address))
            found["device_address_without_a_context"] = device_address(driver, address, address)
        return found


ask(
    "host_memory.queries",
    {"of_cuMemAllocHost": by_alloc_host, "of_other_memory": of_others, "of_bad_arguments": bad_queries},
)


def registered(flags: int, offset: int = 0, size: int = 2 * PAGE) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        with pages() as start:
            address = start + offset
            code = driver.code("cuMemHostRegister_v2", address, size, flags)
            if code != CUDA_SUCCESS:
                return {"code": code}
            found = {
                "code": code,
                "flags": host_flags(driver, address),
                "device_address": device_address(driver, address, address),
                "device_address_inside": device_address(driver, address + size // 2, address),
                "device_address_of_last_byte": device_address(driver, address + size - 1, address),
                "device_address_past_the_end": device_address(driver, address + size, address),
            }
            if offset:
                found["device_address_of_the_page"] = device_address(driver, start, address)
            found["unregister"] = driver.code("cuMemHostUnregister", address)
            return found

    return case


ask(
    "host_memory.registered",
    {f"flags_{flags}": registered(flags) for flags in (0, 1, 2, 3, 4, 5, 8, 9, 10, 16, 1 << 31)}
    | {
        "unaligned": registered(MAPPED, 100, 1000),
        "unaligned_over_a_page": registered(MAPPED, PAGE - 4, 8),
        "one_byte": registered(MAPPED, 8, 1),
        "no_bytes": registered(MAPPED, 0, 0),
    },
)


def several_ranges(*ranges: tuple[int, int]) -> Callable[[Driver], list[str]]:
    """Register ranges of the same pages, and unregister them in the same order."""

    def case(driver: Driver) -> list[str]:
        with pages(8) as start:
            codes = [driver.code("cuMemHostRegister_v2", start + offset, size, MAPPED) for offset, size in ranges]
            codes += [driver.code("cuMemHostUnregister", start + offset) for offset, _ in ranges]
            return codes

    return case


ask(
    "host_memory.registered_again",
    {
        "same": several_ranges((0, PAGE), (0, PAGE)),
        "smaller": several_ranges((0, 2 * PAGE), (0, PAGE)),
        "larger": several_ranges((0, PAGE), (0, 2 * PAGE)),
        "inside": several_ranges((0, 4 * PAGE), (PAGE, PAGE)),
        "around": several_ranges((PAGE, PAGE), (0, 4 * PAGE)),
        "overlapping": several_ranges((0, 2 * PAGE), (PAGE, 2 * PAGE)),
        "adjacent": several_ranges((0, PAGE), (PAGE, PAGE)),
        "in_one_page": several_ranges((0, 100), (200, 100)),
        "adjacent_in_one_page": several_ranges((0, 100), (100, 100)),
        "overlapping_in_one_page": several_ranges((0, 100), (50, 100)),
    },
)


def unregister_at(offset: int) -> Callable[[Driver], list[str]]:
    """The codes of a release at an offset, and then at the start."""

    def case(driver: Driver) -> list[str]:
        with pages() as start:
            driver.do("cuMemHostRegister_v2", start + 64, 2 * PAGE, MAPPED)
            return [driver.code("cuMemHostUnregister", start + 64 + at) for at in (offset, 0)]

    return case


ask(
    "host_memory.unregister",
    {f"at_{offset}": unregister_at(offset) for offset in (0, 1, 80, PAGE, 2 * PAGE - 1, 2 * PAGE, -64)},
)


def register(driver: Driver, address: int, size: int, flags: int = MAPPED) -> str:
    """Register a range, and unregister it if that succeeded; return the code of the first."""
    code = driver.code("cuMemHostRegister_v2", address, size, flags)
    if code == CUDA_SUCCESS:
        driver.number("cuMemHostUnregister", address)
    return code


SYSTEM = ctypes.CDLL(None)
SYSTEM.mmap.restype = ctypes.c_void_p
SYSTEM.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
SYSTEM.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
MAP_FIXED = 0x10


def read_only_pages(flags: int) -> Callable[[Driver], dict[str, str]]:
    """Pages of a file that may only be read. By the manual, ``READ_ONLY`` is for such memory."""

    def case(driver: Driver) -> dict[str, str]:
        with open(sys.executable, "rb") as file:
            address = SYSTEM.mmap(None, PAGE, mmap.PROT_READ, mmap.MAP_PRIVATE, file.fileno(), 0)
        found = {"code": driver.code("cuMemHostRegister_v2", address, PAGE, flags)}
        if found["code"] == CUDA_SUCCESS:
            with device_memory(driver) as device:
                found["copy_from"] = driver.code("cuMemcpyHtoD_v2", device, address, 64)
            found["unregister"] = driver.code("cuMemHostUnregister", address)
        SYSTEM.munmap(address, PAGE)
        return found

    return case


def unmapped_pages(driver: Driver) -> dict[str, str]:
    """Addresses that no page is at, and a range whose second page is not there."""
    with pages(2) as start:
        SYSTEM.munmap(start + PAGE, PAGE)
        found = {
            "second_page": register(driver, start + PAGE, PAGE),
            "both_pages": register(driver, start, 2 * PAGE),
        }
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED
        SYSTEM.mmap(start + PAGE, PAGE, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        return found


def of_kind(memory: Any) -> Callable[[Driver], str]:
    def case(driver: Driver) -> str:
        with memory(driver) as address:
            return register(driver, address, PAGE)

    return case


ask(
    "host_memory.register_of",
    {
        "null": lambda driver: register(driver, 0, PAGE),
        "number_above_all_addresses": lambda driver: register(driver, 1 << 63, PAGE),
        "range_that_wraps": lambda driver: register(driver, (1 << 64) - PAGE, 2 * PAGE),
        "device": of_kind(device_memory),
        "pinned": of_kind(pinned_memory),
        "managed": of_kind(managed_memory),
        "registered": of_kind(registered_memory),
        "read_only_pages": read_only_pages(MAPPED),
        "read_only_pages_with_the_flag": read_only_pages(MAPPED | CU_MEMHOSTREGISTER_READ_ONLY),
    },
)
ask("host_memory.register_of_unmapped_pages", {"second": unmapped_pages}, seconds=8)


def without_context(driver: Driver) -> dict[str, str]:
    with pages() as start, no_context(driver):
        return {
            "register": driver.code("cuMemHostRegister_v2", start, PAGE, MAPPED),
            "unregister": driver.code("cuMemHostUnregister", start),
            "register_old_version": driver.code("cuMemHostRegister", start, PAGE, MAPPED),
        }


def in_another_context(flags: int, allocated: bool) -> Callable[[Driver], dict[str, Any]]:
    """Host memory of one context, asked about in another context of the device."""

    def case(driver: Driver) -> dict[str, Any]:
        current = driver.made("cuCtxGetCurrent")
        with pages() as start:
            if allocated:
                address = driver.pinned(4096, flags)
            else:
                address = start
                driver.do("cuMemHostRegister_v2", address, PAGE, flags)
            context = driver.made("cuCtxCreate_v2", 0, 0)
            found = {
                "flags": host_flags(driver, address),
                "device_address": device_address(driver, address, address),
                "context": "",
                "release": "",
            }
            owner = ctypes.c_uint64()
            driver.number("cuPointerGetAttribute", ctypes.byref(owner), 1, address)
            found["context"] = compared(owner.value, of_the_call=current, current=context)
            release = "cuMemFreeHost" if allocated else "cuMemHostUnregister"
            found["release"] = driver.code(release, address)
            driver.do("cuCtxDestroy_v2", context)
            driver.do("cuCtxSetCurrent", current)
            if found["release"] != CUDA_SUCCESS:
                driver.number(release, address)
            return found

    return case


ask("host_memory.register_without_a_context", {"pages": without_context})
ask(
    "host_memory.in_another_context",
    {
        "pinned": in_another_context(0, allocated=True),
        "pinned_portable": in_another_context(1, allocated=True),
        "registered": in_another_context(0, allocated=False),
        "registered_portable": in_another_context(1, allocated=False),
    },
)


def of_a_context_without_host_mapping(flags: int) -> Callable[[Driver], dict[str, Any]]:
    """``CU_CTX_MAP_HOST`` is the flag 8; by the manual it is needed, and it is implied since CUDA 3.2."""

    def case(driver: Driver) -> dict[str, Any]:
        current = driver.made("cuCtxGetCurrent")
        context = driver.made("cuCtxCreate_v2", flags, 0)
        address = driver.pinned(4096, 2)
        found = {"device_address": device_address(driver, address, address), "flags": host_flags(driver, address)}
        driver.do("cuMemFreeHost", address)
        driver.do("cuCtxDestroy_v2", context)
        driver.do("cuCtxSetCurrent", current)
        return found

    return case


ask("host_memory.context_flags", {f"flags_{flags}": of_a_context_without_host_mapping(flags) for flags in (0, 8)})
