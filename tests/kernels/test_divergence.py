"""Threads of a warp that take different ways: programs by chance, against each thread run alone."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from running import Module
from shapes import Compute, Maker, Statement, kernel, results

PROGRAMS: dict[str, list[Statement]] = {f"shape{seed}": list(Maker(seed).program()) for seed in range(80)}
THREADS = 80  # two whole warps and one of which half never was


@pytest.fixture(scope="module")
def module(driver_kind: str) -> Iterator[Module]:
    module = Module("\n".join(kernel(name, program) for name, program in PROGRAMS.items()))
    yield module
    module.unload()


def test_the_programs_part() -> None:
    shapes = [program for program in PROGRAMS.values() if not all(isinstance(one, Compute) for one in program)]
    assert len(shapes) >= 60
    statements = {type(one).__name__ for program in PROGRAMS.values() for one in program}
    assert statements >= {"If", "Loop", "Switch", "Call", "Exchange", "Leave"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(module: Module, name: str) -> None:
    words = [random.Random(name + str(index)).randrange(1 << 32) for index in range(THREADS)]
    # The last warp is not whole, so threads that exchange are those of the whole ones.
    count = THREADS if Maker(int(name[5:])).exits else THREADS // 32 * 32
    expected = results(PROGRAMS[name], words[:count])
    answered = module.run(name, [np.array(words, np.uint64)], count)[0][:count]
    wrong = [index for index in range(count) if int(answered[index]) != expected[index]]
    assert not wrong, (
        f"threads {wrong} differ; thread {wrong[0]}: {int(answered[wrong[0]]):#x}, not {expected[wrong[0]]:#x}"
    )
