"""The package's CUDA runtime, ``libcudart.so.13`` and ``libcudart.so.12``, in the place of NVIDIA's.

Libraries such as PyTorch are linked with ``libcudart.so.13``. If the process already holds a library with that SONAME, the
dynamic loader takes it and does not search. PyTorch's libraries name their folders in an RPATH, which precedes
``LD_LIBRARY_PATH``, so loading the runtime first is the only way that works for all of them.

Child processes get the runtime in two ways. ``LD_LIBRARY_PATH`` names its folder, for programs that are not Python. A Python
interpreter of the same environment reads ``cuarray_sim.pth`` at its start, which imports :mod:`cuarray_sim.child` if
``LD_LIBRARY_PATH`` names this package.

``CUARRAY_SIM_RUNTIME=0`` leaves all of this out.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import warnings
from pathlib import Path

from .loader import file_that_serves, loaded_files

__all__ = [
    "RUNTIME",
    "VERBOSE",
    "describe",
    "is_wanted",
    "load_runtime",
    "runtime_path",
    "runtimes",
    "say",
    "without_runtime",
]

RUNTIME = "CUARRAY_SIM_RUNTIME"
VERBOSE = "CUARRAY_SIM_VERBOSE"

MAJORS = (13, 12)
"""The major versions of CUDA whose runtime the package has."""

_FOLDER = Path(__file__).resolve().with_name("runtime")

# libcudart.so.13, libcudart.so.13.0.96, and the renamed files in wheels, such as libcudart-1234abcd.so.12.
_RUNTIME_FILE = re.compile(r"/libcudart(-[0-9a-f]+)?\.so(\.[0-9.]+)?$")

_loaded: dict[int, ctypes.CDLL] = {}


def runtime_path() -> Path:
    """Return the folder with the package's CUDA runtime: ``libcudart.so.13`` and ``libcudart.so.12``.

    Raises :class:`FileNotFoundError` if the package was installed without it.

    >>> import cuarray_sim
    >>> cuarray_sim.runtime_path().name
    'runtime'
    """
    if not any(_file(major).is_file() for major in MAJORS):
        raise FileNotFoundError(f"the CUDA runtime is missing: {_FOLDER}; install the cuarray-sim wheel")
    return _FOLDER


def is_wanted() -> bool:
    """Return whether the package has a CUDA runtime, and the environment does not exclude it."""
    wanted = os.environ.get(RUNTIME, "").strip() != "0"
    return wanted and any(_file(major).is_file() for major in MAJORS)


def load_runtime() -> None:
    """Load the runtime of each major version, unless another one of that version is loaded.

    :warns RuntimeWarning: another CUDA runtime is loaded, whose calls fail on the simulated driver.
    """
    for major in MAJORS:
        path = _file(major)
        if major in _loaded or not path.is_file():
            continue
        other = file_that_serves(path.name, "cudaGetDevice")
        if other is None or _is_same(other, path):
            # Local scope: a program that finds functions in the global scope must name the version that it means.
            _loaded[major] = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
            say(f"{path.name} is {path}")
    for other in loaded_files(_RUNTIME_FILE):
        if not any(_is_same(other, _file(major)) for major in MAJORS):
            warnings.warn(
                f"NVIDIA's CUDA runtime is already loaded: {other}; its calls fail on the simulated driver; call "
                "cuarray_sim.install() before the first import of torch, cupy or another library that loads it, or start "
                "the program with `python -m cuarray_sim`",
                RuntimeWarning,
                stacklevel=3,
            )


def runtimes() -> dict[int, ctypes.CDLL]:
    """Return the runtimes that :func:`load_runtime` has loaded, by the major version of CUDA."""
    return _loaded


def without_runtime(paths: list[str]) -> list[str]:
    """Return a search path without the runtime's folder."""
    return [each for each in paths if each != str(_FOLDER)]


def describe() -> str:
    """Return which runtimes this process has in front of NVIDIA's, for one line of a report."""
    names = " and ".join(_file(major).name for major in sorted(_loaded, reverse=True))
    return f"{names} of cuarray-sim" if names else "not replaced"


def say(text: str) -> None:
    """Print a line on standard error if ``CUARRAY_SIM_VERBOSE`` is set."""
    if os.environ.get(VERBOSE, "").strip() == "1":
        print(f"cuarray-sim: {text}", file=sys.stderr, flush=True)


def _file(major: int) -> Path:
    return _FOLDER / f"libcudart.so.{major}"


def _is_same(path: str, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False
