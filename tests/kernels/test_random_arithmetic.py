"""Random kernels of integer and floating-point arithmetic with branches agree with an oracle in Python.

``RANDOM_KERNELS=2000`` runs as many kernels; the default is a fixed number for each run of the tests.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kernel_modules import Module
from random_arithmetic import FLOATS, INTEGERS, Kernel, inputs

KERNELS = int(os.environ.get("RANDOM_KERNELS", "60"))
GROUP = 20
THREADS = 40  # a full warp and a part of one


def is_nan(word: int, is_double: bool) -> bool:
    if is_double:
        return word & (1 << 63) - 1 > 0x7FF << 52
    return word & (1 << 31) - 1 > 0xFF << 23


@pytest.mark.parametrize("first", range(0, KERNELS, GROUP))
def test_random_kernels_agree_with_the_oracle(driver_kind: str, first: int) -> None:
    kernels = [Kernel(seed) for seed in range(first, min(first + GROUP, KERNELS))]
    module = Module("\n".join(kernel.ptx() for kernel in kernels))
    wrong = []
    for kernel in kernels:
        words = inputs(kernel.seed, THREADS)
        got = module.run(f"random{kernel.seed}", [np.array(words, np.uint64).reshape(-1)], THREADS)[0].reshape(
            THREADS, 17
        )
        for thread, row in enumerate(words):
            for place, (result, expected) in enumerate(zip(got[thread], kernel.expected(row), strict=True)):
                agrees = is_nan(int(result), place >= 13) if expected is None else int(result) == expected
                if not agrees:
                    shown = "NaN" if expected is None else f"{expected:#x}"
                    wrong.append(f"kernel {kernel.seed}, thread {thread}, word {place}: {int(result):#x}, not {shown}")
    module.unload()
    assert not wrong, f"{len(wrong)} wrong words: " + "; ".join(wrong[:3])


def test_random_kernels_use_most_instructions() -> None:
    text = "\n".join("\n".join(Kernel(seed).lines) for seed in range(200))
    used = {name for name, *_ in (*INTEGERS, *FLOATS) if name.split(" ")[0] in text}
    assert len(used) >= 0.95 * (len(INTEGERS) + len(FLOATS))
