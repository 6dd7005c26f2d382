"""tinygrad on the simulated driver, with each renderer that it has for CUDA."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

HERE = Path(__file__).parent
LIBRARIES = [Path(path) / "cu13" for path in importlib.util.find_spec("nvidia").submodule_search_locations]
"""Where the wheels of NVRTC and of CUDA's headers are. tinygrad looks in the system's folders only."""


def found(name: str) -> str:
    paths = [path / name for path in LIBRARIES]
    return str(next((path for path in paths if path.exists()), paths[0]))


@pytest.fixture(params=["PTX", "CUDA"])
def renderer(request: pytest.FixtureRequest) -> str:
    return request.param


def run(program: str, renderer: str, tmp_path: Path) -> str:
    """Runs a program, which must end without findings, and returns its output."""
    environment = {
        **os.environ,
        "DEV": f"CUDA:{renderer}",
        "NVRTC_PATH": found("lib/libnvrtc.so.13"),
        "CUDA_PATH": str(Path(found("include/cuda_fp16.h")).parents[1]),
        # tinygrad computes constants on the host, with a compiler that knows clang's options.
        "CC": str(HERE / "cc.sh"),
        # Compiled kernels are not kept from one run to the next.
        "XDG_CACHE_HOME": str(tmp_path),
    }
    command = [sys.executable, "-m", "cuarray_sim", str(HERE / program)]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-4000:]
    return finished.stdout


def test_operations_and_their_gradients_equal_those_of_pytorch(renderer: str, tmp_path: Path) -> None:
    assert "operations are right" in run("operations.py", renderer, tmp_path)


def test_training_steps_have_the_losses_of_pytorch(renderer: str, tmp_path: Path) -> None:
    assert run("training.py", renderer, tmp_path).startswith("equal losses")


def test_matrix_products_use_tensor_cores(renderer: str, tmp_path: Path) -> None:
    types = [line.split()[0] for line in run("tensor_cores.py", renderer, tmp_path).splitlines()]
    assert types == {"PTX": ["half", "float"], "CUDA": ["half", "bfloat16", "float", "fp8e4m3", "fp8e5m2"]}[renderer]
