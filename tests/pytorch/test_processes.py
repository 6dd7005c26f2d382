"""PyTorch in several processes on the simulated driver: Gloo, children, and what is left at exit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cuarray_sim", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_gloo_exchanges_tensors_between_two_processes() -> None:
    done = run(str(HERE / "gloo.py"))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        f"rank {rank}: sum [3, 3, 3, 3], broadcast [0, 1, 2], gathered [0, 1], received [9, 9]" for rank in range(2)
    ]
    assert "[1]" not in done.stderr, done.stderr


def test_stand_in_that_is_called_names_function_and_library() -> None:
    done = run(str(HERE / "multiply.py"))
    assert done.returncode == -6
    assert "libcublas.so.13: cublasCreate_v2 was called, but this library is a stand-in" in done.stderr
