"""Direct calls of the CUDA driver, so that the kit's own side of an exchange depends on no library.

All objects are made in the primary context of device 0, which stays retained until the process ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import cuarray

__all__ = ["DriverError", "call", "context", "is_simulated", "is_started", "library"]

NOT_INITIALIZED = 3

# The driver's name for the loader of the system.
_NAME = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

# The question takes longer than most checks. A driver that is loaded stays.
_is_simulated = False


class DriverError(RuntimeError):
    """A driver call of the kit failed."""


@cache
def library() -> ctypes.CDLL:
    """Return the driver: the one that cuarray uses.

    :raises DriverError: there is none.
    """
    try:
        return ctypes.CDLL(cuarray.driver_path() or _NAME)
    except (OSError, cuarray.CudaError) as error:
        raise DriverError(f"there is no CUDA driver here: {error}") from error


def call(name: str, *arguments: Any) -> None:
    """Make one driver call.

    :raises DriverError: the call failed.
    """
    result = getattr(library(), name)(*arguments)
    if result != 0:
        text = ctypes.c_char_p()
        library().cuGetErrorName(result, ctypes.byref(text))
        raise DriverError(f"{name} returned {(text.value or b'?').decode()} ({result})")


def is_started() -> bool:
    """Return whether a driver was initialized in this process; a copy of the process could not use it."""
    try:
        driver = ctypes.CDLL(_NAME)
    except OSError:
        return False
    current = ctypes.c_void_p()
    return int(driver.cuCtxGetCurrent(ctypes.byref(current))) != NOT_INITIALIZED


def is_simulated() -> bool:
    """Return whether the driver is the simulated one, which reports findings."""
    global _is_simulated
    if not _is_simulated:
        with contextlib.suppress(ImportError):
            import cuarray_sim

            _is_simulated = cuarray_sim.is_installed()
    return _is_simulated


def device_count() -> int:
    """Return the number of devices; 0 without a driver."""
    count = ctypes.c_int()
    try:
        call("cuInit", ctypes.c_uint(0))
        call("cuDeviceGetCount", ctypes.byref(count))
    except DriverError:
        return 0
    return count.value


@cache
def _primary(device: int) -> int:
    kept = ctypes.c_void_p()
    call("cuInit", ctypes.c_uint(0))
    call("cuDevicePrimaryCtxRetain", ctypes.byref(kept), ctypes.c_int(device))
    return kept.value or 0


@contextlib.contextmanager
def context(device: int = 0) -> Iterator[None]:
    """Make a device's primary context current for the block."""
    call("cuInit", ctypes.c_uint(0))
    call("cuCtxPushCurrent_v2", ctypes.c_void_p(_primary(device)))
    try:
        yield
    finally:
        call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
