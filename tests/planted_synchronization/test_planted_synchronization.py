"""The kernels with planted errors, and their right siblings, are described. ``tests/advice`` runs them."""

from __future__ import annotations

import pytest

from planted_synchronization.cases import Case, files


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [case for _, of_file in files() for case in of_file]


def test_cases_have_unique_names_and_state_what_they_need(cases: list[Case]) -> None:
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert case.description, case.name
        assert case.results, case.name
        assert bool(case.lines) == (case.words is not None), case.name


def test_suite_has_60_planted_errors(cases: list[Case]) -> None:
    assert sum(case.words is not None for case in cases) >= 60
