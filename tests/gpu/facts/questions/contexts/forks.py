"""A driver in the child of a fork."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
from collections.abc import Callable
from typing import Any

from ...driver import Driver
from ...question import Facts, question

CHILD_SECONDS = 8.0


def in_child(calls: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run calls in the child of a fork; return what it wrote, or how it ended."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(sending, json.dumps(calls()).encode())
        finally:
            os._exit(0)
    os.close(sending)
    if not select.select([receiving], [], [], CHILD_SECONDS)[0]:
        os.kill(child, signal.SIGKILL)
    text = os.read(receiving, 1 << 16)
    os.close(receiving)
    _, status = os.waitpid(child, 0)
    if text:
        found: dict[str, Any] = json.loads(text)
        return found
    return {"ended": f"status {os.waitstatus_to_exitcode(status)}"}


def calls_of(driver: Driver) -> dict[str, Any]:
    """The numbers of results, as an uninitialized driver may not know their names."""
    integer, pointer = ctypes.c_int(77), ctypes.c_void_p()
    return {
        "cuInit": driver.number("cuInit", 0),
        "cuDriverGetVersion": driver.number("cuDriverGetVersion", ctypes.byref(integer)),
        "cuDeviceGetCount": driver.number("cuDeviceGetCount", ctypes.byref(integer)),
        "cuDeviceGetAttribute": driver.number("cuDeviceGetAttribute", ctypes.byref(integer), 1, 0),
        "cuCtxGetCurrent": driver.number("cuCtxGetCurrent", ctypes.byref(pointer)),
        "cuDevicePrimaryCtxRetain": driver.number("cuDevicePrimaryCtxRetain", ctypes.byref(pointer), 0),
        "cuMemAlloc": driver.number("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 16),
        "cuCtxSynchronize": driver.number("cuCtxSynchronize"),
    }


@question("contexts.fork_after_use")
def fork_after_use(driver: Driver, facts: Facts) -> None:
    """docs/reference/simulator.md, "Assumptions": in the child, the driver is not initialized."""
    driver.allocate(64)
    for name, value in in_child(lambda: calls_of(driver)).items():
        facts[name] = value
    facts["parent_after"] = driver.code("cuCtxSynchronize")


@question("contexts.fork_after_initialization", needs_context=False)
def fork_after_initialization(driver: Driver, facts: Facts) -> None:
    """The parent has called ``cuInit`` only."""
    driver.do("cuInit", 0)
    for name, value in in_child(lambda: calls_of(driver)).items():
        facts[name] = value


@question("contexts.fork_before_initialization", needs_context=False)
def fork_before_initialization(driver: Driver, facts: Facts) -> None:
    """The parent has loaded the library only."""
    for name, value in in_child(lambda: calls_of(driver)).items():
        facts[name] = value
    facts["parent_after"] = driver.number("cuInit", 0)
