"""Findings of the simulated driver in this process, as data and as reports.

The driver computes findings from the happens-before order, so they do not depend on timing; see
``docs/explanation/happens-before.md``. :func:`findings` returns them as data, with the history of operations. :func:`report`
writes them for people. ``docs/reference/findings.md`` describes every key, and ``docs/reference/reports.md`` the formats.
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

Format = Literal["text", "coloured", "json", "trace", "html", "sarif", "github"]
"""The format of a report: plain or coloured text, JSON, a trace for timeline viewers, an HTML page, or SARIF for code hosts.
``"github"`` is the commands by which a workflow of GitHub shows findings beside their lines."""

_FLAGS: dict[Format, int] = {"json": 0, "text": 1, "coloured": 2, "html": 8, "trace": 16, "sarif": 32, "github": 64}
_LEAKS = 4
_FINDINGS_ALONE = 128

KINDS = (
    "data-race",
    "kernel-race",
    "use-after-free",
    "use-before-allocation",
    "free-before-pending-work",
    "uninitialized-read",
    "out-of-bounds",
    "kernel-failure",
    "refused-module",
    "misaligned-access",
    "synchronization-error",
    "destroyed-handle",
    "captured-stream-synchronized",
    "deadlock",
    "leak",
)
"""The kinds of findings."""


class Frame(TypedDict):
    """A Python frame."""

    file: str
    line: int
    function: str


class SourceLine(TypedDict):
    """A line of a source that is not Python."""

    file: str
    line: int


class Native(TypedDict):
    """A position in machine code."""

    object: str
    offset: int
    symbol: str | None
    source: SourceLine | None


class Site(TypedDict):
    """The origin of a driver call."""

    user: Frame | None
    """The innermost frame outside installed packages."""
    innermost: Frame | None
    native: Native | None
    library: str | None
    """The library that made the call."""


class Range(TypedDict):
    """A range of bytes."""

    address: int
    length: int


class KernelPlace(TypedDict):
    """The position of an access in a kernel."""

    block: list[int]
    thread: list[int]
    atomic: bool
    source: SourceLine | None
    inlined_at: SourceLine | None
    text: str | None
    """The text of the line, if its file is not kept."""
    argument: str | None
    """The arguments of the kernel that point to the memory of a race."""
    waits: str | None
    """The wait of threads that wait forever, in words."""
    ptx_line: int | None


class Side(TypedDict):
    """One of the operations of a finding."""

    call: str
    detail: str | None
    access: str
    lane: int
    bytes: Range | None
    site: Site
    place: KernelPlace | None
    """The position in the kernel, if the finding is about a single access of it."""
    graph: Site | None
    """The call that launched the graph, if the operation is a node of a graph."""
    ordinal: int


class Allocation(TypedDict):
    """The allocation of the bytes of a finding."""

    address: int
    size: int
    kind: str
    device: int
    call: str
    site: Site
    ordinal: int


class Variable(TypedDict):
    """A variable of a kernel's module, or the condition of a graph."""

    name: str | None
    space: str
    offset: int


class Object(TypedDict):
    """An object of the driver."""

    kind: str
    handle: int


class Finding(TypedDict):
    """An error in the program."""

    number: int
    kind: str
    """One of :data:`KINDS`."""
    fingerprint: str
    """Text that is equal for this finding in every run and on every machine."""
    count: int
    allocations: int
    """The number of allocations in which it was found."""
    bytes: Range | None
    offset: int | None
    allocation: Allocation | None
    more_allocations: list[Allocation]
    """Further allocations in which it was found, if other lines made them."""
    variable: Variable | None
    object: Object | None
    sides: list[Side]
    missing: str | None
    """The edges or calls that would have prevented the finding: a line for each, the most probable first."""


class Lane(TypedDict):
    """A stream or a host thread."""

    number: int
    kind: str
    handle: int
    device: int | None
    name: str
    made: Site | None
    variable: str | None
    """The variable that the line of `made` assigns the stream to."""


class Access(TypedDict):
    """Bytes that an operation touched, from the first to the last."""

    access: str
    address: int
    length: int


class Operation(TypedDict):
    """A call of the history."""

    ordinal: int
    lane: int
    call: str
    detail: str | None
    site: Site
    after: list[int]
    accesses: list[Access]


class Suppressed(TypedDict):
    """A line of the suppressions file, and the number of findings that it has hidden."""

    line: int
    text: str
    count: int


class Watched(TypedDict):
    """The search for findings, in bytes."""

    bytes: int
    """Live memory whose accesses are compared."""
    memory: int
    """About the memory that the last accesses of these bytes take."""
    history: int
    """About the memory that the history of operations takes."""
    left_out: int
    """Memory that launches touched and that the search within launches left out."""


class Report(TypedDict):
    """All findings, and the history of operations. ``report.schema.json`` beside this module is the JSON Schema."""

    version: int
    findings: list[Finding]
    not_kept: int
    suppressed: list[Suppressed]
    lanes: list[Lane]
    operations: list[Operation]
    forgotten: int
    watched: Watched
    """The memory of the search at the time of the report."""


def findings(*, leaks: bool = False, history: bool = True) -> Report:
    """Return the findings of this process so far.

    :param leaks: whether to report live memory as leaks.
    :param history: whether to report the operations that no finding is about, too. There may be thousands.
    :raises RuntimeError: the simulated driver is not installed in this process.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.findings()["findings"]
    []
    """
    return cast(Report, json.loads(_report(_FLAGS["json"] if history else _FINDINGS_ALONE, leaks)))


def report(format: Format = "text", *, leaks: bool = False) -> str:
    """Return a report of the findings of this process as a string. A text report without findings is empty.

    :param format: see :data:`Format`.
    :param leaks: whether to report live memory as leaks.
    :raises RuntimeError: the simulated driver is not installed in this process.
    :raises ValueError: the format is unknown.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.report()
    ''
    """
    if format not in _FLAGS:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(map(repr, _FLAGS))}")
    return _report(_FLAGS[format], leaks)


def _report(flags: int, leaks: bool) -> str:
    result, text = ask("cuarraySimFindings", ctypes.c_uint(flags | (_LEAKS if leaks else 0)))
    if result != 0:
        raise RuntimeError(f"the simulated driver returned no report: CUresult {result}")
    return text


def report_before_signal() -> None:
    """Report the findings as the end of the process does, for a process that a signal is about to end."""
    call("cuarraySimReport")


def clear_findings() -> None:
    """Forget the findings so far."""
    call("cuarraySimClearFindings")


def drop_ordering(nth: int, library: str | None = None) -> None:
    """Make one ordering call return success without any effect, to test whether the program needs it.

    Ordering calls are ``cuEventRecord``, ``cuStreamWaitEvent``, ``cuStreamSynchronize``, ``cuEventSynchronize`` and
    ``cuCtxSynchronize``. This function resets their count to 0.

    :param nth: the number of the call, counted from 1; 0 drops none and only counts.
    :param library: count and drop only the calls of this library, by its name in findings (``"cuarray"``);
        findings must be on.
    """
    if nth < 0:
        raise ValueError(f"nth is {nth}; expected 0, or a number counted from 1")
    name = None if library is None else ctypes.c_char_p(library.encode())
    call("cuarraySimDropOrdering", ctypes.c_uint64(nth), name)


def ordering_calls() -> int:
    """Return the number of ordering calls since :func:`drop_ordering`, including the dropped one."""
    made = ctypes.c_uint64()
    call("cuarraySimOrderingCalls", ctypes.byref(made), None)
    return made.value


def hand_over(key: int) -> None:
    """Order this thread's work so far before the work of a thread that calls :func:`take_over` with the same key.

    Call it before a lock is released, an item is put into a queue, or a flag is set. It has an effect only with
    ``CUARRAY_SIM_HOST_ORDER=driver``; otherwise threads are ordered by the order of their driver calls.
    """
    call("cuarraySimHandOver", ctypes.c_void_p(key))


def take_over(key: int) -> None:
    """Order this thread's next work after :func:`hand_over`; call it after the lock is taken or the item or flag is read."""
    call("cuarraySimTakeOver", ctypes.c_void_p(key))
