"""Floating-point arithmetic in every rounding mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from exact_arithmetic import (
    Format,
    Fraction,
    add,
    divide,
    flushed,
    multiply,
    negated,
    rounded,
    saturated,
    square_root,
    value,
)

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
