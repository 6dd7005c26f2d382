"""NVIDIA's assembler, if available, accepts all kernels of these tests, so that they can run on a GPU."""

from __future__ import annotations

import shutil
import subprocess
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
from kernel_modules import version
from random_arithmetic import Kernel
from random_programs import kernel

ASSEMBLER = shutil.which("ptxas")


def modules() -> dict[str, tuple[int, str]]:
    """Return the required compute capability and the kernels of each test module."""
    found = {"divergence": (75, "\n".join(kernel(*program) for program in test_divergence.PROGRAMS.items()))}
    found["random_arithmetic"] = (75, "\n".join(Kernel(seed).ptx() for seed in range(60)))
    for tests in (test_instructions, test_matrices, test_memory, test_threads, test_wmma):
        name = tests.__name__.removeprefix("test_")
        found |= {f"{name}_{since}": (since, text) for since, text in tests.TEXTS.items()}
    return found


MODULES = modules()


@pytest.mark.skipif(ASSEMBLER is None, reason="ptxas is not installed (it is in the package nvidia-cuda-nvcc)")
@pytest.mark.parametrize("name", MODULES)
def test_ptxas_accepts_the_kernels(tmp_path: Path, name: str) -> None:
    since, kernels = MODULES[name]
    source = tmp_path / "module.ptx"
    source.write_text(f".version {version(since)}\n.target sm_{since}\n.address_size 64\n{kernels}\n")
    command = [str(ASSEMBLER), "-O0", f"-arch=sm_{since}", "-c", str(source), "-o", str(tmp_path / "module.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
