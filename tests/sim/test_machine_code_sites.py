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


# The graph is launched in line 15.
FAILING_GRAPH = r"""#include <stddef.h>
typedef int CUresult; typedef void *handle;
CUresult cuInit(unsigned), cuDevicePrimaryCtxRetain(handle *, int), cuCtxSetCurrent(handle), cuStreamCreate(handle *, unsigned);
CUresult cuModuleLoadData(handle *, const void *), cuModuleGetFunction(handle *, handle, const char *), cuStreamSynchronize(handle);
CUresult cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
CUresult cuStreamBeginCapture_v2(handle, int), cuStreamEndCapture(handle, handle *), cuGraphLaunch(handle, handle);
CUresult cuGraphInstantiateWithFlags(handle *, handle, unsigned long long);
int main(void) {
    handle context, stream, module, kernel, graph, exec;
    const char *ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { trap; }";
    cuInit(0); cuDevicePrimaryCtxRetain(&context, 0); cuCtxSetCurrent(context); cuStreamCreate(&stream, 1);
    cuModuleLoadData(&module, ptx); cuModuleGetFunction(&kernel, module, "k"); cuStreamBeginCapture_v2(stream, 0);
    cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL); cuStreamEndCapture(stream, &graph);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
    cuGraphLaunch(exec, stream);
    return cuStreamSynchronize(stream) == 0;
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


def test_message_of_a_kernel_that_fails_in_a_graph_names_the_line_of_the_launch(
    folder: Path, environment: dict[str, str]
) -> None:
    (folder / "program.c").write_text(FAILING_GRAPH)
    program = build(folder, "-g")
    done = subprocess.run([str(program)], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    message = next(line for line in done.stderr.splitlines() if line.startswith("cuarray-sim: kernel k: trap"))
    assert message.endswith("program.c:15 in main, called by program"), message


@pytest.mark.parametrize(
    "options",
    ["-g", "-g -no-pie", "-g -pie", "-g -gdwarf-4", "-g -gdwarf-5", "-g -gz", "-g1", "-g -gsplit-dwarf", "-g -O2"],
)
def test_site_is_a_source_line_with_each_form_of_debug_information(
    folder: Path, environment: dict[str, str], options: str
) -> None:
    program = build(folder, *options.split())
    text = report([str(program)], environment, folder)
    assert f"{folder}/backend.c:4" in text
    for stream in (1, 2):
        assert f"  stream {stream}: made at {folder}/program.c:7\n" in text


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


# A library with the SONAME of a CUDA runtime. Each call passes two of its frames, and one of them has a large array.
RUNTIME = """#include "program.h"
#include <string.h>
static __attribute__((noinline)) int fill(CUdeviceptr memory, unsigned char value, handle stream) {
    char room[3000];
    memset(room, value, sizeof room);
    return cuMemsetD8Async(memory, room[value], 64, stream) + room[0] - value;
}
int backend_fill(CUdeviceptr memory, handle stream) {
    return fill(memory, 1, stream) + 0 * (int)memory;
}
"""


@pytest.mark.parametrize("soname", ["libcudart.so.13", "libcudart.so.99", "libbackend.so"])
def test_site_of_a_runtime_call_is_the_caller_of_the_runtime(
    folder: Path, environment: dict[str, str], soname: str
) -> None:
    library = cuarray_sim.library_path()
    (folder / "backend.c").write_text(RUNTIME)
    # Only the SONAME tells that the file is a runtime.
    shared = [
        "-g",
        "-O1",
        "-shared",
        "-fPIC",
        f"-Wl,-soname,{soname}",
        "-o",
        "libbackend.so",
        "backend.c",
        str(library),
    ]
    program = ["-g", "-o", "program", "program.c", "./libbackend.so", str(library)]
    rpath = [f"-Wl,-rpath,{library.parent}", f"-Wl,-rpath,{folder}"]
    for arguments in (shared, [*program, *rpath]):
        if subprocess.run(["cc", *arguments], cwd=folder, capture_output=True).returncode != 0:
            pytest.skip("no working C compiler on this machine")
    if soname != "libbackend.so":
        (folder / soname).symlink_to("libbackend.so")
    text = report(["./program"], environment, folder)
    callers = [f"{folder}/program.c:9", f"{folder}/program.c:10"]
    assert [caller in text for caller in callers] == [soname.startswith("libcudart")] * 2
    assert ("backend.c" in text) == (soname == "libbackend.so")


def test_site_of_a_repeated_runtime_call_stays_that_of_each_caller(folder: Path, environment: dict[str, str]) -> None:
    # Later calls read known places of the stack in place of unwinding; the two callers have frames of different sizes.
    (folder / "backend.c").write_text(RUNTIME)
    (folder / "program.c").write_text("""#include "program.h"
#include <string.h>
static __attribute__((noinline)) void small(CUdeviceptr memory, handle stream) {
    backend_fill(memory, stream);
}
static __attribute__((noinline)) int large(CUdeviceptr memory, handle stream, int n) {
    char room[5000];
    memset(room, n, sizeof room);
    backend_fill(memory, stream);
    return room[n];
}
int main(void) {
    handle context, stream; CUdeviceptr memory; int sum = 0;
    cuInit(0); cuDevicePrimaryCtxRetain(&context, 0); cuCtxSetCurrent(context);
    cuMemAlloc_v2(&memory, 64); cuStreamCreate(&stream, 1);
    for (int n = 0; n < 50; n++) { small(memory, stream); sum += large(memory, stream, n); }
    return sum == 0;
}
""")
    library = cuarray_sim.library_path()
    shared = [
        "-O1",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libcudart.so.13",
        "-o",
        "libcudart.so.13",
        "backend.c",
        str(library),
    ]
    program = ["-g", "-O1", "-o", "program", "program.c", "./libcudart.so.13", str(library)]
    rpath = [f"-Wl,-rpath,{library.parent}", f"-Wl,-rpath,{folder}"]
    for arguments in (shared, [*program, *rpath]):
        if subprocess.run(["cc", *arguments], cwd=folder, capture_output=True).returncode != 0:
            pytest.skip("no working C compiler on this machine")
    trace = folder / "trace.txt"
    variables = environment | {"CUARRAY_SIM_TRACE": str(trace), "CUARRAY_SIM_LEAKS": "0"}
    subprocess.run(["./program"], env=variables, cwd=folder, check=True, timeout=60)
    fills = [line.partition(" from ")[2] for line in trace.read_text().splitlines() if "cuMemsetD8Async(" in line]
    assert len(fills) == 100
    assert all(site.endswith("called by program") for site in fills), fills
    assert len(set(fills[::2])) == len(set(fills[1::2])) == 1
    assert fills[0] != fills[1]


@pytest.mark.parametrize("table", ["6bd5fb6c5bf4e74a8987d93912fd9df9", "da9151d33ae6cc41a5c04f26d533e328"])
def test_library_with_a_static_runtime_is_named_once(folder: Path, environment: dict[str, str], table: str) -> None:
    # The runtime asks for the first table. NVRTC asks for the second, and works without it.
    is_runtime = table.startswith("6b")
    identifier = ", ".join(f"{byte:#x}" for byte in bytes.fromhex(table))
    (folder / "vendor.c").write_text(
        f"static const unsigned char id[16] = {{ {identifier} }};"
        + """
int cuGetExportTable(const void **table, const void *id);
int vendor_start(void) { const void *table; return cuGetExportTable(&table, id); }
"""
    )
    (folder / "program.c").write_text("""
int cuInit(unsigned); int vendor_start(void);
int main(void) { return cuInit(0) || !vendor_start() || !vendor_start(); }
""")
    library = cuarray_sim.library_path()
    for arguments in (
        ["-shared", "-fPIC", "-o", "libvendor.so", "vendor.c", str(library)],
        ["-o", "program", "program.c", "./libvendor.so", str(library), f"-Wl,-rpath,{library.parent}"],
    ):
        if subprocess.run(["cc", *arguments], cwd=folder, capture_output=True).returncode != 0:
            pytest.skip("no working C compiler on this machine")
    for findings in ("1", "0"):
        variables = environment | {"CUARRAY_SIM_FINDINGS": findings}
        done = subprocess.run(["./program"], env=variables, cwd=folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        explained = [line for line in done.stderr.splitlines() if "static CUDA runtime inside" in line]
        assert len(explained) == is_runtime, done.stderr
        if not is_runtime:
            continue
        assert explained[0].startswith("cuarray-sim: libvendor.so has a static CUDA runtime inside")
        assert "-cudart shared" in explained[0]
        # The summary belongs to the search for findings.
        assert ("refused inside of libvendor.so" in done.stderr) == (findings == "1")
    quiet = subprocess.run(
        ["./program"], env=environment | {"CUARRAY_SIM_QUIET": "1"}, cwd=folder, capture_output=True, text=True
    )
    assert (quiet.returncode, quiet.stderr) == (0, "")
