"""`python -m cuarray_sim.link`: the names by which linkers find the libraries of the package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cuarray_sim.link import link_names
from cuarray_sim.stand_ins import STAND_INS


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuarray_sim.link", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("cuda", "files"),
    [
        (13, {"cublas": "13", "cudart": "13", "cufft": "12", "curand": "10", "cusolver": "12", "cusparse": "12"}),
        (12, {"cublas": "12", "cudart": "12", "cufft": "11", "curand": "10", "cusolver": "11", "cusparse": "12"}),
    ],
)
def test_names_are_those_of_a_major_version(tmp_path: Path, cuda: int, files: dict[str, str]) -> None:
    folder = tmp_path / "a" / "link"
    for _ in range(2):
        done = run(folder, "--cuda", cuda)
        assert (done.returncode, done.stdout) == (0, f"-L{folder}\n"), done.stderr
    made = {each.name: each.resolve().name for each in folder.iterdir()}
    assert made.items() >= {f"lib{name}.so": f"lib{name}.so.{version}" for name, version in files.items()}.items()
    assert made["libcuda.so"] == "libcuda.so.1"


def test_each_library_of_the_list_has_a_name(tmp_path: Path) -> None:
    names = {each.name for each in link_names(tmp_path)}
    libraries = {
        each.files[0] for each in STAND_INS if ".so." in each.files[0] and (each.path / each.files[0]).is_file()
    }
    assert names == {f"{file.partition('.so')[0]}.so" for file in libraries} | {"libcuda.so"}


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_linker_finds_cublas_by_its_name(tmp_path: Path) -> None:
    link_names(tmp_path / "link")
    (tmp_path / "program.c").write_text("int cublasCreate_v2(void **);\nint main(void) { return !cublasCreate_v2; }\n")
    command = ["cc", "program.c", "-o", "program", "-Llink", "-lcublas", "-lcuda"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    done = subprocess.run([sys.executable, "-m", "cuarray_sim", "./program"], cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 0


def test_file_of_the_user_is_kept(tmp_path: Path) -> None:
    (tmp_path / "libcublas.so").write_text("mine")
    done = run(tmp_path)
    assert done.returncode == 2
    assert "libcublas.so is a file, and no link" in done.stderr
    assert (tmp_path / "libcublas.so").read_text() == "mine"
