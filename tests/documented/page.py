"""The page docs/results/environments.md."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "results" / "environments.md"

HEAD = """# Environments as documented

`make documented` installs each library as its page says, its newest version, into a separate environment. Then it runs probes on the simulated driver,
each in a separate process, and deletes the environment. It compares the results with this page, and `UPDATE=1` writes them. Versions are those of
the last update. The interpreter is the newest for which most libraries have wheels, of Debian's unstable release. The last JAX for Python 3.11 is installed
by the interpreter of `.venv`. `--python` of `python -m documented` chooses another.
[Libraries and features](../introduction.md#libraries-and-features-on-the-simulated-driver) states what runs apart from these probes.

A refusal is the line that the program prints. A line without `cuarray-sim` is one of the library, which would fail so with a GPU too. `…` stands for a part that differs between runs, and for the rest of a long line.

| library | installed by | version | Python | written on | disk | probe | result |
|---|---|---|---|---|---|---|---|
"""

LONGEST = 240


@dataclass
class Step:
    """A probe, and the line that says why it failed; empty if it works."""

    name: str
    line: str


@dataclass
class Result:
    """A library: how it was installed, its version, its size in bytes, and its probes."""

    library: str
    packages: str
    version: str
    size: int
    steps: list[Step]


def is_refusal(line: str) -> bool:
    """Return whether a line of the simulator says why something does not run."""
    return line.startswith("cuarray-sim:") and ("static CUDA runtime" in line or "machine code" in line)


def shortened(line: str) -> str:
    """Return a line without addresses and paths, for a cell of the table."""
    line = re.sub(r"0x[0-9a-f]{4,}", "…", line)
    line = re.sub(r"(?:/[\w.+-]+){2,}/", "…/", line)
    line = " ".join(line.replace("|", "\\|").replace("`", "'").split())
    return line if len(line) <= LONGEST else line[: LONGEST - 2].rstrip() + " …"


def rows(result: Result, python: str, date: datetime.date) -> list[str]:
    """Return the rows of a library."""
    size = f"{result.size / 1e9:.1f} GB" if result.size >= 1e9 else f"{result.size / 1e6:.0f} MB"
    head = f"`pip install {result.packages}` | {result.version or '-'} | {python} | {date} | {size if result.size else '-'}"
    return [
        f"| {result.library} | {head} | {step.name} | {f'`{step.line}`' if step.line else 'works'} |"
        for step in result.steps
    ]


def write(results: Sequence[Result], python: str) -> None:
    """Write the page. Rows of other libraries stay."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    kept = {name: lines for name, lines in _written(text).items() if name not in {each.library for each in results}}
    new = {each.library: rows(each, python, datetime.date.today()) for each in results}
    lines = [line for name in _order([*kept, *new]) for line in {**kept, **new}[name]]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def _order(names: Sequence[str]) -> list[str]:
    from documented.probes import LIBRARIES

    return [name for name in LIBRARIES if name in names]


def _written(text: str) -> dict[str, list[str]]:
    """Return the rows of each library on the page."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| library "):
            found.setdefault(line.split(" | ")[0].removeprefix("| "), []).append(line)
    return found


def differences(results: Sequence[Result]) -> list[str]:
    """Return a line for each probe whose result is not that of the page. Versions in a line may differ."""
    written = {name: [_outcome(line) for line in lines] for name, lines in _written(PAGE.read_text("utf-8")).items()}
    found = []
    for result in results:
        for line in rows(result, "", datetime.date.today()):
            step, outcome = _outcome(line)
            expected = dict(written.get(result.library, [])).get(step, "nothing")
            if outcome != expected:
                found.append(f"{result.library} {result.version}, {step}: {outcome}, and the page says {expected}")
    return found


def _outcome(line: str) -> tuple[str, str]:
    """Return the probe and the result of a row, without numbers."""
    step, outcome = line.removesuffix(" |").split(" | ")[-2:]
    return step, re.sub(r"\d+", "…", outcome)
