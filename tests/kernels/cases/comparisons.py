"""Comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from exact import NAN, Format, Fraction, Infinite, Zero, of_type, value

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

    def order(form: Format, bits: int) -> Fraction | float:
        number = value(form, bits)
        if isinstance(number, Infinite):
            return float("-inf") if number.negative else float("inf")
        return Fraction(0) if isinstance(number, Zero) else number  # type: ignore[return-value]

    for ty, form in FORMATS.items():
        for test, holds in ORDERED.items():
            for unordered in (False, True):

                def compared(
                    a: int,
                    b: int,
                    form: Format = form,
                    holds: Callable[..., bool] = holds,
                    unordered: bool = unordered,
                ) -> int:
                    if NAN in (value(form, a), value(form, b)):
                        return int(unordered)
                    return int(holds(order(form, a), order(form, b)))

                name = test + ("u" if unordered else "")
                yield Case(f"setp.{name}.{ty} p, #; selp.u32 d, 1, 0, p", "u32", (ty, ty), compared)
        for test, answer in (("num", 0), ("nan", 1)):
            yield Case(
                f"setp.{test}.{ty} p, #; selp.u32 d, 1, 0, p",
                "u32",
                (ty, ty),
                lambda a, b, form=form, answer=answer: answer ^ int(NAN not in (value(form, a), value(form, b))),
            )
            # "nan" holds where one is none, "num" where both are numbers.
