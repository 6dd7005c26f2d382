"""The functions of the simulated driver that are not CUDA's, called through ctypes."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from .library import is_installed, library_path

__all__ = ["ask", "call", "export"]


@cache
def export(name: str) -> ctypes._NamedFuncPointer:
    """A function of the simulated driver that answers a ``CUresult``; it stays the same while the process lives.

    :raises RuntimeError: the simulated driver is not installed in this process.
    """
    if not is_installed():
        raise RuntimeError("the simulated driver is not installed in this process; call cuarray_sim.install() first")
    function: ctypes._NamedFuncPointer = getattr(ctypes.CDLL(str(library_path())), name)
    function.restype = ctypes.c_int
    return function


def call(name: str, *arguments: Any) -> None:
    """Call a function that gives nothing but its result.

    :raises RuntimeError: it failed, or the simulated driver is not installed in this process.
    """
    result = export(name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name} failed: CUresult {result}")


def ask(name: str, *arguments: ctypes.c_char_p | ctypes.c_int64 | ctypes.c_uint) -> tuple[int, str]:
    """The result of a function that gives a text, and the text; empty where it gave none.

    The function takes the arguments, then a buffer, its capacity, and where the text's length goes.
    """
    function = export(name)
    capacity, length = 0, ctypes.c_size_t(1 << 12)
    # The text ends with a nul, and may grow between two calls: another thread may be using the driver.
    while length.value >= capacity:
        capacity = 2 * length.value
        text = ctypes.create_string_buffer(capacity)
        length.value = 0
        result = function(*arguments, text, ctypes.c_size_t(capacity), ctypes.byref(length))
    return result, text.raw[: length.value].decode(errors="replace")
