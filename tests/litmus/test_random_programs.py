"""Random programs: the races that the simulator reports are those that the axioms name.

``RANDOM_PROGRAMS=2000`` compares as many programs; the default is a smaller number for each run of the tests. Their seeds begin with
``RANDOM_PROGRAMS_FROM``.
``python -m litmus SEED`` shows one of them, see :mod:`litmus.__main__`.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from litmus.comparison import Comparison, compare, describe
from litmus.generator import Maker
from litmus.runner import run

PROGRAMS = int(os.environ.get("RANDOM_PROGRAMS", "200"))
FIRST = int(os.environ.get("RANDOM_PROGRAMS_FROM", "0"))


@cache
def comparisons(mode: str) -> list[tuple[Comparison, str]]:
    """Run the programs with a value of ``CUARRAY_SIM_KERNEL_RACES``."""
    texts = [Maker(seed).text(seed) for seed in range(FIRST, FIRST + PROGRAMS)]
    results = run(texts, CUARRAY_SIM_KERNEL_RACES=mode)
    return [
        (compare(text, result), describe(text, result["words"])) for text, result in zip(texts, results, strict=True)
    ]


def message(wrong: list[tuple[Comparison, str]], mode: str) -> str:
    first, shown = wrong[0]
    return (
        f"{len(wrong)} of {PROGRAMS} programs, seeds {[one.text.number for one, _ in wrong[:20]]} ({mode}). The first:\n{shown}\n"
        f"false alarms {sorted(first.false_alarms)}, missed {sorted(first.missed)}"
    )


@pytest.mark.parametrize("mode", ["1", "strict"])
def test_every_execution_is_allowed(simulator: str, mode: str) -> None:
    wrong = [(one, shown) for one, shown in comparisons(mode) if not one.explained]
    assert not wrong, message(wrong, mode)


@pytest.mark.parametrize("mode", ["1", "strict"])
def test_no_race_is_reported_that_the_axioms_do_not_name(simulator: str, mode: str) -> None:
    wrong = [(one, shown) for one, shown in comparisons(mode) if one.false_alarms]
    assert not wrong, message(wrong, mode)


def test_strict_search_finds_every_race_that_the_axioms_name(simulator: str) -> None:
    wrong = [(one, shown) for one, shown in comparisons("strict") if one.missed]
    assert not wrong, message(wrong, "strict")


def test_default_search_hides_only_races_that_its_table_names(simulator: str) -> None:
    wrong = [(one, shown) for one, shown in comparisons("1") if one.unexcused]
    assert not wrong, message(wrong, "1")
