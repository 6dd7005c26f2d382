"""Approximate functions, compared with double precision within the manual's error bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from exact_arithmetic import F32, F64, NAN, Format, Fraction, Infinite, flushed, rounded, value

from .case import Case


def near(form: Format, relative: float, absolute: float = 0.0) -> Callable[[int, int], bool]:
    """Return a comparison that accepts results within a relative or an absolute error."""

    def accepts(result: int, expected: int) -> bool:
        if result == expected:
            return True
        numbers = [value(form, bits) for bits in (result, expected)]
        if NAN in numbers:
            return numbers[0] == numbers[1]
        if any(isinstance(number, Infinite) for number in numbers):
            return False
        one, other = (number if isinstance(number, Fraction) else Fraction(0) for number in numbers)
        return abs(one - other) <= max(abs(other) * Fraction(relative), Fraction(absolute))

    return accepts


def number(form: Format, bits: int) -> float:
    """Convert bits to a Python float."""
    of = value(form, bits)
    if of == NAN:
        return math.nan
    if isinstance(of, Infinite):
        return -math.inf if of.negative else math.inf
    return float(of) if isinstance(of, Fraction) else (-0.0 if of.negative else 0.0)  # type: ignore[union-attr]


def bits(form: Format, of: float) -> int:
    if math.isnan(of):
        return form.nan
    if math.isinf(of):
        return rounded(form, Infinite(of < 0), "rn")
    return rounded(form, Fraction(of), "rn") if of else (form.sign if math.copysign(1, of) < 0 else 0)


def or_nan(f: Callable[[float], float]) -> Callable[[float], float]:
    def safe(x: float) -> float:
        try:
            return f(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return safe


def reciprocal(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else 1 / x


def inverse_root(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else 0.0 if x == math.inf else 1 / math.sqrt(x)


def logarithm(x: float) -> float:
    return -math.inf if x == 0 else math.log2(x)


def exponential(x: float) -> float:
    return 0.0 if x < -2000 else math.inf if x > 2000 else 2.0**x


def functions() -> Iterator[Case]:
    # Name, function, bounds of the relative and the absolute error, and the operands for which they hold.
    anywhere = lambda _: True  # noqa: E731
    around = lambda x: abs(x) <= 2 * math.pi  # noqa: E731
    table = [
        ("rcp.approx", reciprocal, 2.0**-22, 0.0, anywhere),
        ("sqrt.approx", math.sqrt, 2.0**-22, 0.0, anywhere),
        ("rsqrt.approx", inverse_root, 2.0**-22, 0.0, anywhere),
        ("sin.approx", math.sin, 0.0, 2.0**-20, around),
        ("cos.approx", math.cos, 0.0, 2.0**-20, around),
        ("lg2.approx", logarithm, 2.0**-22, 2.0**-22, anywhere),
        ("ex2.approx", exponential, 2.0**-22, 0.0, anywhere),
        ("tanh.approx", math.tanh, 2.0**-10, 0.0, anywhere),
    ]
    for name, f, relative, absolute, bound in table:
        for ftz in (False, True):
            if name == "tanh.approx" and ftz:
                continue

            def expected(a: int, f: Callable[[float], float] = f, ftz: bool = ftz) -> int:
                a = flushed(F32, a) if ftz else a
                result = bits(F32, or_nan(f)(number(F32, a)))
                return flushed(F32, result) if ftz else result

            def undefined(a: int, bound: Callable[[float], bool] = bound) -> bool:
                return not bound(number(F32, a))

            flag = ".ftz" if ftz else ""
            # Even without .ftz, the last places of subnormal results may be inexact.
            accepts = near(F32, relative, max(absolute, 2.0**-146))
            yield Case(f"{name}{flag}.f32", "f32", ("f32",), expected, undefined, accepts)

    def quotient(a: int, b: int, ftz: bool) -> int:
        a, b = (flushed(F32, one) if ftz else one for one in (a, b))
        x, y = number(F32, a), number(F32, b)
        if y == 0:
            result = math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)
        else:
            result = x / y
        quotient_bits = bits(F32, result)
        return flushed(F32, quotient_bits) if ftz else quotient_bits

    for name in ("div.approx", "div.full"):
        for ftz in (False, True):

            def huge(_a: int, b: int) -> bool:
                # For divisors beyond 2 ** 126 the quotient may be 0.
                return not 2.0**-126 <= abs(number(F32, b)) <= 2.0**126

            yield Case(
                f"{name}{'.ftz' if ftz else ''}.f32",
                "f32",
                ("f32", "f32"),
                lambda a, b, ftz=ftz: quotient(a, b, ftz),
                huge,
                near(F32, 2.0**-22, 2.0**-146),
            )
    for name, f in (("rcp.approx.ftz", reciprocal), ("rsqrt.approx.ftz", inverse_root)):

        def in_double(a: int, f: Callable[[float], float] = f) -> int:
            return bits(F64, or_nan(f)(number(F64, flushed(F64, a))))

        yield Case(f"{name}.f64", "f64", ("f64",), in_double, accepts=near(F64, 2.0**-20, 2.0**-1022))
