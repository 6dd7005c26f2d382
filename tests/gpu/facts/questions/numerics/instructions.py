"""Results of each instruction for edge values: the cases of ``tests/kernels``, which are checked against exact arithmetic there."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ...driver import Driver
from ...question import Facts, series
from .asking import Given, answer, by_name


@cache
def cases() -> dict[str, Given]:
    from instruction_cases import CASES
    from instruction_cases.kernels import operands

    return by_name(Given(case, operands(case)) for case in CASES)


def names() -> Iterable[str]:
    return list(cases())


@series("numerics.instruction", names)
def instruction(driver: Driver, facts: Facts, step: str) -> None:
    answer(driver, facts, cases()[step])
