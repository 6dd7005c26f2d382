"""Tells the simulated driver which tensors and arrays the caching allocators of PyTorch and CuPy make, and where.

Both allocators give out released memory again without a call of the driver. PyTorch calls an object of C++ for its own stream sanitizer
(``torch.cuda._sanitizer``), and CuPy calls a ``cupy.cuda.MemoryHook``, which holds in the thread that imports CuPy. A PyTorch without such
an object is not watched. Then advice cannot name the tensors of a race. Without the search for findings there is no advice, so nothing is
watched: the calls take a fifth of the time of a small operation of CuPy.

PyTorch's own object calls functions of Python, also for a tensor that an exception releases on its way: then PyTorch loses the exception.
So the driver provides the object (``cuarraySimTorchTrace``), in place of ``torch._C._activate_gpu_trace``.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
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
    if torch.version.cuda is None or "torch" in _watched:
        return
    folder = Path(torch.__file__ or "").parent
    try:
        methods = _methods((folder / "include/c10/core/impl/PyInterpreter.h").read_text(encoding="utf-8"))
        given_out, taken_back = (methods.index(f"trace_gpu_memory_{name}") for name in ("allocation", "deallocation"))
        # The C++ name of c10::impl::GPUTrace::set_trace(c10::impl::PyInterpreter const*).
        set_trace = ctypes.CDLL(str(folder / "lib/libc10.so"))._ZN3c104impl8GPUTrace9set_traceEPKNS0_13PyInterpreterE
    except (OSError, ValueError, AttributeError):
        return
    from .library import library_path

    _watched.add("torch")
    make = ctypes.CDLL(str(library_path())).cuarraySimTorchTrace
    make.restype = ctypes.c_void_p
    if trace := make(*map(ctypes.c_size_t, (len(methods), given_out, taken_back))):
        # PyTorch keeps the first object, so its sanitizer stays if the program has turned it on.
        set_trace(ctypes.c_void_p(trace))


def _methods(header: str) -> list[str]:
    """Return the virtual methods of ``PyInterpreterVTable`` in the order of their table; none, if their arguments are others than those known.

    A destructor has two places.
    """
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.DOTALL)
    found = re.search(r"struct\s(?:C10_API\s)?PyInterpreterVTable\s\{(.*?)^\};", text, flags=re.DOTALL | re.MULTILINE)
    declared = re.findall(r"\bvirtual\s[^;(]*?(~?\w+)\s*\(([^;]*?)\)[^;)]*;", found[1]) if found else []
    of_memory = [arguments for name, arguments in declared if name.startswith("trace_gpu_memory_")]
    if not all(re.fullmatch(r"\s*[\w:]*DeviceType\s\w+,\s*uintptr_t\s\w+", arguments) for arguments in of_memory):
        return []
    return [name for name, _ in declared for _ in range(2 if name.startswith("~") else 1)]


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
