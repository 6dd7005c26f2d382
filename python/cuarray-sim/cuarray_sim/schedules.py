"""Schedules, the order in which enqueued work runs: set one, read it, and explore all of them.

A schedule is a text: ``lazy``, ``eager``, ``random:SEED``, ``replay:CHOICES``. :func:`schedule` writes a random or replayed
schedule as a ``replay:`` text, which makes the same choices again in any process.

:func:`explore` runs a function under each order of its work. The function must make the same driver calls every time. Garbage
collection is off while it runs. A library that releases memory every tenth time, for example, makes other calls each time; use
``python -m cuarray_sim --explore N script.py`` for it, which runs each schedule in a new process.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .export import ask, export

__all__ = ["Exploration", "Run", "explore", "next_schedule", "schedule", "set_schedule"]

_ILLEGAL_STATE = 401


@dataclass(frozen=True)
class Run:
    """A run of an explored function."""

    schedule: str
    """The order in which its work ran; :func:`set_schedule` and ``CUARRAY_SIM_SCHEDULE`` accept it."""
    result: Any
    """The function's return value; None if it raised."""
    error: Exception | None
    """The exception that the function raised, if any."""


@dataclass(frozen=True)
class Exploration:
    """The result of :func:`explore`."""

    runs: list[Run]
    complete: bool
    """Whether the runs cover every schedule: no bound was reached."""

    @property
    def failures(self) -> list[Run]:
        """The runs that raised."""
        return [run for run in self.runs if run.error is not None]


def set_schedule(schedule: str) -> None:
    """Change the schedule of this process, after all pending work has run.

    :raises ValueError: the text is not a schedule.
    :raises RuntimeError: the simulated driver is not installed in this process.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.set_schedule("random:7")
    >>> cuarray_sim.set_schedule("lazy")
    """
    if export("cuarraySimSetSchedule")(ctypes.c_char_p(schedule.encode())) != 0:
        raise ValueError(f"{schedule!r} is not a schedule: expected lazy, eager, random:SEED or replay:CHOICES")


def schedule() -> str:
    """Return the schedule that has run since it was set, as a text that repeats it.

    :raises RuntimeError: a replayed schedule does not fit the program, or the simulated driver is not installed in this
        process.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.schedule()
    'lazy'
    """
    result, text = ask("cuarraySimSchedule")
    if result != 0:
        raise RuntimeError(
            text if result == _ILLEGAL_STATE else f"the simulated driver returned no schedule: CUresult {result}"
        )
    return text


def next_schedule(schedule: str, deviations: int | None) -> tuple[str | None, bool]:
    """Return the schedule after a replayed one, and whether the bound skipped none in between."""
    texts = []
    for bound in (deviations, None):
        arguments = ctypes.c_char_p(schedule.encode()), ctypes.c_int64(-1 if bound is None else bound)
        result, text = ask("cuarraySimNextSchedule", *arguments)
        if result != 0:
            raise ValueError(f"{schedule!r} is not a schedule with a next one: expected replay:CHOICES")
        texts.append(text)
    return texts[0] or None, texts[0] == texts[1]


def explore(function: Callable[[], Any], *, schedules: int = 1000, deviations: int | None = None) -> Exploration:
    """Run a function under every possible schedule of its work.

    :param function: the function. It must make the same driver calls every time, apart from the effects of the schedule.
    :param schedules: the maximum number of schedules.
    :param deviations: the maximum number of choices in which a schedule differs from the lazy one. A few find most bugs.
    :raises RuntimeError: the function makes other calls in another run, or the simulated driver is not installed.

    An exception of the function is recorded with its schedule. The process's schedule is lazy afterwards.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> exploration = cuarray_sim.explore(lambda: "done")
    >>> [run.result for run in exploration.runs], exploration.complete
    (['done'], True)
    """
    runs: list[Run] = []
    complete = True
    following: str | None = "replay:"
    with _without_garbage_collection():
        try:
            while following is not None:
                if len(runs) >= schedules:
                    complete = False
                    break
                result, error = None, None
                set_schedule(following)
                try:
                    result = function()
                except Exception as raised:
                    error = raised
                made = schedule()
                runs.append(Run(made, result, error))
                following, whole = next_schedule(made, deviations)
                complete = complete and whole
        finally:
            set_schedule("lazy")
    return Exploration(runs, complete)


@contextmanager
def _without_garbage_collection() -> Generator[None]:
    """Turn garbage collection off, so that each run releases objects at the same calls."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
