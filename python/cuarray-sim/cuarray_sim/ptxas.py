"""The ``ptxas`` that libraries run: the package's, also where ``cuda.pathfinder`` looks for one, or another, which is named.

Settings of the user's keep the stand-in out: ``CUDA_ROOT``, ``TRITON_PTXAS_PATH``, ``CUARRAY_SIM_PTXAS=0``. Libraries then run another
file, whose machine code the simulated driver refuses. A line at the start names this file, and so does the driver's refusal.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

from .after_import import after_import
from .stand_ins import STAND_INS, is_wanted, nvidias_file, say

__all__ = ["OTHER", "name_other_ptxas", "serve_pathfinder"]

OTHER = "CUARRAY_OTHER_PTXAS"
"""The variable by which the driver and child processes know the other ``ptxas`` (crates/cuarray-sim/src/module/jit.rs)."""

_STAND_IN = next(stand_in for stand_in in STAND_INS if stand_in.name == "ptxas")

_TRITON = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")


def name_other_ptxas() -> None:
    """Print a line for each setting by which a library runs another ``ptxas``, unless a parent process has printed it."""
    lines = _others()
    text = "; ".join(lines)
    if lines and os.environ.get(OTHER) != text and os.environ.get("CUARRAY_SIM_QUIET", "").strip() != "1":
        for line in lines:
            print(f"cuarray-sim: {line}", file=sys.stderr, flush=True)
    if lines:
        os.environ[OTHER] = text
    else:
        os.environ.pop(OTHER, None)


def serve_pathfinder() -> None:
    """Let ``cuda.pathfinder.find_nvidia_binary_utility("ptxas")`` find the stand-in, unless it is turned off."""
    if not is_wanted(_STAND_IN):
        return
    if module := sys.modules.get("cuda.pathfinder"):
        _serve(module)
    else:
        after_import("cuda.pathfinder", _serve)


def _serve(pathfinder: ModuleType) -> None:
    find = getattr(pathfinder, "find_nvidia_binary_utility", None)
    # Versions before 1.3 have no such function, and a second installation of the driver changes nothing.
    if find is None or hasattr(find, "finds_stand_in"):
        return

    # Cached as the original is, so that callers find `cache_clear`.
    @functools.cache
    @functools.wraps(find)
    def find_in_front(utility_name: str) -> str | None:
        found: str | None = find(utility_name)
        if utility_name != "ptxas":
            return found
        ours = str(_ours())
        say(f"{utility_name} is {ours}" + (f", in front of {found}" if found else ""))
        return ours

    find_in_front.finds_stand_in = True  # type: ignore[attr-defined]
    pathfinder.find_nvidia_binary_utility = find_in_front  # type: ignore[attr-defined]


def _others() -> list[str]:
    """Return a sentence for each other ``ptxas`` that a library runs, with the setting that chose it."""
    found = []
    off = not is_wanted(_STAND_IN)
    switched = f"{_STAND_IN.switch}=0"
    # Programs without JAX set CUDA_ROOT too, for their build tools.
    if _folder("jax") is not None:
        if root := os.environ.get("CUDA_ROOT", ""):
            found.append(_sentence(f"CUDA_ROOT={root}", "XLA", f"{root}/bin/ptxas"))
        elif off:
            found.append(_sentence(switched, "XLA", nvidias_file("bin/ptxas") or shutil.which("ptxas")))
    chosen = [name for name in _TRITON if os.environ.get(name)]
    found += [_sentence(f"{name}={os.environ[name]}", "Triton", os.environ[name]) for name in chosen]
    if off and not chosen and (triton := _folder("triton")) is not None:
        found.append(_sentence(switched, "Triton", f"{triton}/backends/nvidia/bin/ptxas"))
    return [sentence for sentence in found if sentence]


def _sentence(setting: str, library: str, file: str | None) -> str:
    """Return the sentence about a file; empty if there is no such file, or if it is the stand-in."""
    if not file or not os.path.isfile(file) or (_ours().is_file() and os.path.samefile(file, _ours())):
        return ""
    return f"{setting} is set, so {library} runs {file}, and the simulated driver refuses its machine code; unset it to run the stand-in"


def _folder(package: str) -> str | None:
    """Return the folder of an installed package, without its import."""
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # A module that a program has put together has no specification.
        return None
    return spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else None


def _ours() -> Path:
    return _STAND_IN.path / "ptxas"
