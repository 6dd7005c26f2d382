"""Triton and torch.compile with their unmodified wheels on the simulated driver: `make test-all`.

The kernels are those of Triton's tutorials in small sizes, and one for each part of the language. Each result is compared with one that
PyTorch computes on the host. The pytest plugin makes any finding an error of its test.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# Kernels of another version must not be taken from the user's cache.
_CACHE = tempfile.mkdtemp(prefix="cuarray-triton-")
os.environ["TRITON_CACHE_DIR"] = os.path.join(_CACHE, "triton")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(_CACHE, "inductor")
# Processes of a pool would outlive the tests.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import pytest  # noqa: E402


@pytest.fixture
def launched(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run a program by the launcher."""

    def launch(program: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "program.py"
        script.write_text(program)
        return subprocess.run(
            [sys.executable, "-m", "cuarray_sim", str(script)], capture_output=True, text=True, check=False
        )

    return launch


def pytest_sessionfinish() -> None:
    """Remove the kernels of this run."""
    import shutil

    shutil.rmtree(_CACHE, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of one file in one process: compiled kernels are shared."""
    for item in items:
        if "triton" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
