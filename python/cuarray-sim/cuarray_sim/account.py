"""Statistics of the simulated driver: live objects, pending work, calls, and refused requests.

The driver counts for the whole process and all libraries in it, and returns the statistics as JSON through an additional
export. The list of allocations includes leaked ones. ``refused`` shows which functions a library needs and the simulator lacks.
"""

from __future__ import annotations

import json
from typing import TypedDict, cast

from .export import ask
from .findings_report import Site, Watched

__all__ = ["Allocation", "Handle", "Made", "Statistics", "Watched", "check_settings", "statistics"]


class Allocation(TypedDict):
    """An allocation that has not been freed."""

    kind: str
    """``"device"``, ``"pool"`` (stream-ordered), ``"pinned"``, ``"registered"`` (the program's) or ``"managed"``."""
    address: int
    size: int
    """The requested size in bytes."""
    device: int
    id: int
    """A number that no other allocation of the process gets, unlike the address."""
    release_pending: bool
    """Whether a stream-ordered release is enqueued and has not run."""
    made: Made | None
    """The call that made it; None if findings are off."""


class Handle(TypedDict):
    """A stream, an event or a context that is alive."""

    object: str
    """``"stream"``, ``"event"`` or ``"context"``."""
    handle: int
    made: Made


class Made(TypedDict):
    """The call that made an object."""

    call: str
    ordinal: int
    """Its unique position in the history."""
    site: Site


class Executed(TypedDict):
    """The executions of a kernel."""

    name: str
    """The name in the PTX code."""
    launches: int
    instructions: int
    """PTX instructions, counted for each thread."""
    seconds: float
    """The time on the host, with that of the search for races between threads."""


class Statistics(TypedDict):
    """The statistics of a process. Counts are of live objects, except `calls` and `refused`."""

    allocations: list[Allocation]
    handles: list[Handle]
    """Streams, events and contexts that the program has made; empty if findings are off."""
    streams: int
    """Streams that were created and not destroyed."""
    events: int
    contexts: int
    pools: int
    """Memory pools other than the devices' default pools."""
    pending_operations: int
    """Enqueued copies, fills and other operations that have not run."""
    pending_host_functions: int
    instructions: int
    """PTX instructions that kernels have executed, counted for each thread."""
    kernels: list[Executed]
    """The executed kernels, those that took the most time first."""
    watched: Watched
    calls: dict[str, int]
    """The number of calls of each entry point, by its exported symbol."""
    refused: dict[str, int]
    """The number of requests for each name that is not simulated."""
    unchecked: list[str]
    """The parts of the run that were not checked, as sentences."""
    wrong_setting: str | None
    """The error in the settings of the environment; None if there is none."""


def statistics() -> Statistics:
    """Return the simulated driver's statistics of this process.

    :raises RuntimeError: the simulated driver is not installed in this process.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.statistics()["allocations"]
    []
    """
    result, text = ask("cuarraySimStatistics")
    if result != 0:
        raise RuntimeError(f"the simulated driver returned no statistics: CUresult {result}")
    return cast(Statistics, json.loads(text))


def check_settings() -> None:
    """Raise an error if a setting in the environment is invalid.

    :raises RuntimeError: the simulated driver is not installed in this process.
    :raises ValueError: a variable ``CUARRAY_SIM_*`` has an invalid value, or names a file that cannot be used.
    """
    if wrong := statistics()["wrong_setting"]:
        raise ValueError(wrong)
