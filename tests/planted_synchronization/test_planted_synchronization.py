"""The kernels with planted errors, and their right siblings, have the outcomes of docs/results/synchronization-errors.md."""

from __future__ import annotations

import importlib.util

import pytest
from generated import differences
from racy_kernels.running import headers

from planted_synchronization.cases import Case, files
from planted_synchronization.scoreboard import PAGE, complaints, page, run


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [case for _, of_file in files() for case in of_file]


def test_kernels_have_the_outcomes_of_the_page() -> None:
    if importlib.util.find_spec("cuda.bindings") is None or not headers():
        pytest.skip("NVRTC and the headers of CUDA are not installed; `make peers` installs them")
    results = run()
    assert complaints(results) == []
    assert differences(PAGE, page(results)) == []


def test_cases_have_unique_names_and_state_what_they_need(cases: list[Case]) -> None:
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert case.description, case.name
        assert case.results, case.name
        assert bool(case.lines) == (case.words is not None), case.name


def test_suite_has_60_planted_errors(cases: list[Case]) -> None:
    assert sum(case.words is not None for case in cases) >= 60
