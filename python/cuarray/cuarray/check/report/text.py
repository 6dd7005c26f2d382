"""The report for a terminal: progress, the matrix of clauses, and each failure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TextIO

from cuarray.check.clauses import CLAUSES, DISAGREEMENTS
from cuarray.check.outcome import FAILED, KNOWN, PASSED, SKIPPED, UNCLAIMED, UNEXPECTED, Outcome
from cuarray.check.runner import Run

__all__ = ["MARKS", "Progress", "counts", "failure", "failures", "matrix", "matrix_of_pairs", "summary"]

#: One character for each status; a failed *should* has a mark of its own.
MARKS = {PASSED: ".", FAILED: "F", KNOWN: "k", UNEXPECTED: "!", UNCLAIMED: "-", SKIPPED: "s"}
_COLUMNS = 100


def mark(outcome: Outcome) -> str:
    """Return the character of a result."""
    return "f" if outcome.status == FAILED and not outcome.fails else MARKS[outcome.status]


class Progress:
    """One line for each library, with a character for each check."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._column = 0
        self._library = ""

    def __call__(self, run: Run, outcome: Outcome) -> None:
        """Print the character of a result."""
        if run.library != self._library:
            self._library = run.library
            self._column = self.stream.write(f"{run.title} ")
        elif self._column >= _COLUMNS:
            self.stream.write("\n  ")
            self._column = 2
        self._column += self.stream.write(mark(outcome))
        self.stream.flush()

    def end(self) -> None:
        """End the line."""
        self.stream.write("\n")


def matrix(runs: Sequence[Run]) -> str:
    """Return the table of clauses and libraries: the number of checks that passed, of those that apply."""
    clauses = list(dict.fromkeys(outcome.clause for run in runs for outcome in run.outcomes))
    clauses.sort(key=list(CLAUSES).index)
    rows = [["clause", *(run.library for run in runs), "the text"]]
    for clause in clauses:
        cells = [counts([each for each in run.outcomes if each.clause == clause]) for run in runs]
        rows.append([clause, *cells, textwrap.shorten(CLAUSES[clause], 60, placeholder=" …")])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def matrix_of_pairs(runs: Sequence[Run]) -> str:
    """Return the square of producers (rows) and consumers (columns): the number of checks that passed, of those that apply."""
    cells = {tuple(run.library.split(" → ")): counts(run.outcomes) for run in runs}
    names = list(dict.fromkeys(producer for producer, _ in cells))
    rows = [["producer ↓ consumer →", *names]]
    rows += [[producer, *(cells.get((producer, consumer), "") for consumer in names)] for producer in names]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def counts(outcomes: Sequence[Outcome]) -> str:
    """Return the number of checks that passed, of those that apply, and the numbers of failures."""
    counted = [each for each in outcomes if each.status not in (UNCLAIMED, SKIPPED)]
    if not counted:
        return "-"
    passed = sum(each.status in (PASSED, UNEXPECTED) for each in counted)
    must = sum(each.fails for each in counted)
    known = sum(each.status == KNOWN for each in counted)
    should = len(counted) - passed - must - known
    notes = [f"{count} {name}" for count, name in ((must, "FAIL"), (should, "should"), (known, "known")) if count]
    return f"{passed}/{len(counted)}" + (f" ({', '.join(notes)})" if notes else "")


def failures(run: Run) -> str:
    """Return each failure: the sentence of the text, the observation, a program that shows it, and the correction.

    Of several cases of one check that fail, the first one is shown in full.
    """
    lines: list[str] = []
    groups: dict[tuple[str, str, str], list[Outcome]] = {}
    for outcome in run.outcomes:
        if outcome.status in (FAILED, UNEXPECTED, KNOWN):
            name = ".".join(outcome.check.split(".")[:2])
            groups.setdefault((name, outcome.level, outcome.status), []).append(outcome)
    for (name, _, _), (first, *others) in groups.items():
        lines += ["", *failure(first)]
        if others:
            listed = ", ".join(each.check.removeprefix(f"{name}.") for each in others)
            lines += _wrap(f"{_kind(first)} too: {listed}")
    return "\n".join(lines)


def _kind(outcome: Outcome) -> str:
    if outcome.status == KNOWN:
        return "KNOWN"
    return "NOTE" if outcome.status == UNEXPECTED else "FAIL" if outcome.fails else "should"


def failure(outcome: Outcome) -> list[str]:
    """Return the lines about a failure."""
    lines = [f"{_kind(outcome)}  {outcome.check}  ({outcome.level})", *_wrap(outcome.title)]
    lines += _wrap(f"text: {CLAUSES[outcome.clause]}")
    lines += _wrap(f"seen: {outcome.message}")
    if outcome.status == KNOWN:
        return [*lines, *_wrap(f"known: {outcome.advice}")]
    if outcome.disagreement is not None:
        lines += _wrap(
            f"known to differ between libraries: {outcome.disagreement}, {DISAGREEMENTS[outcome.disagreement]}"
        )
    if outcome.advice:
        lines += _wrap(f"fix:  {outcome.advice}")
    for title, block in (("shown by:", outcome.reproduction), ("evidence:", outcome.evidence)):
        if block:
            lines += [f"    {title}", *(f"      {line}" for line in block.rstrip().splitlines())]
    return lines


def summary(run: Run) -> str:
    """Return the counts of a library in one line."""
    numbers = [
        (sum(each.status in (PASSED, UNEXPECTED) for each in run.outcomes), "passed"),
        (sum(each.fails for each in run.outcomes), "must failed"),
        (sum(each.status == FAILED and not each.fails for each in run.outcomes), "should failed"),
        (sum(each.status == KNOWN for each in run.outcomes), "known differences"),
        (sum(each.status == UNCLAIMED for each in run.outcomes), "not claimed"),
        (sum(each.status == SKIPPED for each in run.outcomes), "not run"),
    ]
    listed = ", ".join(f"{count} {name}" for count, name in numbers if count)
    order = "order proved by findings" if run.driver == "simulated" else "order checked by values"
    return f"{run.title}: {listed} ({run.driver} driver, {order})" + (f"; {run.note}" if run.note else "")


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, _COLUMNS, initial_indent="    ", subsequent_indent="          ", break_long_words=False)
