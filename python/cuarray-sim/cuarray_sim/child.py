"""The start of a Python process whose parent runs on the simulated driver; ``cuarray_sim.pth`` imports this module.

The parent has put the package's folder into ``LD_LIBRARY_PATH``. The search path alone is not enough for libraries with an RPATH,
nor for the static runtimes of ``cuda.bindings`` and of CuPy.
"""

from __future__ import annotations

import os

from .allocators import watch_allocators
from .cuda_bindings import replace_static_runtime
from .cupy.finder import find_built_modules
from .ptxas import serve_pathfinder
from .renamed_runtime import serve_renamed_runtimes
from .stand_ins import PACKAGE, load_stand_ins
from .torch_on_host import carry_out_on_host

__all__: list[str] = []


def _start() -> None:
    if str(PACKAGE) in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        load_stand_ins()
        serve_renamed_runtimes()
        replace_static_runtime()
        serve_pathfinder()
        find_built_modules()
        carry_out_on_host()
        watch_allocators()


_start()
