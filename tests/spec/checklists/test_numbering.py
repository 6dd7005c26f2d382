"""Completeness of the checklists: each item has a test or a reason why it does not apply, and not both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import spec_coverage

CHECKLISTS = {each["id"]: each for each in spec_coverage.lists()["checklist"]}


@pytest.mark.parametrize("checklist", CHECKLISTS)
def test_each_item_has_a_test_or_a_reason(checklist: str) -> None:
    folder = Path(__file__).parent
    tested = {
        int(subject.id)
        for file in folder.glob("test_*.py")
        for function in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
        for subject in spec_coverage.subjects(f"spec/checklists/{file.name}", function)
        if subject.list == checklist
    }
    text = (folder / CHECKLISTS[checklist]["reasons"]).read_text()
    table = text[text.index("NOT_APPLICABLE = {") :]
    not_applicable = {int(number) for number in re.findall(r"^    (\d+): ", table[: table.index("\n}")], re.MULTILINE)}
    assert not tested & not_applicable
    assert tested | not_applicable == set(range(1, CHECKLISTS[checklist]["items"] + 1))
