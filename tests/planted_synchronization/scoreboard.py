"""Compare what the simulated driver finds with the cases, and write docs/results/synchronization-errors.md.

PYTHONPATH=tests python -m planted_synchronization
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from generated import differences
from racy_kernels.running import compile_all
from racy_kernels.scoreboard import start

from .cases import MACROS, Case, files
from .running import BUILDS

PAGE = Path(__file__).parents[2] / "docs" / "results" / "synchronization-errors.md"

INTRODUCTION = """\
# Synchronization errors

`make planted-synchronization UPDATE=1` writes this page. The suite (`tests/planted_synchronization/kernels/`) has pairs of small kernels in
CUDA C++: one has a planted error of synchronization, uses an undefined value or waits forever, and its sibling is right. NVRTC compiles both
with line information, and each runs once on the simulated driver. The results of the right one are checked. The errors are deadlocks, and those
that the PTX manual and the CUDA programming guide call undefined. A launch ends after 20,000,000 instructions, so a deadlock that is not found
ends too. All kernels were written for this suite.

An error is *found* if a finding of the right kind names a marked line, and if its advice, or a group of its waiting threads, has the words of
the case. A *false alarm* is a right kernel with any finding.
"""


def run() -> dict[str, Any]:
    """Compile and run all cases: the result of each run, by the build and the case."""
    with tempfile.TemporaryDirectory() as name:
        compile_all(Path(name), [source for source, _ in files()], BUILDS, MACROS)
        return start("planted_synchronization.running", Path(name), "default", "forward")


def is_found(case: Case, result: dict[str, Any]) -> bool:
    """Whether the findings of the wrong build have the planted error."""
    return any(
        finding["kind"] == case.kind
        and case.lines & set(finding["lines"])
        and any((case.words or "") in finding[key] for key in ("missing", "waits"))
        for finding in result["findings"]
    )


def page(results: dict[str, Any]) -> str:
    """Return the page with the results."""
    cases = [case for _, of_file in files() for case in of_file]
    planted = [case for case in cases if case.words is not None]
    found = {case.name for case in planted if is_found(case, results[f"wrong {case.name}"])}
    alarms = {case.name for case in cases if results[f"right {case.name}"]["findings"]}
    lines = [INTRODUCTION]
    lines += [
        f"**{len(found)} of {len(planted)} errors found, {len(alarms)} false alarms in {len(cases)} right kernels.**",
        "",
    ]
    lines += ["| class | found | false alarms |", "|---|---:|---:|"]
    for source, of_file in files():
        its = [case for case in of_file if case.words is not None]
        link = f"[{source.path.stem.replace('_', ' ')}](../../tests/planted_synchronization/kernels/{source.name})"
        lines.append(
            f"| {link} | {sum(case.name in found for case in its)} of {len(its)} "
            f"| {sum(case.name in alarms for case in of_file)} of {len(of_file)} |"
        )
    lines += ["", "## Missed", ""]
    lines += [f"- `{case.name}`: {case.description}" for case in planted if case.name not in found] or ["None."]
    lines += ["", "## False alarms", ""]
    lines += [f"- `{name}`" for name in sorted(alarms)] or ["None."]
    lines += ["", "## Right kernels without a wrong sibling", "", "| kernel | reason |", "|---|---|"]
    lines += [f"| `{case.name}` | {case.reason} |" for case in cases if case.words is None]
    return "\n".join(lines) + "\n"


def complaints(results: dict[str, Any]) -> list[str]:
    """Return what is wrong in any case: right kernels that fail or have other results."""
    return [f"{name}: {result['wrong']}" for name, result in results.items() if result["wrong"]]


def main() -> int:
    """Run the suite, and compare its results with the page."""
    parser = argparse.ArgumentParser(
        description="Run kernels with planted errors of synchronization, and their right siblings."
    )
    parser.add_argument("--show", action="store_true", help="print the findings of each case")
    show = parser.parse_args().show
    results = run()
    if show:
        for name, result in results.items():
            print(
                name,
                *(f"    {finding['kind']} {finding['lines']} {finding['missing']}" for finding in result["findings"]),
                sep="\n",
            )
    wrong = complaints(results)
    print("".join(f"{complaint}\n" for complaint in wrong), end="")
    text = page(results)
    print(next(line for line in text.splitlines() if line.startswith("**")).strip("*"))
    shown = differences(PAGE, text)
    print("".join(f"{line}\n" for line in shown), end="")
    return 1 if wrong or shown else 0
