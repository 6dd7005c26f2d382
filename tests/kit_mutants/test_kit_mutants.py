"""Each mutant of a right library is found by the check that docs/results/kit-mutants.md names; `make kit-mutants` looks for all."""

from __future__ import annotations

import generated
import pytest

from kit_mutants import facts
from kit_mutants.mutants import all_mutants
from kit_mutants.page import PAGE, recorded, render, run_all, unexplained


def test_every_mutant_is_found_by_a_check_and_the_right_library_by_none(simulator: str) -> None:
    found, failures = run_all(quick=True)
    assert failures == []
    assert unexplained(found) == []
    assert generated.differences(PAGE, render(found)) == []


@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_each_side_has_more_than_a_hundred_mutants(role: str) -> None:
    assert sum(each.role == role for each in all_mutants()) > 100


def test_mutant_changes_its_fact_only() -> None:
    mutant = next(each for each in all_mutants() if each.name == "export.tensor.number: one too many")
    facts.activate(mutant)
    try:
        assert (facts.fact("export.tensor.number", 1), facts.fact("export.device.number", 1)) == (2, 1)
    finally:
        facts.activate(None)
    assert facts.fact("export.tensor.number", 1) == 1


def test_page_is_read_as_it_was_written(tmp_path) -> None:
    found = {each.name: f"I1.{number}" if number else "" for number, each in enumerate(all_mutants())}
    (tmp_path / "page.md").write_text(render(found))
    assert recorded(tmp_path / "page.md") == {name: check for name, check in found.items() if check}
    assert unexplained(found)[0] == f"no check finds {all_mutants()[0].name}"
