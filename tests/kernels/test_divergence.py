"""Random programs with divergent threads give the same results as each thread run alone."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kernel_modules import Module
from random_programs import Compute, Maker, Statement, kernel, results

PROGRAMS: dict[str, list[Statement]] = {f"shape{seed}": list(Maker(seed).program()) for seed in range(80)}
THREADS = 80  # two full warps and half a warp


@pytest.fixture(scope="module")
def module(driver_kind: str) -> Iterator[Module]:
    module = Module("\n".join(kernel(name, program) for name, program in PROGRAMS.items()))
    yield module
    module.unload()


def test_random_programs_contain_every_statement() -> None:
    branching = [program for program in PROGRAMS.values() if not all(isinstance(one, Compute) for one in program)]
    assert len(branching) >= 60
    statements = {type(one).__name__ for program in PROGRAMS.values() for one in program}
    assert statements >= {"If", "Loop", "Switch", "Call", "Exchange", "Leave"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernel_agrees_with_threads_run_alone(module: Module, name: str) -> None:
    words = [random.Random(name + str(index)).randrange(1 << 32) for index in range(THREADS)]
    # Programs with exchanges need full warps.
    count = THREADS if Maker(int(name[5:])).exits else THREADS // 32 * 32
    expected = results(PROGRAMS[name], words[:count])
    got = module.run(name, [np.array(words, np.uint64)], count)[0][:count]
    wrong = [index for index in range(count) if int(got[index]) != expected[index]]
    assert not wrong, f"threads {wrong} differ; thread {wrong[0]}: {int(got[wrong[0]]):#x}, not {expected[wrong[0]]:#x}"
