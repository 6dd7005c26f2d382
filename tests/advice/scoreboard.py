"""Compare the advice of the findings with the fixes of the planted errors, and write docs/results/advice.md.

PYTHONPATH=tests python -m advice
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import planted_synchronization.scoreboard as synchronization
import racy_kernels.scoreboard as races
from generated import differences, normalized
from planted_synchronization.cases import files
from racy_kernels.kernels import sources

from .fixes import CLASSES, fix, names, stated

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "results" / "advice.md"
REFERENCE = DOCS / "reference" / "findings.md"

INTRODUCTION = """\
# Advice

`make advice UPDATE=1` writes this page. Each kernel with a planted [race](racy-kernels.md) or
[error of synchronization](synchronization-errors.md) has a right sibling. The difference between the two is the fix. A reader
(`tests/advice/fixes.py`) finds the class of the fix by rules on this difference. An advice *names* the fix if it has words of that
class. A kernel counts as named if the advice of any of its right findings names its fix. An error can have
other fixes than that of its sibling, and the reader does not know them.
"""


@dataclass
class Planted:
    """A planted error."""

    name: str
    fix: str | None
    is_stated: bool
    """Whether a comment states the class of the fix."""
    advice: list[str]
    """The advice of the findings that name the error."""

    @property
    def is_named(self) -> bool:
        return self.fix in CLASSES and any(names(advice, self.fix) for advice in self.advice)


def planted(racy: dict[str, races.Results], wrong: dict[str, Any]) -> Iterator[Planted]:
    """Return the planted errors with the advice of their findings, from the results of both suites."""
    for source in sources():
        for kernel in source.kernels:
            if kernel.verdict != "clean":
                outcome = racy["default" if kernel.verdict == "racy" else "strict"].racy[kernel.name]
                yield _planted(source.text, kernel.name, [race for race in outcome.races if outcome.is_right(race)])
    for source, cases in files():
        for case in cases:
            if case.words is not None:
                findings = wrong[f"wrong {case.name}"]["findings"]
                right = [found for found in findings if found["kind"] == case.kind and case.lines & {*found["lines"]}]
                yield _planted(source.text, case.name, right)


def _planted(text: str, name: str, findings: list[dict[str, Any]]) -> Planted:
    advice = list(dict.fromkeys(finding["missing"] for finding in findings))
    return Planted(name, fix(text, name), stated(text, name) is not None, advice)


def page(errors: list[Planted]) -> str:
    """Return the page with the results."""
    named = sum(error.is_named for error in errors)
    lines = [INTRODUCTION]
    lines += [
        f"**{named} of {len(errors)} planted errors have an advice that names the fix: {share(named, errors)}.**",
        "",
    ]
    advice = [advice for error in errors for advice in error.advice]
    classes = sum(names(one, fix) for one in advice for fix in CLASSES)
    by_comment = sum(error.is_stated for error in errors)
    lines += [
        f"A comment states the class of {by_comment} fixes, and the difference tells the others. An advice names "
        f"{classes / len(advice):.1f} classes on average.",
        "",
    ]
    lines += ["| fix | errors | named | share | words that name it |", "|---|---:|---:|---:|---|"]
    for one in CLASSES:
        of = [error for error in errors if error.fix == one]
        if of:
            named = sum(error.is_named for error in of)
            lines.append(
                f"| {one} | {len(of)} | {named} | {share(named, of)} | {', '.join(f'`{words}`' for words in CLASSES[one])} |"
            )
    lines += ["", "## Not named", "", "| advice | fix | kernels |", "|---|---|---|"]
    missed: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        if not error.is_named:
            texts = dict.fromkeys(f"`{general(advice)}`" for advice in error.advice)
            missed.setdefault((" / ".join(texts), str(error.fix)), []).append(f"`{error.name}`")
    lines += [f"| {advice} | {fix} | {', '.join(kernels)} |" for (advice, fix), kernels in sorted(missed.items())]
    return "\n".join(lines) + "\n"


def reference(text: str) -> str:
    """Return the page of the findings with the share of a page of advice."""
    shown = re.search(r"of (\d+ planted errors) .*: (\d+ %)", text)
    assert shown
    return re.sub(r"\d+ % of \d+ planted errors", f"{shown[2]} of {shown[1]}", REFERENCE.read_text(encoding="utf-8"))


def share(named: int, errors: list[Planted]) -> str:
    """Return a share in percent, rounded down."""
    return f"{100 * named // len(errors)} %"


def general(advice: str) -> str:
    """Return an advice without the facts of one launch."""
    return normalized(
        re.sub(r"\. The value [^\n]*| \([\w./]+:\d+[^)]*\)", "", advice).replace("\n", "; or: "), Path.cwd()
    )


def main() -> int:
    """Run both suites, and compare the advice of their findings with the page."""
    argparse.ArgumentParser(description="Compare the advice of findings with the fixes of planted errors.").parse_args()
    text = page([*planted(races.run_all(), synchronization.run())])
    print(next(line for line in text.splitlines() if line.startswith("**")).strip("*"))
    shown = differences(PAGE, text) + differences(REFERENCE, reference(text))
    print("".join(f"{line}\n" for line in shown), end="")
    return 1 if shown else 0
