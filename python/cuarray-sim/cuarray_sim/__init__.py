"""A simulated CUDA driver for machines without a GPU.

The package carries a shared library, ``libcuda.so.1``, that answers the CUDA Driver API over host memory. Real CUDA
libraries run on it unchanged, because all of them look for a library of that name; whoever asks for it after
:func:`install` is handed the simulated one.

Nothing happens on import. The simulator is chosen by name, in one of these ways, and never otherwise:

- ``python -m cuarray_sim script.py`` runs an unmodified program on it;
- ``pytest --cuarray-sim`` runs a test suite on it, and fails tests in which it finds something wrong;
- ``cuarray_sim.install()`` before the first CUDA call of a process;
- ``CUARRAY_DRIVER=<library_path()>`` in the environment, for the package ``cuarray`` alone.

>>> import cuarray_sim
>>> cuarray_sim.install(devices=2)  # doctest: +ELLIPSIS
PosixPath('.../cuarray_sim/libcuda.so.1')
>>> cuarray_sim.is_installed()
True
"""

from .account import Allocation, Statistics, statistics
from .found import (
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
from .schedules import Exploration, Run, explore, schedule, set_schedule

__all__ = [
    "Allocation",
    "Exploration",
    "Finding",
    "Report",
    "Run",
    "Statistics",
    "clear_findings",
    "drop_ordering",
    "explore",
    "findings",
    "hand_over",
    "install",
    "is_installed",
    "library_path",
    "ordering_calls",
    "report",
    "schedule",
    "set_schedule",
    "statistics",
    "take_over",
]
