"""The report as one self-contained HTML page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from cuarray.check.clauses import CLAUSES, DISAGREEMENTS
from cuarray.check.outcome import FAILED, KNOWN, PASSED, SKIPPED, UNCLAIMED, UNEXPECTED, Outcome
from cuarray.check.report.text import by_cause, counts, headline, summary
from cuarray.check.runner import Run

__all__ = ["page", "write_page"]

_CLASSES = {PASSED: "pass", FAILED: "fail", KNOWN: "known", UNEXPECTED: "known", UNCLAIMED: "none", SKIPPED: "none"}
_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8884; padding: .3rem .5rem; text-align: left; vertical-align: top }
.pass { color: #1a7f37 } .fail { color: #cf222e; font-weight: 600 } .should { color: #9a6700 } .known { color: #8250df }
.none { color: #8888 }
pre { background: #8881; overflow-x: auto; padding: .6rem }
details { margin: .3rem 0 } summary { cursor: pointer }
.text { color: #888; font-style: italic }
"""


def page(runs: Sequence[Run]) -> str:
    """Return the page."""
    title = "CUDA Array Interface: " + ", ".join(run.library for run in runs)
    head = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{_text(title)}</title>"
        "<meta name=viewport content='width=device-width'>"
        f"<style>{_STYLE}</style><h1>{_text(title)}</h1>"
    )
    lines = "".join(f"<p>{_text(summary(run))}</p>" for run in runs)
    overview = _square(runs) if len(runs) > 1 and all(" → " in run.library for run in runs) else _matrix(runs)
    return f"{head}{lines}{overview}{''.join(_library(number, run) for number, run in enumerate(runs))}</html>\n"


def write_page(path: str, runs: Sequence[Run]) -> None:
    """Write the page."""
    Path(path).write_text(page(runs), encoding="utf-8")


def _matrix(runs: Sequence[Run]) -> str:
    names = list(dict.fromkeys(outcome.check for run in runs for outcome in run.outcomes))
    results = [{outcome.check: outcome for outcome in run.outcomes} for run in runs]
    head = "".join(f"<th>{_text(run.library)}" for run in runs)
    rows = []
    for name in names:
        cells = [_cell(found.get(name), number) for number, found in enumerate(results)]
        title = next(found[name].title for found in results if name in found)
        rows.append(f"<tr><td title='{_text(title)}'><code>{_text(name)}</code>{''.join(cells)}")
    return f"<h2>Checks</h2><table><tr><th>check{head}{''.join(rows)}</table>"


def _square(runs: Sequence[Run]) -> str:
    """Return the square of producers (rows) and consumers (columns); each cell leads to the failures of its pair."""
    cells = {tuple(run.library.split(" → ")): _pair(number, run) for number, run in enumerate(runs)}
    consumers = list(dict.fromkeys(consumer for _, consumer in cells))
    head = "".join(f"<th scope=col>{_text(consumer)}" for consumer in consumers)
    rows = "".join(
        f"<tr><th scope=row>{_text(producer)}"
        + "".join(cells.get((producer, consumer), "<td class=none>") for consumer in consumers)
        for producer in dict.fromkeys(producer for producer, _ in cells)
    )
    return f"<h2>Pairs</h2><table><tr><th>producer ↓ consumer →{head}{rows}</table>"


def _pair(number: int, run: Run) -> str:
    """Return the cell of a pair: the counts, in the colour of its worst result."""
    worst = next((kind for kind in ("fail", "should", "known") if kind in map(_class, run.outcomes)), "pass")
    return f"<td title='{_text(summary(run))}'><a class={worst} href='#{number}'>{_text(counts(run.outcomes))}</a>"


def _cell(outcome: Outcome | None, library: int) -> str:
    if outcome is None:
        return "<td class=none>"
    word = f"<span class={_class(outcome)}>{_text(_word(outcome))}</span>"
    if outcome.status in (FAILED, KNOWN, UNEXPECTED):
        word = f"<a href='#{library}-{_text(outcome.check)}'>{word}</a>"
    return f"<td title='{_text(outcome.message)}'>{word}"


def _class(outcome: Outcome) -> str:
    return "should" if outcome.status == FAILED and not outcome.fails else _CLASSES[outcome.status]


def _word(outcome: Outcome) -> str:
    return f"{outcome.level} failed" if outcome.status == FAILED else outcome.status


def _library(number: int, run: Run) -> str:
    body = ""
    for cause, group in by_cause(run.outcomes):
        body += f"<p class=fail>{_text(headline(cause, group))}</p>" if cause else ""
        body += "".join(_failure(number, each) for each in group)
    body = body or "<p>No failures.</p>"
    return f"<h2 id='{number}'>{_text(run.title)}</h2>{body}"


def _failure(number: int, outcome: Outcome) -> str:
    parts = [
        f"<h3 id='{number}-{_text(outcome.check)}'><span class={_class(outcome)}>{_text(_word(outcome))}</span> <code>{_text(outcome.check)}</code></h3>",
        f"<p>{_text(outcome.title)}</p><p class=text>{outcome.clause}: {_text(CLAUSES[outcome.clause])}</p>",
        f"<p><b>Seen:</b> {_text(outcome.message)}</p>",
    ]
    if outcome.cause:
        parts.append(f"<p><b>Cause:</b> {_text(outcome.cause)}</p>")
    if outcome.disagreement is not None:
        known = f"{outcome.disagreement}, {DISAGREEMENTS[outcome.disagreement]}"
        parts.append(f"<p><b>Known to differ between libraries:</b> {_text(known)}</p>")
    if outcome.advice:
        parts.append(f"<p><b>Fix:</b> {_text(outcome.advice)}</p>")
    for title, block in (("Program", outcome.reproduction), ("Evidence", outcome.evidence)):
        if block:
            parts.append(f"<details><summary>{title}</summary><pre>{_text(block)}</pre></details>")
    return "".join(parts)


def _text(text: str) -> str:
    return html.escape(text, quote=True)
