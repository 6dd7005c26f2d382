"""Attributes of addresses of each kind of memory."""

from __future__ import annotations

import ctypes
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ...question import Facts, series
from .asking import (
    ask,
    device_memory,
    managed_memory,
    mapped_memory,
    no_context,
    pinned_memory,
    pool_memory,
    registered_memory,
)
from .places import PLACES, Place
from .structures import ADDRESS, UINT

CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6
NAMES = {
    1: "context",
    2: "memory_type",
    3: "device_pointer",
    4: "host_pointer",
    5: "p2p_tokens",
    6: "sync_memops",
    7: "buffer_id",
    8: "is_managed",
    9: "device_ordinal",
    10: "is_legacy_ipc_capable",
    11: "range_start",
    12: "range_size",
    13: "mapped",
    14: "allowed_handle_types",
    15: "is_gpu_direct_rdma_capable",
    16: "access_flags",
    17: "mempool_handle",
    18: "mapping_size",
    19: "mapping_base",
    20: "memory_block_id",
    21: "is_hw_decompress_capable",
    22: "locality_domain_ordinal",
}
"""The attributes ``CU_POINTER_ATTRIBUTE_…`` by number."""
ADDRESSES = {"device_pointer", "host_pointer", "range_start", "mapping_base"}
IDS = {"buffer_id", "memory_block_id"}
SIZES = {"range_size", "mapping_size"}
OF_SEVERAL = (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17)
"""The attributes that the manual of ``cuPointerGetAttributes`` lists."""


def value(driver: Driver, name: str, data: bytes, place: Place) -> Any:
    """The part of an attribute's value that can be compared."""
    word, half = int.from_bytes(data[:8], "little"), int.from_bytes(data[:4], "little", signed=True)
    if name == "context":
        return "null" if not word else "current" if word == driver.made("cuCtxGetCurrent") else "another"
    if name in ADDRESSES:
        known = (("null", 0), ("the address", place.address), ("the base", place.base))
        return next((text for text, address in known if word == address), "another")
    if name in IDS:
        return "zero" if not word else "not zero"
    if name == "mempool_handle":
        return "null" if not word else "the pool" if word == place.pool else "another"
    if name == "p2p_tokens":
        return "tokens"
    return word if name in SIZES else half


def one(driver: Driver, number: int, place: Place) -> Any:
    """An attribute by ``cuPointerGetAttribute``: its value, or the name of the error."""
    data = ctypes.create_string_buffer(16)
    code = driver.code("cuPointerGetAttribute", data, number, place.address)
    return value(driver, NAMES[number], data.raw, place) if code == CUDA_SUCCESS else code


@series("pointers.attribute", lambda: PLACES)
def attribute(driver: Driver, facts: Facts, step: str) -> None:
    with PLACES[step](driver) as place:
        for number, name in NAMES.items():
            facts[name] = one(driver, number, place)


def together(driver: Driver, numbers: tuple[int, ...], place: Place, fill: int = 0) -> tuple[str, list[bytes]]:
    """Attributes by ``cuPointerGetAttributes``: the result, and the bytes of each, which were filled before."""
    buffers = [ctypes.create_string_buffer(bytes([fill]) * 16, 16) for _ in numbers]
    addresses = (ctypes.c_void_p * len(numbers))(*(ctypes.addressof(buffer) for buffer in buffers))
    code = driver.code(
        "cuPointerGetAttributes", len(numbers), (UINT * len(numbers))(*numbers), addresses, place.address
    )
    return code, [buffer.raw for buffer in buffers]


@series("pointers.attributes", lambda: PLACES)
def attributes(driver: Driver, facts: Facts, step: str) -> None:
    """Each attribute alone, then those of the manual in one call."""
    with PLACES[step](driver) as place:
        for number, name in NAMES.items():
            code, (data,) = together(driver, (number,), place)
            written = together(driver, (number,), place, 0x5A)[1][0][0] != 0x5A
            if code == CUDA_SUCCESS:
                facts[name] = value(driver, name, data, place) if written else "not written"
            else:
                facts[name] = code
        code, found = together(driver, OF_SEVERAL, place)
        facts["all"] = code
        alone = [together(driver, (number,), place)[1][0] for number in OF_SEVERAL]
        facts["all_as_alone"] = [
            NAMES[number] for number, one, other in zip(OF_SEVERAL, found, alone, strict=True) if one != other
        ]


@series("pointers.bytes_written", lambda: NAMES.values())
def bytes_written(driver: Driver, facts: Facts, step: str) -> None:
    """How many bytes of the caller a query of device memory writes."""
    number = next(number for number, name in NAMES.items() if name == step)
    with device_memory(driver) as address:
        found = []
        for fill in (0x55, 0xAA):
            data = ctypes.create_string_buffer(bytes([fill]) * 32, 32)
            driver.number("cuPointerGetAttribute", data, number, address)
            found.append(data.raw)
        facts[""] = sum(one == other for one, other in zip(*found, strict=True))


def without_context(driver: Driver, memory: Any) -> dict[str, Any]:
    """By docs/reference/simulator.md, "Assumptions", calls of the pointer group need no current context."""
    with memory(driver) as address, no_context(driver):
        place = Place(address, address)
        found: dict[str, Any] = {}
        for number, name in NAMES.items():
            data = ctypes.create_string_buffer(16)
            code = driver.code("cuPointerGetAttribute", data, number, address)
            if code != CUDA_SUCCESS or name == "context":
                found[name] = code
            else:
                found[name] = value(driver, name, data.raw, place)
        return found


MEMORY = {
    "device": device_memory,
    "pinned": pinned_memory,
    "managed": managed_memory,
    "registered": registered_memory,
    "pool": pool_memory,
    "mapped": mapped_memory,
}
ask(
    "pointers.without_a_context",
    {name: lambda driver, memory=memory: without_context(driver, memory) for name, memory in MEMORY.items()},
)


def synchronous(driver: Driver, memory: Any) -> dict[str, Any]:
    """``SYNC_MEMOPS`` by kind of memory: /work/shared/cases/values/misc.py asks for success on managed memory."""
    with memory(driver) as address:
        found: dict[str, Any] = {}
        for name, wanted in (("set", 1), ("set_again", 1), ("set_inside", 1), ("unset", 0)):
            inside = 64 if name == "set_inside" else 0
            found[name] = driver.code(
                "cuPointerSetAttribute", ctypes.byref(UINT(wanted)), CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address + inside
            )
            found[f"{name}_read"] = one(driver, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, Place(address, address))
        return found


ask(
    "pointers.set_sync_memops",
    {name: lambda driver, memory=memory: synchronous(driver, memory) for name, memory in MEMORY.items()},
)


def settings(driver: Driver) -> dict[str, str]:
    """Setting of attributes that cannot be set, on device memory."""
    with device_memory(driver) as address:
        return {
            name: driver.code("cuPointerSetAttribute", ctypes.byref(ADDRESS(1)), number, address)
            for number, name in NAMES.items()
            if number != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
        }


def bad_calls(driver: Driver) -> dict[str, str]:
    data, numbers = ctypes.create_string_buffer(16), (UINT * 1)(2)
    with device_memory(driver) as address:
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(data))
        no_pointers = (ctypes.c_void_p * 1)(None)
        return {
            "attribute_0": driver.code("cuPointerGetAttribute", data, 0, address),
            "attribute_1000": driver.code("cuPointerGetAttribute", data, 1000, address),
            "no_result": driver.code("cuPointerGetAttribute", None, 2, address),
            "several_of_none": driver.code("cuPointerGetAttributes", 0, numbers, pointers, address),
            "several_without_numbers": driver.code("cuPointerGetAttributes", 1, None, pointers, address),
            "several_without_results": driver.code("cuPointerGetAttributes", 1, numbers, None, address),
            "several_with_a_null_result": driver.code("cuPointerGetAttributes", 1, numbers, no_pointers, address),
            "several_of_attribute_1000": driver.code("cuPointerGetAttributes", 1, (UINT * 1)(1000), pointers, address),
            "set_without_value": driver.code("cuPointerSetAttribute", None, 6, address),
            "set_of_null": driver.code("cuPointerSetAttribute", ctypes.byref(UINT(1)), 6, 0),
            "set_of_pageable": driver.code("cuPointerSetAttribute", ctypes.byref(UINT(1)), 6, ctypes.addressof(data)),
        }


ask("pointers.set", {"other_attributes": settings})
ask("pointers.bad_calls", {"of_device_memory": bad_calls})


def identities(driver: Driver) -> dict[str, bool]:
    """Ids of memory: one within an allocation, another for each, and for the same address used again."""

    def asked(number: int, address: int) -> int:
        data = ADDRESS()
        driver.do("cuPointerGetAttribute", ctypes.byref(data), number, address)
        return data.value

    with device_memory(driver) as first, device_memory(driver) as second, pinned_memory(driver) as pinned:
        found = {
            f"{NAMES[number]}.{name}": asked(number, first) == asked(number, other)
            for number in (7, 20)
            for name, other in (("inside", first + 8), ("of_second", second), ("of_pinned", pinned))
        }
        old = asked(7, first)
    address = driver.allocate(4096)
    found["buffer_id.grows"] = asked(7, address) > old
    driver.do("cuMemFree_v2", address)
    return found


ask("pointers.identity", {"of_allocations": identities})
