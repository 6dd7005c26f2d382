"""Managed memory: advice, prefetches, attributes of ranges, attachment to streams."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from .asking import (
    a_stream,
    ask,
    device_memory,
    managed_memory,
    no_context,
    pages,
    pinned_memory,
    pool_memory,
    registered_memory,
)
from .structures import (
    CU_MEM_ATTACH_GLOBAL,
    CU_MEM_ATTACH_HOST,
    CU_MEM_ATTACH_SINGLE,
    CU_MEM_LOCATION_TYPE_DEVICE,
    CU_MEM_LOCATION_TYPE_HOST,
    CU_MEM_LOCATION_TYPE_HOST_NUMA,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
    CU_MEM_LOCATION_TYPE_INVALID,
    INT,
    SIZE,
    UINT,
    Location,
)

SMALL = 64 << 10
CU_DEVICE_CPU, CU_DEVICE_INVALID = -1, -2
CU_MEM_ADVISE = {
    1: "set_read_mostly",
    2: "unset_read_mostly",
    3: "set_preferred_location",
    4: "unset_preferred_location",
    5: "set_accessed_by",
    6: "unset_accessed_by",
}
CU_MEM_RANGE_ATTRIBUTE = {
    1: "read_mostly",
    2: "preferred_location",
    3: "accessed_by",
    4: "last_prefetch_location",
    5: "preferred_location_type",
    6: "preferred_location_id",
    7: "last_prefetch_location_type",
    8: "last_prefetch_location_id",
}
ACCESSED_BY = 3
LOCATIONS = {
    "device_0": Location(CU_MEM_LOCATION_TYPE_DEVICE, 0),
    "host": Location(CU_MEM_LOCATION_TYPE_HOST, 0),
    "host_with_id_5": Location(CU_MEM_LOCATION_TYPE_HOST, 5),
    "node_0": Location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0),
    "node_1000": Location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 1000),
    "current_node": Location(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0),
    "invalid": Location(CU_MEM_LOCATION_TYPE_INVALID, 0),
    "device_99": Location(CU_MEM_LOCATION_TYPE_DEVICE, 99),
    "device_minus_1": Location(CU_MEM_LOCATION_TYPE_DEVICE, -1),
    "type_77": Location(77, 0),
}


def range_attribute(driver: Driver, number: int, address: int, size: int = SMALL, count: int = 1) -> Any:
    """One attribute of a range: its number, a list of numbers, or the name of the error."""
    values = (INT * count)(*[77] * count)
    code = driver.code("cuMemRangeGetAttribute", values, 4 * count, number, address, size)
    if code != CUDA_SUCCESS:
        return code
    return list(values) if number == ACCESSED_BY else values[0]


def everything(driver: Driver, address: int, size: int = SMALL) -> dict[str, Any]:
    """All attributes of a range; three devices that access it."""
    return {
        name: range_attribute(driver, number, address, size, 3 if number == ACCESSED_BY else 1)
        for number, name in CU_MEM_RANGE_ATTRIBUTE.items()
    }


Step = tuple[Any, ...]
"""A call with the address and the size after its name, then other arguments."""


def after(*steps: Step, part: int = SMALL, asked: int = SMALL) -> Callable[[Driver], dict[str, Any]]:
    """The attributes after some calls. By docs/reference/simulator.md, managed memory is where it is; hints are stored."""

    def case(driver: Driver) -> dict[str, Any]:
        with managed_memory(driver, SMALL) as address:
            codes = [driver.code(name, address, part, *arguments) for name, *arguments in steps]
            found = {"codes": codes, "wait": driver.code("cuCtxSynchronize")}
            return found | everything(driver, address, asked)

    return case


def advise(advice: int, device: int) -> Step:
    return ("cuMemAdvise", advice, device)


def advise_2(advice: int, location: str) -> Step:
    return ("cuMemAdvise_v2", advice, LOCATIONS[location])


def prefetch(device: int) -> Step:
    return ("cuMemPrefetchAsync", device, 0)


def prefetch_2(location: str, flags: int = 0) -> Step:
    return ("cuMemPrefetchAsync_v2", LOCATIONS[location], flags, 0)


ask(
    "managed_memory.attributes_after",
    {
        "nothing": after(),
        "prefetch_to_the_device": after(prefetch(0)),
        "prefetch_to_the_host": after(prefetch(CU_DEVICE_CPU)),
        "prefetch_to_the_device_and_the_host": after(prefetch(0), prefetch(CU_DEVICE_CPU)),
        "prefetch_to_an_invalid_device": after(prefetch(CU_DEVICE_INVALID)),
        "prefetch_to_device_99": after(prefetch(99)),
        "read_mostly_twice": after(advise(1, 0), advise(1, 0)),
        "read_mostly_with_device_99": after(advise(1, 99)),
        "read_mostly_and_not": after(advise(1, 0), advise(2, 0)),
        "accessed_by_the_device_and_the_host": after(advise(5, 0), advise(5, CU_DEVICE_CPU)),
        "accessed_by_the_host_and_the_device": after(advise(5, CU_DEVICE_CPU), advise(5, 0)),
        "accessed_by_the_device_and_not": after(advise(5, 0), advise(6, 0)),
        "accessed_by_the_device_and_not_by_the_host": after(advise(5, 0), advise(6, CU_DEVICE_CPU)),
        "preferred_host_then_device": after(advise(3, CU_DEVICE_CPU), advise(3, 0)),
        "preferred_device_and_none": after(advise(3, 0), advise(4, 0)),
        "advice_0": after(advise(0, 0)),
        "advice_9": after(advise(9, 0)),
        "read_mostly_of_a_part": after(advise(1, 0), part=4096),
        "preferred_location_of_a_part": after(advise(3, 0), part=4096),
        "accessed_by_of_a_part": after(advise(5, 0), part=4096),
        "prefetch_of_a_part": after(prefetch(0), part=4096),
        "prefetch_of_a_part_asked_about_the_part": after(prefetch(0), part=4096, asked=4096),
        "prefetch_with_flags": after(prefetch_2("device_0", 1)),
        "prefetch_of_no_bytes": after(prefetch(0), part=0),
        "advice_for_no_bytes": after(advise(1, 0), part=0),
        "prefetch_past_the_end": after(prefetch(0), part=2 * SMALL),
        "advice_past_the_end": after(advise(1, 0), part=2 * SMALL),
        "prefetch_past_the_end_by_1_gib": after(prefetch(0), part=SMALL + (1 << 30)),
        "advice_past_the_end_by_1_gib": after(advise(1, 0), part=SMALL + (1 << 30)),
    }
    | {
        f"{name}_for_device_{device}": after(advise(number, device))
        for number, name in CU_MEM_ADVISE.items()
        for device in (0, CU_DEVICE_CPU, CU_DEVICE_INVALID, 99)
    }
    | {f"prefetch_to_location_{location}": after(prefetch_2(location)) for location in LOCATIONS}
    | {
        f"{CU_MEM_ADVISE[number]}_for_location_{location}": after(advise_2(number, location))
        for number in (1, 3, 5)
        for location in LOCATIONS
    },
)


def entries(count: int) -> Callable[[Driver], Any]:
    """``ACCESSED_BY`` with room for some devices. By the manual, the rest is ``CU_DEVICE_INVALID``."""

    def case(driver: Driver) -> Any:
        with managed_memory(driver, SMALL) as address:
            driver.do("cuMemAdvise", address, SMALL, 5, 0)
            driver.do("cuMemAdvise", address, SMALL, 5, CU_DEVICE_CPU)
            return range_attribute(driver, ACCESSED_BY, address, SMALL, count)

    return case


def odd_sizes(driver: Driver) -> dict[str, str]:
    """Sizes of the result that are no multiple of four, or not four."""
    with managed_memory(driver, SMALL) as address:
        values = (INT * 4)()
        return {
            f"{name}_{size}": driver.code("cuMemRangeGetAttribute", values, size, number, address, SMALL)
            for number, name in CU_MEM_RANGE_ATTRIBUTE.items()
            for size in (0, 1, 3, 6, 8)
        }


def bad_ranges(driver: Driver) -> dict[str, Any]:
    with managed_memory(driver, SMALL) as address:
        return {
            "attribute_0": range_attribute(driver, 0, address),
            "attribute_9": range_attribute(driver, 9, address),
            "no_bytes": range_attribute(driver, 1, address, 0),
            "one_byte": range_attribute(driver, 1, address, 1),
            "inside": range_attribute(driver, 1, address + 100, 100),
            "past_the_end_in_the_page": range_attribute(driver, 1, address, SMALL + 1),
            "past_the_end": range_attribute(driver, 1, address, SMALL + (1 << 30)),
            "no_result": driver.code("cuMemRangeGetAttribute", None, 4, 1, address, SMALL),
            "null": range_attribute(driver, 1, 0),
        }


def several(numbers: tuple[int, ...], *, sizes: tuple[int, ...] = ()) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        with managed_memory(driver, SMALL) as address:
            driver.do("cuMemAdvise", address, SMALL, 1, 0)
            values = [(INT * 2)(77, 77) for _ in numbers]
            places = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
            lengths = (SIZE * max(len(numbers), 1))(*(sizes or [4] * len(numbers)))
            chosen = (UINT * max(len(numbers), 1))(*numbers)
            code = driver.code("cuMemRangeGetAttributes", places, lengths, chosen, len(numbers), address, SMALL)
            return {"code": code, "values": [list(value) for value in values]}

    return case


ask("managed_memory.accessed_by", {f"room_for_{count}": entries(count) for count in (1, 2, 3, 5)})
ask("managed_memory.bad_queries", {"sizes_of_results": odd_sizes, "ranges": bad_ranges})
ask(
    "managed_memory.several_attributes",
    {
        "two": several((1, 2)),
        "all": several(tuple(CU_MEM_RANGE_ATTRIBUTE)),
        "none": several(()),
        "one_unknown": several((1, 99)),
        "one_with_a_wrong_size": several((1, 2), sizes=(4, 8)),
        "accessed_by_with_two_entries": several((3,), sizes=(8,)),
    },
)

MEMORY: dict[str, Any] = {
    "device": lambda driver: device_memory(driver, SMALL),
    "pinned": lambda driver: pinned_memory(driver, SMALL),
    "registered": lambda driver: registered_memory(driver, 16),
    "pageable": lambda _: pages(16),
    "pool": lambda driver: pool_memory(driver, SMALL),
}


def of_other_memory(memory: Any) -> Callable[[Driver], dict[str, Any]]:
    """By the manual, the memory must be managed, or pageable on devices that can access all pageable memory."""

    def case(driver: Driver) -> dict[str, Any]:
        with memory(driver) as address:
            found: dict[str, Any] = {
                name: driver.code("cuMemAdvise", address, 4096, number, 0) for number, name in CU_MEM_ADVISE.items()
            }
            found["prefetch"] = driver.code("cuMemPrefetchAsync", address, 4096, 0, 0)
            found["prefetch_to_the_host"] = driver.code("cuMemPrefetchAsync", address, 4096, CU_DEVICE_CPU, 0)
            found["attribute"] = range_attribute(driver, 1, address, 4096)
            with a_stream(driver) as stream:
                found["attach"] = driver.code("cuStreamAttachMemAsync", stream, address, 0, CU_MEM_ATTACH_SINGLE)
            found["wait"] = driver.code("cuCtxSynchronize")
            return found

    return case


ask("managed_memory.calls_on_other_memory", {name: of_other_memory(memory) for name, memory in MEMORY.items()})


def attach(
    flags: int, length: int, *, offset: int = 0, legacy: bool = False, made_for: int = 1
) -> Callable[[Driver], str]:
    def case(driver: Driver) -> str:
        with managed_memory(driver, SMALL, made_for) as address, a_stream(driver) as stream:
            code = driver.code("cuStreamAttachMemAsync", 0 if legacy else stream, address + offset, length, flags)
            driver.do("cuCtxSynchronize")
            return code

    return case


ask(
    "managed_memory.attach",
    {
        "global": attach(CU_MEM_ATTACH_GLOBAL, 0),
        "host": attach(CU_MEM_ATTACH_HOST, 0),
        "single": attach(CU_MEM_ATTACH_SINGLE, 0),
        "single_with_length": attach(CU_MEM_ATTACH_SINGLE, SMALL),
        "single_with_part_of_the_length": attach(CU_MEM_ATTACH_SINGLE, 4096),
        "single_with_too_much_length": attach(CU_MEM_ATTACH_SINGLE, 2 * SMALL),
        "single_inside": attach(CU_MEM_ATTACH_SINGLE, 0, offset=4096),
        "single_in_the_default_stream": attach(CU_MEM_ATTACH_SINGLE, 0, legacy=True),
        "global_in_the_default_stream": attach(CU_MEM_ATTACH_GLOBAL, 0, legacy=True),
        "flags_0": attach(0, 0),
        "flags_3": attach(3, 0),
        "flags_8": attach(8, 0),
        "single_of_memory_for_the_host": attach(CU_MEM_ATTACH_SINGLE, 0, made_for=CU_MEM_ATTACH_HOST),
    },
)


def without_context(driver: Driver) -> dict[str, Any]:
    with managed_memory(driver, SMALL) as address, a_stream(driver) as stream, no_context(driver):
        return {
            "advice": driver.code("cuMemAdvise", address, SMALL, 1, 0),
            "attribute": range_attribute(driver, 1, address),
            "prefetch_in_the_default_stream": driver.code("cuMemPrefetchAsync", address, SMALL, 0, 0),
            "prefetch_in_a_stream": driver.code("cuMemPrefetchAsync", address, SMALL, 0, stream),
            "attach": driver.code("cuStreamAttachMemAsync", stream, address, 0, CU_MEM_ATTACH_SINGLE),
        }


def batches(driver: Driver) -> dict[str, str]:
    """Prefetches and discards of several ranges in one call."""
    with managed_memory(driver, SMALL) as first, managed_memory(driver, SMALL) as second, a_stream(driver) as stream:
        with device_memory(driver, SMALL) as device:
            places, sizes = (ctypes.c_uint64 * 2)(first, second), (SIZE * 2)(SMALL, SMALL)
            wrong = (ctypes.c_uint64 * 2)(first, device)
            where, starts = (Location * 1)(LOCATIONS["device_0"]), (SIZE * 1)(0)
            rest = (where, starts, 1, 0)
            return {
                "prefetch": driver.code("cuMemPrefetchBatchAsync", places, sizes, 2, *rest, stream),
                "prefetch_of_none": driver.code("cuMemPrefetchBatchAsync", places, sizes, 0, *rest, stream),
                "prefetch_in_the_default_stream": driver.code("cuMemPrefetchBatchAsync", places, sizes, 2, *rest, 0),
                "prefetch_of_device_memory": driver.code("cuMemPrefetchBatchAsync", wrong, sizes, 2, *rest, stream),
                "discard": driver.code("cuMemDiscardBatchAsync", places, sizes, 2, 0, stream),
                "discard_with_flags": driver.code("cuMemDiscardBatchAsync", places, sizes, 2, 1, stream),
                "discard_of_device_memory": driver.code("cuMemDiscardBatchAsync", wrong, sizes, 2, 0, stream),
                "discard_and_prefetch": driver.code(
                    "cuMemDiscardAndPrefetchBatchAsync", places, sizes, 2, *rest, stream
                ),
                "wait": driver.code("cuStreamSynchronize", stream),
            }


ask("managed_memory.without_a_context", {"calls": without_context})
ask("managed_memory.batches", {"of_two_ranges": batches})
