"""The report for a terminal: progress, the matrix of clauses, and each failure."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from cuarray.check.clauses import CLAUSES, DISAGREEMENTS
from cuarray.check.outcome import FAILED, KNOWN, PASSED, SKIPPED, UNCLAIMED, UNEXPECTED, Outcome
from cuarray.check.runner import Run

__all__ = [
    "MARKS",
    "Progress",
    "by_cause",
    "counts",
    "failure",
    "failures",
    "headline",
    "matrix",
    "matrix_of_pairs",
    "summary",
]

#: One character for each status; a failed *should* has its own mark.
MARKS = {PASSED: ".", FAILED: "F", KNOWN: "k", UNEXPECTED: "!", UNCLAIMED: "-", SKIPPED: "s"}
_COLUMNS = 100
#: So many checks with the same error have one cause.
_SEVERAL = 3


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

    Failures of one root cause follow its line. Of these, and of several cases of one check, the first one is shown in full.
    """
    lines: list[str] = []
    for cause, group in by_cause(run.outcomes):
        names = [each.check for each in group]
        if cause:
            lines += ["", *textwrap.wrap(f"CAUSE  {headline(cause, group)}", _COLUMNS, subsequent_indent="       ")]
        else:
            names = [name.removeprefix(f"{_without_case(names[0])}.") for name in names]
        lines += ["", *failure(group[0])]
        if len(group) > 1:
            lines += _wrap(f"{_kind(group[0])} too: {', '.join(names[1:])}")
    return "\n".join(lines)


def headline(cause: str, group: Sequence[Outcome]) -> str:
    """Return the line of a root cause."""
    return f"{cause}: {len(group)} {'check fails' if len(group) == 1 else 'checks fail'} by it"


def by_cause(outcomes: Sequence[Outcome]) -> list[tuple[str, list[Outcome]]]:
    """Return the failures in groups: first each root cause with all its failures, then the cases of each check.

    An error or the end of the process that several checks see in the same words is a root cause too.
    """
    shown = [each for each in outcomes if each.status in (FAILED, UNEXPECTED, KNOWN)]
    seen = Counter(_error(each) for each in shown)
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for each in shown:
        error = _error(each)
        cause = each.cause or (error if error and seen[error] >= _SEVERAL else "")
        key = (cause,) if cause else ("", _without_case(each.check), each.level, each.status)
        groups.setdefault(key, []).append(each)
    # The failures of a root cause are shown by one that must not fail.
    named = [(key[0], sorted(group, key=lambda each: not each.fails)) for key, group in groups.items()]
    return sorted(named, key=lambda one: -len(one[1]) if one[0] else 0)


def _error(outcome: Outcome) -> str:
    """Return the exception or the end of the process that a failed check reports; empty for an observation."""
    is_error = outcome.status == FAILED and outcome.message.startswith(("unexpected ", "the process "))
    return outcome.message.removeprefix("unexpected ") if is_error else ""


def _without_case(check: str) -> str:
    return ".".join(check.split(".")[:2])


def _kind(outcome: Outcome) -> str:
    if outcome.status == KNOWN:
        return "KNOWN"
    return "NOTE" if outcome.status == UNEXPECTED else "FAIL" if outcome.fails else "should"


def failure(outcome: Outcome) -> list[str]:
    """Return the lines about a failure."""
    lines = [f"{_kind(outcome)}  {outcome.check}  ({outcome.level})", *_wrap(outcome.title)]
    lines += _wrap(f"text: {CLAUSES[outcome.clause]}")
    lines += _wrap(f"seen: {outcome.message}")
    if outcome.cause:
        lines += _wrap(f"cause: {outcome.cause}")
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
    return textwrap.wrap(
        text,
        _COLUMNS,
        initial_indent="    ",
        subsequent_indent="          ",
        break_long_words=False,
        break_on_hyphens=False,
    )
