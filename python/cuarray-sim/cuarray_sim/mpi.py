"""The library in front of MPI, ``libcuarray-mpi.so``: one of the :mod:`stand-ins <cuarray_sim.stand_ins>`."""

from __future__ import annotations

from pathlib import Path

from .stand_ins import STAND_INS

__all__ = ["mpi_path"]


def mpi_path() -> Path:
    """Return the path of the library that reports MPI's accesses of device memory, for ``LD_PRELOAD``.

    Programs that :func:`install` or the launcher starts, and that an MPI launcher has started, need no variable.

    Raises :class:`FileNotFoundError` if the package was installed without it.

    >>> import cuarray_sim
    >>> cuarray_sim.mpi_path().name
    'libcuarray-mpi.so'
    """
    (stand_in,) = (each for each in STAND_INS if each.name == "MPI")
    path = stand_in.path / stand_in.files[0]
    if not path.is_file():
        raise FileNotFoundError(f"the library in front of MPI is missing: {path}; install the cuarray-sim wheel")
    return path
