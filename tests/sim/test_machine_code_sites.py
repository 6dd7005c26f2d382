"""Call sites in programs in C: source lines from debug information, and frames that are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import cuarray_sim

HEADER = """
#include <stddef.h>
typedef int CUresult; typedef unsigned long long CUdeviceptr; typedef void *handle;
CUresult cuInit(unsigned); CUresult cuDevicePrimaryCtxRetain(handle *, int); CUresult cuCtxSetCurrent(handle);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t); CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, handle);
CUresult cuStreamCreate(handle *, unsigned);
int backend_fill(CUdeviceptr memory, handle stream);
"""

# The driver call is in line 4 of the wrapper.
WRAPPER = """#include "program.h"
int calls;
int backend_fill(CUdeviceptr memory, handle stream) {
    CUresult result = cuMemsetD8Async(memory, 1, 64, stream);
    calls++;
    return result;
}
"""

# The two fills that race are in lines 9 and 10.
PROGRAM = """#include "program.h"
#include <unistd.h>
int main(int count, char **arguments) {
    handle context, streams[2]; CUdeviceptr memory;
    cuInit(0); cuDevicePrimaryCtxRetain(&context, 0); cuCtxSetCurrent(context);
    cuMemAlloc_v2(&memory, 64);
    cuStreamCreate(&streams[0], 1); cuStreamCreate(&streams[1], 1);
    if (count > 1 && chdir(arguments[1])) return 9;
    int result = backend_fill(memory, streams[0]);
    result += backend_fill(memory, streams[1]);
    return result;
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.h").write_text(HEADER)
    (tmp_path / "backend.c").write_text(WRAPPER)
    (tmp_path / "program.c").write_text(PROGRAM)
    return tmp_path


def build(folder: Path, *options: str) -> Path:
    library = cuarray_sim.library_path()
    rpath = f"-Wl,-rpath,{library.parent}"
    command = ["cc", *options, "-o", "program", "program.c", "backend.c", str(library), rpath]
    if subprocess.run(command, cwd=folder, capture_output=True).returncode != 0:
        pytest.skip(f"no C compiler with {options} on this machine")
    return folder / "program"


def report(command: list[str], environment: dict[str, str], cwd: Path, **settings: str) -> str:
    variables = environment | {"CUARRAY_SIM_LEAKS": "0", "PATH": os.environ["PATH"]} | settings
    done = subprocess.run(command, env=variables, cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("[1] data-race"), done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "options",
    ["-g", "-g -no-pie", "-g -pie", "-g -gdwarf-4", "-g -gdwarf-5", "-g -gz", "-g1", "-g -gsplit-dwarf", "-g -O2"],
)
def test_site_is_a_source_line_with_each_form_of_debug_information(
    folder: Path, environment: dict[str, str], options: str
) -> None:
    program = build(folder, *options.split())
    assert f"{folder}/backend.c:4" in report([str(program)], environment, folder)


def test_site_is_a_source_line_after_the_program_changed_its_directory(
    folder: Path, environment: dict[str, str]
) -> None:
    build(folder, "-g")
    (folder / "elsewhere").mkdir()
    assert f"{folder}/backend.c:4" in report(["./program", "elsewhere"], environment, folder)
    (folder / "link").symlink_to("program")
    assert f"{folder}/backend.c:4" in report(["./link", "/"], environment, folder)


@pytest.mark.parametrize("place", [".", ".debug"])
def test_site_is_a_source_line_from_a_separate_file_of_debug_information(
    folder: Path, environment: dict[str, str], place: str
) -> None:
    if shutil.which("objcopy") is None:
        pytest.skip("no objcopy on this machine")
    program = build(folder, "-g")
    (folder / place).mkdir(exist_ok=True)
    debug = f"{place}/program.debug"
    for options in (
        ["--only-keep-debug", "program", debug],
        ["--strip-debug", f"--add-gnu-debuglink={debug}", "program"],
    ):
        subprocess.run(["objcopy", *options], cwd=folder, check=True)
    assert f"{folder}/backend.c:4" in report([str(program)], environment, folder)


@pytest.mark.parametrize("pattern", ["backend.c", "backend_*", "*/backend.?", "nothing:backend_fill"])
def test_skipped_frames_give_the_sites_of_their_callers(
    folder: Path, environment: dict[str, str], pattern: str
) -> None:
    program = build(folder, "-g")
    merged = report([str(program)], environment, folder)
    assert "program.c" not in merged.split("missing")[0].replace(f"{folder}/program.c:6", "")
    text = report([str(program)], environment, folder, CUARRAY_SIM_SKIP_FRAMES=pattern)
    assert f"{folder}/program.c:9 in main" in text
    assert f"{folder}/program.c:10 in main" in text


def test_skipped_function_that_was_inlined_gives_the_site_of_its_caller(
    folder: Path, environment: dict[str, str]
) -> None:
    source = folder / "program.c"
    source.write_text(PROGRAM.replace('#include "program.h"', '#include "backend.c"', 1))
    (folder / "backend.c").write_text(
        WRAPPER.replace("int backend_fill", "static inline __attribute__((always_inline)) int backend_fill")
    )
    (folder / "program.h").write_text(HEADER.replace("int backend_fill(CUdeviceptr memory, handle stream);", ""))
    library = cuarray_sim.library_path()
    command = ["cc", "-g", "-O2", "-o", "program", "program.c", str(library), f"-Wl,-rpath,{library.parent}"]
    if subprocess.run(command, cwd=folder, capture_output=True).returncode != 0:
        pytest.skip("no working C compiler on this machine")
    text = report(["./program"], environment, folder, CUARRAY_SIM_SKIP_FRAMES="backend.c")
    assert f"{folder}/program.c:9" in text
    assert f"{folder}/program.c:10" in text
