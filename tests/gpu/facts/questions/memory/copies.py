"""Copies and fills of no bytes, past an end, and with sides that are not what the function's name says."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...driver import Driver
from .asking import (
    ask,
    device_memory,
    managed_memory,
    mapped_memory,
    no_context,
    pages,
    pinned_memory,
    pool_memory,
    registered_memory,
    reserved_addresses,
    then,
)
from .structures import CU_STREAM_PER_THREAD, GRANULE, MIB

STREAM = CU_STREAM_PER_THREAD
NO_ADDRESS = 1 << 46
"""A number that is the address of no memory."""


@dataclass(frozen=True)
class Copy:
    """A function that copies: what its sides are, and how it is called."""

    target: str
    source: str
    call: Callable[[int, int, int], tuple[Any, ...]]


COPIES = {
    "cuMemcpy": Copy("device", "device", lambda to, of, size: ("cuMemcpy", to, of, size)),
    "cuMemcpyHtoD": Copy("device", "host", lambda to, of, size: ("cuMemcpyHtoD_v2", to, of, size)),
    "cuMemcpyDtoH": Copy("host", "device", lambda to, of, size: ("cuMemcpyDtoH_v2", to, of, size)),
    "cuMemcpyDtoD": Copy("device", "device", lambda to, of, size: ("cuMemcpyDtoD_v2", to, of, size)),
    "cuMemcpyAsync": Copy("device", "device", lambda to, of, size: ("cuMemcpyAsync", to, of, size, STREAM)),
    "cuMemcpyHtoDAsync": Copy("device", "host", lambda to, of, size: ("cuMemcpyHtoDAsync_v2", to, of, size, STREAM)),
    "cuMemcpyDtoHAsync": Copy("host", "device", lambda to, of, size: ("cuMemcpyDtoHAsync_v2", to, of, size, STREAM)),
    "cuMemcpyDtoDAsync": Copy("device", "device", lambda to, of, size: ("cuMemcpyDtoDAsync_v2", to, of, size, STREAM)),
}
FILLS = {
    "cuMemsetD8": lambda to, count: ("cuMemsetD8_v2", to, 1, count),
    "cuMemsetD16": lambda to, count: ("cuMemsetD16_v2", to, 1, count),
    "cuMemsetD32": lambda to, count: ("cuMemsetD32_v2", to, 1, count),
    "cuMemsetD8Async": lambda to, count: ("cuMemsetD8Async", to, 1, count, STREAM),
    "cuMemsetD16Async": lambda to, count: ("cuMemsetD16Async", to, 1, count, STREAM),
    "cuMemsetD32Async": lambda to, count: ("cuMemsetD32Async", to, 1, count, STREAM),
}


@contextlib.contextmanager
def sides(driver: Driver, size: int = 4096) -> Iterator[dict[str, int]]:
    with device_memory(driver, size) as device, pages(16) as host:
        yield {"device": device, "host": host}


def copy_of_none(copy: Copy, target: int | None, source: int | None) -> Callable[[Driver], dict[str, str]]:
    """By docs/reference/simulator.md, "Assumptions": a copy of no bytes succeeds whatever its pointers are."""

    def case(driver: Driver) -> dict[str, str]:
        with sides(driver) as memory:
            to = memory[copy.target] if target is None else target
            of = memory[copy.source] if source is None else source
            return then(driver, *copy.call(to, of, 0))

    return case


ask(
    "memory.copy_of_no_bytes",
    {
        f"{name}.{what}": copy_of_none(copy, target, source)
        for name, copy in COPIES.items()
        for what, target, source in (
            ("right_pointers", None, None),
            ("null_target", 0, None),
            ("null_source", None, 0),
            ("null_pointers", 0, 0),
            ("no_target", NO_ADDRESS, None),
            ("no_source", None, NO_ADDRESS),
        )
    },
)
ask(
    "memory.fill_of_no_bytes",
    {
        f"{name}.{what}": lambda driver, fill=fill, address=address: then(driver, *fill(address, 0))
        for name, fill in FILLS.items()
        for what, address in (("null", 0), ("no_memory", NO_ADDRESS), ("odd_number", 12345))
    },
)


def past_the_end(copy: Copy, size: int, past: int, end: str) -> Callable[[Driver], dict[str, str]]:
    """A copy to or from device memory, beyond its end. The other side is large enough."""

    def case(driver: Driver) -> dict[str, str]:
        with device_memory(driver, size) as small, device_memory(driver, 8 * MIB) as large, pages(2048) as host:
            others = {"device": large, "host": host}
            to = small if end == "target" else others[copy.target]
            of = small if end == "source" else others[copy.source]
            return then(driver, *copy.call(to, of, size + past))

    return case


PAST = (1, 24, 25, 512, 4096, 4 * MIB)
ask(
    "memory.copy_past_the_end",
    {
        f"{name}.{end}_of_{size}_by_{past}": past_the_end(copy, size, past, end)
        for name, copy in COPIES.items()
        for end in ("target", "source")
        if getattr(copy, end) == "device"
        for size in (1000, GRANULE)
        for past in (PAST if size == 1000 else (1, 512, 4 * MIB))
    },
    seconds=8,
)


def fill_past(name: str, size: int, past: int) -> Callable[[Driver], dict[str, str]]:
    def case(driver: Driver) -> dict[str, str]:
        width = 4 if "D32" in name else 2 if "D16" in name else 1
        with device_memory(driver, size) as address:
            return then(driver, *FILLS[name](address, (size + past) // width))

    return case


ask(
    "memory.fill_past_the_end",
    {
        f"{name}.of_{size}_by_{past}": fill_past(name, size, past)
        for name in FILLS
        for size in (1000, GRANULE)
        for past in (4, 24, 28, 512, 4 * MIB)
    },
    seconds=8,
)
ask(
    "memory.fill_unaligned",
    {
        f"{name}.by_{offset}": lambda driver, fill=fill, offset=offset: unaligned(driver, fill, offset)
        for name, fill in FILLS.items()
        if "D8" not in name
        for offset in (1, 2, 3)
    },
)


def unaligned(driver: Driver, fill: Callable[[int, int], tuple[Any, ...]], offset: int) -> dict[str, str]:
    with device_memory(driver) as address:
        return then(driver, *fill(address + offset, 4))


KINDS: dict[str, Any] = {
    "device": device_memory,
    "pinned": pinned_memory,
    "registered": registered_memory,
    "managed": managed_memory,
    "pageable": lambda _: pages(),
    "pool": pool_memory,
    "mapped": mapped_memory,
    "mapped_without_access": lambda driver: mapped_memory(driver, GRANULE, False),
    "reserved": reserved_addresses,
}


def between(copy: Copy, target: str, source: str) -> Callable[[Driver], dict[str, str]]:
    """By docs/reference/strictness.md, the host side of ``cuMemcpyHtoD`` and ``cuMemcpyDtoH`` may not be device memory."""

    def case(driver: Driver) -> dict[str, str]:
        with KINDS[target](driver) as to, KINDS[source](driver) as of:
            return then(driver, *copy.call(to, of, 64))

    return case


ask(
    "memory.copy_between",
    {
        f"{name}.{source}_to_{target}": between(COPIES[name], target, source)
        for name in ("cuMemcpy", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemcpyDtoD", "cuMemcpyAsync", "cuMemcpyDtoHAsync")
        for target in KINDS
        for source in KINDS
        if target in {"device", "pageable"} or source in {"device", "pageable"}
        # The host side would be read or written by the processor: a crash tells nothing.
        if not (COPIES[name].source == "host" and source in {"reserved"})
        if not (COPIES[name].target == "host" and target in {"reserved"})
    },
    seconds=8,
)
ask(
    "memory.fill_of",
    {
        f"{name}.{kind}": lambda driver, name=name, kind=kind: filled(driver, name, kind)
        for name in ("cuMemsetD8", "cuMemsetD32Async")
        for kind in KINDS
    },
)


def filled(driver: Driver, name: str, kind: str) -> dict[str, str]:
    with KINDS[kind](driver) as address:
        return then(driver, *FILLS[name](address, 4))


def bad_side(copy: Copy, side: str, address: int, size: int = 64) -> Callable[[Driver], dict[str, str]]:
    def case(driver: Driver) -> dict[str, str]:
        with sides(driver) as memory:
            to = address if side == "target" else memory[copy.target]
            of = address if side == "source" else memory[copy.source]
            return then(driver, *copy.call(to, of, size))

    return case


ask(
    "memory.copy_with_a_bad_device_side",
    {
        f"{name}.{side}_{what}": bad_side(copy, side, address)
        for name, copy in COPIES.items()
        if name not in {"cuMemcpy", "cuMemcpyAsync"}
        for side in ("target", "source")
        if getattr(copy, side) == "device"
        for what, address in (("null", 0), ("no_memory", NO_ADDRESS))
    },
    seconds=8,
)
ask(
    "memory.copy_with_a_bad_host_side",
    {
        f"{name}.{side}_{what}": bad_side(copy, side, address)
        for name, copy in COPIES.items()
        for side in ("target", "source")
        if getattr(copy, side) == "host" or name in {"cuMemcpy", "cuMemcpyAsync"}
        for what, address in (("null", 0), ("no_memory", NO_ADDRESS))
    },
    seconds=8,
)


def overlapping(name: str, shift: int) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        with device_memory(driver, 8192) as address:
            driver.upload(address, bytes(range(256)) * 32)
            found: dict[str, Any] = dict(then(driver, *COPIES[name].call(address + shift, address, 4096)))
            return found

    return case


ask(
    "memory.copy_that_overlaps",
    {
        f"{name}.by_{shift}": overlapping(name, shift)
        for name in ("cuMemcpyDtoD", "cuMemcpyAsync")
        for shift in (0, 1, 256)
    },
)


def without_context(call: Callable[[dict[str, int]], tuple[Any, ...]]) -> Callable[[Driver], str]:
    def case(driver: Driver) -> str:
        with sides(driver) as memory, no_context(driver):
            return driver.code(*call(memory))

    return case


def in_a_stream_without_context(driver: Driver) -> dict[str, str]:
    """By docs/reference/simulator.md, "Assumptions": calls in an explicit stream need no current context."""
    stream = driver.stream()
    with sides(driver) as memory, no_context(driver):
        device, host = memory["device"], memory["host"]
        return {
            "cuMemcpyHtoDAsync": driver.code("cuMemcpyHtoDAsync_v2", device, host, 16, stream),
            "cuMemcpyDtoHAsync": driver.code("cuMemcpyDtoHAsync_v2", host, device, 16, stream),
            "cuMemcpyDtoDAsync": driver.code("cuMemcpyDtoDAsync_v2", device, device + 64, 16, stream),
            "cuMemcpyAsync": driver.code("cuMemcpyAsync", device, device + 64, 16, stream),
            "cuMemsetD8Async": driver.code("cuMemsetD8Async", device, 0, 16, stream),
            "cuMemAllocAsync": driver.code("cuMemAllocAsync", ctypes.byref(ctypes.c_uint64()), 16, stream),
            "cuStreamSynchronize": driver.code("cuStreamSynchronize", stream),
        }


ask(
    "memory.copy_without_a_context",
    {
        "cuMemcpy": without_context(lambda memory: ("cuMemcpy", memory["device"], memory["host"], 16)),
        "cuMemcpyHtoD": without_context(lambda memory: ("cuMemcpyHtoD_v2", memory["device"], memory["host"], 16)),
        "cuMemcpyDtoD_of_none": without_context(lambda _: ("cuMemcpyDtoD_v2", 0, 0, 0)),
        "cuMemsetD8": without_context(lambda memory: ("cuMemsetD8_v2", memory["device"], 0, 16)),
        "cuMemsetD8Async_in_the_default_stream": without_context(
            lambda memory: ("cuMemsetD8Async", memory["device"], 0, 16, 0)
        ),
        "in_a_stream": in_a_stream_without_context,
    },
)
