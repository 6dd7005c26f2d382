"""The lists of the kinds of findings, compared with the declaration in `crates/cuarray-races/src/finding.rs`. `UPDATE=1` writes them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, is_typeddict

from generated import differences

from cuarray.check.registry import ORDER
from cuarray_sim import findings_report

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


def test_types_of_python_and_the_page_have_the_keys_of_the_schema() -> None:
    schema = json.loads((PYTHON.parent / "report.schema.json").read_text(encoding="utf-8"))
    keys: dict[str, set[str]] = {
        name: set(each["properties"]) for name, each in schema["$defs"].items() if "properties" in each
    }
    keys["Report"] = set(schema["properties"])
    declared: dict[str, Any] = {name: each for name, each in vars(findings_report).items() if is_typeddict(each)}
    assert {name: set(each.__annotations__) for name, each in declared.items()} == keys
    sections = re.split(r"^## (?:A |An |The )?", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    rows = {
        section.split("\n", 1)[0].capitalize(): set(
            re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|(.*?)\|", section, re.MULTILINE)))
        )
        for section in sections
    }
    for name in ("Report", "Finding", "Side", "Site", "Lane", "Operation"):
        assert rows[name] == keys[name], name
