"""Operands of computations in floating point: numbers of every exponent, and special values with the payloads of NaNs."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from .asking import mixed


@dataclass(frozen=True)
class Form:
    """A binary format: the bits of its exponent and of its fraction."""

    exponent: int
    fraction: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def sign(self) -> int:
        return 1 << self.exponent + self.fraction

    @property
    def infinity(self) -> int:
        return (1 << self.exponent) - 1 << self.fraction

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    def made(self, negative: bool | int, exponent: int, fraction: int) -> int:
        """Return the bits of a number; the exponent is biased."""
        assert 0 <= exponent < 1 << self.exponent
        return (self.sign if negative else 0) | exponent << self.fraction | fraction & (1 << self.fraction) - 1

    def number(self, value: float) -> int:
        """Return the bits of a number that the format holds; further bits of the fraction are cut off."""
        if value == 0:
            return self.sign if math.copysign(1, value) < 0 else 0
        part, exponent = math.frexp(abs(value))
        exponent += self.bias - 1
        assert 0 < exponent < (1 << self.exponent) - 1, "the number is not normal"
        return self.made(value < 0, exponent, int(part * (2 << self.fraction)))

    def value(self, bits: int) -> float:
        """Return the value of a finite number."""
        exponent, fraction = bits >> self.fraction & (1 << self.exponent) - 1, bits & (1 << self.fraction) - 1
        size = math.ldexp(fraction | (exponent > 0) << self.fraction, max(exponent, 1) - self.bias - self.fraction)
        return -size if bits & self.sign else size


FORMS = {
    "f16": Form(5, 10),
    "bf16": Form(8, 7),
    "tf32": Form(8, 10),
    "f32": Form(8, 23),
    "f64": Form(11, 52),
    "e4m3": Form(4, 3),
    "e5m2": Form(5, 2),
}


def spread(ty: str, count: int) -> list[int]:
    """Return numbers of both signs and every exponent: with the least, the greatest, a middle and a pseudo-random fraction."""
    form = FORMS[ty]
    found, exponents = [], 1 << form.exponent
    each = max(count // (2 * exponents), 1)
    step = max(2 * exponents // count, 1)
    fixed = (0, (1 << form.fraction) - 1, 1 << form.fraction - 1, 1)
    for negative, exponent in itertools.product((False, True), range(0, exponents, step)):
        for index in range(each):
            fraction = fixed[index] if index < min(each // 2, 4) else mixed(exponent * each + index)
            found.append(form.made(negative, exponent, fraction))
    return found[:count]


def grid(ty: str, low: float, high: float, count: int) -> list[int]:
    """Return numbers at equal distances. Those between the least normal number and zero are left out."""
    form = FORMS[ty]
    values = (low + (high - low) * index / count for index in range(count))
    return [form.number(value) for value in values]


def specials(ty: str) -> list[int]:
    """Return zeros, the borders of subnormal and normal numbers, infinities, and NaNs with several payloads."""
    if ty.endswith("x2"):
        halves = specials(ty[:-2])
        return [one << 16 | halves[(index * 5 + 3) % len(halves)] for index, one in enumerate(halves)]
    form = FORMS[ty]
    quiet = 1 << form.fraction - 1
    fractions = [quiet, 1, quiet | 1, quiet - 1, 2 * quiet - 1]
    nans = [form.infinity | fraction for fraction in fractions]
    sizes = [
        *(0, 1, quiet, 2 * quiet - 1, 2 * quiet, 2 * quiet + 1),
        *(form.bias << form.fraction, (form.bias << form.fraction) + 1, form.infinity - 1, form.infinity),
    ]
    return [*(size | sign for size in sizes for sign in (0, form.sign)), *nans, *(nan | form.sign for nan in nans)]


def combined(lists: list[list[int]], most: int) -> list[list[int]]:
    """Return operands for all pairs of two lists, or for as many as allowed. Values of a third list are pseudo-random."""
    if len(lists) == 1:
        return lists
    every = list(itertools.product(*lists[:2]))
    # The step has no common divisor with the number of pairs, so that a part of them has every value.
    step = next(step for step in range(len(every) * 5 // 8, len(every)) if math.gcd(step, len(every)) == 1)
    places = [index * step % len(every) for index in range(min(len(every), most))]
    found = [[every[place][which] for place in places] for which in (0, 1)]
    for rest in lists[2:]:
        found.append([rest[mixed(place) % len(rest)] for place in places])
    return found
