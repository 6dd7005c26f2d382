"""The lists of the kinds of findings, compared with the declaration in `crates/cuarray-races/src/finding.rs`. `UPDATE=1` writes them."""

from __future__ import annotations

import re
from pathlib import Path

from generated import differences

from cuarray.check.registry import ORDER

ROOT = Path(__file__).parents[2]
DECLARATION = ROOT / "crates/cuarray-races/src/finding.rs"
PAGE = ROOT / "docs/reference/findings.md"
PYTHON = ROOT / "python/cuarray-sim/cuarray_sim/findings_report.py"


def kinds() -> dict[str, tuple[str, str]]:
    """The meaning and the sides of each kind, from the two paragraphs of its comment."""
    declared = DECLARATION.read_text(encoding="utf-8").partition("\nkinds! {\n")[2].partition("\n}\n")[0]
    found = {}
    for comment, name in re.findall(r'((?:^ +///.*\n)+) +\w+ = "([a-z-]+)",$', declared, re.MULTILINE):
        text = re.sub(r"^ +/// ?", "", comment, flags=re.MULTILINE)
        meaning, sides = (" ".join(paragraph.split()).removesuffix(".") for paragraph in text.split("\n\n"))
        found[name] = (meaning[0].lower() + meaning[1:], sides.removeprefix("Sides: "))
    return found


def replaced(file: Path, start: str, lines: list[str], end: str) -> list[str]:
    """The differences of a file, if these lines are between two marks."""
    before, _, rest = file.read_text(encoding="utf-8").partition(start)
    return differences(file, "".join([before, start, *(f"{line}\n" for line in lines), end, rest.partition(end)[2]]))


def test_page_has_the_declared_kinds() -> None:
    rows = [f"| `{name}` | {meaning} | {sides} |" for name, (meaning, sides) in kinds().items()]
    assert replaced(PAGE, "| kind | meaning | sides |\n|---|---|---|\n", rows, "\nFindings are computed") == []


def test_python_has_the_declared_kinds() -> None:
    assert replaced(PYTHON, "KINDS = (\n", [f'    "{name}",' for name in kinds()], ")\n") == []


def test_kinds_of_the_conformance_kit_are_declared() -> None:
    assert set(ORDER) < set(kinds())
