"""The command of `make gpu` that checks all installed libraries, on the simulated driver."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_kit_of_the_gpu_target_checks_each_installed_library(driver_kind: str, tmp_path: Path) -> None:
    options = "GPU_CHECK=--driver simulated --only I4.pointer-is-the-first-elements"
    shown = subprocess.run(
        ["make", "--dry-run", f"PYTHON={sys.executable}", options, "gpu"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    (command,) = re.findall(r'^\s*(".*" -m cuarray check .*?) \|\| status', shown.stdout, re.M)
    (tmp_path / "build").mkdir()
    # mpi4py needs readable memory, and is left out with a line.
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    libraries = json.loads((tmp_path / "build/gpu-check.json").read_text())["libraries"]
    assert "cuarray" in [each["library"] for each in libraries]
    assert all(each["passes"] for each in libraries)
    assert "left out rmm" in done.stderr
    assert (tmp_path / "build/gpu-check.html").exists()
