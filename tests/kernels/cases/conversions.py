"""Conversions between numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from exact import F16, F32, F64, NAN, Format, Fraction, Infinite, Zero, clamp, of_type, rounded, to_integer, value

from .case import ALL_INTEGERS, FORMATS, INTEGERS, MODES, Case, mask, width


def conversions() -> Iterator[Case]:
    for to, source, sat in itertools.product(ALL_INTEGERS, ALL_INTEGERS, (False, True)):
        # Registers of 8 bits are held in wider ones.
        target, register = (ty.replace("8", "32") if width(ty) == 8 else ty for ty in (to, source))

        def converted(a: int, to: str = to, source: str = source, sat: bool = sat, target: str = target) -> int:
            number = of_type(source, a)
            number = clamp(to, number) if sat else of_type(to, number)
            return number & mask(target)

        yield Case(f"cvt{'.sat' if sat else ''}.{to}.{source}", target, (register,), converted)
    for (ty, form), to, mode in itertools.product(FORMATS.items(), INTEGERS, MODES):

        def to_int(a: int, form: Format = form, to: str = to, mode: str = mode) -> int:
            number = value(form, a)
            if number == NAN:
                wide = width(to) == 64 or form is F64
                return 1 << (width(to) - 1) if wide else 0
            if isinstance(number, Infinite):
                return clamp(to, -(1 << 80) if number.negative else 1 << 80) & mask(to)
            whole = 0 if isinstance(number, Zero) else to_integer(number, mode)  # type: ignore[arg-type]
            return clamp(to, whole) & mask(to)

        yield Case(f"cvt.{mode}i.{to}.{ty}", to, (ty,), to_int)
        yield Case(
            f"cvt.{mode}.{ty}.{to}",
            ty,
            (to,),
            lambda a, form=form, to=to, mode=mode: rounded(form, Fraction(of_type(to, a)), mode),
        )
    for mode in MODES:
        yield Case(f"cvt.{mode}.f32.f64", "f32", ("f64",), lambda a, m=mode: rounded(F32, value(F64, a), m))
    for mode in ("rn", "rz"):
        yield Case(f"cvt.{mode}.f16.f32", "f16", ("f32",), lambda a, m=mode: rounded(F16, value(F32, a), m))
    yield Case("cvt.f64.f32", "f64", ("f32",), lambda a: rounded(F64, value(F32, a), "rn"))
    yield Case("cvt.f32.f16", "f32", ("f16",), lambda a: rounded(F32, value(F16, a), "rn"))
    for (ty, form), mode in itertools.product(FORMATS.items(), MODES):

        def whole(a: int, form: Format = form, mode: str = mode) -> int:
            number = value(form, a)
            if not isinstance(number, Fraction):
                return rounded(form, number, mode)
            result = to_integer(number, mode)
            return rounded(form, Fraction(result), mode) if result else (form.sign if number < 0 else 0)

        yield Case(f"cvt.{mode}i.{ty}.{ty}", ty, (ty,), whole)
