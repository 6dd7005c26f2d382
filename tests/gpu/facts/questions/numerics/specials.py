"""Special values through each instruction in floating point: NaNs with payloads, subnormal numbers, infinities and zeros.

The manual leaves the payload of most NaNs open. A GPU gives one, and programs store it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ...driver import Driver
from ...question import Facts, series
from .asking import Given, answer, by_name
from .operands import FORMS, combined, specials

MOST_OF_PAIRS = 144
MOST_OF_PACKED = 48
"""Of pairs of packed values fewer are asked: a half behaves as a single value."""


def is_float(ty: str) -> bool:
    return ty.removesuffix("x2") in FORMS


@cache
def computations() -> dict[str, Given]:
    from instruction_cases import CASES
    from instruction_cases.kernels import edges

    found = []
    for case in CASES:
        if not any(map(is_float, case.sources)):
            continue
        lists = [specials(ty) if is_float(ty) else edges(ty) for ty in case.sources]
        packed = any(ty.endswith("x2") for ty in case.sources)
        found.append(Given(case, combined(lists, MOST_OF_PACKED if packed else MOST_OF_PAIRS)))
    return by_name(found)


def names() -> Iterable[str]:
    return list(computations())


@series("numerics.special_values", names)
def special_values(driver: Driver, facts: Facts, step: str) -> None:
    answer(driver, facts, computations()[step])
