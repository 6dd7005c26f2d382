"""The setting ``CUARRAY_SIM_TORCH_ON_HOST``: PyTorch's operations are carried out on the host, without a change of the program.

``--torch-on-host`` of the launcher and ``--cuarray-sim-torch-on-host`` of pytest set it to 1. When PyTorch has been imported,
:class:`cuarray_sim.pytorch.OnHost` becomes active in the importing thread, and in each thread that :mod:`threading` starts later. It stays
active until the process ends. Child processes inherit the setting.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from types import FrameType, ModuleType
from typing import Any

from .after_import import after_import

__all__ = ["TORCH_ON_HOST", "carry_out_on_host", "finish"]

TORCH_ON_HOST = "CUARRAY_SIM_TORCH_ON_HOST"

# The mode of the process, once it is active.
_modes: list[Any] = []


def carry_out_on_host() -> None:
    """Obey the setting in this process: now if PyTorch is imported, else after its import."""
    if os.environ.get(TORCH_ON_HOST, "").strip() not in ("", "0"):
        if torch := sys.modules.get("torch"):
            _begin(torch)
        else:
            after_import("torch", _begin)


def finish() -> None:
    """Wait for the operations on the host, and free their buffers. An exception in an operation is raised."""
    for mode in _modes:
        mode.finish()


def _begin(torch: ModuleType) -> None:
    """Activate one mode in this thread and in those that start later. A PyTorch without CUDA needs none."""
    if torch.version.cuda is None or _modes:
        return
    from .library import library_path
    from .pytorch import OnHost

    # A child process loads the driver at its first call only.
    ctypes.CDLL(str(library_path()), mode=ctypes.RTLD_GLOBAL)
    mode = OnHost()
    _modes.append(mode)
    mode.__enter__()
    atexit.register(_end, mode, torch)

    def begin_in_thread(frame: FrameType, event: str, argument: Any) -> None:
        sys.setprofile(None)
        mode.enter_thread()

    # Called once in each new thread, before its first function.
    threading.setprofile(begin_in_thread)


def _end(mode: Any, torch: ModuleType) -> None:
    """Wait for the work at the end of the process, as its results may be wrong."""
    threading.setprofile(None)
    if torch.cuda.is_initialized():
        mode.__exit__(None, None, None)
