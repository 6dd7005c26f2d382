"""Settings of CuPy for a driver that executes PTX. `tests/peers/build_cupy.py` installs this file as `cupy_backends/cuda/api/__init__.py`.

The released wheel has an empty file there. It is imported before any other part of CuPy's extension modules.

Four modules of the wheel contain their own static CUDA runtime. It does not start on the simulated driver, and these modules do
not check its results, so they would return wrong numbers. Their functions that launch work raise an error instead."""

import contextlib
import ctypes
import importlib.machinery
import os
import sys

from cuda import pathfinder

STATIC = {
    "cupy.cuda.cub": (
        ("device_reduce", "device_segmented_reduce", "device_scan", "device_histogram"),
        "run without CUPY_ACCELERATORS=cub and without set_routine_accelerators(['cub'])",
    ),
    "cupy.cuda.thrust": (
        ("sort", "argsort", "lexsort"),
        "sort on the host: cupy.asarray(numpy.sort(array.get()))",
    ),
    "cupy.cuda.jitify": (
        ("jitify", "_init_module"),
        "compile without jitify=True",
    ),
    "cupy.random._generator_api": (
        ("init_curand", "random_raw"),
        "make random numbers on the host: cupy.asarray(numpy.random.default_rng(seed).random(size))",
    ),
}
"""Functions that launch work through a static runtime, by module, and the advice of their error."""

ALONE = {"cusolver": "libcusolver.so.12", "cusparse": "libcusparse.so.12"}
"""Libraries whose stand-ins are loaded under these names before CuPy."""


def refusal(module, function, advice):
    def refuse(*_, **__):
        raise RuntimeError(
            f"{module}.{function} uses the CUDA runtime that is linked statically into CuPy's wheel, and that does not start on the "
            f"simulated CUDA driver; {advice}"
        )

    return refuse


class StaticModules:
    """The finder that replaces functions of the modules with a static runtime after their import."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in STATIC:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None:
            return None
        functions, advice = STATIC[name]
        execute = spec.loader.exec_module

        def execute_and_replace(module):
            execute(module)
            for function in functions:
                setattr(module, function, refusal(name, function, advice))

        spec.loader.exec_module = execute_and_replace
        return spec


sys.meta_path.insert(0, StaticModules)

# By default cub is used for reductions.
os.environ.setdefault("CUPY_ACCELERATORS", "")


def load_nvidia_dynamic_lib(name, *, load=pathfinder.load_nvidia_dynamic_lib):
    """Load a library of NVIDIA. Those of `ALONE` need no other one on the simulated driver, where NVIDIA's need nvJitLink."""
    try:
        return load(name)
    except pathfinder.DynamicLibNotFoundError:
        if name in ALONE:
            with contextlib.suppress(OSError):
                return pathfinder.LoadedDL(ALONE[name], True, ctypes.CDLL(ALONE[name])._handle, "cuarray-sim")
        raise


pathfinder.load_nvidia_dynamic_lib = load_nvidia_dynamic_lib

# The rebuilt module needs libcudart.so.13. A library that is already loaded under this name is kept.
pathfinder.load_nvidia_dynamic_lib("cudart")
