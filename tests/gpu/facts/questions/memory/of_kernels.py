"""Accesses of kernels, copies and fills to addresses of each kind."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import Driver, kernels
from .asking import ask, device_memory, then
from .places import PLACES
from .structures import GRANULE

ACCESSES = kernels(
    """
.visible .entry load(.param .u64 from, .param .u64 to) {
    .reg .b64 %a, %b; .reg .b32 %v;
    ld.param.u64 %a, [from]; ld.param.u64 %b, [to]; ld.volatile.u8 %v, [%a]; st.volatile.u8 [%b], %v; ret;
}
.visible .entry store(.param .u64 from, .param .u64 to) {
    .reg .b64 %a; .reg .b32 %v;
    ld.param.u64 %a, [from]; mov.u32 %v, 7; st.volatile.u8 [%a], %v; ret;
}
.visible .entry load_4(.param .u64 from, .param .u64 to) {
    .reg .b64 %a, %b; .reg .b32 %v;
    ld.param.u64 %a, [from]; ld.param.u64 %b, [to]; ld.volatile.u32 %v, [%a]; st.volatile.u8 [%b], %v; ret;
}
"""
)


def accessed(driver: Driver, kernel: str, address: int) -> dict[str, str]:
    with device_memory(driver) as result:
        module = driver.module(ACCESSES)
        launch = driver.launch(driver.function(module, kernel), address, result)
        wait = driver.code("cuCtxSynchronize")
        driver.number("cuModuleUnload", module)
        return {"launch": launch, "wait": wait}


def by_kernel(kernel: str, place: str) -> Callable[[Driver], dict[str, str]]:
    """One byte, so that no address is misaligned. An error ends the context, and with it the process."""

    def case(driver: Driver) -> dict[str, str]:
        with PLACES[place](driver) as found:
            return accessed(driver, kernel, found.address)

    return case


def by_call(call: Callable[[int, Any], tuple[Any, ...]], place: str) -> Callable[[Driver], dict[str, str]]:
    def case(driver: Driver) -> dict[str, str]:
        host = ctypes.create_string_buffer(64)
        with PLACES[place](driver) as found:
            return then(driver, *call(found.address, host))

    return case


CALLS: dict[str, Callable[[int, Any], tuple[Any, ...]]] = {
    "copy_to_the_host": lambda address, host: ("cuMemcpyDtoH_v2", host, address, 8),
    "copy_from_the_host": lambda address, host: ("cuMemcpyHtoD_v2", address, host, 8),
    "copy_to_the_host_in_a_stream": lambda address, host: ("cuMemcpyDtoHAsync_v2", host, address, 8, 0),
    "copy_of_any_kind": lambda address, host: ("cuMemcpy", ctypes.addressof(host), address, 8),
    "fill": lambda address, _: ("cuMemsetD8_v2", address, 0, 8),
    "fill_in_a_stream": lambda address, _: ("cuMemsetD8Async", address, 0, 8, 0),
}
WRITTEN_BY_NO_CALL = {"stack_of_the_host"}
ask(
    "memory.kernel_access",
    {f"{place}.{kernel}": by_kernel(kernel, place) for place in PLACES for kernel in ("load", "store")},
    seconds=8,
)
ask(
    "memory.call_on",
    {
        f"{place}.{name}": by_call(call, place)
        for place in PLACES
        if place not in WRITTEN_BY_NO_CALL
        for name, call in CALLS.items()
    },
    seconds=8,
)


def past_the_end(size: int, offset: int, kernel: str) -> Callable[[Driver], dict[str, str]]:
    """docs/reference/strictness.md: an access past the end within 512 bytes is not detected on a GPU."""

    def case(driver: Driver) -> dict[str, str]:
        with device_memory(driver, size) as address:
            return accessed(driver, kernel, address + offset)

    return case


ask(
    "memory.kernel_access_past_the_end",
    {
        f"{kernel}.of_{size}_at_{offset}": past_the_end(size, offset, kernel)
        for kernel in ("load", "store")
        for size, offset in (
            (1, 1),
            (1, 511),
            (1, 512),
            (1, 4096),
            (1, GRANULE),
            (1, 64 * GRANULE),
            (GRANULE, GRANULE),
            (GRANULE, 2 * GRANULE),
            (GRANULE, 64 * GRANULE),
            (64, -1),
        )
    }
    | {
        "load_4.misaligned_by_1": past_the_end(64, 1, "load_4"),
        "load_4.misaligned_by_2": past_the_end(64, 2, "load_4"),
    },
    seconds=8,
)
