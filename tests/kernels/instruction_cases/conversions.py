"""Conversions between numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from exact_arithmetic import (
    BF16,
    F16,
    F32,
    F64,
    NAN,
    Format,
    Fraction,
    Infinite,
    Zero,
    clamp,
    flushed,
    of_type,
    rounded,
    saturated,
    to_integer,
    value,
)

from .case import ALL_INTEGERS, FORMATS, HALVES, INTEGERS, MODES, Case, mask, width


def as_integer(form: Format, bits: int, to: str, mode: str) -> int:
    """Convert a floating-point number to an integer, clamped to the type. NaN gives 0, or the top bit for 64-bit types."""
    number = value(form, bits)
    if number == NAN:
        return of_type(to, 1 << (width(to) - 1)) if width(to) == 64 or form is F64 else 0
    if isinstance(number, Infinite):
        return clamp(to, -(1 << 80) if number.negative else 1 << 80)
    return clamp(to, 0 if isinstance(number, Zero) else to_integer(number, mode))  # type: ignore[arg-type]


def conversions() -> Iterator[Case]:
    for to, source, sat in itertools.product(ALL_INTEGERS, ALL_INTEGERS, (False, True)):
        if (
            sat
            and clamp(to, clamp(source, -(1 << 80))) == clamp(source, -(1 << 80))
            and clamp(to, clamp(source, 1 << 80)) == clamp(source, 1 << 80)
        ):
            continue  # saturation would have no effect
        # 8-bit values are held in wider registers.
        target, register = (ty.replace("8", "32") if width(ty) == 8 else ty for ty in (to, source))

        def converted(a: int, to: str = to, source: str = source, sat: bool = sat, target: str = target) -> int:
            number = of_type(source, a)
            number = clamp(to, number) if sat else of_type(to, number)
            return number & mask(target)

        yield Case(f"cvt{'.sat' if sat else ''}.{to}.{source}", target, (register,), converted)
    for (ty, form), to, mode in itertools.product(FORMATS.items(), INTEGERS, MODES):
        yield Case(
            f"cvt.{mode}i.{to}.{ty}",
            to,
            (ty,),
            lambda a, f=form, to=to, mode=mode: as_integer(f, a, to, mode) & mask(to),
        )
        yield Case(
            f"cvt.{mode}.{ty}.{to}",
            ty,
            (to,),
            lambda a, form=form, to=to, mode=mode: rounded(form, Fraction(of_type(to, a)), mode),
        )
    for mode in MODES:
        yield Case(f"cvt.{mode}.f32.f64", "f32", ("f64",), lambda a, m=mode: rounded(F32, value(F64, a), m))
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
    yield from small_integers()
    yield from flushing()
    yield from of_halves()


def small_integers() -> Iterator[Case]:
    """Conversions between 8-bit integers, held in 32-bit registers, and floating-point numbers; saturation to the unit interval."""
    for (ty, form), to in itertools.product(FORMATS.items(), ("u8", "s8")):
        yield Case(f"cvt.rzi.{to}.{ty}", "u32", (ty,), lambda a, f=form, to=to: as_integer(f, a, to, "rz") & 0xFFFFFFFF)
        yield Case(
            f"cvt.rn.{ty}.{to}",
            ty,
            ("u32",),
            lambda a, form=form, to=to: rounded(form, Fraction(of_type(to, a)), "rn"),
        )
    for (ty, form), (to, target) in itertools.product(FORMATS.items(), FORMATS.items()):
        if (ty, to) == ("f32", "f64"):
            continue
        name = "cvt.sat" if ty == to else "cvt.rn.sat"
        yield Case(
            f"{name}.{to}.{ty}",
            to,
            (ty,),
            lambda a, f=form, t=target: saturated(t, rounded(t, value(f, a), "rn")),
        )


def flushing() -> Iterator[Case]:
    for mode, to in itertools.product(MODES, ("s32", "u64")):
        yield Case(
            f"cvt.{mode}i.ftz.{to}.f32",
            to,
            ("f32",),
            lambda a, to=to, mode=mode: as_integer(F32, flushed(F32, a), to, mode) & mask(to),
        )
    for mode in MODES:
        yield Case(
            f"cvt.{mode}.ftz.f32.f64", "f32", ("f64",), lambda a, m=mode: flushed(F32, rounded(F32, value(F64, a), m))
        )
    yield Case("cvt.ftz.f64.f32", "f64", ("f32",), lambda a: rounded(F64, value(F32, flushed(F32, a)), "rn"))
    yield Case("cvt.rn.ftz.f16.f32", "f16", ("f32",), lambda a: rounded(F16, value(F32, flushed(F32, a)), "rn"))


def of_halves() -> Iterator[Case]:
    for (ty, form), to in itertools.product(HALVES.items(), INTEGERS):
        if ty == "bf16":
            continue
        for mode in MODES:
            yield Case(
                f"cvt.{mode}i.{to}.{ty}",
                to,
                (ty,),
                lambda a, f=form, to=to, mode=mode: as_integer(f, a, to, mode) & mask(to),
            )
            yield Case(
                f"cvt.{mode}.{ty}.{to}",
                ty,
                (to,),
                lambda a, form=form, to=to, mode=mode: rounded(form, Fraction(of_type(to, a)), mode),
            )
    for mode in MODES:
        yield Case(f"cvt.{mode}.f16.f64", "f16", ("f64",), lambda a, m=mode: rounded(F16, value(F64, a), m))
    yield Case("cvt.f64.f16", "f64", ("f16",), lambda a: rounded(F64, value(F16, a), "rn"))
    yield Case("cvt.f32.bf16", "f32", ("bf16",), lambda a: rounded(F32, value(BF16, a), "rn"), since=90)
    for (ty, form), mode, relu, finite in itertools.product(HALVES.items(), ("rn", "rz"), (False, True), (False, True)):

        def half(a: int, form: Format = form, mode: str = mode, relu: bool = relu, finite: bool = finite) -> int:
            bits = rounded(form, value(F32, a), mode)
            if finite and bits & (form.sign - 1) == form.infinity:
                bits -= 1
            return 0 if relu and bits & form.sign and value(form, bits) != NAN else bits

        flags = (".relu" if relu else "") + (".satfinite" if finite else "")
        yield Case(f"cvt.{mode}{flags}.{ty}.f32", ty, ("f32",), half, since=80)
        yield Case(
            f"cvt.{mode}{flags}.{ty}x2.f32",
            f"{ty}x2",
            ("f32", "f32"),
            lambda a, b, half=half: half(a) << 16 | half(b),
            since=80,
        )
    for to in ("u8", "s8", "u4", "s4", "u2", "s2"):

        def packed(a: int, b: int, c: int, to: str = to) -> int:
            bits = int(to[1:])
            low, high = (clamp(to, of_type("s32", one)) & ((1 << bits) - 1) for one in (b, a))
            return (c << 2 * bits | high << bits | low) & 0xFFFFFFFF

        yield Case(f"cvt.pack.sat.{to}.s32.b32", "u32", ("s32", "s32", "u32"), packed)
    for to in ("u16", "s16"):

        def both(a: int, b: int, to: str = to) -> int:
            low, high = (clamp(to, of_type("s32", one)) & 0xFFFF for one in (b, a))
            return high << 16 | low

        yield Case(f"cvt.pack.sat.{to}.s32", "u32", ("s32", "s32"), both)
    yield from of_bytes()


def of_bytes() -> Iterator[Case]:
    """Pairs of 8-bit formats. ``e4m3`` has no infinity and a single NaN."""
    # Fraction bits, bias, pattern of the greatest number, patterns of NaNs.
    formats = {"e4m3": (3, 7, 0x7E, {0x7F}), "e5m2": (2, 15, 0x7B, {0x7D, 0x7E, 0x7F})}

    def number(name: str, bits: int) -> Fraction | None:
        fraction, bias, most, _ = formats[name]
        exponent, digits = bits >> fraction & 31, bits & ((1 << fraction) - 1)
        if (bits & 0x7F) > most:
            return None
        digits |= (exponent != 0) << fraction
        return Fraction(digits) * Fraction(2) ** (max(exponent, 1) - bias - fraction)

    for name in formats:
        _, _, most, nans = formats[name]
        table = [(number(name, bits), bits) for bits in range(most + 1)]

        def narrowed(form: Format, bits: int, relu: bool, table: list[tuple[Fraction, int]] = table) -> int:  # type: ignore[assignment]
            of = value(form, bits)
            if of == NAN:
                return 0x7F
            sign = 0x80 if bits & form.sign else 0
            if sign and relu:
                return 0
            size = table[-1][0] if isinstance(of, Infinite) else Fraction(0) if isinstance(of, Zero) else abs(of)  # type: ignore[arg-type]
            # Round to nearest, ties to even.
            return sign | min(table, key=lambda row: (abs(row[0] - size), row[1] & 1))[1]

        for relu in (False, True):
            flag = ".relu" if relu else ""
            yield Case(
                f"cvt.rn.satfinite{flag}.{name}x2.f32",
                "b16",
                ("f32", "f32"),
                lambda a, b, relu=relu, f=narrowed: f(F32, a, relu) << 8 | f(F32, b, relu),
                since=89,
            )
            yield Case(
                f"cvt.rn.satfinite{flag}.{name}x2.f16x2",
                "b16",
                ("f16x2",),
                lambda a, relu=relu, f=narrowed: f(F16, a >> 16, relu) << 8 | f(F16, a & 0xFFFF, relu),
                since=89,
            )

            def widened(bits: int, name: str = name, nans: set[int] = nans, relu: bool = relu) -> int:
                if bits & 0x7F in nans:
                    return F16.nan
                if bits & 0x80 and relu:
                    return 0
                of = number(name, bits & 0x7F)
                return rounded(F16, Infinite(False) if of is None else of, "rn") | (bits & 0x80) << 8

            yield Case(
                f"cvt.rn{flag}.f16x2.{name}x2",
                "f16x2",
                ("b16",),
                lambda a, f=widened: f(a >> 8) << 16 | f(a & 255),
                since=89,
            )
    for mode, relu in itertools.product(("rna", "rn", "rz"), (False, True)):
        if mode == "rna" and relu:
            continue

        def tf32(a: int, mode: str = mode, relu: bool = relu) -> int:
            form = Format(19, 10, 0x3FFFF)
            of = value(F32, a)
            if of == NAN:
                return F32.nan
            if relu and a & F32.sign:
                return 0
            # Ties away from zero: add half of the last place, then truncate.
            bits = (
                (a + (1 << 12)) >> 13
                if mode == "rna" and isinstance(of, Fraction)
                else rounded(form, of, mode.removesuffix("a"))
            )
            return bits << 13

        yield Case(
            f"cvt.{mode}{'.relu' if relu else ''}.tf32.f32", "b32", ("f32",), tf32, since=80 if mode == "rna" else 90
        )
