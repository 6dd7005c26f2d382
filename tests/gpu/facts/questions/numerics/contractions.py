"""Products that the compiler may fuse with a sum.

The manual lets the optimizer fuse ``mul`` and ``add`` without a rounding modifier, and never with one. The sums here are the rounding
errors of the products: a fused operation gives the error, and two operations give zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ...driver import Driver
from ...question import Facts, series
from .asking import NOT_HERE, Given, capability, computed, record
from .matrix_probes import Numbers
from .operands import FORMS

COUNT = 64
REGISTERS = {"f32": "x", "f64": "u", "f16": "h", "bf16": "h"}
SINCE = {"f32": 75, "f64": 75, "f16": 75, "bf16": 90}
PAIRS = {
    "mul_add": ("mul", "add"),
    "mul_sub": ("mul", "sub"),
    "mul.rn_add.rn": ("mul.rn", "add.rn"),
    "mul.rn_add": ("mul.rn", "add"),
    "mul_add.rn": ("mul", "add.rn"),
    "mul.ftz_add.ftz": ("mul.ftz", "add.ftz"),
    "mul.ftz_add": ("mul.ftz", "add"),
    "mul_add.ftz": ("mul", "add.ftz"),
}
"""The product and the sum, by the name of the step."""


def rounded(ty: str, value: float) -> int:
    """Return the nearest number of a type."""
    from instruction_cases.kernels import float_bits

    if ty != "bf16":
        return float_bits(ty, value)
    bits = float_bits("f32", value)
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def operands(ty: str, negated: bool) -> list[list[int]]:
    """Return two factors, and their rounded product or its negation."""
    form, numbers = FORMS[ty], Numbers(5)
    one = [numbers.number(form, 0, 0) for _ in range(COUNT)]
    other = [numbers.number(form, 0, 0) for _ in range(COUNT)]
    products = [rounded(ty, form.value(a) * form.value(b)) for a, b in zip(one, other, strict=True)]
    return [one, other, [product ^ (form.sign if negated else 0) for product in products]]


@cache
def computations() -> dict[str, Given]:
    from instruction_cases import Computation

    found = {}
    for name, (product, total) in PAIRS.items():
        for ty, register in REGISTERS.items():
            if "ftz" in name and ty != "f32":
                continue
            sources = f"c, {register}" if total == "sub" else f"{register}, c"
            text = f"{product}.{ty} {register}, a, b; {total}.{ty} d, {sources}"
            found[f"{name}.{ty}"] = Given(
                Computation(text, ty, (ty,) * 3, since=SINCE[ty]), operands(ty, total != "sub")
            )
    return found


def names() -> Iterable[str]:
    return list(computations())


@series("numerics.contraction", names)
def contraction(driver: Driver, facts: Facts, step: str) -> None:
    given = computations()[step]
    if given.of.since > capability(driver):
        facts["is_fused"] = NOT_HERE
        return
    results = computed(driver, given)
    sign = FORMS[given.of.target].sign
    facts["is_fused"] = any(result & ~sign for result in results)
    record(facts, results)
