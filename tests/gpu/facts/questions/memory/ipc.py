"""Handles of memory and events for other processes."""

from __future__ import annotations

import base64
import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from .asking import (
    ask,
    device_memory,
    managed_memory,
    mapped_memory,
    no_context,
    pages,
    pinned_memory,
    pool_memory,
)
from .structures import ADDRESS, IpcHandle

CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1
CU_EVENT_DISABLE_TIMING, CU_EVENT_INTERPROCESS = 2, 4
CHILD_SECONDS = 15


def memory_handle(driver: Driver, address: int) -> tuple[str, IpcHandle]:
    handle = IpcHandle()
    return driver.code("cuIpcGetMemHandle", ctypes.byref(handle), address), handle


def of(memory: Any, *arguments: Any) -> Callable[[Driver], dict[str, Any]]:
    """The handle of some memory, and of an address inside."""

    def case(driver: Driver) -> dict[str, Any]:
        with memory(driver, *arguments) as address:
            code, handle = memory_handle(driver, address)
            inside_code, inside = memory_handle(driver, address + 512)
            again = bytes(memory_handle(driver, address)[1])
            found: dict[str, Any] = {"code": code, "inside": inside_code}
            if code == CUDA_SUCCESS:
                found["inside_is_the_same_handle"] = bytes(handle) == bytes(inside)
                found["again_is_the_same_handle"] = bytes(handle) == again
                opened = ADDRESS()
                found["open_in_the_same_process"] = driver.code(
                    "cuIpcOpenMemHandle_v2", ctypes.byref(opened), handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
                )
                if opened.value:
                    found["opened_is_the_address"] = opened.value == address
                    found["close"] = driver.code("cuIpcCloseMemHandle", opened.value)
            return found

    return case


ask(
    "memory.ipc_handle",
    {
        "of_device_memory": of(device_memory),
        "of_8_mib": of(device_memory, 8 << 20),
        "of_pinned_memory": of(pinned_memory),
        "of_managed_memory": of(managed_memory),
        "of_pool_memory": of(pool_memory),
        "of_mapped_memory": of(mapped_memory),
        "of_pageable_memory": of(lambda _: pages()),
        "of_null": lambda driver: memory_handle(driver, 0)[0],
    },
)


def bad_calls(driver: Driver) -> dict[str, str]:
    """Handles that no call made, wrong flags, and a missing context."""
    with device_memory(driver) as address:
        _, handle = memory_handle(driver, address)
        found = {
            "no_result": driver.code("cuIpcGetMemHandle", None, address),
            "open_of_zeros": driver.code("cuIpcOpenMemHandle_v2", ctypes.byref(ADDRESS()), IpcHandle(), 1),
            "open_with_flags_0": driver.code("cuIpcOpenMemHandle_v2", ctypes.byref(ADDRESS()), handle, 0),
            "open_with_flags_2": driver.code("cuIpcOpenMemHandle_v2", ctypes.byref(ADDRESS()), handle, 2),
            "open_without_result": driver.code("cuIpcOpenMemHandle_v2", None, handle, 1),
        }
        with no_context(driver):
            found["handle_without_a_context"] = memory_handle(driver, address)[0]
            found["open_without_a_context"] = driver.code("cuIpcOpenMemHandle_v2", ctypes.byref(ADDRESS()), handle, 1)
        return found


def event_handle(flags: int) -> Callable[[Driver], dict[str, str]]:
    def case(driver: Driver) -> dict[str, str]:
        event = ctypes.c_void_p()
        found = {"create": driver.code("cuEventCreate", ctypes.byref(event), flags)}
        if found["create"] == CUDA_SUCCESS:
            handle = IpcHandle()
            found["handle"] = driver.code("cuIpcGetEventHandle", ctypes.byref(handle), event)
            if found["handle"] == CUDA_SUCCESS:
                found["open_in_the_same_process"] = driver.code(
                    "cuIpcOpenEventHandle", ctypes.byref(ctypes.c_void_p()), handle
                )
            driver.number("cuEventDestroy_v2", event)
        return found

    return case


ask("memory.ipc_calls", {"with_bad_arguments": bad_calls})
ask("memory.ipc_event", {f"flags_{flags}": event_handle(flags) for flags in (0, 1, 2, 3, 4, 5, 6, 7)})

CHILD = """
import base64, ctypes, sys
from gpu.facts.driver import Driver
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]
driver = Driver(sys.argv[1])
driver.start()
handle = Handle.from_buffer_copy(base64.b64decode(sys.argv[2]))
first, second = ctypes.c_uint64(), ctypes.c_uint64()
print("open", driver.code("cuIpcOpenMemHandle_v2", ctypes.byref(first), handle, 1))
print("open_again", driver.code("cuIpcOpenMemHandle_v2", ctypes.byref(second), handle, 1))
print("again_is_the_same_address", first.value == second.value)
base, size = ctypes.c_uint64(), ctypes.c_size_t()
driver.number("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), first.value)
print("range_starts_there", base.value == first.value)
print("range_size", size.value)
data = ctypes.create_string_buffer(8)
print("read", driver.code("cuMemcpyDtoH_v2", data, first.value, 8), data.raw.hex())
print("write", driver.code("cuMemsetD8_v2", first.value + 8, 0x22, 8))
for number in (1, 2, 9, 10, 13, 14, 16):
    value = ctypes.c_uint64()
    code = driver.code("cuPointerGetAttribute", ctypes.byref(value), number, first.value)
    shown = "not null" if number == 1 and value.value else value.value
    print(f"pointer_attribute_{number}", code, shown)
other = Handle()
print("handle_of_opened", driver.code("cuIpcGetMemHandle", ctypes.byref(other), first.value))
if sys.argv[3] == "free":
    print("free", driver.code("cuMemFree_v2", first.value))
    print("read_after_free", driver.code("cuMemcpyDtoH_v2", data, first.value, 8))
print("close", driver.code("cuIpcCloseMemHandle", first.value))
print("close_again", driver.code("cuIpcCloseMemHandle", first.value))
print("read_after_one_close", driver.code("cuMemcpyDtoH_v2", data, second.value, 8))
print("close_third", driver.code("cuIpcCloseMemHandle", first.value))
print("wait", driver.code("cuCtxSynchronize"))
sys.stdout.flush()
import os
os._exit(0)
"""


def child(driver: Driver, program: str, handle: IpcHandle, *arguments: str) -> tuple[list[str], int]:
    """Run a program in another process; return its lines and its exit status."""
    done = subprocess.run(
        [sys.executable, "-c", program, driver.path, base64.b64encode(bytes(handle)).decode(), *arguments],
        cwd=Path(__file__).parents[4],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=CHILD_SECONDS,
        check=False,
    )
    return done.stdout.decode().splitlines(), done.returncode


def two_processes(mode: str) -> Callable[[Driver], dict[str, Any]]:
    """A second process opens the memory, reads, writes and closes it, or frees it first."""

    def case(driver: Driver) -> dict[str, Any]:
        address = driver.allocate(4096)
        driver.upload(address, b"\x11" * 4096)
        lines, status = child(driver, CHILD, memory_handle(driver, address)[1], mode)
        found: dict[str, Any] = {}
        for line in lines:
            name, _, value = line.partition(" ")
            found[name] = value
        found["child_ended_well"] = status == 0
        found["written_by_the_child"] = driver.download(address + 8, 8) == b"\x22" * 8
        found["rest_is_as_before"] = driver.download(address, 8) == b"\x11" * 8
        found["free_by_the_owner"] = driver.code("cuMemFree_v2", address)
        return found

    return case


ask(
    "memory.ipc_of_two_processes",
    {"closed": two_processes("close"), "freed_by_the_second": two_processes("free")},
    seconds=30,
)


OPEN = CHILD[: CHILD.index('print("open_again"')]
"""The start of the program: it opens the memory, and ends."""


def opened_after_free(driver: Driver) -> str:
    """A second process opens a handle of freed memory."""
    address = driver.allocate(4096)
    _, handle = memory_handle(driver, address)
    driver.do("cuMemFree_v2", address)
    lines, status = child(driver, OPEN, handle)
    return lines[0] if lines else f"status {status}"


ask("memory.ipc_of_freed_memory", {"opened_in_another_process": opened_after_free}, seconds=30)
