"""The racy kernels and their right siblings are described. ``tests/advice`` runs them."""

from __future__ import annotations

import pytest

from racy_kernels.kernels import Source, sources


@pytest.fixture(scope="module")
def files() -> list[Source]:
    return sources()


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
