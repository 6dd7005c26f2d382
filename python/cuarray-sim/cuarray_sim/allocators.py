"""Tells the simulated driver which tensors and arrays the caching allocators of PyTorch and CuPy make, and where.

Both allocators give out released memory again without a call of the driver. PyTorch calls functions for its own stream sanitizer
(``torch.cuda._sanitizer``), and CuPy calls a ``cupy.cuda.MemoryHook``, which holds in the thread that imports CuPy. A PyTorch without these
calls is not watched. Then advice cannot name the tensors of a race. Without the search for findings there is no advice, so nothing is
watched: the calls take a fifth of the time of a small operation of CuPy.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from types import ModuleType

from .after_import import after_import

__all__ = ["watch_allocators"]

# The modules whose allocators are watched.
_watched: set[str] = set()


def watch_allocators() -> None:
    """Watch the allocators of PyTorch and CuPy for findings: now where they are imported, else after their import."""
    if os.environ.get("CUARRAY_SIM_FINDINGS") == "0":
        return
    watchers: dict[str, Callable[[ModuleType], None]] = {
        "torch": _watch_torch,
        "cupy.cuda.memory_hook": _watch_cupy,
    }
    for name, watch in watchers.items():
        if module := sys.modules.get(name):
            watch(module)
        else:
            after_import(name, watch)


def _teller(allocator: bytes | None) -> Callable[[int], None]:
    """Return a function that tells that an allocator gives out memory at an address, or without one that it takes it back."""
    # `export` imports `library`, which imports this module.
    from .export import call

    return lambda address: call("cuarraySimSuballocation", allocator, ctypes.c_uint64(address))


def _watch_torch(torch: ModuleType) -> None:
    activate = getattr(torch._C, "_activate_gpu_trace", None)
    if torch.version.cuda is None or activate is None or "torch" in _watched:
        return
    try:
        from torch.cuda import _gpu_trace as trace

        when_made = trace.register_callback_for_memory_allocation
        when_released = trace.register_callback_for_memory_deallocation
    except (ImportError, AttributeError):
        return
    _watched.add("torch")
    when_made(_teller(b"torch"))
    when_released(_teller(None))
    activate()


def _watch_cupy(memory_hook: ModuleType) -> None:
    if "cupy" in _watched:
        return
    _watched.add("cupy")
    made, released = _teller(b"cupy"), _teller(None)

    class Watch(memory_hook.MemoryHook):  # type: ignore[misc, name-defined]
        name = "cuarray-sim"

        def malloc_postprocess(self, **memory: int) -> None:
            if memory["mem_ptr"]:
                made(memory["mem_ptr"])

        def free_preprocess(self, **memory: int) -> None:
            released(memory["mem_ptr"])

    Watch().__enter__()
