"""What the simulated driver has found wrong with the program of this process.

The driver computes it from what comes before what, so that it does not depend on when work happened to run; see
``docs/happens-before.md``. The functions here are thin: each is one export of the library.
"""

from __future__ import annotations

import ctypes
import json
from typing import Any, TypedDict, cast

from .export import ask, export

__all__ = [
    "Finding",
    "Report",
    "clear_findings",
    "drop_ordering",
    "findings",
    "findings_text",
    "hand_over",
    "ordering_calls",
    "take_over",
]

_TEXT, _COLOURED, _LEAKS = 1, 2, 4


class Finding(TypedDict):
    """One thing that is wrong; ``docs/findings-json.md`` describes what the keys hold."""

    number: int
    kind: str
    """``"data-race"``, ``"use-after-free"``, ``"uninitialized-read"`` and so on."""
    count: int
    """How often it was found between the same two places."""
    bytes: dict[str, int] | None
    offset: int | None
    allocation: dict[str, Any] | None
    object: dict[str, Any] | None
    sides: list[dict[str, Any]]
    missing: str | None
    """What would have made it right."""


class Report(TypedDict):
    """Everything found, and the history in which it happened."""

    version: int
    findings: list[Finding]
    not_kept: int
    lanes: list[dict[str, Any]]
    operations: list[dict[str, Any]]
    forgotten: int


def findings(*, leaks: bool = False) -> Report:
    """The report as data.

    :param leaks: whether what is alive now is a finding too, as at the end of a program. ``CUARRAY_SIM_LEAKS=0`` leaves
        it out in any case.
    :raises RuntimeError: the simulated driver is not installed in this process.

    Work that is pending is run first where it is not known yet what it touches.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.findings()["findings"]
    []
    """
    return cast(Report, json.loads(_report(_LEAKS if leaks else 0)))


def findings_text(*, leaks: bool = False, coloured: bool = False) -> str:
    """The report as text for people; empty if nothing was found.

    :raises RuntimeError: the simulated driver is not installed in this process.
    """
    return _report(_TEXT | (_COLOURED if coloured else 0) | (_LEAKS if leaks else 0))


def clear_findings() -> None:
    """Forget what was found so far."""
    _call("cuarraySimClearFindings")


def drop_ordering(nth: int, library: str | None = None) -> None:
    """Let one ordering call do nothing but answer success, to see whether anything needs it.

    Ordering calls are ``cuEventRecord``, ``cuStreamWaitEvent``, ``cuStreamSynchronize``, ``cuEventSynchronize`` and
    ``cuCtxSynchronize``. They are counted from now on.

    :param nth: which of them, counted from 1; 0 for none, only to count.
    :param library: count and drop only the calls of this library, by the name that findings give it (``"cuarray"``);
        this needs findings to be on.
    """
    if nth < 0:
        raise ValueError(f"nth is {nth}; expected 0, or a number counted from 1")
    name = None if library is None else ctypes.c_char_p(library.encode())
    _call("cuarraySimDropOrdering", ctypes.c_uint64(nth), name)


def ordering_calls() -> int:
    """How many ordering calls were made since :func:`drop_ordering`, the one that was left out included."""
    made = ctypes.c_uint64()
    _call("cuarraySimOrderingCalls", ctypes.byref(made), None)
    return made.value


def hand_over(key: int) -> None:
    """Under ``CUARRAY_SIM_HOST_ORDER=driver``: put what this thread has done before what another does after it takes over.

    To be called before a lock is released, a queue filled, a flag set. Otherwise threads are taken to be ordered by the
    order of their driver calls, and this changes nothing.
    """
    _call("cuarraySimHandOver", ctypes.c_void_p(key))


def take_over(key: int) -> None:
    """The other half of :func:`hand_over`, to be called after the lock is taken, the queue read, the flag seen."""
    _call("cuarraySimTakeOver", ctypes.c_void_p(key))


def _call(name: str, *arguments: Any) -> None:
    result = export(name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name} failed: CUresult {result}")


def _report(flags: int) -> str:
    result, text = ask("cuarraySimFindings", ctypes.c_uint(flags))
    if result != 0:
        raise RuntimeError(f"the simulated driver gave no report: CUresult {result}")
    return text
