"""The package's CUDA runtime, ``libcudart.so.13`` and ``libcudart.so.12``: the first of the :mod:`stand-ins <cuarray_sim.stand_ins>`."""

from __future__ import annotations

import ctypes
from pathlib import Path

from .stand_ins import STAND_INS, loaded

__all__ = ["RUNTIME", "describe", "runtime_path", "runtimes"]

_RUNTIME = STAND_INS[0]

RUNTIME = _RUNTIME.switch

MAJORS = (13, 12)
"""The major versions of CUDA whose runtime the package has."""


def runtime_path() -> Path:
    """Return the folder with the package's CUDA runtime: ``libcudart.so.13`` and ``libcudart.so.12``.

    Raises :class:`FileNotFoundError` if the package was installed without it.

    >>> import cuarray_sim
    >>> cuarray_sim.runtime_path().name
    'runtime'
    """
    if not any((_RUNTIME.path / file).is_file() for file in _RUNTIME.files):
        raise FileNotFoundError(f"the CUDA runtime is missing: {_RUNTIME.path}; install the cuarray-sim wheel")
    return _RUNTIME.path


def runtimes() -> dict[int, ctypes.CDLL]:
    """Return the runtimes that this process has loaded from the package, by the major version of CUDA."""
    return {major: library for major in MAJORS if (library := loaded(f"libcudart.so.{major}"))}


def describe() -> str:
    """Return which runtimes this process has in front of NVIDIA's, for one line of a report."""
    names = " and ".join(f"libcudart.so.{major}" for major in runtimes())
    return f"{names} of cuarray-sim" if names else "not replaced"
