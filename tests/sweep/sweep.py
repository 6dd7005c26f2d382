"""Leave out each ordering call of cuarray, one at a time, and check that the simulated driver reports a finding.

Each scenario (:mod:`sweep.scenarios`) must first run without findings. It then runs once for each event record, stream wait and
synchronization that cuarray made in it, and the driver ignores this one call. If such a run has no findings, the scenario does not
cover the call, or the call is not needed. The sweep then reports the call and exits with status 1. At the end the scenario must run
without findings again, which shows that the runs did not affect each other.

    PYTHONPATH=tests:tests/support python -m cuarray_sim --devices 2 -m sweep [--table docs/results/sweep.md] [name ...]
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import textwrap
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from generated import differences

import cuarray
import cuarray_sim

from .peer import Peer
from .scenarios import COVERED, SCENARIOS, Scenario

LIBRARY = "cuarray"
ORDERING = {"cuEventRecord", "cuEventRecordWithFlags", "cuStreamWaitEvent", "cuStreamSynchronize"}
ORDERING |= {"cuEventSynchronize", "cuCtxSynchronize", "cuCtxSynchronize_v2"}
MOST_CALLS = 100


@dataclass
class Run:
    """One run of a scenario."""

    calls: int = 0
    """Number of ordering calls of cuarray."""
    findings: list[str] = field(default_factory=list)
    """Kinds of the findings, or the type of an exception."""
    described: str = ""
    """Text of the findings or of the exception."""
    places: list[str] = field(default_factory=list)
    """The ordering calls with their lines, if requested."""


@dataclass
class Result:
    """The result of a scenario."""

    name: str
    calls: int = 0
    """Number of ordering calls of cuarray."""
    found: list[str] = field(default_factory=list)
    """The kind of the first finding, for each omitted call whose run had findings."""
    missed: list[str] = field(default_factory=list)
    """The calls whose omission gave no finding."""
    covered: int = 0
    """The number of calls whose omission gives no finding, because another call of cuarray has their effect."""
    unclean: str | None = None
    """The findings of a run with all calls, or None."""

    @property
    def good(self) -> bool:
        return self.unclean is None and len(self.missed) == self.covered


def run(scenario: Scenario, dropped: int = 0, *, places: bool = False) -> Run:
    """Run a scenario without its ``dropped``-th ordering call, or with all calls if it is 0. ``places`` requests their lines."""
    this = Run()
    peer = Peer()
    cuarray_sim.drop_ordering(dropped, LIBRARY)
    try:
        scenario(peer)
    except Exception as error:
        # An omitted call may also lead to an exception, which counts as a finding.
        this.findings = [type(error).__name__]
        this.described = "".join(traceback.format_exception(error))
    this.calls = cuarray_sim.ordering_calls()
    cuarray_sim.drop_ordering(0)
    if not this.findings:
        this.described = cuarray_sim.report()
        this.findings = re.findall(r"^\[\d+\] ([a-z-]+):", this.described, re.MULTILINE)
    if places:
        this.places = ordering_calls(this.calls)
    peer.close()
    settle()
    # The findings are reported here, and not again at the process's end.
    cuarray_sim.clear_findings()
    return this


def settle() -> None:
    """Release the objects of a run, so that each run starts in the same state."""
    gc.collect()
    if hasattr(cuarray, "reclaim"):
        cuarray.reclaim()


def ordering_calls(count: int) -> list[str]:
    """Return the last ordering calls of cuarray, each with its line in the scenario."""
    calls = []
    for operation in cuarray_sim.findings()["operations"]:
        if operation["call"] in ORDERING and operation["site"]["library"] == LIBRARY:
            frame = operation["site"]["user"] or {"file": "an unknown place", "line": 0}
            calls.append(f"{operation['call']} at {os.path.basename(frame['file'])}:{frame['line']}")
    return calls[len(calls) - count :]


def sweep(name: str, scenario: Scenario, covered: int = 0) -> Result:
    """Run a scenario with all calls, then without each ordering call, then with all calls again."""
    result = Result(name, covered=covered)
    run(scenario)  # creates the objects that are made once and kept: contexts, events
    whole = run(scenario)
    result.calls = whole.calls
    if whole.findings:
        result.unclean = whole.described
        return result
    assert result.calls <= MOST_CALLS, f"{name} makes {result.calls} ordering calls; a scenario may make {MOST_CALLS}"
    missed = []
    for dropped in range(1, result.calls + 1):
        if found := run(scenario, dropped).findings:
            result.found.append(found[0])
        else:
            missed.append(dropped)
    again = run(scenario, places=bool(missed))
    result.missed = [f"ordering call {call} of {result.calls}: {again.places[call - 1]}" for call in missed]
    if again.findings:
        result.unclean = "after the runs without a call: " + again.described
    return result


def table(results: list[Result]) -> str:
    """Return the results as Markdown."""
    calls, found = sum(result.calls for result in results), sum(len(result.found) for result in results)
    kinds = Counter(kind for result in results for kind in result.found)
    lines = [
        "# The edge-removal sweep",
        "",
        "`make sweep UPDATE=1` writes this page. Each scenario (`tests/sweep/scenarios/`) is an exchange between cuarray and another library that",
        "runs without findings. The sweep then leaves out each event record, stream wait and synchronization that cuarray makes in it, one",
        "at a time. The simulated driver must find a data race, find memory that is freed or read too early, or refuse a call in a capture.",
        "If it finds nothing, the call is not needed, and the sweep fails; a scenario may state how many of its calls another call",
        "covers. With `CUARRAY_SIM_FREE_SYNCHRONIZES=0`, freeing memory does not wait for pending work.",
        "",
        f"**{len(results)} scenarios, {calls} ordering calls left out, {found} found, "
        f"{sum(result.covered for result in results)} covered by another call.** "
        + "First findings: "
        + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        + ".",
        "",
        "| scenario | ordering calls | found when left out |",
        "|---|---:|---:|",
    ]
    lines += [f"| {result.name} | {result.calls} | {len(result.found)} |" for result in results]
    lines += [
        "",
        "The sweep has limits. cuarray records some events in advance, because the stream may later be destroyed or belong to another thread;",
        "the scenarios contain only cases that need these events. The host's accesses to ordinary memory are no driver calls, so no scenario",
        "covers waits that only protect them. No scenario covers work of another process (IPC).",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the sweep over all scenarios, or over those whose names contain a part given on the command line."""
    parser = argparse.ArgumentParser(description="Leave out each ordering call of cuarray, one at a time.")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="compare the results with this page; UPDATE=1 writes it"
    )
    parser.add_argument("names", nargs="*", help="parts of the names of the scenarios to run")
    options = parser.parse_args()
    started = time.monotonic()
    gc.freeze()  # excludes imported modules from the collection after each run
    results = []
    for name, scenario in SCENARIOS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        result = sweep(name, scenario, COVERED[name])
        results.append(result)
        print(f"{'ok ' if result.good else 'BAD'} {len(result.found):3} of {result.calls:3}  {name}", flush=True)
        missed = [] if len(result.missed) == result.covered else result.missed
        for line in [*missed, *([f"unclean: {result.unclean}"] if result.unclean else [])]:
            print(textwrap.indent(line.rstrip(), "      "), flush=True)
    calls, found = sum(result.calls for result in results), sum(len(result.found) for result in results)
    print(
        f"{len(results)} scenarios, {calls} ordering calls left out, {found} found, "
        f"{sum(len(result.missed) - result.covered for result in results)} missed, "
        f"{sum(result.covered for result in results)} covered by another call, "
        f"{sum(result.unclean is not None for result in results)} unclean; {time.monotonic() - started:.1f} s"
    )
    good = bool(results) and all(result.good for result in results)
    shown = differences(options.table, table(results)) if options.table and good else []
    print("".join(f"{line}\n" for line in shown), end="")
    return 0 if good and not shown else 1
