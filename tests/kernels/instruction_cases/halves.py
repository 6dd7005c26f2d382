"""Arithmetic and comparisons in ``f16`` and ``bf16``, and in pairs of them; ``min`` and ``max`` in every format."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from exact_arithmetic import (
    BF16,
    F16,
    F32,
    F64,
    NAN,
    Format,
    add,
    flushed,
    multiply,
    negated,
    of_type,
    rounded,
    saturated,
    value,
)

from .case import HALVES, Case
from .comparisons import ORDERED, holding, order

EVERY = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


def in_pairs(f: Callable[..., int]) -> Callable[..., int]:
    """Apply a function to both 16-bit halves of words."""
    return lambda *words: f(*(word & 0xFFFF for word in words)) | f(*(word >> 16 for word in words)) << 16


def extreme(form: Format, a: int, b: int, greatest: bool, nan: bool = False, xorsign: bool = False) -> int:
    """Return the minimum or maximum. +0 is greater than -0, and a number is preferred to NaN."""
    sign = (a ^ b) & form.sign if xorsign else 0
    if xorsign:
        a, b = a & ~form.sign, b & ~form.sign
    numbers = [one for one in (a, b) if value(form, one) != NAN]
    if not numbers or (nan and len(numbers) < 2):
        return form.nan
    key = lambda one: (order(form, one), not one & form.sign)  # noqa: E731
    return (max if greatest else min)(numbers, key=key) | sign


def extremes() -> Iterator[Case]:
    for (ty, form), name in itertools.product(EVERY.items(), ("min", "max")):
        for ftz, nan, xorsign in itertools.product((False, True), repeat=3):
            if (ty == "f64" and (ftz or nan or xorsign)) or (ty == "bf16" and ftz):
                continue
            flags = (".ftz" if ftz else "") + (".NaN" if nan else "") + (".xorsign.abs" if xorsign else "")

            def expected(
                a: int,
                b: int,
                form: Format = form,
                how: tuple[bool, bool, bool] = (name == "max", nan, xorsign),
                ftz: bool = ftz,
            ) -> int:
                if ftz:
                    a, b = flushed(form, a), flushed(form, b)
                return extreme(form, a, b, *how)

            since = 86 if xorsign else 80 if nan or ty in HALVES else 75
            yield Case(f"{name}{flags}.{ty}", ty, (ty, ty), expected, since=since)
            if ty in HALVES:
                yield Case(f"{name}{flags}.{ty}x2", f"{ty}x2", (f"{ty}x2",) * 2, in_pairs(expected), since=since)
    for (ty, form), name in itertools.product(EVERY.items(), ("abs", "neg")):

        def signed(a: int, form: Format = form, name: str = name) -> int:
            return a & ~form.sign if name == "abs" else a ^ form.sign

        since = 90 if ty == "bf16" else 75
        yield Case(f"{name}.{ty}", ty, (ty,), signed, since=since)
        if ty in HALVES:
            yield Case(f"{name}.{ty}x2", f"{ty}x2", (f"{ty}x2",), in_pairs(signed), since=since)
    for ty in ("f32", "f64"):
        form = EVERY[ty]
        yield Case(f"copysign.{ty}", ty, (ty, ty), lambda a, b, form=form: b & ~form.sign | a & form.sign)


def arithmetic() -> Iterator[Case]:
    operations = {
        "add": lambda form, a, b, _c: add(form, a, b, "rn"),
        "sub": lambda form, a, b, _c: add(form, a, negated(b), "rn"),
        "mul": lambda _form, a, b, _c: multiply(a, b),
        "fma": lambda form, a, b, c: add(form, multiply(a, b), c, "rn"),
    }
    for (ty, form), (name, f), flag in itertools.product(
        HALVES.items(), operations.items(), ("", "ftz", "sat", "ftz.sat", "relu")
    ):
        if (flag == "relu" and name != "fma") or (ty == "bf16" and flag not in ("", "relu")):
            continue

        def expected(
            a: int, b: int, c: int = 0, form: Format = form, f: Callable[..., object] = f, flag: str = flag
        ) -> int:
            words = [flushed(form, one) if "ftz" in flag else one for one in (a, b, c)]
            bits = rounded(form, f(form, *(value(form, one) for one in words)), "rn")
            bits = flushed(form, bits) if "ftz" in flag else bits
            if "sat" in flag:
                return saturated(form, bits)
            return 0 if flag == "relu" and value(form, bits) != NAN and bits & form.sign else bits

        count = 3 if name == "fma" else 2
        since = 90 if ty == "bf16" and name != "fma" else 80
        spelled = f"{name}.rn{'.' + flag if flag else ''}.{ty}"
        yield Case(spelled, ty, (ty,) * count, expected, since=since)
        yield Case(f"{spelled}x2", f"{ty}x2", (f"{ty}x2",) * count, in_pairs(expected), since=since)


def compared() -> Iterator[Case]:
    for (ty, form), test, unordered in itertools.product(HALVES.items(), ORDERED, (False, True)):
        name, holds = test + ("u" if unordered else ""), holding(form, test, unordered)
        since = 90 if ty == "bf16" else 75
        yield Case(
            f"setp.{name}.{ty} p, #; selp.u32 d, 1, 0, p",
            "u32",
            (ty, ty),
            lambda a, b, f=holds: int(f(a, b)),
            since=since,
        )
        yield Case(
            f"setp.{name}.{ty}x2 p|q, #; selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; or.b32 d, x, y",
            "u32",
            (f"{ty}x2",) * 2,
            lambda a, b, f=holds: int(f(a & 0xFFFF, b & 0xFFFF)) + 2 * int(f(a >> 16, b >> 16)),
            since=since,
        )


def halves() -> Iterator[Case]:
    yield from extremes()
    yield from arithmetic()
    yield from compared()
    yield from pairs()


def pairs() -> Iterator[Case]:
    """``set`` on pairs, and arithmetic on pairs of 16-bit integers."""
    for (ty, form), test, unordered in itertools.product(HALVES.items(), ("lt", "ne", "ge"), (False, True)):
        name, holds = test + ("u" if unordered else ""), holding(form, test, unordered)
        since = 90 if ty == "bf16" else 75
        one = form.bias << form.fraction
        for to, yes in (("u32", 0xFFFF), (f"{ty}x2", one)):
            yield Case(
                f"set.{name}.{to}.{ty}x2",
                "u32",
                (f"{ty}x2",) * 2,
                in_pairs(lambda a, b, f=holds, yes=yes: yes if f(a, b) else 0),
                since=since,
            )
        yield Case(
            f"setp.lt.u32 p, c, 50; set.{name}.xor.u32.{ty}x2 d, a, b, p",
            "u32",
            (f"{ty}x2", f"{ty}x2", "u32"),
            lambda a, b, c, f=holds: in_pairs(lambda a, b: 0xFFFF if f(a, b) != (c < 50) else 0)(a, b),
            since=since,
        )
    operations: dict[str, Callable[[int, int], int]] = {"add": lambda a, b: a + b, "min": min, "max": max}
    for (name, f), ty, relu in itertools.product(operations.items(), ("u16", "s16"), (False, True)):
        if relu and (name == "add" or ty == "u16"):
            continue

        def both(a: int, b: int, f: Callable[[int, int], int] = f, ty: str = ty, relu: bool = relu) -> int:
            number = f(of_type(ty, a), of_type(ty, b))
            return (max(number, 0) if relu else number) & 0xFFFF

        yield Case(f"{name}{'.relu' if relu else ''}.{ty}x2", "u32", ("u32", "u32"), in_pairs(both), since=90)
