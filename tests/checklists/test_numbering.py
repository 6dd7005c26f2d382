"""Every item that these files answer for is a test or says why it is not; none is both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

# 4B's later items are of memory, streams, processes and kernels; they are tested where these are.
ANSWERED = {
    "4a": {7, 8, 9, 10, *range(11, 20), 23, 35, 36},
    "4b": set(range(1, 56)),
    "4c": {*range(1, 32)},
}


@pytest.mark.parametrize("checklist", ANSWERED)
def test_every_item_is_answered_once(checklist: str) -> None:
    text = (Path(__file__).parent / f"test_{checklist}.py").read_text()
    tested = {int(number) for number in re.findall(rf"def test_{checklist}_(\d+)_", text)}
    table = text[text.index("NOT_APPLICABLE = {") :]
    not_applicable = {int(number) for number in re.findall(r"^    (\d+): ", table[: table.index("\n}")], re.MULTILINE)}
    assert not tested & not_applicable
    assert tested | not_applicable == ANSWERED[checklist]
