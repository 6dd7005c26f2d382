"""A CUDA runtime that auditwheel has renamed inside of a wheel is served by the package's runtime."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuarray_sim.cuda_runtime import runtime_path
from cuarray_sim.renamed_runtime import alias, find

RENAMED = "libcudart-9f92e4c3.so.13.3.29"

SERVES = "libvendor.so"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder of packages. Its library depends on a renamed runtime, an empty file, which the loader cannot find."""
    site = tmp_path / "site-packages"
    (site / "vendor.libs").mkdir(parents=True)
    (site / "vendor.libs" / RENAMED).touch()
    (site / SERVES).write_bytes(alias(SERVES, RENAMED, runtime_path() / "libcudart.so.13"))
    return site


def search_path(site: Path) -> str:
    return ":".join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))


def call(site: Path) -> str:
    """Return a program that calls the runtime through the library."""
    library = str(site / SERVES)
    return f"import ctypes; n = ctypes.c_int(); print(ctypes.CDLL({library!r}).cudaGetDeviceCount(ctypes.byref(n)), n.value)"


def test_library_with_a_renamed_runtime_calls_that_of_the_package(run: Callable, site: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(call(site))
    done = run("-m", "cuarray_sim", "--verbose", "program.py", PYTHONPATH=search_path(site))
    assert done.stdout == "0 1\n", done.stderr
    served = f"{RENAMED} is {runtime_path() / 'libcudart.so.13'}, in front of {site / 'vendor.libs' / RENAMED}"
    assert f"cuarray-sim: {served}\n" in done.stderr


def test_child_process_with_a_renamed_runtime_calls_that_of_the_package(
    run: Callable, site: Path, tmp_path: Path
) -> None:
    (tmp_path / "child.py").write_text(call(site))
    (tmp_path / "program.py").write_text(
        "import subprocess, sys; subprocess.run([sys.executable, 'child.py'], check=True)"
    )
    done = run("-m", "cuarray_sim", "program.py", PYTHONPATH=search_path(site))
    assert done.stdout == "0 1\n", done.stderr


def test_switch_of_the_runtime_leaves_a_renamed_runtime_in_place(run: Callable, site: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(call(site))
    done = run("-m", "cuarray_sim", "--no-runtime", "program.py", PYTHONPATH=search_path(site))
    assert f"OSError: {RENAMED}: cannot open shared object file" in done.stderr


@pytest.mark.parametrize(
    "name", ["libcudart-9f92e4c3.so.11.8.89", "libcudart.so.13", "libcudart-static.so.13", "libgomp-9f92e4c3.so.13"]
)
def test_files_that_are_no_renamed_runtime_are_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "vendor.libs").mkdir()
    (tmp_path / "vendor.libs" / name).touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    assert find() == {}
