"""Each instruction, with its modifiers and types, agrees with exact arithmetic on edge values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from exact_arithmetic import BF16, F16, F32, F64, NAN, value
from instruction_cases import CASES, Case, width
from kernel_modules import Module, by_capability, loaded

INTEGER_EDGES = [
    *(0, 1, 2, 3, 5, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 32767, 32768, 65535, 65536),
    *(0x7FFFFF, 0xFFFFFF, 0x1000000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x123456789ABCDEF0),
    *(0x5555555555555555, 0x8080808080808080, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0xFEDCBA98),
]
FLOAT_EDGES = [
    *(
        0.0,
        1.0,
        0.5,
        1.5,
        2.5,
        3.0,
        0.1,
        1 / 3,
        7.0,
        100.5,
        127.5,
        128.0,
        255.5,
        32767.5,
        65535.5,
        2147483647.5,
        4294967295.5,
    ),
    *(
        1e10,
        9.2e18,
        1.9e19,
        1e30,
        3.4e38,
        1e-30,
        1.2e-38,
        1e-40,
        1e-45,
        1e300,
        1e-300,
        5e-324,
        float("inf"),
        float("nan"),
    ),
    *(16777217.0, 1.0000001192092896, 0.99999994, 8388607.5, 2049.0, 65504.0, 65520.0, 6e-8, 1.0009765625),
]
COUNT = 96


NUMPY = {"f64": (np.float64, np.uint64), "f32": (np.float32, np.uint32), "f16": (np.float16, np.uint16)}


def edges(ty: str) -> list[int]:
    if ty.endswith("x2"):
        halves = edges(ty[:-2])
        return [one << 16 | halves[index * 5 % len(halves)] for index, one in enumerate(halves)]
    if ty == "bf16":
        return [bits >> 16 for bits in edges("f32")]
    if ty in NUMPY:
        number, integer = NUMPY[ty]
        with np.errstate(over="ignore", under="ignore"):
            return [int(number(sign * edge).view(integer)) for edge in FLOAT_EDGES for sign in (1, -1)]
    ones = (1 << width(ty)) - 1
    return [edge & ones for edge in INTEGER_EDGES] + [-edge & ones for edge in INTEGER_EDGES[1:8]]


@cache
def patterns(ty: str, step: int) -> list[int]:
    """Return edge values of a type in an order that depends on the step, so that operands form many pairs."""
    every = edges(ty)
    return [every[(index * step + index // len(every) * (step - 1)) % len(every)] for index in range(COUNT)]


def kernel(number: int, case: Case) -> str:
    operands = ", ".join("abce"[: len(case.sources)])
    text = case.text
    if " " not in text:
        text += " $"
    text = text.replace("#", operands).replace("$", f"d, {operands}")
    lines = [f".reg .b{width(case.target)} d; .reg .pred p, q; .reg .b64 in, out, at, u, v; .reg .b32 t, x, y, z, w;"]
    lines.append(".reg .b16 h;")
    for name, ty in zip("abce", case.sources, strict=False):
        lines.append(f".reg .b{width(ty)} {name};")
    lines.append("ld.param.u64 in, [pin]; ld.param.u64 out, [pout]; mov.u32 t, %tid.x; mul.wide.u32 at, t, 8;")
    lines.append("add.u64 in, in, at; add.u64 out, out, at; mov.u64 u, 0; st.global.u64 [out], u;")
    for index, (name, ty) in enumerate(zip("abce", case.sources, strict=False)):
        lines.append(f"ld.global.b{width(ty)} {name}, [in+{index * COUNT * 8}];")
    lines.append(f"{text}; st.global.b{width(case.target)} [out], d; ret;")
    return f".visible .entry k{number}(.param .u64 pin, .param .u64 pout) {{ {' '.join(lines)} }}"


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
    sources = [patterns(ty, step) for ty, step in zip(case.sources, (1, 7, 11, 13), strict=False)]
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
