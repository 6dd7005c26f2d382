"""A simulated CUDA driver for machines without a GPU.

The package contains a shared library, ``libcuda.so.1``, that implements the CUDA Driver API over host memory. Real CUDA
libraries run on it unchanged: they load a library of that name, and after :func:`install` they get the simulated one.

An import of the package does nothing. A program chooses the simulator in one of these ways:

- ``python -m cuarray_sim script.py`` runs an unmodified program;
- ``pytest --cuarray-sim`` runs a test suite, and fails tests with findings;
- ``cuarray_sim.install()`` is called before the first CUDA call of a process;
- ``%load_ext cuarray_sim`` in the first cell of a notebook does that, and findings appear below their cells;
- ``CUARRAY_DRIVER=<library_path()>`` in the environment selects it for the package ``cuarray`` alone.

>>> import cuarray_sim
>>> cuarray_sim.install(devices=2)  # doctest: +ELLIPSIS
PosixPath('.../cuarray_sim/libcuda.so.1')
>>> cuarray_sim.is_installed()
True
"""

from .account import Allocation, Statistics, statistics
from .cuda_runtime import runtime_path
from .faults import clear_faults, fail_next
from .findings_report import (
    Finding,
    Report,
    clear_findings,
    drop_ordering,
    findings,
    hand_over,
    ordering_calls,
    report,
    take_over,
)
from .library import install, is_installed, library_path
from .mpi import mpi_path
from .schedules import Exploration, Run, explore, schedule, set_schedule


def load_ipython_extension(_shell: object) -> None:
    """Install the simulated driver for ``%load_ext cuarray_sim``."""
    install()


__all__ = [
    "Allocation",
    "Exploration",
    "Finding",
    "Report",
    "Run",
    "Statistics",
    "clear_faults",
    "clear_findings",
    "drop_ordering",
    "explore",
    "fail_next",
    "findings",
    "hand_over",
    "install",
    "is_installed",
    "library_path",
    "mpi_path",
    "ordering_calls",
    "report",
    "runtime_path",
    "schedule",
    "set_schedule",
    "statistics",
    "take_over",
]
