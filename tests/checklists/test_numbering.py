"""Every item of the checklists is a test, or a line that says why it is none; no item is both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import spec_coverage

ITEMS = {each["id"].lower(): each["items"] for each in spec_coverage.lists()["checklist"]}


@pytest.mark.parametrize("checklist", ITEMS)
def test_every_item_is_answered_once(checklist: str) -> None:
    folder = Path(__file__).parent
    tested = {
        int(subject.id)
        for file in folder.glob(f"test_{checklist}*.py")
        for function in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
        for subject in spec_coverage.subjects(f"checklists/{file.name}", function)
    }
    # The coverage page reads the reasons from the list's first file alone.
    text = (folder / f"test_{checklist}.py").read_text()
    table = text[text.index("NOT_APPLICABLE = {") :]
    not_applicable = {int(number) for number in re.findall(r"^    (\d+): ", table[: table.index("\n}")], re.MULTILINE)}
    assert not tested & not_applicable
    assert tested | not_applicable == set(range(1, ITEMS[checklist] + 1))
