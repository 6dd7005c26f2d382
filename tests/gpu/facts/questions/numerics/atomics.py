"""Atomic operations on one address: the rounding of sums in floating point, subnormal numbers, NaNs, and the ends of integers.

The manual states for ``atom.add.f32`` that it flushes subnormal numbers in global memory and keeps them in shared memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from ...driver import Driver
from ...question import Facts, series
from .asking import MOST_THREADS, WORD, Given, answer
from .operands import combined, specials

if TYPE_CHECKING:
    from instruction_cases import Computation

FLOATS = {"f32": 75, "f64": 75, "noftz.f16": 75, "noftz.f16x2": 75, "noftz.bf16": 90, "noftz.bf16x2": 90}
"""Each format of additions, with the first compute capability."""
INTEGERS = {
    "add": ("u32", "s32", "u64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
}
MOST_OF_PAIRS = 192
"""A number of whole warps."""
VECTORS = ("f32", "noftz.f16x2", "noftz.bf16x2")


def computation(text: str, ty: str, space: str, since: int, sources: int = 2) -> Computation:
    """Return a computation that stores ``a``, runs an operation on its address ``v`` or ``out``, and loads the result."""
    from instruction_cases import Computation, width

    bits = width(ty)
    if space == "shared":
        area = f".shared .align 8 .b8 area[{MOST_THREADS * WORD}]; mov.u64 v, area; mad.wide.u32 v, t, {WORD}, v; "
        text = f"{area}st.shared.b{bits} [v], a; {text}; ld.shared.b{bits} d, [v]"
    else:
        text = f"st.global.b{bits} [out], a; {text}; ld.global.b{bits} d, [out]"
    return Computation(text, ty, (ty,) * sources, since=since)


def additions() -> Iterator[tuple[str, Given]]:
    """Yield additions in floating point, with their names."""
    for (form, since), operation, space in itertools.product(FLOATS.items(), ("atom", "red"), ("global", "shared")):
        ty = form.removeprefix("noftz.")
        place = "v" if space == "shared" else "out"
        register = {"f64": "u, ", "f16": "h, ", "bf16": "h, "}.get(ty, "x, ") if operation == "atom" else ""
        name = f"{operation}.{space}.add.{form}"
        of = computation(f"{name} {register}[{place}], b", ty, space, since)
        yield name, Given(of, combined([specials(ty)] * 2, MOST_OF_PAIRS))


def integers() -> Iterator[tuple[str, Given]]:
    from instruction_cases.kernels import edges

    for name, space in itertools.product(INTEGERS, ("global", "shared")):
        for ty in INTEGERS[name]:
            place = "v" if space == "shared" else "out"
            spelled = f"atom.{space}.{name}.{ty}"
            of = computation(f"{spelled} {'u' if ty.endswith('64') else 'x'}, [{place}], b", ty, space, 75)
            yield spelled, Given(of, combined([edges(ty)] * 2, MOST_OF_PAIRS))


def vectors() -> Iterator[tuple[str, Given]]:
    """Yield additions to vectors. The results of two threads are one place of 16 bytes, which only the first one uses."""
    from instruction_cases import Computation

    for form, count in itertools.product(VECTORS, (2, 4)):
        ty = form.removeprefix("noftz.")
        spelled = f"red.global.add.{form.removesuffix(ty)}v{count}.{ty}"
        text = (
            "and.b32 y, t, 1; setp.eq.u32 p, y, 0; bar.warp.sync -1; @!p bra END; "
            f"st.global.b32 [out], a; {spelled} [out], {{{', '.join(['b'] * count)}}}; "
            "END: bar.warp.sync -1; ld.global.b32 d, [out]"
        )
        yield spelled, Given(Computation(text, ty, (ty,) * 2, since=90), combined([specials(ty)] * 2, MOST_OF_PAIRS))


@cache
def operations() -> dict[str, Given]:
    return dict([*additions(), *integers(), *vectors()])


def names() -> Iterable[str]:
    return list(operations())


@series("numerics.atomic", names)
def atomic(driver: Driver, facts: Facts, step: str) -> None:
    answer(driver, facts, operations()[step])
