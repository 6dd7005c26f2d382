"""Releases of memory that the function does not release: freed, inner, of another kind, or without a context."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import Driver
from .asking import (
    ask,
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
from .places import VARIABLES
from .structures import ADDRESS

MEMORY: dict[str, Callable[[Driver], contextlib.AbstractContextManager[int]]] = {
    "device": device_memory,
    "pinned": pinned_memory,
    "managed": managed_memory,
    "registered": registered_memory,
    "pool": pool_memory,
    "mapped": mapped_memory,
    "reserved": reserved_addresses,
    "pageable": lambda _: pages(),
}
OWN = {
    ("cuMemFree_v2", "device"),
    ("cuMemFree_v2", "managed"),
    ("cuMemFree_v2", "pool"),
    ("cuMemFreeHost", "pinned"),
    ("cuMemHostUnregister", "registered"),
    ("cuMemFreeAsync", "pool"),
}
"""The releases that a function is made for, and memory of a pool, which both functions free."""


def call(driver: Driver, function: str, address: int) -> str:
    return driver.code(function, address, *((0,) if function == "cuMemFreeAsync" else ()))


def release(function: str, memory: str, offset: int, times: int) -> Callable[[Driver], list[str]]:
    """The codes of a release, several times; then of the work, which a wrong release might have broken."""

    def case(driver: Driver) -> list[str]:
        with MEMORY[memory](driver) as address:
            codes = [call(driver, function, address + offset) for _ in range(times)]
            return [*codes, driver.code("cuCtxSynchronize")]

    return case


FUNCTIONS = ("cuMemFree_v2", "cuMemFreeHost", "cuMemHostUnregister", "cuMemFreeAsync", "cuIpcCloseMemHandle")
ask(
    "memory.release",
    {
        f"{function}.{memory}": release(function, memory, 0, 2 if (function, memory) in OWN else 1)
        for function in FUNCTIONS
        for memory in MEMORY
    },
)
ask(
    "memory.release_inside",
    {f"{function}.{memory}": release(function, memory, 256, 1) for function, memory in sorted(OWN)},
)
ask(
    "memory.release_of_no_memory",
    {
        f"{function}.{name}": lambda driver, function=function, value=value: call(driver, function, value)
        for function in FUNCTIONS
        for name, value in (("null", 0), ("small_number", 4096), ("odd_number", 12345), ("all_bits", (1 << 64) - 1))
    },
)


def without_context(function: str, memory: str) -> Callable[[Driver], dict[str, Any]]:
    """By docs/reference/simulator.md, "Assumptions", releases without a stream need a current context."""

    def case(driver: Driver) -> dict[str, Any]:
        with MEMORY[memory](driver) as address:
            with no_context(driver):
                found = call(driver, function, address)
            return {"code": found, "again": call(driver, function, address)}

    return case


ask(
    "memory.release_without_a_context",
    {f"{function}.{memory}": without_context(function, memory) for function, memory in sorted(OWN)},
)


def of_destroyed_context(allocate: str, *rest: Any, function: str) -> Callable[[Driver], dict[str, Any]]:
    """The context that made the memory is destroyed. By the manual, this frees the memory of the context."""

    def case(driver: Driver) -> dict[str, Any]:
        current = driver.made("cuCtxGetCurrent")
        context = driver.made("cuCtxCreate_v2", 0, 0)
        address = driver.made(allocate, *rest, kind=ADDRESS)
        driver.do("cuCtxDestroy_v2", context)
        after = driver.made("cuCtxGetCurrent")
        found = {
            "current_after": "null" if not after else "the earlier one" if after == current else "another",
            "without_a_current_context": call(driver, function, address) if not after else "one is current",
        }
        driver.do("cuCtxSetCurrent", current)
        kind = ctypes.c_uint()
        found["known"] = driver.code("cuPointerGetAttribute", ctypes.byref(kind), 2, address)
        found["release"] = call(driver, function, address)
        return found

    return case


ask(
    "memory.of_a_destroyed_context",
    {
        "device": of_destroyed_context("cuMemAlloc_v2", 4096, function="cuMemFree_v2"),
        "pinned": of_destroyed_context("cuMemHostAlloc", 4096, 0, function="cuMemFreeHost"),
        "pinned_portable": of_destroyed_context("cuMemHostAlloc", 4096, 1, function="cuMemFreeHost"),
        "managed": of_destroyed_context("cuMemAllocManaged", 4096, 1, function="cuMemFree_v2"),
        "pool": of_destroyed_context("cuMemAllocAsync", 4096, 0, function="cuMemFreeAsync"),
    },
)


def registered_in_destroyed_context(driver: Driver) -> dict[str, str]:
    current = driver.made("cuCtxGetCurrent")
    context = driver.made("cuCtxCreate_v2", 0, 0)
    with pages() as address:
        driver.do("cuMemHostRegister_v2", address, 4096, 0)
        driver.do("cuCtxDestroy_v2", context)
        driver.do("cuCtxSetCurrent", current)
        again = driver.code("cuMemHostRegister_v2", address, 4096, 0)
        return {"register_again": again, "unregister": driver.code("cuMemHostUnregister", address)}


def in_another_context(allocate: str, *rest: Any, function: str) -> Callable[[Driver], str]:
    """Memory of one context, released while another context of the device is current."""

    def case(driver: Driver) -> str:
        current = driver.made("cuCtxGetCurrent")
        address = driver.made(allocate, *rest, kind=ADDRESS)
        context = driver.made("cuCtxCreate_v2", 0, 0)
        code = call(driver, function, address)
        driver.do("cuCtxDestroy_v2", context)
        driver.do("cuCtxSetCurrent", current)
        return code

    return case


ask("memory.registered_in_a_destroyed_context", {"pages": registered_in_destroyed_context})
ask(
    "memory.release_in_another_context",
    {
        "device": in_another_context("cuMemAlloc_v2", 4096, function="cuMemFree_v2"),
        "pinned": in_another_context("cuMemHostAlloc", 4096, 0, function="cuMemFreeHost"),
        "pinned_portable": in_another_context("cuMemHostAlloc", 4096, 1, function="cuMemFreeHost"),
        "managed": in_another_context("cuMemAllocManaged", 4096, 1, function="cuMemFree_v2"),
        "pool": in_another_context("cuMemAllocAsync", 4096, 0, function="cuMemFreeAsync"),
    },
)


def variable_of_module(driver: Driver) -> dict[str, str]:
    module = driver.module(VARIABLES)
    address = driver.made("cuModuleGetGlobal_v2", None, module, "global_variable", kind=ADDRESS)
    managed = driver.made("cuModuleGetGlobal_v2", None, module, "managed_variable", kind=ADDRESS)
    found = {
        "global": call(driver, "cuMemFree_v2", address),
        "managed": call(driver, "cuMemFree_v2", managed),
        "global_in_stream_order": call(driver, "cuMemFreeAsync", address),
    }
    driver.do("cuModuleUnload", module)
    return found


def pools(driver: Driver) -> dict[str, str]:
    """Destruction of pools that must stay, or that have live memory."""
    default = driver.made("cuDeviceGetDefaultMemPool", 0)
    found = {
        "null": driver.code("cuMemPoolDestroy", None),
        "default": driver.code("cuMemPoolDestroy", default),
        "current": "",
        "with_live_memory": "",
    }
    with memory_pool(driver) as pool:
        driver.do("cuDeviceSetMemPool", 0, pool)
        found["current"] = driver.code("cuMemPoolDestroy", pool)
    chosen = driver.made("cuDeviceGetMemPool", 0)
    found["current_after"] = "default" if chosen == default else "another"
    driver.do("cuDeviceSetMemPool", 0, default)
    with memory_pool(driver) as pool:
        address = driver.made("cuMemAllocFromPoolAsync", 4096, pool, 0, kind=ADDRESS)
        driver.do("cuCtxSynchronize")
        found["with_live_memory"] = driver.code("cuMemPoolDestroy", pool)
        found["fill_of_live_memory_after"] = driver.code("cuMemsetD8_v2", address, 0, 16)
        found["release_after"] = driver.code("cuMemFreeAsync", address, 0)
        found["wait_after"] = driver.code("cuCtxSynchronize")
    return found


ask("memory.release_of_a_variable", {"of_a_module": variable_of_module})
ask("memory.destruction_of_pools", {"of_device_0": pools})
