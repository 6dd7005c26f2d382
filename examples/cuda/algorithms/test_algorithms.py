"""The algorithms of CUB and Thrust on the simulated driver: the results of the host's algorithms, and no finding but one.

Thrust's set operations branch on a comparison with the element behind the last one, and then read only another element. That is a use
of an undefined value without an effect. The number of elements is that of ``ALGORITHM_ELEMENTS``, or enough for many tiles of each
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
# The kinds and the files of the findings.
KNOWN = {"cub": set(), "thrust": {("uninitialized-read", "set_operations.h")}}


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
    sides = [
        (found["kind"], side["place"])
        for found in json.loads(report.read_text())["findings"]
        for side in found["sides"]
    ]
    assert {(kind, Path(place["source"]["file"]).name) for kind, place in sides} == KNOWN[library], done.stderr
