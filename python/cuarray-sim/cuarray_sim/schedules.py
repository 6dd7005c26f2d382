"""In which order enqueued work runs: setting it, saying which it was, and trying every one.

A schedule is a text: ``lazy``, ``eager``, ``random:SEED``, ``replay:CHOICES``. What ran under a random or a replayed
schedule can be written as a ``replay:``, which makes the same choices again, in this process or another.

:func:`explore` runs a function under each order of its work. It has to do the same every time, in the driver's eyes:
garbage collection is held back while it runs, but a library that releases memory every tenth time, say, is another
program each time. Then ``python -m cuarray_sim --explore N script.py`` is the way: each schedule has its own process.
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
    """One run of a function that is explored."""

    schedule: str
    """The order in which its work ran; :func:`set_schedule` and ``CUARRAY_SIM_SCHEDULE`` take it."""
    result: Any
    """What the function returned; None if it raised."""
    error: Exception | None
    """What it raised."""


@dataclass(frozen=True)
class Exploration:
    """What :func:`explore` has seen."""

    runs: list[Run]
    complete: bool
    """Whether there is no other schedule: no bound was hit."""

    @property
    def failures(self) -> list[Run]:
        """The runs that raised."""
        return [run for run in self.runs if run.error is not None]


def set_schedule(schedule: str) -> None:
    """Change the schedule of this process. What is pending runs first, so that the new one begins with nothing.

    :raises ValueError: the text is no schedule.
    :raises RuntimeError: the simulated driver is not installed in this process.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.set_schedule("random:7")
    >>> cuarray_sim.set_schedule("lazy")
    """
    if export("cuarraySimSetSchedule")(ctypes.c_char_p(schedule.encode())) != 0:
        raise ValueError(f"{schedule!r} is no schedule: there are lazy, eager, random:SEED and replay:CHOICES")


def schedule() -> str:
    """The schedule that has run since it was set, as a text that repeats it.

    :raises RuntimeError: one was to be replayed, and the program is not the one that it was made for; or the simulated
        driver is not installed in this process.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.schedule()
    'lazy'
    """
    result, text = ask("cuarraySimSchedule")
    if result != 0:
        raise RuntimeError(
            text if result == _ILLEGAL_STATE else f"the simulated driver said nothing: CUresult {result}"
        )
    return text


def next_schedule(schedule: str, deviations: int | None) -> tuple[str | None, bool]:
    """The schedule that follows a replayed one, and whether the bound left none out between them."""
    texts = []
    for bound in (deviations, None):
        arguments = ctypes.c_char_p(schedule.encode()), ctypes.c_int64(-1 if bound is None else bound)
        result, text = ask("cuarraySimNextSchedule", *arguments)
        if result != 0:
            raise ValueError(f"{schedule!r} is no schedule that another follows")
        texts.append(text)
    return texts[0] or None, texts[0] == texts[1]


def explore(function: Callable[[], Any], *, schedules: int = 1000, deviations: int | None = None) -> Exploration:
    """Run a function under every schedule that its work can have.

    :param function: what to run. It must do the same every time, but for what the schedule decides.
    :param schedules: the most schedules to run.
    :param deviations: the most choices of a schedule in which it does not do what the lazy one does; few find most bugs.
    :raises RuntimeError: the function does not do the same every time; or the simulated driver is not installed.

    What the function raises is kept with the schedule under which it did. The process's schedule is lazy afterwards.

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
    """Keep objects that die by chance from being released at other calls in each run."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
