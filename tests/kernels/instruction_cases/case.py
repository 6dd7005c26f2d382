"""A test kernel of one or a few instructions with its expected result."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field

from exact_arithmetic import BF16, F16, F32, F64

MODES = ("rn", "rz", "rm", "rp")
FORMATS = {"f32": F32, "f64": F64}
HALVES = {"f16": F16, "bf16": BF16}
INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
ALL_INTEGERS = ("u8", "s8", *INTEGERS)


@dataclass(frozen=True)
class Computation:
    """A kernel whose ``text`` computes ``d`` from the registers ``a``, ``b``, ``c`` and ``e`` of the given types.

    In ``text``, ``$`` stands for ``d`` and the sources, ``#`` for the sources; the name of an instruction alone gets all. The kernel
    has further registers: predicates ``p`` and ``q``, ``h`` of 16 bits, ``x``, ``y``, ``z`` and ``w`` of 32, ``u`` and ``v`` of 64.

    ``since`` is the first compute capability with the instruction.
    """

    text: str
    target: str
    sources: tuple[str, ...]
    since: int = field(default=75, kw_only=True)


@dataclass(frozen=True)
class Case(Computation):
    """A computation with its expected result.

    ``undefined`` returns whether the manual leaves the result undefined for the operands. The simulated driver's documented result
    is checked even then; a GPU may give any result. ``accepts`` compares results that the manual allows to be approximate.
    """

    expected: Callable[..., int]
    undefined: Callable[..., bool] = lambda *_: False
    accepts: Callable[[int, int], bool] = operator.eq


def width(ty: str) -> int:
    """Return the number of bits of a register of a type."""
    return 32 if ty.endswith("x2") else int("".join(c for c in ty if c.isdigit()))


def mask(ty: str) -> int:
    return (1 << width(ty)) - 1
