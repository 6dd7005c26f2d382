"""The program works when compiled as C and C++, with and without the address sanitizer, on the simulated driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compilers import SANITIZE, WARNINGS, built

import cuarray_sim

HERE = Path(__file__).parent
EXPECTED = """\
<f4: 0 1 2 3 4 5 6 7
sum: 2000, released: 1
of version 99: -1, released: 2
"""


@pytest.fixture(scope="module")
def library() -> Path:
    target = HERE.parents[1] / "target" / "examples"
    manifest = HERE.parent / "Cargo.toml"
    command = ["cargo", "build", "--quiet", "--manifest-path", manifest, "--target-dir", target, "--package", "arrays"]
    subprocess.run(command, check=True)
    return target / "debug" / "libarrays.so"


@pytest.mark.parametrize("sanitize", [(), SANITIZE], ids=["plain", "sanitized"])
@pytest.mark.parametrize("standard", [("cc", "c", "-std=c99"), ("c++", "c++", "-std=c++17")], ids=["c", "c++"])
def test_c_program_exchanges_arrays_with_rust_library(
    tmp_path: Path, library: Path, standard: tuple[str, str, str], sanitize: tuple[str, ...]
):
    compiler, language, version = standard
    program, driver = tmp_path / "program", Path(cuarray_sim.library_path())
    sources = ["-x", language, HERE / "program.c", "-x", "none", library, driver]
    paths = [f"-Wl,-rpath,{library.parent}:{driver.parent}"]
    built([compiler, version, "-pedantic", *WARNINGS, *sanitize, f"-I{HERE}", *sources, *paths, "-o", program])
    done = subprocess.run(
        [program],
        env={**os.environ, "CUARRAY_SIM_EXIT_STATUS": "66", "ASAN_OPTIONS": "detect_leaks=1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, EXPECTED), done.stderr
    assert "a cuarray of version 99.0" in done.stderr


UNLOADED = """
import _ctypes, ctypes, sys
for _ in range(3):
    library = ctypes.CDLL(sys.argv[1])
    library.arrays_ramp.restype = ctypes.c_void_p
    library.arrays_sum.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_double)]
    total = ctypes.c_double()
    assert library.arrays_sum(library.arrays_ramp(5), ctypes.byref(total)) == 0
    _ctypes.dlclose(library._handle)
    with open("/proc/self/maps") as maps:
        print(total.value, "libarrays" in maps.read())
"""


def test_rust_library_can_be_unloaded_and_loaded_again(tmp_path: Path, library: Path) -> None:
    # The library's exit handler must not run after the unload. The driver stays loaded and is found again.
    trace = tmp_path / "trace"
    done = subprocess.run(
        [sys.executable, "-c", UNLOADED, library],
        env={
            **os.environ,
            "CUARRAY_DRIVER": str(cuarray_sim.library_path()),
            "CUARRAY_SIM_EXIT_STATUS": "66",
            "CUARRAY_SIM_TRACE": str(trace),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "10.0 False\n" * 3, "")
    assert "CUDA_ERROR_DEINITIALIZED" not in trace.read_text()
