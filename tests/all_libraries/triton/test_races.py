"""Races in Triton kernels are findings, with the line of the kernel's Python source."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
pytest.importorskip("triton", reason="Triton is not installed", exc_type=ImportError)

pytestmark = pytest.mark.usefixtures("simulator")

Launch = Callable[[str], subprocess.CompletedProcess[str]]

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def lost_update(counter_ptr):
    tl.store(counter_ptr, tl.load(counter_ptr) + 1)  # several programs

counter = torch.zeros(1, device="cuda")
lost_update[(4,)](counter)
torch.cuda.synchronize()
"""


def test_lost_update_between_programs_is_found(launched: Launch) -> None:
    done = launched(PROGRAM)
    assert done.returncode == 66, done.stderr
    assert "kernel-race" in done.stderr
    assert "# several programs" in done.stderr, "the line of the kernel's source is shown"


def test_refused_instruction_is_named_by_the_assembler(launched: Launch) -> None:
    program = PROGRAM.replace(
        "tl.store(",
        'tl.inline_asm_elementwise("tcgen05.wait::ld.sync.aligned; mov.b32 $0, $1;", "=r,r", [tl.program_id(0)], dtype=tl.int32, is_pure=False, pack=1)\n    tl.store(',
    )
    done = launched(program)
    assert done.returncode == 1
    assert "error   : 'tcgen05.wait::ld.sync.aligned'" in done.stderr
    assert "valid PTX that cuarray-sim does not run" in done.stderr
