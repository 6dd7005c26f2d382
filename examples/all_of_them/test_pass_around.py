"""The example runs in one process with all libraries, without a finding, and with nothing but the launcher."""

import os
import subprocess
import sys
from pathlib import Path

STEPS = ["numba_cuda", "numba_cuda_mlir", "cuda_core", "cupy", "triton", "torch_compile", "jax"]

# Settings with which a user would steer a library away from machine code, or a stand-in away from its place.
STEERING = ("CUPY_", "CUARRAY_", "JAX_", "NUMBA_", "TRITON_", "XLA_")


def test_array_passes_through_all_libraries_without_a_finding(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
    done = subprocess.run(
        [sys.executable, "-m", "cuarray_sim", str(Path(__file__).with_name("pass_around.py"))],
        env=environment | {"CUPY_CACHE_DIR": str(tmp_path / "cupy"), "TRITON_CACHE_DIR": str(tmp_path / "triton")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    # The status is 66 if the simulated driver found a race, a use after free or a leak.
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == STEPS
    assert lines[-1] == "7 libraries added 1 to each of 1000 elements"
