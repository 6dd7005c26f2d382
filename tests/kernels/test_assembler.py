"""All kernels of these tests through NVIDIA's own assembler, where there is one: what it refuses would be no test on a GPU."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import test_divergence
import test_instructions
import test_memory
import test_threads
from shapes import kernel

ASSEMBLER = shutil.which("ptxas")


def modules() -> dict[str, tuple[int, str]]:
    """Each of the tests' modules: the compute capability that it needs, and its kernels."""
    found = {"shapes": (75, "\n".join(kernel(*program) for program in test_divergence.PROGRAMS.items()))}
    for tests in (test_instructions, test_memory, test_threads):
        name = tests.__name__.removeprefix("test_")
        found |= {f"{name}_{since}": (since, text) for since, text in tests.TEXTS.items()}
    return found


MODULES = modules()


@pytest.mark.skipif(ASSEMBLER is None, reason="there is no ptxas here (the package nvidia-cuda-nvcc has one)")
@pytest.mark.parametrize("name", MODULES)
def test_the_assembler_takes_it(tmp_path: Path, name: str) -> None:
    since, kernels = MODULES[name]
    source = tmp_path / "module.ptx"
    source.write_text(f".version 8.3\n.target sm_{since}\n.address_size 64\n{kernels}\n")
    command = [str(ASSEMBLER), "-O0", f"-arch=sm_{since}", "-c", str(source), "-o", str(tmp_path / "module.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
