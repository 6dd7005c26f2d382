"""The package's CUDA runtime takes the place of NVIDIA's: in the process, in its children, and under ``cuda.bindings``."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import cuarray_sim

Passes = Callable[..., str]

LOADED = """
import ctypes, os
def loaded(major):
    try:
        return bool(ctypes.CDLL(f"libcudart.so.{major}", mode=os.RTLD_NOLOAD))
    except OSError:
        return False
"""

# A library that is linked with the runtime; its RPATH names a folder with another file of the same SONAME.
DECOY = "int cudaGetDeviceCount(int *count) { *count = -1; return 35; } int cudaGetDevice(int *device) { return 35; }"
LINKED = """
int cudaGetDeviceCount(int *count);
int devices(void) { int count; return cudaGetDeviceCount(&count) ? -1 : count; }
"""
PROGRAM = """
#include <stdio.h>
int devices(void);
int main(void) { printf("%d\\n", devices()); return 0; }
"""


@pytest.fixture(scope="module")
def runtime() -> Path:
    try:
        return cuarray_sim.runtime_path()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """Return a library that is linked with ``libcudart.so.13``, and whose RPATH leads to one that fails."""
    (tmp_path / "nvidia").mkdir()
    (tmp_path / "decoy.map").write_text("libcudart.so.13 { global: *; };")
    for name, text in (("decoy", DECOY), ("linked", LINKED), ("program", PROGRAM)):
        (tmp_path / f"{name}.c").write_text(text)
    shared = ["-shared", "-fPIC"]
    decoy = ["-Wl,-soname,libcudart.so.13", "-Wl,--version-script=decoy.map", "-o", "nvidia/libcudart.so.13", "decoy.c"]
    rpath = ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{tmp_path}/nvidia"]
    for arguments in (
        [*shared, *decoy],
        [*shared, "-o", "liblinked.so", "linked.c", "nvidia/libcudart.so.13", *rpath],
    ):
        if subprocess.run(["cc", *arguments], cwd=tmp_path, capture_output=True).returncode != 0:
            pytest.skip("no working C compiler on this machine")
    return tmp_path / "liblinked.so"


def test_install_loads_both_major_versions_before_any_library(runtime: Path, passes: Passes) -> None:
    passes(
        LOADED
        + """
import cuarray_sim
assert not loaded(12) and not loaded(13)
cuarray_sim.install()
assert loaded(12) and loaded(13)
assert cuarray_sim.runtime_path() == cuarray_sim.library_path().parent / "runtime"
"""
    )


def test_linked_library_with_an_rpath_gets_the_runtime(runtime: Path, linked: Path, passes: Passes) -> None:
    code = f"import ctypes, cuarray_sim; INSTALL; print(ctypes.CDLL({str(linked)!r}).devices())"
    assert passes(code.replace("INSTALL", "cuarray_sim.install(devices=3)")).split() == ["3"]
    assert passes(code.replace("INSTALL", "cuarray_sim.install(devices=3, runtime=False)")).split() == ["-1"]


@pytest.mark.parametrize("excluded", ["option", "keyword", "variable"])
def test_runtime_can_be_excluded(runtime: Path, run: Callable, tmp_path: Path, excluded: str) -> None:
    keyword = "import cuarray_sim; cuarray_sim.install(runtime=False)\n" if excluded == "keyword" else ""
    check = (
        "assert not loaded(12) and not loaded(13)\nassert 'cuarray_sim/runtime' not in os.environ['LD_LIBRARY_PATH']\n"
    )
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOADED + check!r}], check=True)"
    (tmp_path / "program.py").write_text(keyword + LOADED + check + child)
    launcher = {"option": ["-m", "cuarray_sim", "--no-runtime"], "variable": ["-m", "cuarray_sim"], "keyword": []}
    variables = {"CUARRAY_SIM_RUNTIME": "0"} if excluded == "variable" else {}
    done = run(*launcher[excluded], "program.py", **variables)
    assert done.returncode == 0, done.stderr


def test_runtime_cannot_be_excluded_after_it_was_loaded(runtime: Path, passes: Passes) -> None:
    message = passes("""
import cuarray_sim
cuarray_sim.install(); cuarray_sim.install(runtime=True)
try:
    cuarray_sim.install(runtime=False)
except RuntimeError as error:
    print(error)
""")
    assert "CUARRAY_SIM_RUNTIME=0" in message


def test_invalid_value_of_the_variable_is_refused(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print('ran')")
    for name in ("CUARRAY_SIM_RUNTIME", "CUARRAY_SIM_CUDA_BINDINGS", "CUARRAY_SIM_VERBOSE"):
        done = run("-m", "cuarray_sim", "program.py", **{name: "perhaps"})
        assert done.returncode == 2
        assert f"{name}=perhaps is not valid" in done.stderr


def test_child_processes_of_python_load_the_runtime_first(runtime: Path, linked: Path, run: Callable) -> None:
    (linked.parent / "program.py").write_text(f"""
import ctypes, multiprocessing, subprocess, sys
def devices(_):
    return ctypes.CDLL({str(linked)!r}).devices()
if __name__ == "__main__":
    for method in ("spawn", "forkserver", "fork"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.map(devices, [0]))
    code = "import ctypes; print(ctypes.CDLL({str(linked)!r}).devices())"
    for options in ([], ["-I"]):
        subprocess.run([sys.executable, *options, "-c", code], check=True)
""")
    done = run("-m", "cuarray_sim", "--devices", "2", "program.py")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(["[2]"] * 3 + ["2"] * 2)


def test_child_process_that_is_not_python_gets_the_runtime_by_its_search_path(
    runtime: Path, linked: Path, run: Callable
) -> None:
    folder = linked.parent
    library = ["cc", "-shared", "-fPIC", "-o", "liblinked.so", "linked.c", "nvidia/libcudart.so.13"]
    program = ["cc", "-o", "program", "program.c", "./liblinked.so", f"-Wl,-rpath-link,{folder}/nvidia"]
    for command in (library, program):
        subprocess.run(command, cwd=folder, check=True)
    (folder / "program.py").write_text("import subprocess; subprocess.run(['./program'], check=True)")
    done = run("-m", "cuarray_sim", "--devices", "4", "program.py")
    assert (done.returncode, done.stdout.split()) == (0, ["4"]), done.stderr


def test_late_install_warns_of_a_loaded_runtime(runtime: Path, linked: Path, run: Callable) -> None:
    code = f"import ctypes; ctypes.CDLL({str(linked)!r}); import cuarray_sim; cuarray_sim.install()"
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert f"RuntimeWarning: NVIDIA's CUDA runtime is already loaded: {linked.parent}/nvidia" in done.stderr
    assert "before the first import of torch" in done.stderr


def test_verbose_names_what_is_in_front(runtime: Path, run: Callable, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'])")
    done = run("-m", "cuarray_sim", "--verbose", "program.py")
    assert f"cuarray-sim: libcuda.so.1 is {cuarray_sim.library_path()}" in done.stderr
    # The process and its child print the line.
    assert done.stderr.count(f"cuarray-sim: libcudart.so.13 is {runtime}/libcudart.so.13") == 2
    assert run("-m", "cuarray_sim", "program.py").stderr.count("libcudart") == 0


def test_summary_names_the_runtime_that_a_program_used(runtime: Path, linked: Path, run: Callable) -> None:
    code = "import ctypes; runtime = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p(); "
    (linked.parent / "program.py").write_text(
        code + "assert runtime.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(64)) == 0"
    )
    done = run("-m", "cuarray_sim", "program.py")
    assert done.returncode == 0, done.stderr
    assert f"cuarray-sim: the CUDA runtime was {runtime}/libcudart.so.13" in done.stderr


def test_pytest_header_names_the_runtime(runtime: Path, run: Callable, tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass")
    done = run("-m", "pytest", "--cuarray-sim", "test_nothing.py")
    assert "CUDA runtime: libcudart.so.13 and libcudart.so.12 of cuarray-sim" in done.stdout
    done = run("-m", "pytest", "--cuarray-sim", "test_nothing.py", CUARRAY_SIM_RUNTIME="0")
    assert "CUDA runtime: not replaced" in done.stdout


def test_site_of_a_runtime_call_is_the_users_line_and_library(runtime: Path, run: Callable, tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "vendor"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("""
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
def allocate():
    pointer = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0
""")
    (tmp_path / "program.py").write_text("""import sys; sys.path.insert(0, "site-packages"); import vendor
def work():
    vendor.allocate()
for _ in range(3): work()
""")
    done = run("-m", "cuarray_sim", "--trace", "trace.txt", "program.py")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "trace.txt").read_text().splitlines()
    sites = [line.partition(" from ")[2].rpartition("/")[2] for line in lines if "cuMemAlloc_v2(" in line]
    assert sites == ["program.py:3 in work, called by vendor"] * 3
