"""Results of PTX instructions in exact arithmetic: integers and fractions, rounded once at the end.

The implementation is independent of the driver's. Operands and results are bit patterns, as Python integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt


@dataclass(frozen=True)
class Format:
    """A binary floating-point format."""

    bits: int
    fraction: int
    nan: int

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        return self.sign - (1 << self.fraction)

    @property
    def least(self) -> int:
        """Return the exponent of the last place of subnormal numbers."""
        return 1 - self.bias - self.fraction


F16 = Format(16, 10, 0x7FFF)
BF16 = Format(16, 7, 0x7FFF)
F32 = Format(32, 23, 0x7FFFFFFF)
F64 = Format(64, 52, 0xFFF8000000000000)

NAN = "nan"


@dataclass(frozen=True)
class Infinite:
    negative: bool


@dataclass(frozen=True)
class Zero:
    negative: bool


Value = Fraction | Infinite | Zero | str


def value(form: Format, bits: int) -> Value:
    negative = bool(bits & form.sign)
    magnitude = bits & (form.sign - 1)
    if magnitude > form.infinity:
        return NAN
    if magnitude == form.infinity:
        return Infinite(negative)
    if magnitude == 0:
        return Zero(negative)
    exponent, fraction = magnitude >> form.fraction, magnitude & ((1 << form.fraction) - 1)
    digits = fraction if exponent == 0 else fraction | 1 << form.fraction
    number = Fraction(digits) * Fraction(2) ** (max(exponent, 1) - 1 + form.least)
    return -number if negative else number


def is_negative(of: Value) -> bool:
    return of < 0 if isinstance(of, Fraction) else getattr(of, "negative", False)


def nearest(number: Fraction) -> int:
    """Return the nearest integer, with ties to even."""
    return round(number)


def to_integer(number: Fraction, mode: str) -> int:
    floor = number.numerator // number.denominator
    if floor == number or mode == "rm":
        return floor
    if mode == "rp":
        return floor + 1
    if mode == "rz":
        return floor if number > 0 else floor + 1
    return nearest(number)


def rounded(form: Format, of: Value, mode: str) -> int:
    """Round a value to a format and return its bits."""
    if of == NAN:
        return form.nan
    if isinstance(of, Infinite):
        return form.infinity | (form.sign if of.negative else 0)
    if isinstance(of, Zero):
        return form.sign if of.negative else 0
    assert isinstance(of, Fraction)
    if of == 0:
        return 0
    sign = form.sign if of < 0 else 0
    exponent = abs(of).numerator.bit_length() - of.denominator.bit_length()
    exponent += 0 if abs(of) >= Fraction(2) ** exponent else -1
    last = max(exponent - form.fraction, form.least)
    digits = abs(to_integer(of / Fraction(2) ** last, mode))
    bits = ((last - form.least) << form.fraction) + digits
    if bits >= form.infinity:
        away = mode == "rn" or (mode == "rp" and of > 0) or (mode == "rm" and of < 0)
        bits = form.infinity if away else form.infinity - 1
    return sign | bits


def add(form: Format, a: Value, b: Value, mode: str) -> Value:
    if NAN in (a, b) or (isinstance(a, Infinite) and isinstance(b, Infinite) and a != b):
        return NAN
    for one in (a, b):
        if isinstance(one, Infinite):
            return one
    if isinstance(a, Zero) and isinstance(b, Zero):
        return a if a == b else Zero(mode == "rm")
    total = sum((one for one in (a, b) if isinstance(one, Fraction)), Fraction(0))
    return total if total else Zero(mode == "rm")


def negated(of: Value) -> Value:
    if isinstance(of, Fraction):
        return -of
    return of if of == NAN else type(of)(not of.negative)  # type: ignore[union-attr]


def multiply(a: Value, b: Value) -> Value:
    if NAN in (a, b):
        return NAN
    negative = is_negative(a) != is_negative(b)
    infinite, zero = (any(isinstance(one, kind) for one in (a, b)) for kind in (Infinite, Zero))
    if infinite:
        return NAN if zero else Infinite(negative)
    return Zero(negative) if zero else a * b  # type: ignore[operator]


def divide(a: Value, b: Value) -> Value:
    if NAN in (a, b) or (type(a) is type(b) and not isinstance(a, Fraction)):
        return NAN
    negative = is_negative(a) != is_negative(b)
    if isinstance(a, Infinite) or isinstance(b, Zero):
        return Infinite(negative)
    if isinstance(a, Zero) or isinstance(b, Infinite):
        return Zero(negative)
    return a / b  # type: ignore[operator]


def square_root(form: Format, a: Value, mode: str) -> int:
    if isinstance(a, Zero) or a == NAN:
        return rounded(form, a, mode)
    if is_negative(a):
        return form.nan
    if isinstance(a, Infinite):
        return form.infinity
    assert isinstance(a, Fraction)
    # The root has enough places to round it correctly. An additional last bit is set if the root is inexact.
    scale = 4 ** (form.fraction + 600)
    scaled = a.numerator * scale // a.denominator
    root = isqrt(scaled)
    exact = root * root == scaled and a.numerator * scale % a.denominator == 0
    number = Fraction(2 * root + (0 if exact else 1), 2 * isqrt(scale))
    return rounded(form, number, mode)


def flushed(form: Format, bits: int) -> int:
    return bits & form.sign if bits & form.infinity == 0 else bits


def saturated(form: Format, bits: int) -> int:
    one = form.bias << form.fraction
    magnitude = bits & (form.sign - 1)
    return 0 if magnitude > form.infinity or bits & form.sign else min(bits, one)


def signed(bits: int, width: int) -> int:
    bits &= (1 << width) - 1
    return bits - (1 << width) if bits >> (width - 1) else bits


def of_type(ty: str, bits: int) -> int:
    """Return the number that a bit pattern represents in an integer type."""
    width = int(ty[1:])
    return signed(bits, width) if ty[0] == "s" else bits & ((1 << width) - 1)


def clamp(ty: str, number: int) -> int:
    width = int(ty[1:])
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if ty[0] == "s" else (0, (1 << width) - 1)
    return max(low, min(high, number))
