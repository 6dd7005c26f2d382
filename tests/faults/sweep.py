"""Let each driver call of each public operation fail once, and check that the operation survives it.

Each operation (:mod:`faults.operations`) runs once without a fault, which counts its driver calls. It then runs once for each of these
calls and each of three results, and the simulated driver refuses this one call. Afterwards:

- the operation has raised a ``CudaError`` with the driver's name and call, or has reported it as a destructor does, or its success is
  explained in :data:`HANDLED`;
- allocations, streams, events and contexts are as before, and so are the current context, the thread's capture mode and the
  references to the objects of the operation;
- a second attempt succeeds, with the same result.

    PYTHONPATH=tests:tests/support python -m cuarray_sim --devices 2 -m faults [--table docs/results/faults.md] [name ...]
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import re
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import driver_probe
from generated import differences

import cuarray
import cuarray_sim

from .operations import OPERATIONS, Attempt, Operation

#: The result of a call that runs out of a resource, of one after a kernel has failed, and one that tells nothing.
RESULTS = ("CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_UNKNOWN")

#: Calls whose failure an operation may survive without an error, with the reason.
HANDLED = {
    "cuCtxGetCurrent": "a release repeats the call; a query of pending work is asked again later",
    "cuCtxPushCurrent_v2": "a release repeats the call; a query of pending work is asked again later",
    "cuCtxPopCurrent_v2": "a pop that popped nothing is repeated",
    "cuEventQuery": "the record of the work is kept, and waited for or asked again later",
    "cuMemFreeAsync": "the memory is freed without its stream, after a wait",
    "cuThreadExchangeStreamCaptureMode": "the restore of the mode is repeated; work that needed the mode is deferred",
}
#: Calls that release an object. After a failure the object stays with the driver: a second call could release another object that
#: got the same handle meanwhile. The error is reported.
RELEASES = {"cuStreamDestroy_v2": "streams", "cuEventDestroy_v2": "events", "cuIpcCloseMemHandle": "allocations"}
#: Calls whose faults every operation handles.
EVERYWHERE = {"cuCtxPopCurrent_v2"}
#: The longest time for one operation, in seconds.
PATIENCE = 120


@dataclass
class Result:
    """The result of an operation."""

    operation: Operation
    calls: Counter[str] = field(default_factory=Counter)
    """Number of the operation's calls, by symbol."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Number of faults by outcome: raised, reported, handled."""
    handled: set[str] = field(default_factory=set)
    """The symbols whose faults were handled."""
    wrong: list[str] = field(default_factory=list)
    """Descriptions of the faults that the operation did not survive."""


def settle() -> None:
    """Release everything that an attempt has left."""
    gc.collect()
    cuarray.reclaim()


def account(attempt: Attempt) -> dict[str, Any]:
    """Return the driver's objects, the state of the thread, and the references to the objects of the operation."""
    statistics = cuarray_sim.statistics()
    mode = capture_mode()
    cells = [cell.cell_contents for cell in attempt.__closure__ or ()]
    return {
        "allocations": sorted(allocation["id"] for allocation in statistics["allocations"]),
        "streams": statistics["streams"],
        "events": statistics["events"] - cuarray._core.idle_events(),
        "contexts": statistics["contexts"],
        "current context": driver_probe.current_context(),
        "capture mode": mode,
        # The interpreter's cache of attributes keeps names and drops them, and small ints are shared: their counts are not significant.
        "references": [sys.getrefcount(cell) for cell in cells if not isinstance(cell, str | int)],
    }


def capture_mode() -> int:
    """Return the thread's capture mode."""
    exchange = driver_probe.library().cuThreadExchangeStreamCaptureMode
    mode = ctypes.c_int(0)
    exchange(ctypes.byref(mode))  # now `mode` is the one that was set
    found = mode.value
    exchange(ctypes.byref(mode))
    return found


class Reports:
    """Collects the errors of destructors."""

    def __init__(self) -> None:
        self.errors: list[BaseException | None] = []

    def __enter__(self) -> Reports:
        self.before, sys.unraisablehook = sys.unraisablehook, self._collect
        return self

    def _collect(self, report: Any) -> None:
        self.errors.append(report.exc_value)

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self.before


def count_calls(attempt: Attempt) -> Counter[str]:
    """Return the calls that an attempt makes."""
    before = Counter(cuarray_sim.statistics()["calls"])
    attempt()
    calls = Counter(cuarray_sim.statistics()["calls"])
    calls.subtract(before)
    return +calls


def is_named(error: BaseException | None, symbol: str, result: str) -> bool:
    """Return whether an error is a CudaError with the name of the fault's result and of its call."""
    call = symbol.split("_v")[0]
    return isinstance(error, cuarray.CudaError) and (error.name, error.call) == (result, call)


def inject(result: Result, attempt: Attempt, expected: Any, symbol: str, number: int, code: str) -> None:
    """Run an attempt whose call ``number`` of ``symbol`` fails, and note its outcome."""
    case = f"call {number} of {symbol} with {code}"
    before = account(attempt)
    cuarray_sim.fail_next(symbol, code, after=number - 1)
    raised: BaseException | None = None
    with Reports() as reports:
        try:
            attempt()
        except BaseException as error:
            raised = error.with_traceback(None)
            raised.__context__ = None
        unreached = cuarray_sim.clear_faults()
        settle()
    if unreached:
        result.wrong.append(f"{case}: the call was not made")
        return
    if raised is not None:
        if is_named(raised, symbol, code):
            result.outcomes["raised"] += 1
        else:
            result.wrong.append(f"{case}: raised {raised!r}")
    elif any(is_named(error, symbol, code) for error in reports.errors):
        result.outcomes["reported"] += 1
    elif symbol in HANDLED:
        result.outcomes["handled"] += 1
        result.handled.add(symbol)
    else:
        result.wrong.append(f"{case}: no error")
    for error in reports.errors:
        if not is_named(error, symbol, code):
            result.wrong.append(f"{case}: reported {error!r}")
    del raised, reports
    for name, state in (("current context", driver_probe.current_context()), ("capture mode", capture_mode())):
        if state != before[name]:
            result.wrong.append(f"{case}: {name} changed from {before[name]} to {state}")
    try:
        again = attempt()
        if again != expected:
            result.wrong.append(f"{case}: the second attempt returned {again!r}, not {expected!r}")
    except BaseException as error:
        result.wrong.append(f"{case}: the second attempt raised {error!r}")
    again = None
    settle()
    # Compared after the second attempt, since the operation's arrays keep events of their latest work.
    after = account(attempt)
    for key, value in before.items():
        if key != RELEASES.get(symbol) and after[key] != value:
            result.wrong.append(f"{case}: {key} changed from {value} to {after[key]}")


def sweep(operation: Operation) -> Result:
    """Run an operation with each of its faults."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    result = Result(operation)
    attempt = operation.prepare()
    # The first attempts create what is made once and kept: contexts, events.
    attempt()
    settle()
    expected = attempt()
    settle()
    result.calls = count_calls(attempt)
    settle()
    for symbol, count in sorted(result.calls.items()):
        for number in range(1, count + 1):
            for code in RESULTS:
                inject(result, attempt, expected, symbol, number, code)
    del attempt, expected
    settle()
    report = cuarray_sim.report()
    result.wrong += [f"after the faults: {finding}" for finding in re.findall(r"^\[\d+\] .*", report, re.MULTILINE)]
    cuarray_sim.clear_findings()
    faulthandler.cancel_dump_traceback_later()
    return result


def symbols(names: set[str]) -> str:
    """Return symbols as Markdown, by the names of the driver's manual."""
    return ", ".join(f"`{name.split('_v')[0]}`" for name in sorted(names))


def table(results: list[Result]) -> str:
    """Return the results as Markdown."""
    outcomes: Counter[str] = Counter()
    handled: set[str] = set()
    for result in results:
        outcomes.update(result.outcomes)
        handled |= result.handled
    calls = sum(result.calls.total() for result in results)
    lines = [
        "# The fault sweep",
        "",
        "`make faults UPDATE=1` writes this page. Each public operation of the package (`tests/faults/operations/`) runs on the simulated driver,",
        "and each driver call that it makes fails once with each of three results: "
        + ", ".join(f"`{name}`" for name in RESULTS)
        + ".",
        "After each fault the sweep checks that nothing is lost: no allocation, stream, event, context or reference, and neither the",
        "current context nor the thread's capture mode has changed. A second attempt must succeed with the same result.",
        "",
        f"**{len(results)} operations, {calls} driver calls, {outcomes.total()} faults: "
        + ", ".join(f"{outcomes[name]} {name}" for name in ("raised", "reported", "handled"))
        + ".**",
        "",
        "- *raised*: the operation raised `CudaError` with the name of the result and of the call.",
        "- *reported*: a destructor cannot raise, so `sys.unraisablehook` got that error.",
        "- *handled*: the operation succeeded, for the reason below.",
        "",
        "| call | handling |",
        "|---|---|",
        *(f"| `{symbol.split('_v')[0]}` | {HANDLED[symbol]} |" for symbol in sorted(handled)),
        "",
        "A stream or an event whose destruction failed stays with the driver, and the error is reported. It is not destroyed again,",
        "because its handle may belong to a new object by then.",
        "",
        "| operation | driver calls | raised | reported | handled | handled calls, besides `cuCtxPopCurrent` |",
        "|---|---:|---:|---:|---:|---|",
    ]
    lines += [
        f"| {result.operation.name} | {result.calls.total()} | "
        + " | ".join(str(result.outcomes[name]) for name in ("raised", "reported", "handled"))
        + f" | {symbols(result.handled - EVERYWHERE)} |"
        for result in results
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run the sweep; return 1 if an operation did not survive a fault."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--table", type=Path, help="compare the results with this page; UPDATE=1 writes it")
    parser.add_argument("names", nargs="*", help="operations; by default all")
    options = parser.parse_args(arguments)
    names: list[str] = options.names or list(OPERATIONS)
    started = time.monotonic()
    gc.freeze()
    results = []
    for name in names:
        try:
            results.append(sweep(OPERATIONS[name]))
        except Exception:
            result = Result(OPERATIONS[name], wrong=["without a fault: " + traceback.format_exc()])
            results.append(result)
        for wrong in results[-1].wrong:
            print(f"{name}: {wrong}", flush=True)
    faults = sum(result.outcomes.total() for result in results)
    wrong = sum(len(result.wrong) for result in results)
    print(f"{len(results)} operations, {faults} faults, {wrong} wrong, {time.monotonic() - started:.0f} s")
    shown = differences(options.table, table(results)) if options.table and not wrong else []
    print("".join(f"{line}\n" for line in shown), end="")
    return 1 if wrong or shown else 0
