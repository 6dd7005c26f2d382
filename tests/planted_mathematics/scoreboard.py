"""Compare what the simulated driver finds with the cases, and write docs/results/mathematics-races.md.

PYTHONPATH=tests python -m planted_mathematics
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from generated import differences

# The modules add their cases.
from . import cublas, cudnn, cufft, curand, cusolver, cusparse  # noqa: F401
from .place import CASES, Case, Place

PAGE = Path(__file__).parents[2] / "docs" / "results" / "mathematics-races.md"
NAMES = {
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "cufft": "cuFFT",
    "curand": "cuRAND",
    "cusolver": "cuSOLVER",
    "cusparse": "cuSPARSE",
}
BUILDS = ("wrong", "right")

INTRODUCTION = """\
# Races across mathematical libraries

`PYTHONPATH=tests python -m planted_mathematics` compares this page with what it finds, as CI does; `UPDATE=1` writes it. Each case of the suite
(`tests/planted_mathematics`) calls a library in one stream and writes or copies its memory in another one. In the wrong build nothing orders the
two, and in the right build a stream waits for an event of the other. All cases were written for this suite.

A race is *found* if a `data-race` names both lines of the program, the function of the library and the argument. A *false alarm* is a right build
with any finding.
"""


def found_lines(finding: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the lines of the program that a finding names."""
    users = [side["site"]["user"] for side in finding["sides"]]
    return [(Path(user["file"]).name, user["line"]) for user in users if user]


def run_all() -> dict[str, list[dict[str, Any]]]:
    """Run both builds of each case in this process: the findings, by the build and the case."""
    import cuarray_sim

    results = {}
    for case in CASES:
        for build in BUILDS:
            place = Place(is_right=build == "right")
            case.run(place)
            place.close()
            results[f"{build} {case.name}"] = cuarray_sim.findings()["findings"]
            cuarray_sim.clear_findings()
    return results


def run() -> dict[str, list[dict[str, Any]]]:
    """Run all cases in a separate process."""
    code = "import json, cuarray_sim; cuarray_sim.install(); from planted_mathematics.scoreboard import run_all; "
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUARRAY_")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, sys.path))
    command = [sys.executable, "-c", code + "print(json.dumps(run_all()))"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    results: dict[str, list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return results


def is_found(case: Case, findings: list[dict[str, Any]]) -> bool:
    """Whether a finding has both lines, and names the function and the argument."""
    lines = {case.line("first"), case.line("second")}
    return any(
        finding["kind"] == "data-race"
        and set(found_lines(finding)) == lines
        and any(
            side["call"].removesuffix("_v2") == case.function
            and (side["detail"] or "").rpartition(" ")[2].rpartition(".")[2] == case.argument
            for side in finding["sides"]
        )
        for finding in findings
    )


def page(results: dict[str, list[dict[str, Any]]]) -> str:
    """Return the page with the results."""
    found = {case.name for case in CASES if is_found(case, results[f"wrong {case.name}"])}
    alarms = {case.name for case in CASES if results[f"right {case.name}"]}
    lines = [INTRODUCTION]
    lines += [
        f"**{len(found)} of {len(CASES)} races found, {len(alarms)} false alarms in {len(CASES)} right builds.**",
        "",
    ]
    lines += ["| library | found | false alarms |", "|---|---:|---:|"]
    for library, name in NAMES.items():
        its = [case for case in CASES if case.library == library]
        link = f"[{name}](../../tests/planted_mathematics/{library}.py)"
        counts = sum(case.name in found for case in its), sum(case.name in alarms for case in its)
        lines.append(f"| {link} | {counts[0]} of {len(its)} | {counts[1]} of {len(its)} |")
    lines += ["", "## Cases", "", "| function | argument | race | found |", "|---|---|---|---|"]
    for case in CASES:
        row = f"| `{case.function}` | `{case.argument}` | {case.description} |"
        lines.append(f"{row} {'yes' if case.name in found else 'no'} |")
    lines += ["", "## False alarms", ""]
    lines += [f"- `{name}`" for name in sorted(alarms)] or ["None."]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the suite, and compare its results with the page."""
    parser = argparse.ArgumentParser(description="Run calls of mathematical libraries with planted races.")
    parser.add_argument("--show", action="store_true", help="print the findings of each case")
    show = parser.parse_args().show
    results = run()
    if show:
        for name, findings in results.items():
            sides = [
                (finding["kind"], *found_lines(finding), *(each["call"] for each in finding["sides"]))
                for finding in findings
            ]
            details = [each["detail"] for finding in findings for each in finding["sides"] if each["detail"]]
            print(name, *sides, *details, sep="\n    ")
    text = page(results)
    print(next(line for line in text.splitlines() if line.startswith("**")).strip("*"))
    shown = differences(PAGE, text)
    print("".join(f"{line}\n" for line in shown), end="")
    return 1 if shown else 0
