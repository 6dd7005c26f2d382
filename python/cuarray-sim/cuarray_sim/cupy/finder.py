"""The import of the modules that ``python -m cuarray_sim.cupy`` has built, in place of those in CuPy's wheel.

A module with a static runtime does not check the results of its calls, so it would return wrong numbers on the simulated driver. If
some of the modules are built, the functions of the others that launch work raise an error.

``CUARRAY_SIM_CUPY=0`` leaves CuPy as it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import json
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..after_import import execute_then
from ..stand_ins import say

__all__ = [
    "BUILT",
    "FOLDER",
    "MODULES",
    "SWITCH",
    "built_modules",
    "find_built_modules",
    "installed_version",
    "is_built",
]

FOLDER = "cuarray_sim_cupy"
"""The folder of the built modules, beside the packages ``cupy`` and ``cupy_backends``."""

BUILT = "built.json"
"""The file in the folder that names CuPy's distribution and version, and the built modules."""

SWITCH = "CUARRAY_SIM_CUPY"

COMMAND = "python -m cuarray_sim.cupy"

RUNTIME = "cupy_backends.cuda.api.runtime"

MODULES = {
    "runtime": RUNTIME,
    "jitify": "cupy.cuda.jitify",
    "random": "cupy.random._generator_api",
    "cub": "cupy.cuda.cub",
    "thrust": "cupy.cuda.thrust",
}
"""The modules with a static runtime, by the names that the command takes."""

_FIRST = "cupy_backends.cuda.api"  # imported before any other extension module of CuPy

_LAUNCHING = {
    "cupy.cuda.cub": ("device_reduce", "device_segmented_reduce", "device_scan", "device_histogram"),
    "cupy.cuda.thrust": ("sort", "argsort", "lexsort"),
    "cupy.cuda.jitify": ("jitify", "_init_module"),
    "cupy.random._generator_api": ("init_curand", "random_raw"),
}
"""The functions that launch work, by module."""

_ALONE = {"cusolver": ("libcusolver.so.12", "libcusolver.so.11"), "cusparse": ("libcusparse.so.12",)}
"""Libraries whose stand-ins need no other library, by the names that CuPy asks for. NVIDIA's need nvJitLink."""


def find_built_modules() -> None:
    """Make the next import of CuPy use the built modules.

    :warns RuntimeWarning: CuPy is imported already, and keeps its static runtime.
    """
    if os.environ.get(SWITCH, "").strip() == "0":
        return
    if loaded := sys.modules.get(RUNTIME):
        if not is_built(loaded):
            warnings.warn(
                "cupy was imported before cuarray_sim.install(), and keeps its static CUDA runtime, whose calls fail on the "
                "simulated driver; call cuarray_sim.install() before the import of cupy, or start the program with "
                "`python -m cuarray_sim`",
                RuntimeWarning,
                stacklevel=3,
            )
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def is_built(module: types.ModuleType) -> bool:
    """Return whether an imported module of CuPy is a built one."""
    return Path(module.__file__ or "").parent.name == FOLDER


def installed_version(packages: Path) -> str:
    """Return the version of the CuPy that is installed in a folder of packages; empty if it cannot be read."""
    try:
        text = (packages / "cupy" / "_version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"""^__version__ = ['"](.*)['"]""", text, re.MULTILINE)
    return found[1] if found else ""


def built_modules(packages: Path) -> dict[str, Path]:
    """Return the files of the built modules for the CuPy in a folder of packages, by the names of the modules.

    :warns RuntimeWarning: they were built for another version of CuPy.
    """
    folder = packages / FOLDER
    try:
        built = json.loads((folder / BUILT).read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    if built != (installed := installed_version(packages)):
        warnings.warn(
            f"{folder} has modules of CuPy {built}, and CuPy {installed} is installed, so CuPy keeps its static CUDA runtime; "
            f"build the modules again: {COMMAND}",
            RuntimeWarning,
            stacklevel=2,
        )
        return {}
    # A folder of packages may serve several versions of Python.
    files = {module: folder / file_name(module) for module in MODULES.values()}
    return {module: file for module, file in files.items() if file.is_file()}


def file_name(module: str) -> str:
    """Return the name of the file of a built module, for this Python."""
    return module + importlib.machinery.EXTENSION_SUFFIXES[0]


class _Finder:
    """Finds the built modules, and the modules of CuPy whose import changes."""

    def __init__(self) -> None:
        self._built: dict[Path, dict[str, Path]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _FIRST and name not in _LAUNCHING and name != RUNTIME:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or spec.loader is None:
            return spec
        above = name.count(".") + (spec.submodule_search_locations is not None)
        packages = Path(spec.origin).parents[above]
        if packages not in self._built:
            self._built[packages] = built_modules(packages)
        built = self._built[packages]
        if RUNTIME not in built:
            return spec
        if name == _FIRST:
            execute_then(spec.loader, lambda _: _prepare(built))
        elif name in built:
            file = str(built[name])
            loader = importlib.machinery.ExtensionFileLoader(name, file)
            spec = importlib.machinery.ModuleSpec(name, loader, origin=file)
            spec.has_location = True
            say(f"{name} is {file}")
        else:
            execute_then(spec.loader, _refuse)
        return spec


def _refuse(module: types.ModuleType) -> None:
    """Make the functions of a released module that launch work raise an error."""
    name = module.__name__
    short = next(short for short, full in MODULES.items() if full == name)

    def refusal(function: str) -> Callable[..., None]:
        def refuse(*_: object, **__: object) -> None:
            raise RuntimeError(
                f"{name}.{function} uses the CUDA runtime that is linked statically into CuPy's wheel, and that does not start on "
                f"the simulated CUDA driver; build the module against the shared runtime: {COMMAND} --modules {short}"
            )

        return refuse

    for function in _LAUNCHING[name]:
        setattr(module, function, refusal(function))


def _prepare(built: dict[str, Path]) -> None:
    """Set CuPy up before the import of its extension modules."""
    if MODULES["cub"] not in built:
        # CuPy's default uses CUB for reductions.
        os.environ.setdefault("CUPY_ACCELERATORS", "")
    try:
        from cuda import pathfinder
    except ImportError:
        return
    load = pathfinder.load_nvidia_dynamic_lib

    def load_nvidia_dynamic_lib(name: str) -> Any:
        try:
            return load(name)
        except pathfinder.DynamicLibNotFoundError:
            for file in _ALONE.get(name, ()):
                with contextlib.suppress(OSError):
                    return pathfinder.LoadedDL(file, True, ctypes.CDLL(file)._handle, "cuarray-sim")
            raise

    pathfinder.load_nvidia_dynamic_lib = load_nvidia_dynamic_lib
    with contextlib.suppress(pathfinder.DynamicLibNotFoundError):
        # The built modules need it. A library that is already loaded under its name is kept.
        load("cudart")
