"""Conversions between numbers that ``tests/kernels`` lacks, and those of 8-bit formats for all their values.

Sources in floating point have special values behind the edge values: subnormal numbers, infinities, and NaNs with payloads.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from ...driver import Driver
from ...question import Facts, series
from .asking import Given, answer, by_name
from .operands import FORMS, specials

if TYPE_CHECKING:
    from instruction_cases import Computation

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
MODES = ("rn", "rz", "rm", "rp")
TO_INTEGER = ("rni", "rzi", "rmi", "rpi")


def is_exact(to: str, source: str) -> bool:
    """Whether a format holds all numbers of another one."""
    one, other = FORMS[to], FORMS[source]
    return one.exponent >= other.exponent and one.fraction >= other.fraction


def forms() -> Iterator[tuple[str, str, str]]:
    """Yield the target, the source and the rounding of all conversions from or to floating point."""
    for to, source in itertools.product(FLOATS, FLOATS):
        modes = ("", *TO_INTEGER) if to == source else ("",) if is_exact(to, source) else MODES
        yield from ((to, source, mode) for mode in modes)
    for one, integer in itertools.product(FLOATS, INTEGERS):
        if one == "bf16" and integer.endswith("8"):
            continue
        yield from ((one, integer, mode) for mode in MODES)
        yield from ((integer, one, mode) for mode in TO_INTEGER)


def register(ty: str) -> str:
    """Return the type of the register of a value: values of 8 bits are in 32."""
    return ty.replace("8", "32") if ty in ("u8", "s8") else ty


def spelled() -> Iterator[Computation]:
    from instruction_cases import Computation

    for to, source, mode in forms():
        flushes = "f32" in (to, source) and source in FLOATS
        saturates = "bf16" not in (to, source)
        for ftz, sat in itertools.product(("", "ftz") if flushes else ("",), ("", "sat") if saturates else ("",)):
            text = ".".join(word for word in ("cvt", mode, ftz, sat, to, source) if word)
            since = 75 if saturates else 90
            yield Computation(text, register(to), (register(source),), since=since)


def packing() -> Iterator[Computation]:
    """Integers that are saturated, and packed below the bits of another register."""
    from instruction_cases import Computation

    for ty in ("u4", "s4", "u2", "s2"):
        yield Computation(f"cvt.pack.sat.{ty}.s32.b32", "u32", ("s32", "s32", "u32"))


def around(ty: str, least: int, most: int) -> list[int]:
    """Return numbers between two powers of two: those with a few bits, and their neighbours."""
    form = FORMS[ty]
    found = []
    for power, digits in itertools.product(range(least, most), range(16)):
        bits = form.made(digits % 2, form.bias + power, digits << form.fraction - 4)
        found += [bits, bits + 1]
    return found


def of_bytes() -> Iterator[Given]:
    """All values of 8-bit formats, and numbers whose rounding to them is a tie or almost one."""
    from instruction_cases import Computation

    pairs = [byte << 8 | (byte * 5 + 1) % 256 for byte in range(256)]
    for name, least in (("e4m3", -11), ("e5m2", -18)):
        wide, half = around("f32", least, 17), around("f16", max(least, -14), 16)
        for relu in ("", ".relu"):
            yield Given(Computation(f"cvt.rn{relu}.f16x2.{name}x2", "f16x2", ("b16",), since=89), [pairs])
            two = [wide, wide[1:] + wide[:1]]
            text = f"cvt.rn.satfinite{relu}.{name}x2"
            yield Given(Computation(f"{text}.f32", "b16", ("f32", "f32"), since=89), two)
            both = [high << 16 | low for high, low in zip(half, half[1:] + half[:1], strict=True)]
            yield Given(Computation(f"{text}.f16x2", "b16", ("f16x2",), since=89), [both])


@cache
def conversions() -> dict[str, Given]:
    from instruction_cases import CASES
    from instruction_cases.kernels import operands

    known = {case.text for case in CASES}
    found = []
    for each in (*spelled(), *packing()):
        if each.text not in known:
            values = operands(each)
            if each.sources[0] in FLOATS:
                values = [values[0] + specials(each.sources[0])]
            found.append(Given(each, values))
    return by_name([*found, *of_bytes()])


def names() -> Iterable[str]:
    return list(conversions())


@series("numerics.conversion", names)
def conversion(driver: Driver, facts: Facts, step: str) -> None:
    answer(driver, facts, conversions()[step])
