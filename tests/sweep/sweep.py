"""Leaves out each ordering call of cuarray, one at a time, and sees whether the simulated driver notices.

For every scenario (:mod:`sweep.scenarios`): it has to be clean as it is; then it runs again once for each event record, stream wait
and synchronization that cuarray has made in it, with that one call doing nothing. A call whose absence makes no finding is
either not covered by the scenario, or not needed: both are reported, and make the exit status 1. The scenario has to be
clean once more at the end, so that nothing that was left out in one run spoils another.

    PYTHONPATH=tests python -m cuarray_sim --devices 2 -m sweep [--table docs/results/sweep.md] [name ...]
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

import cuarray
import cuarray_sim

from .peer import Peer
from .scenarios import SCENARIOS, Scenario

LIBRARY = "cuarray"
ORDERING = {"cuEventRecord", "cuEventRecordWithFlags", "cuStreamWaitEvent", "cuStreamSynchronize"}
ORDERING |= {"cuEventSynchronize", "cuCtxSynchronize", "cuCtxSynchronize_v2"}
MOST_CALLS = 100


@dataclass
class Run:
    """One run of a scenario."""

    calls: int = 0
    """How many ordering calls cuarray made in it."""
    findings: list[str] = field(default_factory=list)
    """Their kinds; of an exception, its type."""
    described: str = ""
    """The findings, or the exception, for people."""
    places: list[str] = field(default_factory=list)
    """The ordering calls, each with its place, if asked for."""


@dataclass
class Result:
    """What came of a scenario."""

    name: str
    calls: int = 0
    """How many ordering calls cuarray makes in it."""
    found: list[str] = field(default_factory=list)
    """For each of them whose absence was found, the kind of the first finding."""
    missed: list[str] = field(default_factory=list)
    """Those whose absence nothing showed."""
    unclean: str | None = None
    """What was found in a run in which nothing was left out."""

    @property
    def good(self) -> bool:
        return self.unclean is None and not self.missed


def run(scenario: Scenario, dropped: int = 0, *, places: bool = False) -> Run:
    """Run a scenario without its ``dropped``-th ordering call; 0 leaves out none. ``places`` asks for those too."""
    this = Run()
    peer = Peer()
    cuarray_sim.drop_ordering(dropped, LIBRARY)
    try:
        scenario(peer)
    except Exception as error:
        # What a call that does nothing leads to may be an error at once, which is as good as a finding.
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
    # What was found is told here, and not at the process's end.
    cuarray_sim.clear_findings()
    return this


def settle() -> None:
    """Release what a run has left behind, so that the next begins like the first."""
    gc.collect()
    if hasattr(cuarray, "reclaim"):
        cuarray.reclaim()


def ordering_calls(count: int) -> list[str]:
    """The last ordering calls of cuarray, each with the line of the scenario that it came from."""
    calls = []
    for operation in cuarray_sim.findings()["operations"]:
        if operation["call"] in ORDERING and operation["site"]["library"] == LIBRARY:
            frame = operation["site"]["user"] or {"file": "an unknown place", "line": 0}
            calls.append(f"{operation['call']} at {os.path.basename(frame['file'])}:{frame['line']}")
    return calls[len(calls) - count :]


def sweep(name: str, scenario: Scenario) -> Result:
    """Run a scenario as it is, without each of its ordering calls, and as it is."""
    result = Result(name)
    run(scenario)  # what is made once and kept (contexts, events) is made here
    whole = run(scenario)
    result.calls = whole.calls
    if whole.findings:
        result.unclean = whole.described
        return result
    assert result.calls <= MOST_CALLS, f"{name} makes {result.calls} ordering calls; a scenario is small"
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
    """The results for people, as Markdown."""
    calls, found = sum(result.calls for result in results), sum(len(result.found) for result in results)
    kinds = Counter(kind for result in results for kind in result.found)
    lines = [
        "# The edge-removal sweep",
        "",
        "Written by `make sweep`. Each scenario (`tests/sweep/scenarios/`) is an exchange between cuarray and another library, clean as it",
        "is written. Then each event record, stream wait and synchronization that cuarray makes in it is left out, one at a time: the",
        "simulated driver has to find a data race, or memory that is freed or read too early, or refuse a call (in a capture). A call whose",
        "absence nothing shows is not needed, and the sweep fails. Releases of memory are taken to wait for nothing",
        "(`CUARRAY_SIM_FREE_SYNCHRONIZES=0`).",
        "",
        f"**{len(results)} scenarios, {calls} ordering calls left out, {found} found.** "
        + "What showed it first: "
        + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        + ".",
        "",
        "| scenario | ordering calls | found when left out |",
        "|---|---:|---:|",
    ]
    lines += [f"| {result.name} | {result.calls} | {len(result.found)} |" for result in results]
    lines += [
        "",
        "What it cannot say: records are made in advance where the stream may be gone, or may be another thread's, when they are needed;",
        "the scenarios are those in which they are. The host's own reads and writes of ordinary memory are no driver calls, so waits that",
        "protect those alone (an array that is rearranged on the host) are in no scenario, nor is what another process does (IPC).",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """The sweep over the scenarios whose names contain what the command line says; all without."""
    parser = argparse.ArgumentParser(description="Leave out each ordering call of cuarray, one at a time.")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the results there, as Markdown")
    parser.add_argument("names", nargs="*", help="parts of the names of the scenarios to run")
    options = parser.parse_args()
    started = time.monotonic()
    gc.freeze()  # what was imported need not be looked through after every run
    results = []
    for name, scenario in SCENARIOS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        result = sweep(name, scenario)
        results.append(result)
        print(f"{'ok ' if result.good else 'BAD'} {len(result.found):3} of {result.calls:3}  {name}", flush=True)
        for line in [*result.missed, *([f"unclean: {result.unclean}"] if result.unclean else [])]:
            print(textwrap.indent(line.rstrip(), "      "), flush=True)
    calls, found = sum(result.calls for result in results), sum(len(result.found) for result in results)
    print(
        f"{len(results)} scenarios, {calls} ordering calls left out, {found} found, "
        f"{sum(len(result.missed) for result in results)} missed, "
        f"{sum(result.unclean is not None for result in results)} unclean; {time.monotonic() - started:.1f} s"
    )
    if options.table and all(result.good for result in results):
        options.table.write_text(table(results))
    return 0 if results and all(result.good for result in results) else 1
