"""The racy kernels and their right siblings have the outcomes of docs/results/racy-kernels.md."""

from __future__ import annotations

import importlib.util

import pytest
from generated import differences

from racy_kernels.kernels import Source, sources
from racy_kernels.running import headers
from racy_kernels.scoreboard import PAGE, complaints, page, run_all


@pytest.fixture(scope="module")
def files() -> list[Source]:
    return sources()


def test_kernels_have_the_outcomes_of_the_page() -> None:
    if importlib.util.find_spec("cuda.bindings") is None or not headers():
        pytest.skip("NVRTC and the headers of CUDA are not installed; `make peers` installs them")
    results = run_all()
    assert complaints(results) == []
    assert differences(PAGE, page(results)) == []


def test_suite_has_75_pairs_and_unique_names(files: list[Source]) -> None:
    kernels = [kernel for source in files for kernel in source.kernels]
    assert len({kernel.name for kernel in kernels}) == len(kernels)
    assert sum(kernel.verdict != "clean" for kernel in kernels) >= 75


def test_each_kernel_states_its_pattern_and_its_results(files: list[Source]) -> None:
    for source in files:
        for kernel in source.kernels:
            assert kernel.description, kernel.name
            assert kernel.results, kernel.name
            assert bool(kernel.lines) == bool(kernel.variables) == (kernel.verdict != "clean"), kernel.name
            assert bool(kernel.reason) == (kernel.verdict != "racy"), kernel.name


def test_files_have_at_most_400_lines(files: list[Source]) -> None:
    assert {source.name for source in files if len(source.text.splitlines()) > 400} == set()
