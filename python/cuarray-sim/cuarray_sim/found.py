"""What the simulated driver has found wrong with the program of this process: for programs, and for people.

The driver computes its findings from what comes before what, not from what happened to run first, so a finding does not
come and go with timing; see ``docs/explanation/happens-before.md``. :func:`findings` gives them as data, with the history in which they
happened; :func:`report` writes the same for people. ``docs/reference/findings.md`` describes every key, ``docs/reference/reports.md`` the
formats.
"""

from __future__ import annotations

import ctypes
import json
from typing import Literal, TypedDict, cast

from .export import ask, call

__all__ = [
    "KINDS",
    "Finding",
    "Format",
    "Report",
    "Suppressed",
    "clear_findings",
    "drop_ordering",
    "findings",
    "hand_over",
    "ordering_calls",
    "report",
    "take_over",
]

Format = Literal["text", "coloured", "json", "trace", "html"]
"""How a report is written: text for people or for terminals, JSON, the trace-event format of timeline viewers, or a page."""

_FLAGS: dict[Format, int] = {"json": 0, "text": 1, "coloured": 2, "html": 8, "trace": 16}
_LEAKS = 4

KINDS = (
    "data-race",
    "kernel-race",
    "use-after-free",
    "use-before-allocation",
    "free-before-pending-work",
    "uninitialized-read",
    "out-of-bounds",
    "misaligned-access",
    "destroyed-handle",
    "captured-stream-synchronized",
    "leak",
)
"""The kinds of findings."""


class Frame(TypedDict):
    """A Python frame."""

    file: str
    line: int
    function: str


class Native(TypedDict):
    """A place in machine code."""

    object: str
    offset: int
    symbol: str | None


class Site(TypedDict):
    """Where a driver call came from."""

    user: Frame | None
    """The innermost frame outside installed packages."""
    innermost: Frame | None
    native: Native | None
    library: str | None
    """Whose call it was."""


class Range(TypedDict):
    """Bytes."""

    address: int
    length: int


class SourceLine(TypedDict):
    """A line of a kernel's source."""

    file: str
    line: int


class KernelPlace(TypedDict):
    """Where in a kernel an access was made."""

    block: list[int]
    thread: list[int]
    atomic: bool
    source: SourceLine | None
    ptx_line: int | None


class Side(TypedDict):
    """One of the operations that a finding is about."""

    call: str
    detail: str | None
    deed: str
    lane: int
    bytes: Range | None
    site: Site
    place: KernelPlace | None
    """For an access of a kernel that is known alone: where in the kernel."""
    ordinal: int


class Finding(TypedDict):
    """One thing that is wrong with the program."""

    number: int
    kind: str
    """One of :data:`KINDS`."""
    count: int
    bytes: Range | None
    offset: int | None
    allocation: dict[str, object] | None
    variable: dict[str, object] | None
    object: dict[str, object] | None
    sides: list[Side]
    missing: str | None
    """What would have made it right."""


class Suppressed(TypedDict):
    """A line of the suppressions file, and how many findings it has kept silent."""

    line: int
    text: str
    count: int


class Report(TypedDict):
    """Everything found, and the history in which it happened."""

    version: int
    findings: list[Finding]
    not_kept: int
    suppressed: list[Suppressed]
    lanes: list[dict[str, object]]
    operations: list[dict[str, object]]
    forgotten: int


def findings(*, leaks: bool = False) -> Report:
    """What was found in this process so far.

    :param leaks: whether memory that is alive now is a finding too.
    :raises RuntimeError: the simulated driver is not installed in this process.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.findings()["findings"]
    []
    """
    return cast(Report, json.loads(report("json", leaks=leaks)))


def report(format: Format = "text", *, leaks: bool = False) -> str:
    """The same, written for people; empty as text if nothing was found.

    :param format: see :data:`Format`.
    :param leaks: whether memory that is alive now is a finding too.
    :raises RuntimeError: the simulated driver is not installed in this process.
    :raises ValueError: there is no such format.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.report()
    ''
    """
    if format not in _FLAGS:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(map(repr, _FLAGS))}")
    result, text = ask("cuarraySimFindings", ctypes.c_uint(_FLAGS[format] | (_LEAKS if leaks else 0)))
    if result != 0:
        raise RuntimeError(f"the simulated driver gave no report: CUresult {result}")
    return text


def clear_findings() -> None:
    """Forget what was found so far."""
    call("cuarraySimClearFindings")


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
    call("cuarraySimDropOrdering", ctypes.c_uint64(nth), name)


def ordering_calls() -> int:
    """How many ordering calls were made since :func:`drop_ordering`, the one that was left out included."""
    made = ctypes.c_uint64()
    call("cuarraySimOrderingCalls", ctypes.byref(made), None)
    return made.value


def hand_over(key: int) -> None:
    """Under ``CUARRAY_SIM_HOST_ORDER=driver``: put what this thread has done before what another does after it takes over.

    To be called before a lock is released, a queue filled, a flag set. Otherwise threads are taken to be ordered by the
    order of their driver calls, and this changes nothing.
    """
    call("cuarraySimHandOver", ctypes.c_void_p(key))


def take_over(key: int) -> None:
    """The other half of :func:`hand_over`, to be called after the lock is taken, the queue read, the flag seen."""
    call("cuarraySimTakeOver", ctypes.c_void_p(key))
