"""Memory of another device: copies, access, attributes of pointers. With one device these questions are left out."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from ...driver import Driver, kernels
from ...question import Facts, question
from .asking import a_stream, ask, memory_pool
from .places import Place
from .pointers import NAMES, one
from .structures import (
    ADDRESS,
    GRANULE,
    INT,
    UINT,
    AccessDesc,
    allocation_prop,
    device_location,
    pool_props,
    read_write,
)

WRITE = kernels(
    """
.visible .entry write(.param .u64 to) {
    .reg .b64 %a; .reg .b32 %v;
    ld.param.u64 %a, [to]; mov.u32 %v, 7; st.u32 [%a], %v; ret;
}
"""
)
CU_DEVICE_P2P_ATTRIBUTE = {
    1: "performance_rank",
    2: "access",
    3: "native_atomics",
    4: "array_access",
    5: "partial_atomics",
}


@contextlib.contextmanager
def second_device(driver: Driver) -> Iterator[tuple[int, int]]:
    """Both primary contexts; that of device 0 is current."""
    first, second = driver.made("cuCtxGetCurrent"), driver.made("cuDevicePrimaryCtxRetain", 1)
    try:
        yield first, second
    finally:
        driver.do("cuCtxSetCurrent", first)
        driver.number("cuDevicePrimaryCtxRelease_v2", 1)


def in_context(driver: Driver, context: int, call: Callable[[], Any]) -> Any:
    current = driver.made("cuCtxGetCurrent")
    driver.do("cuCtxSetCurrent", context)
    try:
        return call()
    finally:
        driver.do("cuCtxSetCurrent", current)


@contextlib.contextmanager
def there(driver: Driver, kind: str) -> Iterator[int]:
    """Memory of device 1, while device 0 is current."""
    with second_device(driver) as (_, second), contextlib.ExitStack() as stack:
        if kind == "device":
            address = in_context(driver, second, lambda: driver.allocate(4096))
            stack.callback(lambda: driver.number("cuMemFree_v2", address))
        elif kind == "mapped":
            address = driver.made("cuMemAddressReserve", GRANULE, 0, 0, 0, kind=ADDRESS)
            prop, access = allocation_prop(device_location(1)), read_write(device_location(1))
            handle = driver.made("cuMemCreate", GRANULE, ctypes.byref(prop), 0, kind=ADDRESS)
            driver.do("cuMemMap", address, GRANULE, 0, handle, 0)
            driver.do("cuMemSetAccess", address, GRANULE, ctypes.byref(access), 1)
        else:
            pool = stack.enter_context(memory_pool(driver, pool_props(device_location(1))))
            if kind == "pool_with_access":
                driver.do("cuMemPoolSetAccess", pool, ctypes.byref(AccessDesc(device_location(0), 3)), 1)

            def allocate() -> int:
                found = driver.made("cuMemAllocFromPoolAsync", 4096, pool, 0, kind=ADDRESS)
                driver.do("cuCtxSynchronize")
                return found

            address = in_context(driver, second, allocate)
        yield address


KINDS = ("device", "pool", "pool_with_access", "mapped")


def calls_on(kind: str) -> Callable[[Driver], dict[str, str]]:
    """Copies and fills from device 0. Peers expect ``INVALID_VALUE`` for pool memory without access."""

    def case(driver: Driver) -> dict[str, str]:
        host = ctypes.create_string_buffer(64)
        with there(driver, kind) as far, a_stream(driver) as stream, second_device(driver) as (first, second):
            here = driver.allocate(4096)
            found = {
                name: driver.code(*call)
                for name, call in {
                    "cuMemcpy_to_it": ("cuMemcpy", far, here, 64),
                    "cuMemcpyAsync_to_it": ("cuMemcpyAsync", far, here, 64, stream),
                    "cuMemcpyAsync_from_it": ("cuMemcpyAsync", here, far, 64, stream),
                    "cuMemcpyDtoD": ("cuMemcpyDtoD_v2", far, here, 64),
                    "cuMemcpyDtoDAsync": ("cuMemcpyDtoDAsync_v2", far, here, 64, stream),
                    "cuMemcpyHtoD": ("cuMemcpyHtoD_v2", far, host, 64),
                    "cuMemcpyDtoH": ("cuMemcpyDtoH_v2", host, far, 64),
                    "cuMemcpyHtoDAsync": ("cuMemcpyHtoDAsync_v2", far, host, 64, stream),
                    "cuMemcpyDtoHAsync": ("cuMemcpyDtoHAsync_v2", host, far, 64, stream),
                    "cuMemsetD8": ("cuMemsetD8_v2", far, 0, 64),
                    "cuMemsetD8Async": ("cuMemsetD8Async", far, 0, 64, stream),
                    "cuMemsetD32Async": ("cuMemsetD32Async", far, 0, 16, stream),
                    "cuMemcpyPeer": ("cuMemcpyPeer", far, second, here, first, 64),
                    "cuMemcpyPeerAsync": ("cuMemcpyPeerAsync", far, second, here, first, 64, stream),
                    "cuMemcpyPeer_with_contexts_exchanged": ("cuMemcpyPeer", far, first, here, second, 64),
                    "cuMemGetAddressRange": ("cuMemGetAddressRange_v2", ctypes.byref(ADDRESS()), None, far),
                    "cuIpcGetMemHandle": ("cuIpcGetMemHandle", ctypes.create_string_buffer(64), far),
                }.items()
            }
            found["wait"] = driver.code("cuStreamSynchronize", stream)
            found["wait_for_the_context"] = driver.code("cuCtxSynchronize")
            driver.do("cuMemFree_v2", here)
            return found

    return case


def pointer_attributes(kind: str) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        with there(driver, kind) as far:
            return {name: one(driver, number, Place(far, far)) for number, name in NAMES.items()}

    return case


def kernel_on(kind: str, enable: bool) -> Callable[[Driver], dict[str, Any]]:
    """A kernel of device 0 writes memory of device 1, with or without peer access of the contexts."""

    def case(driver: Driver) -> dict[str, Any]:
        with second_device(driver) as (_, second), there(driver, kind) as far:
            found: dict[str, Any] = {}
            if enable:
                found["enable"] = driver.code("cuCtxEnablePeerAccess", second, 0)
                found["enable_again"] = driver.code("cuCtxEnablePeerAccess", second, 0)
            found["access_flags"] = one(driver, 16, Place(far, far))
            found["device_pointer"] = one(driver, 3, Place(far, far))
            module = driver.module(WRITE)
            found["launch"] = driver.launch(driver.function(module, "write"), far)
            found["wait"] = driver.code("cuCtxSynchronize")
            if enable:
                found["disable"] = driver.code("cuCtxDisablePeerAccess", second)
                found["disable_again"] = driver.code("cuCtxDisablePeerAccess", second)
            return found

    return case


ask("memory_of_two_devices.calls_on", {kind: calls_on(kind) for kind in KINDS}, devices=2)
ask("memory_of_two_devices.pointer", {kind: pointer_attributes(kind) for kind in KINDS}, devices=2)
ask(
    "memory_of_two_devices.kernel",
    {
        f"{kind}.{'with' if enable else 'without'}_peer_access": kernel_on(kind, enable)
        for kind in KINDS
        for enable in (False, True)
    },
    devices=2,
)


@question("memory_of_two_devices.peers", devices=2)
def peers(driver: Driver, facts: Facts) -> None:
    for name, source, target in (("first_to_second", 0, 1), ("second_to_first", 1, 0)):
        facts[f"{name}.can_access"] = driver.got("cuDeviceCanAccessPeer", source, target)
        for number, attribute in CU_DEVICE_P2P_ATTRIBUTE.items():
            facts[f"{name}.{attribute}"] = driver.got("cuDeviceGetP2PAttribute", number, source, target)
    facts["names_are_equal"] = driver.got("cuDeviceGetAttribute", 75, 0) == driver.got("cuDeviceGetAttribute", 75, 1)


@question("memory_of_two_devices.host_memory", devices=2)
def host_memory(driver: Driver, facts: Facts) -> None:
    """Pinned memory of device 0, used with device 1 current. By the manual, it is portable with unified addressing."""
    address = driver.pinned(4096, 0)
    with second_device(driver) as (_, second):

        def ask_there() -> None:
            flags = UINT(77)
            facts["flags"] = driver.code("cuMemHostGetFlags", ctypes.byref(flags), address)
            facts["device_address"] = driver.code("cuMemHostGetDevicePointer_v2", ctypes.byref(ADDRESS()), address, 0)
            facts["device_ordinal"] = one(driver, 9, Place(address, address))
            facts["context"] = one(driver, 1, Place(address, address))
            module = driver.module(WRITE)
            facts["launch"] = driver.launch(driver.function(module, "write"), address)
            facts["wait"] = driver.code("cuCtxSynchronize")
            facts["free"] = driver.code("cuMemFreeHost", address)

        in_context(driver, second, ask_there)


@question("memory_of_two_devices.wrong_device", devices=2)
def wrong_device(driver: Driver, facts: Facts) -> None:
    """Streams and events of device 0, used with device 1 current."""
    stream, event, module = driver.stream(), driver.event(), driver.module(WRITE)
    function, address = driver.function(module, "write"), driver.allocate(64)
    with second_device(driver) as (_, second):

        def ask_there() -> None:
            other = driver.stream()
            facts["fill_in_its_stream"] = driver.code("cuMemsetD8Async", address, 0, 16, stream)
            facts["launch_in_its_stream"] = driver.launch(function, address, stream=stream)
            facts["launch_in_another_stream"] = driver.launch(function, address, stream=other)
            facts["record_in_its_stream"] = driver.code("cuEventRecord", event, stream)
            facts["record_in_another_stream"] = driver.code("cuEventRecord", event, other)
            facts["wait_in_another_stream"] = driver.code("cuStreamWaitEvent", other, event, 0)
            facts["synchronize_its_stream"] = driver.code("cuStreamSynchronize", stream)
            facts["free"] = driver.code("cuMemFree_v2", address)
            facts["device_of_its_stream"] = driver.code("cuStreamGetDevice", stream, ctypes.byref(INT()))
            facts["unload"] = driver.code("cuModuleUnload", module)

        in_context(driver, second, ask_there)


@question("memory_of_two_devices.pool", devices=2)
def pool(driver: Driver, facts: Facts) -> None:
    """Allocation from a pool of device 1 in a stream of device 0, and access by both."""
    with memory_pool(driver, pool_props(device_location(1))) as far, a_stream(driver) as stream:
        flags, location = UINT(77), device_location(0)
        facts["access_code"] = driver.code("cuMemPoolGetAccess", ctypes.byref(flags), far, ctypes.byref(location))
        facts["access"] = flags.value
        address = ADDRESS()
        facts["allocate"] = driver.code("cuMemAllocFromPoolAsync", ctypes.byref(address), 4096, far, stream)
        for wanted in (1, 3, 0):
            desc = AccessDesc(location, wanted)
            facts[f"set_{wanted}"] = driver.code("cuMemPoolSetAccess", far, ctypes.byref(desc), 1)
            driver.number("cuMemPoolGetAccess", ctypes.byref(flags), far, ctypes.byref(location))
            facts[f"access_after_{wanted}"] = flags.value
        facts["free"] = driver.code("cuMemFreeAsync", address.value, stream)
        facts["wait"] = driver.code("cuStreamSynchronize", stream)
        facts["set_as_current_of_device_0"] = driver.code("cuDeviceSetMemPool", 0, far)
