"""The package's CUDA runtime under ``cuda.bindings.runtime``, in place of the static runtime inside of that module.

The static runtime needs undocumented tables of NVIDIA's driver, so all its calls fail on the simulated driver. ``cuda.core``
calls it, for example in ``Device.sync``.

``cuda.bindings.runtime`` does not call the static runtime by name. Like every Cython module, it takes the addresses of C
functions from capsules that ``cuda.bindings.cyruntime`` publishes, when it is imported. So an import hook waits for
``cuda.bindings.cyruntime``, and writes the addresses of the package's functions into the capsules before another module reads them.
All functions of ``cuda.bindings.runtime`` keep their own conversion of arguments and results, and modules that ``cimport``
``cyruntime`` get them too.

``CUARRAY_SIM_CUDA_BINDINGS=0`` leaves the module as it is.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import os
import sys
import warnings
from types import ModuleType

from .after_import import after_import
from .cuda_runtime import runtimes
from .stand_ins import say

__all__ = ["replace_static_runtime", "replaced"]

BINDINGS = "CUARRAY_SIM_CUDA_BINDINGS"

_PUBLISHER = "cuda.bindings.cyruntime"
_READER = "cuda.bindings.runtime"

# Functions that the headers of CUDA 12 rename by a macro.
_RENAMED = {12: {"cudaGetDeviceProperties": "cudaGetDeviceProperties_v2"}}

_replaced: list[str] = []


def replace_static_runtime() -> None:
    """Make the next import of ``cuda.bindings.runtime`` use the package's runtime.

    :warns RuntimeWarning: the module is imported already, and keeps its static runtime.
    """
    if os.environ.get(BINDINGS, "").strip() == "0" or not runtimes() or _replaced:
        return
    if publisher := sys.modules.get(_PUBLISHER):
        _replace(publisher)
        if _READER in sys.modules:
            warnings.warn(
                f"{_READER} was imported before cuarray_sim.install(), and keeps its static CUDA runtime, whose calls fail "
                "on the simulated driver; call cuarray_sim.install() before the import of cuda.core or cuda.bindings, or "
                "start the program with `python -m cuarray_sim`",
                RuntimeWarning,
                stacklevel=3,
            )
    else:
        after_import(_PUBLISHER, _replace_in_extension)


def replaced() -> list[str]:
    """Return the names of the functions that were replaced."""
    return _replaced


def _replace_in_extension(publisher: ModuleType) -> None:
    spec = publisher.__spec__
    if spec is not None and isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
        _replace(publisher)


def _replace(publisher: ModuleType) -> None:
    """Write the addresses of the runtime's functions into the capsules of a module."""
    version = getattr(sys.modules.get("cuda.bindings"), "__version__", "")
    major = int(version.partition(".")[0] or 0)
    library = runtimes().get(major)
    if library is None:
        return
    names = _RENAMED.get(major, {})
    per_thread = os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", "0").strip() not in ("", "0")
    set_pointer = ctypes.pythonapi.PyCapsule_SetPointer
    set_pointer.argtypes = [ctypes.py_object, ctypes.c_void_p]
    for name, capsule in publisher.__pyx_capi__.items():
        exported = names.get(name, name)
        variants = [f"{exported}_ptsz", f"{exported}_ptds"] if per_thread else []
        functions = (getattr(library, variant, None) for variant in [*variants, exported])
        function = next((function for function in functions if function is not None), None)
        if function is not None:
            set_pointer(capsule, ctypes.cast(function, ctypes.c_void_p))
            _replaced.append(name)
    say(f"{len(_replaced)} functions of {_READER} are those of libcudart.so.{major}")
