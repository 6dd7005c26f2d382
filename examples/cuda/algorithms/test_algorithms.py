"""The algorithms of CUB and Thrust on the simulated driver: the results of the host's algorithms, and no finding.

The number of elements is that of ``ALGORITHM_ELEMENTS``, or enough for many tiles of each
algorithm.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import cuda_toolchain as toolchain
import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(toolchain.nvcc() is None, reason="nvcc is not installed: `make nvcc` installs it")

ELEMENTS = os.environ.get("ALGORITHM_ELEMENTS", "200000")
COUNTS = {"cub": 24, "thrust": 23}


@pytest.mark.parametrize("library", COUNTS)
def test_algorithms_have_the_results_of_the_host_and_no_finding(library: str, tmp_path: Path) -> None:
    program = tmp_path / library
    options = ["-cudart=shared", "-std=c++17", "-arch=compute_90", "-lineinfo"]
    compiler = [str(toolchain.nvcc()), *options, str(HERE / f"{library}.cu"), "-o", str(program)]
    subprocess.run(compiler, check=True, timeout=1800)
    report = tmp_path / "findings.json"
    environment = toolchain.environment(toolchain.libraries(tmp_path / "libraries"))
    environment["CUARRAY_SIM_REPORT"] = str(report)
    del environment["CUARRAY_SIM_EXIT_STATUS"]
    command = [str(program), ELEMENTS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert all(line.endswith(": equal") for line in lines), done.stdout
    assert len(lines) >= COUNTS[library], done.stdout
    assert json.loads(report.read_text())["findings"] == [], done.stderr
