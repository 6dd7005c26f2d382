"""Planted races across the mathematical libraries are found at the lines of the program, and their right siblings have no findings."""

from __future__ import annotations

from generated import differences

from planted_mathematics.place import CASES
from planted_mathematics.scoreboard import PAGE, page, run


def test_suite_has_40_races_with_unique_names_and_descriptions() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 40
    assert all(case.description for case in CASES)


def test_page_has_what_is_found() -> None:
    assert differences(PAGE, page(run())) == []
