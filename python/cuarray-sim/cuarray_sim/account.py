"""What the simulated driver has alive, pending, counted and refused.

The driver keeps the account itself and gives it as JSON through an export of its own, so it is the whole truth about
the process, whichever libraries made the calls. A leak is an allocation that is still listed; a library that is run on
the simulator for the first time shows under ``refused`` what it asked for in vain.
"""

from __future__ import annotations

import json
from typing import TypedDict, cast

from .export import ask
from .found import Site

__all__ = ["Allocation", "Handle", "Made", "Statistics", "check_settings", "statistics"]


class Allocation(TypedDict):
    """One piece of memory that the driver has given out and not taken back."""

    kind: str
    """``"device"``, ``"pool"`` (stream-ordered), ``"pinned"``, ``"registered"`` (the program's) or ``"managed"``."""
    address: int
    size: int
    """What was asked for, in bytes."""
    device: int
    id: int
    """Never used twice in a process, as addresses are."""
    release_pending: bool
    """Whether a stream-ordered release is enqueued and has yet to run."""
    made: Made | None
    """The call that made it; None where findings are off."""


class Handle(TypedDict):
    """A stream, an event or a context that is alive."""

    object: str
    """``"stream"``, ``"event"`` or ``"context"``."""
    handle: int
    made: Made


class Made(TypedDict):
    """The call that made something."""

    call: str
    ordinal: int
    """Its place in the history; no two have the same."""
    site: Site


class Statistics(TypedDict):
    """The account of one process; counts are of what is alive now, except `calls` and `refused`."""

    allocations: list[Allocation]
    handles: list[Handle]
    """Streams, events and contexts that the program has made; empty where findings are off."""
    streams: int
    """Streams that were created and not destroyed."""
    events: int
    contexts: int
    pools: int
    """Memory pools besides the devices' own."""
    pending_operations: int
    """Enqueued copies, fills and the like that nothing has forced to run yet."""
    pending_host_functions: int
    calls: dict[str, int]
    """How often each entry point was called, by its exported symbol."""
    refused: dict[str, int]
    """What was asked for and is not simulated: names, and how often."""
    wrong_setting: str | None
    """What is wrong with the settings in the environment, as a sentence."""


def statistics() -> Statistics:
    """The simulated driver's account of this process.

    :raises RuntimeError: the simulated driver is not installed in this process.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.statistics()["allocations"]
    []
    """
    result, text = ask("cuarraySimStatistics")
    if result != 0:
        raise RuntimeError(f"the simulated driver gave no account of itself: CUresult {result}")
    return cast(Statistics, json.loads(text))


def check_settings() -> None:
    """Refuse settings in the environment that the driver cannot work with.

    :raises RuntimeError: the simulated driver is not installed in this process.
    :raises ValueError: a variable ``CUARRAY_SIM_*`` has a value that is not understood, or names a file that cannot be used.
    """
    if wrong := statistics()["wrong_setting"]:
        raise ValueError(wrong)
