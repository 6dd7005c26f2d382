"""Each instruction, with its modifiers and types, agrees with exact arithmetic on edge values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from exact_arithmetic import BF16, F16, F32, F64, NAN, value
from instruction_cases import CASES, Case
from instruction_cases.kernels import COUNT, kernel, operands
from kernel_modules import Module, by_capability, loaded

TEXTS = by_capability((case.since, kernel(number, case)) for number, case in enumerate(CASES))


@pytest.fixture(scope="module")
def modules(driver_kind: str) -> Iterator[dict[int, Module]]:
    with loaded(TEXTS) as found:
        yield found


def are_nans(ty: str, *bits: int) -> bool:
    """Return whether all are NaNs. The manual does not define the bits of every NaN."""
    form = {"f32": F32, "f64": F64, "f16": F16, "bf16": BF16}.get(ty)
    return form is not None and all(value(form, one) == NAN for one in bits)


def test_table_has_at_least_400_unique_cases() -> None:
    assert len(CASES) >= 400
    assert len({case.text for case in CASES}) == len(CASES)


def opcode(case: Case) -> str:
    """Return the opcode that a case tests: the first one that is neither a declaration nor a move."""
    words = [statement.split()[0].split(".")[0] for statement in case.text.split(";") if statement.split()]
    return next(word for word in words if word not in ("", "mov")) if set(words) - {"", "mov"} else "mov"


@pytest.mark.parametrize("name", sorted({opcode(case) for case in CASES}))
def test_instruction_agrees_with_exact_arithmetic(driver_kind: str, modules: dict[int, Module], name: str) -> None:
    numbers = [number for number, case in enumerate(CASES) if opcode(case) == name and case.since in modules]
    if not numbers:
        pytest.skip("instructions of a later compute capability")
    wrong = [line for number in numbers for line in disagreements(driver_kind, modules[CASES[number].since], number)]
    assert not wrong, "\n".join(wrong)


def disagreements(driver_kind: str, module: Module, number: int) -> list[str]:
    """Return a line for the first operands with a wrong result, if any."""
    case = CASES[number]
    sources = operands(case)
    given = np.zeros((4, COUNT), np.uint64)
    for row, source in zip(given, sources, strict=False):
        row[:] = source
    results = module.run(f"k{number}", [given.reshape(-1), np.full(COUNT, 0xDEAD, np.uint64)], COUNT)[1]
    for index, values in enumerate(zip(*sources, strict=True)):
        expected, result = case.expected(*values), int(results[index])
        if driver_kind == "real" and (case.undefined(*values) or are_nans(case.target, expected, result)):
            continue
        if not case.accepts(result, expected):
            shown = ", ".join(f"{one:#x}" for one in values)
            return [f"{case.text} of {shown}: {result:#x}, not {expected:#x}"]
    return []
