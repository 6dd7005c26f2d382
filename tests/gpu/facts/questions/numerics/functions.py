"""Approximate functions, whose last places the manual leaves open: each for 4096 operands of every exponent and of its own range."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

from ...driver import Driver
from ...question import Facts, series
from .asking import MOST_OPERANDS, Given, answer, by_name, mixed
from .operands import FORMS, grid, specials, spread

HALF = MOST_OPERANDS // 2
PAIRS = 512
RANGES = {
    "ex2": (-152.0, 131.0),
    "lg2": (0.25, 4.25),
    "sin": (-4 * math.pi, 4 * math.pi),
    "cos": (-4 * math.pi, 4 * math.pi),
    "tanh": (-9.5, 9.5),
    "rcp": (1.0, 4.0),
    "sqrt": (1.0, 4.0),
    "rsqrt": (1.0, 4.0),
}
"""The range of each function in which almost half of its operands lie at equal distances."""


def of_one(name: str, ty: str) -> list[int]:
    found = specials(ty) + spread(ty, HALF)
    return found + grid(ty, *RANGES[name], MOST_OPERANDS - len(found))


def every_sixteenth(ty: str) -> list[int]:
    """Return special values, and then one of each 16 consecutive patterns of 16 bits."""
    found = [16 * index + mixed(index) % 16 for index in range(MOST_OPERANDS)]
    return specials(ty) + found[len(specials(ty)) :]


def in_pairs(ty: str) -> list[int]:
    halves = every_sixteenth(ty)
    # The function of a half is that of the whole operand, so a few operands show what a pair adds.
    return [halves[index * 5] << 16 | halves[(index * 1237 + 5) % MOST_OPERANDS] for index in range(PAIRS)]


def quotients() -> list[list[int]]:
    """Return dividends and divisors: pairs of special values, then pairs of any exponents, then pairs of near ones."""
    form, special = FORMS["f32"], specials("f32")
    pairs = [(one, other) for one in special for other in special]
    while len(pairs) < MOST_OPERANDS:
        bits = mixed(len(pairs))
        one, other = bits >> 32, bits & 0xFFFFFFFF
        if len(pairs) % 2:
            exponent = 100 + bits % 50
            one, other = form.made(one & 1, exponent, one >> 8), form.made(other & 1, 127, other >> 8)
        pairs.append((one, other))
    return [list(row) for row in zip(*pairs, strict=True)]


@cache
def computations() -> dict[str, Given]:
    from instruction_cases import Computation

    found = []
    for name in ("ex2", "lg2", "sin", "cos", "rsqrt", "rcp", "sqrt", "tanh"):
        for flag in ("", ".ftz") if name != "tanh" else ("",):
            found.append(Given(Computation(f"{name}.approx{flag}.f32", "f32", ("f32",)), [of_one(name, "f32")]))
    for name in ("rcp.approx.ftz", "rsqrt.approx", "rsqrt.approx.ftz"):
        operands = of_one(name.split(".")[0], "f64")
        found.append(Given(Computation(f"{name}.f64", "f64", ("f64",)), [operands]))
    for name, flag, quotient in (("div.approx", flag, quotients()) for flag in ("", ".ftz")):
        for spelled in (name, "div.full"):
            found.append(Given(Computation(f"{spelled}{flag}.f32", "f32", ("f32", "f32")), quotient))
    for name, ty, since in (
        *(("ex2.approx", "f16", 75), ("ex2.approx.ftz", "bf16", 90)),
        *(("tanh.approx", "f16", 75), ("tanh.approx", "bf16", 90)),
    ):
        for text, operands in ((ty, every_sixteenth(ty)), (f"{ty}x2", in_pairs(ty))):
            found.append(Given(Computation(f"{name}.{text}", text, (text,), since=since), [operands]))
    return by_name(found)


def names() -> Iterable[str]:
    return list(computations())


@series("numerics.function", names)
def function(driver: Driver, facts: Facts, step: str) -> None:
    # Flushing of subnormal numbers changes nothing for the second half of the operands, if the results are right.
    plain = step.replace(".ftz", "")
    answer(driver, facts, computations()[step], HALF if plain != step and plain in computations() else MOST_OPERANDS)
