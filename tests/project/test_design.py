"""DESIGN.md lists the cycles within folders that there are, and its decisions are numbered and dated."""

from __future__ import annotations

import re
from pathlib import Path

from generated import differences
from project.test_arrows import arrows, cycles

ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "DESIGN.md"


def cycles_within_folders(crates: Path) -> list[str]:
    """A line for each cycle of the files and folders directly within a folder of a crate's sources."""
    return [
        f"{folder.relative_to(ROOT)}: {', '.join(sorted(cycle))}"
        for source in sorted(crates.glob("*/src"))
        for folder in [source, *sorted(each for each in source.rglob("*") if each.is_dir() and each.name != "tests")]
        for cycle in cycles(set(arrows(folder)))
    ]


def test_design_lists_the_cycles_that_there_are() -> None:
    before, _, rest = DESIGN.read_text(encoding="utf-8").partition("<!-- cycles -->\n")
    after = rest[rest.index("<!-- end -->") :]
    listed = "\n".join(cycles_within_folders(ROOT / "crates"))
    assert differences(DESIGN, f"{before}<!-- cycles -->\n\n```text\n{listed}\n```\n\n{after}") == []


def test_decisions_are_numbered_in_order_and_dated() -> None:
    section = DESIGN.read_text(encoding="utf-8").partition("\n## Decisions\n")[2].partition("\n## ")[0]
    headings = re.findall(r"^\*\*(.*?)\*\*(.{0,14})", section, re.MULTILINE)
    numbers = [int(number) for heading, _ in headings for number in re.findall(r"^(\d+)\. ", heading)]
    assert numbers == [*range(1, len(headings) + 1)]
    assert [heading for heading, date in headings if not re.match(r" \(\d{4}-\d\d-\d\d\)[.:]", date)] == []
