"""Elements of matrices whose product reveals how a GPU adds: the order, the alignment of the terms, and the rounding.

The manual leaves all of these open for ``mma`` in floating point. A probe returns the bits of A, of B by columns, and of C by rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from .asking import mixed
from .operands import FORMS, Form, specials

Matrix = list[list[int]]
Matrices = tuple[Matrix, Matrix, Matrix]


@dataclass
class Numbers:
    """A sequence of pseudo-random numbers."""

    seed: int = 0
    drawn: int = field(default=0, init=False)

    def bits(self) -> int:
        self.drawn += 1
        return mixed(self.seed << 32 | self.drawn)

    def between(self, low: int, high: int) -> int:
        """Return a whole number of a range that includes both ends."""
        return low + self.bits() % (high - low + 1)

    def number(self, form: Form, low: int, high: int) -> int:
        """Return the bits of a number of either sign between two powers of two."""
        return form.made(self.bits() & 1, form.bias + self.between(low, high), self.bits() >> 8)

    def subnormal(self, form: Form) -> int:
        return form.made(self.bits() & 1, self.between(0, 2), self.bits() >> 8)


@dataclass(frozen=True)
class Shape:
    """The size of a product, and the formats of its elements. The bits of ``tf32`` elements are those that its format has."""

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str

    @property
    def forms(self) -> tuple[Form, Form, Form]:
        return FORMS[self.a], FORMS[self.b], FORMS[self.c]

    def made(
        self, a: Callable[[int, int], int], b: Callable[[int, int], int], c: Callable[[int, int], int]
    ) -> Matrices:
        """Return matrices from functions of row and place, column and place, row and column."""
        return (
            [[a(row, at) for at in range(self.k)] for row in range(self.m)],
            [[b(column, at) for at in range(self.k)] for column in range(self.n)],
            [[c(row, column) for column in range(self.n)] for row in range(self.m)],
        )


def near(shape: Shape) -> Matrices:
    """Random numbers of almost one size: the rounding of sums."""
    a, b, c = shape.forms
    numbers = Numbers(1)
    return shape.made(
        lambda *_: numbers.number(a, -1, 1), lambda *_: numbers.number(b, -1, 1), lambda *_: numbers.number(c, -1, 3)
    )


def wide(shape: Shape) -> Matrices:
    """Random numbers of very different sizes: the bits that the alignment of the terms loses."""
    a, b, c = shape.forms
    reach = {"bf16": 10, "tf32": 10, "f64": 20}.get(shape.a, 4)
    numbers = Numbers(2)
    return shape.made(
        lambda *_: numbers.number(a, -reach, reach),
        lambda *_: numbers.number(b, -reach, reach),
        lambda *_: numbers.number(c, -2 * reach, 2 * reach),
    )


def cancelling(shape: Shape) -> Matrices:
    """An accumulator that cancels the sum of the products, so that only the errors of the sum remain."""
    from instruction_cases.kernels import float_bits

    a, b, _ = near(shape)
    one, other, _ = shape.forms

    def opposite(row: int, column: int) -> int:
        products = (one.value(x) * other.value(y) for x, y in zip(a[row], b[column], strict=True))
        return float_bits(shape.c, -math.fsum(products))

    return a, b, [[opposite(row, column) for column in range(shape.n)] for row in range(shape.m)]


def counted(shape: Shape) -> Matrices:
    """Products of 1 beside a large accumulator of either sign: how many of them count, and where they are rounded."""
    a, b, c = shape.forms
    one = a.number(1.0)

    def summand(row: int, at: int) -> int:
        return one if at < max(1, (row // 2 + 1) * shape.k * 2 // shape.m) else 0

    return shape.made(
        summand,
        lambda *_: b.number(1.0),
        lambda row, column: c.number(math.ldexp((-1) ** row, c.fraction - 2 + column % 8)),
    )


def one_large(shape: Shape) -> Matrices:
    """A large product at each place among small ones; the accumulator adds to it or cancels it."""
    a, b, c = shape.forms
    most = min(a.bias, 14)
    least = min(max(c.fraction - 2, 0), most + a.bias - 1 - 7)
    large = math.ldexp(1, most)
    accumulators = (0.0, -large, large, -1.5 * large, 1.0, -1.0, -0.0, -large / 2)

    def factor(row: int, at: int) -> int:
        small = math.ldexp(1, most - min(least + row // 2, most + a.bias - 1))
        return a.number(large if at == row * 5 % shape.k else small)

    return shape.made(factor, lambda *_: b.number(1.0), lambda _, column: c.number(accumulators[column % 8]))


def subnormal(shape: Shape) -> Matrices:
    """Subnormal numbers in A, in the accumulator of odd columns, and in the results."""
    a, b, c = shape.forms
    numbers = Numbers(3)
    return shape.made(
        lambda *_: numbers.subnormal(a),
        lambda *_: numbers.number(b, -2, 1),
        lambda _, column: c.made(numbers.bits() & 1, 0, numbers.bits() >> 8) if column % 2 else 0,
    )


def special(shape: Shape) -> Matrices:
    """A special value in each row of A, another one in each column of B, and a third in the accumulator."""
    a, b, c = shape.forms
    in_a, in_b, in_c = specials(shape.a)[::2], specials(shape.b)[7::3], specials(shape.c)

    def factor(row: int, at: int) -> int:
        return in_a[row % len(in_a)] if at == row % shape.k else a.number(1.0)

    def other(column: int, at: int) -> int:
        return in_b[column % 8] if column % 8 and at == shape.k - 1 else b.number(1.0)

    def accumulator(row: int, column: int) -> int:
        return in_c[row * column % len(in_c)] if column % 2 else c.number(1.0)

    return shape.made(factor, other, accumulator)


PROBES: dict[str, Callable[[Shape], Matrices]] = {
    "near": near,
    "wide": wide,
    "cancelling": cancelling,
    "counted": counted,
    "one_large": one_large,
    "subnormal": subnormal,
    "special": special,
}


def integers(shape: Shape, bits: int) -> Matrices:
    """Random elements of any bits, and accumulators at the ends of their range."""
    numbers = Numbers(4)
    ends = (0, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)

    def element(*_: int) -> int:
        return numbers.bits() & (1 << bits) - 1

    return shape.made(
        element, element, lambda row, column: (ends[(row + column) % 4] + numbers.between(-900, 900)) & 0xFFFFFFFF
    )
