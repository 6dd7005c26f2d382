"""Stand-ins for the libraries that PyTorch links (tests/peers/stand_ins.py), built here for small libraries."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

if shutil.which("cc") is None or shutil.which("readelf") is None:
    pytest.skip("a C compiler or readelf is missing", allow_module_level=True)

SOURCE = Path(__file__).parents[1] / "peers" / "stand_ins.py"


@pytest.fixture(scope="module")
def stand_ins() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stand_ins", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(directory: Path, name: str, source: str, *options: str) -> Path:
    """A shared library made from C source."""
    (directory / "source.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "source.c", "-o", name, *options], cwd=directory, check=True)
    return directory / name


def real_library(directory: Path, name: str, version: str | None, *functions: str) -> Path:
    """A library that defines functions, with a version node if one is given."""
    options = [f"-Wl,-soname,{name}"]
    if version is not None:
        (directory / "versions").write_text(f"{version} {{ global: *; }};\n")
        options.append("-Wl,--version-script,versions")
    return compiled(
        directory, name, "".join(f"int {function}(void) {{ return 7; }}\n" for function in functions), *options
    )


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A library that calls functions of three real libraries, two with version nodes."""
    real = tmp_path / "real"
    real.mkdir()
    real_library(real, "libcublas.so.13", "libcublas.so.13", "cublasCreate_v2", "cublasDestroy_v2")
    real_library(real, "libcublasLt.so.13", "libcublasLt.so.13", "cublasLtCreate")
    real_library(real, "libnccl.so.2", None, "ncclCommInitAll")
    calls = ("cublasCreate_v2", "cublasLtCreate", "ncclCommInitAll")
    source = "".join(f"int {call}(void);\n" for call in calls)
    source += "".join(f"int call_{call}(void) {{ return {call}(); }}\n" for call in calls)
    return compiled(
        tmp_path, "libuser.so", source, "-Lreal", "-l:libcublas.so.13", "-l:libcublasLt.so.13", "-l:libnccl.so.2"
    )


def test_functions_are_assigned_to_the_library_with_the_longest_prefix(stand_ins: ModuleType) -> None:
    assert stand_ins.owner("cublasCreate_v2") == "libcublas.so"
    assert stand_ins.owner("cublasLtCreate") == "libcublasLt.so"
    assert stand_ins.owner("cudaMalloc") is None


def test_stand_ins_have_the_functions_that_are_imported_and_no_others(stand_ins: ModuleType, user: Path) -> None:
    assert stand_ins.stand_ins([user]) == {
        "libcublas.so.13": {("cublasCreate_v2", "libcublas.so.13")},
        "libcublasLt.so.13": {("cublasLtCreate", "libcublasLt.so.13")},
        "libnccl.so.2": {("ncclCommInitAll", None)},
    }


def test_library_loads_with_stand_ins_and_no_warning(stand_ins: ModuleType, user: Path, tmp_path: Path) -> None:
    build_all(stand_ins, user, tmp_path / "made")
    found = run(user, tmp_path / "made", "print('loaded')")
    assert (found.stdout, found.stderr, found.returncode) == ("loaded\n", "", 0)


def test_called_stand_in_ends_the_process_and_names_function_and_library(
    stand_ins: ModuleType, user: Path, tmp_path: Path
) -> None:
    build_all(stand_ins, user, tmp_path / "made")
    found = run(user, tmp_path / "made", "library.call_cublasLtCreate()")
    assert found.returncode == -6
    assert found.stderr.startswith("libcublasLt.so.13: cublasLtCreate was called, but this library is a stand-in")


def test_stand_in_is_not_taken_for_a_real_library(stand_ins: ModuleType, user: Path, tmp_path: Path) -> None:
    build_all(stand_ins, user, tmp_path / "made")
    assert stand_ins.is_real(tmp_path / "real" / "libcublas.so.13")
    assert not stand_ins.is_real(tmp_path / "made" / "libcublas.so.13")
    assert not stand_ins.is_real(tmp_path / "made" / "libcufft.so.12")


def test_functions_with_different_versions_are_refused(stand_ins: ModuleType, tmp_path: Path) -> None:
    functions = {stand_ins.Import("cublasCreate_v2", "one"), stand_ins.Import("cublasDestroy_v2", "two")}
    with pytest.raises(SystemExit, match=r"libcublas\.so\.13: its functions have several versions.*one.*two"):
        stand_ins.build("libcublas.so.13", functions, tmp_path)


def test_stand_in_is_a_library_of_its_name(stand_ins: ModuleType, tmp_path: Path) -> None:
    stand_ins.build("libnccl.so.2", {stand_ins.Import("ncclCommInitAll", None)}, tmp_path)
    library = ctypes.CDLL(str(tmp_path / "libnccl.so.2"))
    assert library.ncclCommInitAll is not None
    assert not hasattr(library, "ncclCommDestroy")


def build_all(stand_ins: ModuleType, user: Path, directory: Path) -> None:
    directory.mkdir()
    for name, functions in stand_ins.stand_ins([user]).items():
        stand_ins.build(name, functions, directory)


def run(user: Path, directory: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Load a library in another process, with the libraries of a folder, and run code."""
    return subprocess.run(
        [sys.executable, "-c", f"import ctypes; library = ctypes.CDLL({str(user)!r}); {code}"],
        env={"LD_LIBRARY_PATH": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
