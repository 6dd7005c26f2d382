"""Compare what the simulated driver finds with the verdicts of the kernels, and write docs/results/racy-kernels.md.

PYTHONPATH=tests python -m racy_kernels
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generated import differences

from .kernels import Kernel, Source, sources
from .running import BUILDS, compile_all

PAGE = Path(__file__).parents[2] / "docs" / "results" / "racy-kernels.md"
MODES = {"default": {}, "strict": {"CUARRAY_SIM_KERNEL_RACES": "strict"}}
# A budget, so that a kernel that waits forever ends soon.
SETTINGS = {"CUARRAY_SIM_LAUNCH_BUDGET": "20000000"}

INTRODUCTION = """\
# Racy kernels

`make racy-kernels UPDATE=1` writes this page. The suite (`tests/racy_kernels/kernels/`) has pairs of small kernels in CUDA C++: one has
a planted bug, and its sibling is right. NVRTC compiles both with line information. Each kernel runs once on the simulated driver, and in more
[orders](../reference/kernels.md#order-of-blocks-and-warps) if its comment names them. The
results of the right one are checked. The bugs follow published descriptions of patterns: those of the Indigo suite and its successors, of
HiRace, iGUARD and ScoRD, of DataRaceBench, and of the documentation of NVIDIA's racecheck. All kernels were written for this suite.

A race is *found* if a finding names a right variable, and no line of the file but those that are marked. A *false alarm* is a
right kernel with any finding. Some racy kernels are races only by the letter of the memory model: the default mode accepts them on purpose.
They have no column for the default mode, and are listed below with the reason.
"""


@dataclass
class Outcome:
    """The outcome of one build of a kernel in one mode."""

    source: Source
    kernel: Kernel
    findings: list[dict[str, Any]]
    wrong: str | None
    """How the results differ from the expected ones, or the error of the launch."""

    @property
    def races(self) -> list[dict[str, Any]]:
        return [finding for finding in self.findings if finding["kind"] == "kernel-race"]

    def is_right(self, finding: dict[str, Any]) -> bool:
        """Whether a race names a right variable and right lines. Code of headers may have no line of the file."""
        lines = {line for line in finding["lines"] if line is not None}
        return finding["variable"] in self.kernel.variables and lines <= self.kernel.lines

    @property
    def found(self) -> bool:
        return any(self.is_right(finding) for finding in self.races)

    @property
    def misplaced(self) -> list[dict[str, Any]]:
        """Races of a racy build with another variable or line."""
        return [finding for finding in self.races if not self.is_right(finding)]


@dataclass
class Results:
    """The outcomes of all kernels in one mode, by the name of the kernel."""

    clean: dict[str, Outcome]
    racy: dict[str, Outcome]


def start_all(module: str, folder: Path, mode: str, orders: set[str]) -> dict[str, Any]:
    """Run a module of the tests once in each order, and return the merged results: the findings of all orders, and the first error."""
    merged: dict[str, Any] = {}
    for order in sorted(orders):
        for name, result in start(module, folder, mode, order).items():
            known = merged.setdefault(name, dict.fromkeys(result) | {"findings": []})
            for key, value in result.items():
                known[key] = known[key] + value if key == "findings" else known[key] or value
    return merged


def start(module: str, folder: Path, mode: str, order: str) -> dict[str, Any]:
    """Run a module of the tests in its own process with the simulated driver, and return the JSON that it prints."""
    kept = {"CUARRAY_SIM_GENERATED_CODE"}
    environment = {name: value for name, value in os.environ.items() if name in kept or not name.startswith("CUARRAY_")}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, sys.path)), "CUARRAY_SIM_KERNEL_ORDER": order}
    environment |= SETTINGS | MODES[mode]
    command = [sys.executable, "-m", "cuarray_sim", "-m", module, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"the kernels do not run: {done.stderr}")
    return json.loads(done.stdout)


def run(mode: str, folder: Path) -> Results:
    """Run all kernels in one mode."""
    orders = {order for source in sources() for kernel in source.kernels for order in kernel.orders}
    runs, results = start_all("racy_kernels.running", folder, mode, orders), Results({}, {})
    for source in sources():
        for kernel in source.kernels:
            for build, outcomes in (("clean", results.clean), ("racy", results.racy)):
                if outcome := runs.get(f"{build} {kernel.name}"):
                    outcomes[kernel.name] = Outcome(source, kernel, outcome["findings"], outcome["wrong"])
    return results


def run_all() -> dict[str, Results]:
    """Compile and run all kernels in each mode."""
    with tempfile.TemporaryDirectory() as name:
        compile_all(Path(name), sources(), BUILDS)
        with ThreadPoolExecutor(len(MODES)) as pool:
            return dict(zip(MODES, pool.map(lambda mode: run(mode, Path(name)), MODES), strict=True))


def page(results: dict[str, Results]) -> str:
    """Return the page with the results."""
    kernels = [kernel for source in sources() for kernel in source.kernels]
    racy = {"default": [kernel for kernel in kernels if kernel.verdict == "racy"]}
    racy["strict"] = [kernel for kernel in kernels if kernel.verdict != "clean"]
    lines = [INTRODUCTION]
    totals = []
    for mode, result in results.items():
        found = sum(result.racy[kernel.name].found for kernel in racy[mode])
        alarms = sum(bool(outcome.findings) for outcome in result.clean.values())
        totals.append(
            f"in the {mode} mode {found} of {len(racy[mode])} races found, {alarms} false alarms in {len(kernels)} right kernels"
        )
    lines += [f"**{len(kernels) + len(racy['strict'])} kernels: {'; '.join(totals)}.**", ""]
    heads = [f"{head}, {mode}" for mode in results for head in ("found", "false alarms")]
    lines += [f"| class | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for source in sources():
        cells = [f"[{source.path.stem.replace('_', ' ')}](../../tests/racy_kernels/kernels/{source.name})"]
        for mode, result in results.items():
            names = [kernel.name for kernel in source.kernels if kernel in racy[mode]]
            cells.append(f"{sum(result.racy[name].found for name in names)} of {len(names)}")
            alarms = sum(bool(result.clean[kernel.name].findings) for kernel in source.kernels)
            cells.append(f"{alarms} of {len(source.kernels)}")
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## Missed", ""]
    missed = [
        (
            kernel,
            [mode for mode, result in results.items() if kernel in racy[mode] and not result.racy[kernel.name].found],
        )
        for kernel in racy["strict"]
    ]
    if any(modes for _, modes in missed):
        lines += ["| kernel | missed in | pattern |", "|---|---|---|"]
        lines += [
            f"| `{kernel.name}` | {', '.join(modes)} | {kernel.description} |" for kernel, modes in missed if modes
        ]
    else:
        lines += ["None."]
    lines += ["", "## False alarms", ""]
    alarms = {
        (outcome.kernel.name, mode)
        for mode, result in results.items()
        for outcome in result.clean.values()
        if outcome.findings
    }
    lines += [f"- `{name}` in the {mode} mode" for name, mode in sorted(alarms)] or ["None."]
    lines += ["", "## Races only in the strict mode", "", "| kernel | reason |", "|---|---|"]
    lines += [f"| `{kernel.name}` | {kernel.reason} |" for kernel in kernels if kernel.verdict == "strict"]
    return "\n".join(lines) + "\n"


def complaints(results: dict[str, Results]) -> list[str]:
    """Return what is wrong in any case: results of right kernels, launches that fail, and findings at wrong places."""
    found = []
    for mode, result in results.items():
        for build, outcomes in (("clean", result.clean), ("racy", result.racy)):
            for name, outcome in outcomes.items():
                if outcome.wrong:
                    found.append(f"{mode}: {build} {name}: {outcome.wrong}")
                if build == "racy" and outcome.misplaced:
                    found.append(f"{mode}: {build} {name} has findings at other places: {outcome.misplaced}")
        for name, outcome in result.racy.items():
            if mode == "default" and outcome.kernel.verdict == "strict" and outcome.races:
                found.append(f"{mode}: {name} is reported, although it is only a race in the strict mode")
    return found


def main() -> int:
    """Run the suite, and compare its results with the page."""
    parser = argparse.ArgumentParser(description="Run the racy kernels and their right siblings.")
    parser.parse_args()
    results = run_all()
    wrong = complaints(results)
    print("".join(f"{complaint}\n" for complaint in wrong), end="")
    text = page(results)
    print(next(line for line in text.splitlines() if line.startswith("**")).strip("*"))
    shown = differences(PAGE, text)
    print("".join(f"{line}\n" for line in shown), end="")
    return 1 if wrong or shown else 0
