"""Comparisons."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from exact_arithmetic import F32, NAN, Format, Fraction, Infinite, Zero, flushed, is_negative, of_type, signed, value

from .case import FORMATS, INTEGERS, Case

ORDERED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
SAME_AS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def order(form: Format, bits: int) -> Fraction | float:
    number = value(form, bits)
    if isinstance(number, Infinite):
        return float("-inf") if number.negative else float("inf")
    return Fraction(0) if isinstance(number, Zero) else number  # type: ignore[return-value]


def holding(form: Format, test: str, unordered: bool) -> Callable[[int, int], bool]:
    """Return a comparison of two bit patterns. If one is NaN, the result is ``unordered``."""

    def holds(a: int, b: int) -> bool:
        if NAN in (value(form, a), value(form, b)):
            return unordered
        return ORDERED[test](order(form, a), order(form, b))

    return holds


def comparisons() -> Iterator[Case]:
    for ty in INTEGERS:
        tests = [*ORDERED, *(SAME_AS if ty[0] == "u" else ())]
        for test in tests:
            holds = ORDERED[SAME_AS.get(test, test)]
            yield Case(
                f"setp.{test}.{ty} p, #; selp.u32 d, 1, 0, p",
                "u32",
                (ty, ty),
                lambda a, b, ty=ty, holds=holds: int(holds(of_type(ty, a), of_type(ty, b))),
            )

    for ty, form in FORMATS.items():
        for test, unordered in itertools.product(ORDERED, (False, True)):
            name, holds = test + ("u" if unordered else ""), holding(form, test, unordered)
            yield Case(
                f"setp.{name}.{ty} p, #; selp.u32 d, 1, 0, p", "u32", (ty, ty), lambda a, b, f=holds: int(f(a, b))
            )
        for test, expected in (("num", 0), ("nan", 1)):
            yield Case(
                f"setp.{test}.{ty} p, #; selp.u32 d, 1, 0, p",
                "u32",
                (ty, ty),
                lambda a, b, form=form, expected=expected: expected ^ int(NAN not in (value(form, a), value(form, b))),
            )
            # "nan" holds if at least one operand is NaN, "num" if none is.
    yield from joined()
    yield from selections()


def joined() -> Iterator[Case]:
    """Comparisons combined with a predicate, with both results, and operations on predicates."""
    combine = {"and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b}
    for (name, f), negated in itertools.product(combine.items(), (False, True)):

        def expected(a: int, b: int, c: int, f: Callable[[bool, bool], bool] = f, negated: bool = negated) -> int:
            holds, other = signed(a, 32) < signed(b, 32), (signed(c, 32) > 5) != negated
            return int(f(holds, other)) + 2 * int(f(not holds, other))

        mark = "!" if negated else ""
        text = (
            f".reg .pred r; setp.gt.s32 r, c, 5; setp.lt.{name}.s32 p|q, a, b, {mark}r; "
            "selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; or.b32 d, x, y"
        )
        yield Case(text, "u32", ("u32",) * 3, expected)
        text = f"setp.ne.u32 p, a, 0; setp.ne.u32 q, b, 0; {name}.pred p, p, {mark}q; selp.u32 d, 7, 9, p"
        yield Case(text, "u32", ("u32",) * 2, lambda a, b, f=f, n=negated: 7 if f(a != 0, (b != 0) != n) else 9)
    for name, f in combine.items():

        def masked(a: int, b: int, c: int, f: Callable[[bool, bool], bool] = f) -> int:
            return 0xFFFFFFFF if f(signed(a, 32) >= signed(b, 32), c != 0) else 0

        text = f"setp.ne.u32 p, c, 0; set.ge.{name}.u32.s32 d, a, b, p"
        yield Case(text, "u32", ("u32",) * 3, masked)
    text = "setp.ne.u32 p, a, 0; not.pred q, p; mov.pred p, q; selp.u32 d, 1, 2, p"
    yield Case(text, "u32", ("u32",), lambda a: 1 if a == 0 else 2)
    text = "mov.u32 d, b; setp.ne.u32 p, a, 0; @p add.u32 d, d, 1; @!p sub.u32 d, d, 1"
    yield Case(text, "u32", ("u32",) * 2, lambda a, b: (b + 1 if a else b - 1) & 0xFFFFFFFF)
    for ty, to, yes in (("f32", "f32", 0x3F800000), ("s32", "f32", 0x3F800000), ("f64", "s32", 0xFFFFFFFF)):
        for test in ("lt", "ne", "equ") if ty[0] == "f" else ("lt", "ne"):

            def set_to(a: int, b: int, ty: str = ty, yes: int = yes, test: str = test) -> int:
                if ty[0] == "f":
                    if NAN in (value(FORMATS[ty], a), value(FORMATS[ty], b)):
                        return yes if test == "equ" else 0
                    a, b = order(FORMATS[ty], a), order(FORMATS[ty], b)  # type: ignore[assignment]
                else:
                    a, b = of_type(ty, a), of_type(ty, b)
                return yes if ORDERED[test.removesuffix("u")](a, b) else 0

            yield Case(f"set.{test}.{to}.{ty}", to, (ty, ty), set_to)


def selections() -> Iterator[Case]:
    for n in (16, 32, 64):
        ty = f"b{n}"
        yield Case(
            f"setp.gt.s32 p, c, 3; selp.{ty} d, a, b, p",
            ty,
            (ty, ty, "u32"),
            lambda a, b, c: a if signed(c, 32) > 3 else b,
        )
        yield Case(f"slct.{ty}.s32", ty, (ty, ty, "s32"), lambda a, b, c: a if signed(c, 32) >= 0 else b)
        for flag in ("", ".ftz"):

            def chosen(a: int, b: int, c: int, flag: str = flag) -> int:
                number = value(F32, flushed(F32, c) if flag else c)
                if number == NAN:
                    return b
                return a if isinstance(number, Zero) or not is_negative(number) else b

            yield Case(f"slct{flag}.{ty}.f32", ty, (ty, ty, "f32"), chosen)
    for ty, form in FORMATS.items():
        kinds = {
            "finite": lambda v, _: v != NAN and not isinstance(v, Infinite),
            "infinite": lambda v, _: isinstance(v, Infinite),
            "number": lambda v, _: v != NAN,
            "notanumber": lambda v, _: v == NAN,
            "normal": lambda v, e: isinstance(v, Fraction) and e != 0,
            "subnormal": lambda v, e: isinstance(v, Fraction) and e == 0,
        }
        for kind, holds in kinds.items():
            text = f"testp.{kind}.{ty} p, a; selp.u32 d, 1, 0, p"
            yield Case(text, "u32", (ty,), lambda a, f=form, holds=holds: int(holds(value(f, a), a & f.infinity)))
