"""The list of instructions in ``docs/reference/kernels.md`` agrees with the driver's source, with these tests and with the driver."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import test_divergence
import test_instructions
import test_matrices
import test_memory
import test_threads
import test_wmma
from kernel_modules import Module
from random_programs import kernel

ROOT = Path(__file__).parents[2]
# Instructions without a test kernel. `trap` and `brkpt` end a launch, so the simulated driver's own tests cover them. `setmaxnreg` is
# refused by some devices of the generation that introduced it.
ELSEWHERE = {"trap", "brkpt", "setmaxnreg"}


def section(title: str) -> str:
    text = (ROOT / "docs" / "reference" / "kernels.md").read_text()
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def documented() -> set[str]:
    rows = [line for line in section("Instructions").splitlines() if line.startswith("|")]
    # Text in parentheses is an explanation.
    words = re.findall(r"`([a-z0-9]+)`", " ".join(re.sub(r"\([^)]*\)", "", row) for row in rows))
    return set(words) - {"f16", "f32", "f64", "bf16"}


def refused() -> list[str]:
    names = section("Unsupported instructions").strip().split("\n\n")[0]
    return re.findall(r"`([a-z0-9]+)`", names)


def test_documented_instructions_are_those_of_the_driver() -> None:
    source = ROOT / "crates" / "cuarray-ptx" / "src" / "resolve" / "opcodes.rs"
    table = source.read_text().split("opcodes! {")[1].split("\n}\n")[0]
    assert documented() == set(re.findall(r'"([a-z0-9]+)"', table))


def test_every_documented_instruction_is_in_a_test_kernel() -> None:
    kernels = [test_instructions.kernel(number, case) for number, case in enumerate(test_instructions.CASES)]
    kernels += [test_memory.kernel(case) for case in test_memory.CASES]
    kernels += [test_threads.kernel(case) + case.outside for case in test_threads.CASES]
    kernels += [*test_matrices.TEXTS.values(), *test_wmma.TEXTS.values()]
    kernels += [kernel(name, program) for name, program in test_divergence.PROGRAMS.items()]
    used = set(re.findall(r"(?:^|[;{}:\s])([a-z][a-z0-9]*)[.;\s]", " ".join(kernels)))
    # Textures and surfaces need objects of the launch, so their PTX is in the tests of the crate.
    tests = ROOT / "crates" / "cuarray-ptx" / "src" / "tests"
    for subject in ("textures", "texture_objects", "surfaces"):
        used |= set(re.findall(r"\b([a-z][a-z0-9]*)\.", (tests / f"{subject}.rs").read_text()))
    assert documented() - ELSEWHERE <= used


@pytest.mark.cuarray_sim(allow="refused-module")
@pytest.mark.parametrize("opcode", refused())
def test_unsupported_instruction_is_refused_by_name(simulator: str, opcode: str) -> None:
    with pytest.raises(AssertionError, match=f"'{opcode}.sync'"):
        Module(f".entry k() {{ {opcode}.sync; ret; }}")
