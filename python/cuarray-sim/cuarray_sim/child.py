"""The start of a Python process whose parent runs on the simulated driver; ``cuarray_sim.pth`` imports this module.

The parent has put the runtime's folder into ``LD_LIBRARY_PATH``. The search path alone is not enough for libraries with an RPATH,
nor for the static runtime of ``cuda.bindings``.
"""

from __future__ import annotations

import os

from .cuda_bindings import replace_static_runtime
from .cuda_runtime import is_wanted, load_runtime, runtime_path

__all__: list[str] = []


def _start() -> None:
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if is_wanted() and str(runtime_path()) in folders:
        load_runtime()
        replace_static_runtime()


_start()
