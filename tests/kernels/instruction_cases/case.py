"""A kernel of one instruction, or of a few, and what it answers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

from exact import BF16, F16, F32, F64

MODES = ("rn", "rz", "rm", "rp")
FORMATS = {"f32": F32, "f64": F64}
HALVES = {"f16": F16, "bf16": BF16}
INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
ALL_INTEGERS = ("u8", "s8", *INTEGERS)


@dataclass(frozen=True)
class Case:
    """``text`` computes ``d`` from ``a``, ``b``, ``c`` and ``e``, registers of these types.

    ``$`` stands for ``d`` and the sources, ``#`` for the sources; a name
    alone takes all. The kernel
    has further registers: predicates ``p`` and ``q``, ``h`` of 16 bits, ``x``, ``y``, ``z`` and ``w`` of 32, ``u`` and ``v`` of 64.

    ``undefined`` tells the operands for which the manual leaves the answer open. The simulated driver still has one that is
    written down, which is checked; a GPU may answer anything. ``accepts`` decides about a result where the manual lets that be
    approximate. ``since`` is the compute capability that has the instruction.
    """

    text: str
    target: str
    sources: tuple[str, ...]
    answer: Callable[..., int]
    undefined: Callable[..., bool] = lambda *_: False
    accepts: Callable[[int, int], bool] = operator.eq
    since: int = 75


def width(ty: str) -> int:
    """How many bits a register of a type has."""
    return 32 if ty.endswith("x2") else int("".join(c for c in ty if c.isdigit()))


def mask(ty: str) -> int:
    return (1 << width(ty)) - 1
