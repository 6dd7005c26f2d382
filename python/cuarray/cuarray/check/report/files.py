"""The report as files: JSON, and a badge line for a README."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from cuarray.check.clauses import CLAUSES
from cuarray.check.outcome import KNOWN, SKIPPED, UNCLAIMED
from cuarray.check.runner import Run

__all__ = ["badge", "write_badge", "write_json"]


def write_json(path: str, runs: Sequence[Run]) -> None:
    """Write all results."""
    used = {outcome.clause for run in runs for outcome in run.outcomes}
    clauses = {clause: text for clause, text in CLAUSES.items() if clause in used}
    report = {"version": 1, "clauses": clauses, "libraries": [run.as_json() for run in runs]}
    Path(path).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def badge(run: Run) -> str:
    """Return a badge of shields.io in Markdown: the *must* checks that pass, of those that apply."""
    counted = [each for each in run.outcomes if each.level == "must" and each.status not in (UNCLAIMED, SKIPPED)]
    failed = sum(each.fails for each in counted)
    known = sum(each.status == KNOWN for each in counted)
    value = f"{len(counted) - failed - known}/{len(counted)}"
    colour = "red" if failed else "yellow" if known else "brightgreen"
    address = f"https://img.shields.io/badge/CUDA_Array_Interface-{value.replace('/', '%2F')}-{colour}"
    return f"![CUDA Array Interface: {value} checks]({address})"


def write_badge(path: str, runs: Sequence[Run]) -> None:
    """Write a line for each library."""
    Path(path).write_text("".join(f"{badge(run)}\n" for run in runs), encoding="utf-8")
