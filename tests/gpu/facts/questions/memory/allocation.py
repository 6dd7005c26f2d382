"""Sizes, alignments and limits of allocations."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

from ...driver import Driver
from .asking import ask, device_memory, made, mapped_memory, no_context, pinned_memory, pool_memory
from .structures import ADDRESS, GRANULE, KIB, MIB, SIZE, pool_props

MORE_THAN_ALL_ADDRESSES = 1 << 50
MORE_THAN_THE_DEVICE = 1 << 40
ALL_BITS = (1 << 64) - 1


def pitched(driver: Driver, width: int, height: int, element: int) -> dict[str, Any]:
    address, pitch = ADDRESS(1), SIZE(1)
    code = driver.code("cuMemAllocPitch_v2", ctypes.byref(address), ctypes.byref(pitch), width, height, element)
    if code == "CUDA_SUCCESS":
        driver.number("cuMemFree_v2", address.value)
        return {"code": code, "pitch": pitch.value}
    return {"code": code, "address_unchanged": address.value == 1, "pitch_unchanged": pitch.value == 1}


ask(
    "memory.allocation_of_no_bytes",
    {
        "device": lambda driver: made(driver, "cuMemAlloc_v2", 0),
        "pinned": lambda driver: made(driver, "cuMemHostAlloc", 0, 0),
        "pinned_mapped": lambda driver: made(driver, "cuMemHostAlloc", 0, 2),
        "pinned_by_cuMemAllocHost": lambda driver: made(driver, "cuMemAllocHost_v2", 0),
        "managed": lambda driver: made(driver, "cuMemAllocManaged", 0, 1),
        "reserved": lambda driver: made(driver, "cuMemAddressReserve", 0, 0, 0, 0),
        "stream_ordered_in_the_default_stream": lambda driver: made(driver, "cuMemAllocAsync", 0, 0),
    },
)
ask(
    "memory.too_large",
    {
        f"{name}_{size_name}": lambda driver, call=call, size=size, rest=rest: made(driver, call, size, *rest)
        for name, call, rest in (
            ("device", "cuMemAlloc_v2", ()),
            ("pinned", "cuMemHostAlloc", (0,)),
            ("managed", "cuMemAllocManaged", (1,)),
            ("stream_ordered", "cuMemAllocAsync", (0,)),
            ("reserved", "cuMemAddressReserve", (0, 0, 0)),
        )
        for size_name, size in (
            ("1_tib", MORE_THAN_THE_DEVICE),
            ("1_pib", MORE_THAN_ALL_ADDRESSES),
            ("half_of_64_bits", 1 << 63),
            ("2_to_64_minus_1", ALL_BITS),
            ("2_to_64_minus_2_mib", ALL_BITS + 1 - GRANULE),
        )
        if (name, size_name) not in {("pinned", "1_tib"), ("managed", "1_tib"), ("reserved", "1_tib")}
    },
    seconds=10,
)
ask(
    "memory.no_result",
    {
        "device": lambda driver: driver.code("cuMemAlloc_v2", None, 16),
        "pinned": lambda driver: driver.code("cuMemHostAlloc", None, 16, 0),
        "pinned_by_cuMemAllocHost": lambda driver: driver.code("cuMemAllocHost_v2", None, 16),
        "managed": lambda driver: driver.code("cuMemAllocManaged", None, 16, 1),
        "stream_ordered": lambda driver: driver.code("cuMemAllocAsync", None, 16, 0),
        "pitched": lambda driver: driver.code("cuMemAllocPitch_v2", None, ctypes.byref(SIZE()), 16, 16, 4),
        "pitched_without_pitch": lambda driver: driver.code(
            "cuMemAllocPitch_v2", ctypes.byref(ADDRESS()), None, 16, 16, 4
        ),
        "information": lambda driver: driver.code("cuMemGetInfo_v2", None, None),
        "information_of_free": lambda driver: driver.code("cuMemGetInfo_v2", ctypes.byref(SIZE()), None),
    },
)
WIDTHS = (1, 31, 32, 33, 100, 128, 256, 257, 500, 511, 512, 513, 1000, 1023, 1024, 1025, 2000, 4096, 4097, 65537)
ask(
    "memory.pitch",
    {f"width_{width}": lambda driver, width=width: pitched(driver, width, 4, 4) for width in WIDTHS}
    | {
        f"element_{size}": lambda driver, size=size: pitched(driver, 100, 4, size)
        for size in (0, 1, 2, 3, 4, 8, 12, 16, 32)
    }
    | {
        "width_0": lambda driver: pitched(driver, 0, 4, 4),
        "height_0": lambda driver: pitched(driver, 100, 0, 4),
        "height_1": lambda driver: pitched(driver, 100, 1, 4),
        "height_of_all_bits": lambda driver: pitched(driver, 100, ALL_BITS, 4),
        "width_of_all_bits": lambda driver: pitched(driver, ALL_BITS, 1, 4),
    },
)

ALLOCATORS: dict[str, tuple[Callable[[Driver, int], int], str, tuple[int, ...]]] = {
    "device": (lambda driver, size: driver.allocate(size), "cuMemFree_v2", ()),
    "pinned": (lambda driver, size: driver.pinned(size), "cuMemFreeHost", ()),
    "managed": (
        lambda driver, size: driver.made("cuMemAllocManaged", size, 1, kind=ADDRESS),
        "cuMemFree_v2",
        (),
    ),
    "stream_ordered": (
        lambda driver, size: driver.made("cuMemAllocAsync", size, 0, kind=ADDRESS),
        "cuMemFreeAsync",
        (0,),
    ),
}


def alignment(driver: Driver, allocator: str, size: int) -> dict[str, bool]:
    """Of eight allocations. By the manual, an address suits any kind of variable."""
    allocate, free, rest = ALLOCATORS[allocator]
    found = [allocate(driver, size) for _ in range(8)]
    for address in found:
        driver.do(free, address, *rest)
    aligned = {
        f"by_{name}": all(address % size == 0 for address in found)
        for name, size in (("256", 256), ("512", 512), ("4096", 4096))
    }
    if allocator in {"pinned", "managed"}:  # the system chooses these addresses at random
        return aligned
    steps = {later - earlier for earlier, later in itertools.pairwise(found)}
    return aligned | {
        "by_2_mib": all(address % GRANULE == 0 for address in found),
        "one_distance": len(steps) == 1,
        "distance_is_size_in_512": steps == {-(-size // 512) * 512},
        "share_2_mib": len({address // GRANULE for address in found}) < len(found),
    }


SIZES = (
    1,
    255,
    256,
    257,
    511,
    512,
    513,
    4095,
    4096,
    4097,
    65536,
    MIB - 1,
    MIB,
    MIB + 1,
    GRANULE - 1,
    GRANULE,
    GRANULE + 1,
)
ask(
    "memory.alignment",
    {
        f"{allocator}.{size}": lambda driver, allocator=allocator, size=size: alignment(driver, allocator, size)
        for allocator in ALLOCATORS
        for size in SIZES
        if allocator != "managed" or size <= 65536
    },
)


def address_range(driver: Driver, address: int, base: int) -> dict[str, Any]:
    start, size = ADDRESS(1), SIZE(1)
    code = driver.code("cuMemGetAddressRange_v2", ctypes.byref(start), ctypes.byref(size), address)
    if code != "CUDA_SUCCESS":
        return {"code": code, "unchanged": start.value == size.value == 1}
    return {"code": code, "offset": address - start.value if start.value == base else "another", "size": size.value}


def range_in(offset: int, memory: Any = device_memory, *arguments: Any) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        with memory(driver, *arguments) as base:
            return address_range(driver, base + offset, base)

    return case


def range_results(driver: Driver) -> dict[str, str]:
    """By the manual, both results are optional."""
    with device_memory(driver) as address:
        return {
            "without_start": driver.code("cuMemGetAddressRange_v2", None, ctypes.byref(SIZE()), address),
            "without_size": driver.code("cuMemGetAddressRange_v2", ctypes.byref(ADDRESS()), None, address),
            "without_both": driver.code("cuMemGetAddressRange_v2", None, None, address),
        }


def range_without_context(driver: Driver) -> str:
    with device_memory(driver) as address, no_context(driver):
        return driver.code("cuMemGetAddressRange_v2", ctypes.byref(ADDRESS()), ctypes.byref(SIZE()), address)


ask(
    "memory.address_range",
    {
        "at_the_start": range_in(0),
        "inside": range_in(1000),
        "last_byte": range_in(4095),
        "end": range_in(4096),
        "of_1000_bytes_at_1000": range_in(1000, device_memory, 1000),
        "of_1000_bytes_at_999": range_in(999, device_memory, 1000),
        "of_1_byte": range_in(0, device_memory, 1),
        "of_3_mib": range_in(GRANULE, device_memory, 3 * MIB),
        "pinned": range_in(8, pinned_memory),
        "pool": range_in(8, pool_memory),
        "pool_of_1000_bytes": range_in(8, pool_memory, 1000),
        "mapped": range_in(8, mapped_memory),
        "null": lambda driver: address_range(driver, 0, 0),
        "small_number": lambda driver: address_range(driver, 4096, 0),
        "results": range_results,
        "without_a_context": range_without_context,
    },
)


def information(driver: Driver) -> dict[str, bool]:
    """Other processes allocate too, so only what is fixed is compared."""
    free, total, whole = SIZE(), SIZE(), SIZE()
    driver.do("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    driver.do("cuDeviceTotalMem_v2", ctypes.byref(whole), 0)
    return {
        "total_is_that_of_the_device": total.value == whole.value,
        "total_in_mib": total.value % MIB == 0,
        "free_is_at_most_total": free.value <= total.value,
    }


ask("memory.information", {"of_the_device": information})


def flags(call: str, *before: Any) -> dict[str, Callable[[Driver], str]]:
    """Flags that the manual does not list."""

    def case(value: int) -> Callable[[Driver], str]:
        def ask_one(driver: Driver) -> str:
            address = ADDRESS()
            code = driver.code(call, ctypes.byref(address), *before, value)
            if code == "CUDA_SUCCESS":
                driver.number("cuMemFree_v2" if call == "cuMemAllocManaged" else "cuMemFreeHost", address.value)
            return code

        return ask_one

    return {f"{call}.{value}": case(value) for value in (0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 1 << 31)}


ask("memory.flags", flags("cuMemHostAlloc", 4096) | flags("cuMemAllocManaged", 4096))


def without_context(driver: Driver) -> dict[str, str]:
    """By docs/reference/simulator.md, "Assumptions", these calls need a current context; pools do not."""
    pool = driver.made("cuDeviceGetDefaultMemPool", 0)
    with no_context(driver):
        found = {
            call: driver.code(call, ctypes.byref(ADDRESS()), *arguments)
            for call, arguments in (
                ("cuMemAlloc_v2", (16,)),
                ("cuMemHostAlloc", (16, 0)),
                ("cuMemAllocHost_v2", (16,)),
                ("cuMemAllocManaged", (16, 1)),
                ("cuMemAllocAsync", (16, 0)),
                ("cuMemAllocFromPoolAsync", (16, pool, 0)),
                ("cuMemAddressReserve", (GRANULE, 0, 0, 0)),
            )
        }
        found["cuMemGetInfo_v2"] = driver.code("cuMemGetInfo_v2", ctypes.byref(SIZE()), ctypes.byref(SIZE()))
        created = ADDRESS()
        found["cuMemPoolCreate"] = driver.code("cuMemPoolCreate", ctypes.byref(created), ctypes.byref(pool_props()))
        return found


ask("memory.without_a_context", {"allocations": without_context})


def reuse(driver: Driver) -> dict[str, bool]:
    """By docs/reference/strictness.md, addresses come back soon on a GPU, and late in the simulator."""
    found = {}
    for name, size in (("1_kib", KIB), ("2_mib", GRANULE), ("32_mib", 16 * GRANULE)):
        first = driver.allocate(size)
        driver.do("cuMemFree_v2", first)
        second = driver.allocate(size)
        driver.do("cuMemFree_v2", second)
        found[name] = first == second
    return found


ask("memory.address_is_used_again", {"at_once": reuse})
