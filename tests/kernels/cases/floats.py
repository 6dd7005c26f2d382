"""Floating-point arithmetic in every rounding mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from exact import F16, Format, Fraction, add, divide, flushed, multiply, negated, rounded, saturated, square_root, value

from .case import FORMATS, MODES, Case


def floats() -> Iterator[Case]:
    for ty, form in FORMATS.items():
        for mode, ftz, sat in itertools.product(MODES, (False, True), (False, True)):
            if (ftz or sat) and ty == "f64":
                continue
            flags = (".ftz" if ftz else "") + (".sat" if sat else "")

            def finish(bits: int, form: Format = form, ftz: bool = ftz, sat: bool = sat) -> int:
                bits = flushed(form, bits) if ftz else bits
                return saturated(form, bits) if sat else bits

            def taken(bits: int, form: Format = form, ftz: bool = ftz) -> object:
                return value(form, flushed(form, bits) if ftz else bits)

            def of(f: Callable[..., object], mode: str = mode, form: Format = form, taken=taken, finish=finish):
                return lambda *xs: finish(rounded(form, f(*map(taken, xs)), mode))  # type: ignore[arg-type]

            yield Case(f"add.{mode}{flags}.{ty}", ty, (ty, ty), of(lambda a, b, m=mode, f=form: add(f, a, b, m)))
            yield Case(
                f"sub.{mode}{flags}.{ty}", ty, (ty, ty), of(lambda a, b, m=mode, f=form: add(f, a, negated(b), m))
            )
            yield Case(f"mul.{mode}{flags}.{ty}", ty, (ty, ty), of(multiply))
            yield Case(
                f"fma.{mode}{flags}.{ty}",
                ty,
                (ty,) * 3,
                of(lambda a, b, c, m=mode, f=form: add(f, multiply(a, b), c, m)),
            )
            if not sat:
                yield Case(f"div.{mode}{flags}.{ty}", ty, (ty, ty), of(divide))
                yield Case(f"rcp.{mode}{flags}.{ty}", ty, (ty,), of(lambda a: divide(Fraction(1), a)))
                yield Case(
                    f"sqrt.{mode}{flags}.{ty}",
                    ty,
                    (ty,),
                    lambda a, m=mode, f=form, taken=taken, finish=finish: finish(square_root(f, taken(a), m)),
                )
    for name, f in (
        ("add", lambda a, b: add(F16, a, b, "rn")),
        ("sub", lambda a, b: add(F16, a, negated(b), "rn")),
        ("mul", multiply),
    ):
        yield Case(
            f"{name}.rn.f16",
            "f16",
            ("f16", "f16"),
            lambda a, b, f=f: rounded(F16, f(value(F16, a), value(F16, b)), "rn"),
        )
    yield Case(
        "fma.rn.f16",
        "f16",
        ("f16",) * 3,
        lambda a, b, c: rounded(F16, add(F16, multiply(value(F16, a), value(F16, b)), value(F16, c), "rn"), "rn"),
    )
