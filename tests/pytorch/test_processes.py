"""PyTorch in several processes on the simulated driver: Gloo, children, and what is left at exit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "how-to" / "pytorch.md"


def run(*arguments: str, cwd: Path = HERE, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cuarray_sim", *arguments],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_gloo_exchanges_tensors_between_two_processes() -> None:
    done = run("gloo.py")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        f"rank {rank}: sum [3, 3, 3, 3], broadcast [0, 1, 2], gathered [0, 1], received [9, 9]" for rank in range(2)
    ]
    assert "[1]" not in done.stderr, done.stderr


@pytest.mark.parametrize("expandable", [False, True])
def test_tensor_in_a_queue_is_the_same_memory_in_a_child(*, expandable: bool) -> None:
    """Without expandable segments the memory has an interprocess handle, with them a file descriptor. Both have an event."""
    done = run("shared.py", PYTORCH_CUDA_ALLOC_CONF=f"expandable_segments:{expandable}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["child: cuda:0 [0, 1, 2]", "parent: 0 [7, 7, 7]"]
    assert "[1]" not in done.stderr, done.stderr


def test_expandable_segments_have_no_findings() -> None:
    done = run("segments.py", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "same memory: True size: 52428800",
        "right values: True",
        "unmapped what was mapped: True plain allocations: 0",
    ]
    assert "[1]" not in done.stderr, done.stderr


def test_stand_in_that_is_called_names_function_and_library() -> None:
    done = run("compress.py")
    assert done.returncode == -6
    assert "libcusparseLt.so.0: cusparseLtInit was called, but this library is a stand-in" in done.stderr


def test_documented_script_has_the_documented_finding(tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(script())
    done = run("load.py", cwd=tmp_path)
    assert done.returncode == 66, done.stderr
    found = re.sub(r", operation \d+|\S+/(?=load\.py)", "", done.stderr).splitlines()
    expected = [line for line in block("console", after="# load.py").splitlines() if line != "..." and line[0] != "$"]
    assert set(expected) <= set(found), done.stderr


def test_documented_suppressions_cover_what_pytorch_keeps_until_exit(tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(script().replace("del batch", "batch.record_stream(side); del batch"))
    (tmp_path / "known.txt").write_text(block("text"))
    assert "leak" in run("--leaks", "load.py", cwd=tmp_path).stderr
    done = run("--leaks", "--suppressions", "known.txt", "load.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def script() -> str:
    return block("python", after="## Find")


def block(language: str, after: str = "# ") -> str:
    """The first block of a language on the page, after a text."""
    return PAGE.read_text().partition(after)[2].partition(f"```{language}\n")[2].partition("```")[0]
