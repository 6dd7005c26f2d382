"""Calls of the simulated driver's additional functions through ctypes."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from .library import is_installed, library_path

__all__ = ["ask", "call", "export"]


@cache
def export(name: str) -> ctypes._NamedFuncPointer:
    """Return a function of the simulated driver that returns a ``CUresult``.

    :raises RuntimeError: the simulated driver is not installed in this process.
    """
    if not is_installed():
        raise RuntimeError("the simulated driver is not installed in this process; call cuarray_sim.install() first")
    function: ctypes._NamedFuncPointer = getattr(ctypes.CDLL(str(library_path())), name)
    function.restype = ctypes.c_int
    return function


def call(name: str, *arguments: Any) -> None:
    """Call a function that returns only a ``CUresult``.

    :raises RuntimeError: the call failed, or the simulated driver is not installed in this process.
    """
    result = export(name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name} failed: CUresult {result}")


def ask(name: str, *arguments: ctypes.c_char_p | ctypes.c_int64 | ctypes.c_uint) -> tuple[int, str]:
    """Call a function that writes a text; return its result and the text, which is empty if the function wrote none.

    The function takes the arguments, then a buffer, its capacity, and a pointer for the length of the text.
    """
    function = export(name)
    capacity, length = 0, ctypes.c_size_t(1 << 12)
    # The text ends with a nul. It may grow between two calls, as other threads may use the driver.
    while length.value >= capacity:
        capacity = 2 * length.value
        text = ctypes.create_string_buffer(capacity)
        length.value = 0
        result = function(*arguments, text, ctypes.c_size_t(capacity), ctypes.byref(length))
    return result, text.raw[: length.value].decode(errors="replace")
