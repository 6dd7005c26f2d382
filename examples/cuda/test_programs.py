"""CUDA C++ programs, compiled by nvcc against the shared CUDA runtime, on the simulated driver."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cuda_toolchain as toolchain
import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(toolchain.nvcc() is None, reason="nvcc is not installed: `make nvcc` installs it")

# The output of each program without findings.
OUTPUT = {
    "symbols": """\
weighted sum: 7232
counter: 69, table: 0.25 -0.5 0.75, hidden: 11 10
table has 24 bytes, its middle is -0.5
past the end: cudaErrorInvalidValue
no symbol: cudaErrorInvalidSymbol
""",
    "managed": """\
count: 16, squares: 0 1 4 9
16 bytes, the same address on both sides
managed: 1
""",
    "shared_memory": """\
reversed: 255 0 511
64 KiB at first: cudaErrorInvalidValue
64 KiB when allowed: cudaSuccess
bounded: 128 threads at most, 512 bytes of shared memory, PTX 90
reverse_blocks: 65536 bytes of dynamic shared memory at most
256 threads of a kernel for 128: cudaErrorInvalidValue
2048 threads: cudaErrorInvalidConfiguration
no blocks: cudaErrorInvalidConfiguration
then: cudaSuccess
at least one block for each multiprocessor: yes
block size for most threads: at most 128
dynamic shared memory for two blocks: 16 KiB or more
""",
    "streams": """\
sum: 30000
query: cudaSuccess
""",
    "graph": """\
captured: 4 nodes, 7 2047
node by node: 3, then 4
""",
    "cooperative": """\
cooperative: 1, sum: 12497500
more blocks than fit: cudaErrorCooperativeLaunchTooLarge
""",
}

# Of each kind of fat binary, the options of nvcc.
FAT_BINARIES = {
    "default": [],
    "two virtual architectures": [
        "-gencode=arch=compute_75,code=compute_75",
        "-gencode=arch=compute_90,code=compute_90",
    ],
    "machine code and PTX": ["-gencode=arch=compute_90,code=[sm_90,compute_90]"],
    "an architecture with its own features": ["-arch=compute_90a"],
    "newer machine code": ["-gencode=arch=compute_120,code=sm_120", "-gencode=arch=compute_80,code=compute_80"],
    "uncompressed": ["-arch=compute_90", "--compress-mode=none"],
    "compressed for size": ["-arch=compute_90", "--compress-mode=size"],
    "compressed for speed": ["-arch=compute_90", "--compress-mode=speed"],
    "compressed, balanced": ["-arch=compute_90", "--compress-mode=balance"],
    "debug": ["-arch=compute_90", "-G", "-g"],
    "separate compilation": ["-arch=compute_90", "-rdc=true"],
    "separate compilation, default": ["-rdc=true"],
    "per-thread default stream": ["-arch=compute_90", "-default-stream=per-thread"],
}

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a source of this folder once for each set of options, without warnings."""
    built: dict[tuple[str, ...], Path] = {}
    folder = tmp_path_factory.mktemp("programs")

    def compiled(name: str, *options: str) -> Path:
        key = (name, *options)
        if key not in built:
            program = folder / f"{name}-{len(built)}"
            command = [toolchain.nvcc(), "-cudart=shared", "-std=c++17", "-Werror=all-warnings", *options]
            run([*command, HERE / f"{name}.cu", "-o", program], os.environ)
            built[key] = program
        return built[key]

    return compiled


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toolchain.libraries(tmp_path_factory.mktemp("libraries"))


def run(command: list[object], environment: object, status: int = 0) -> tuple[str, str]:
    """Run a command, require its exit status, and return what it printed."""
    texts = [str(each) for each in command]
    done = subprocess.run(texts, env=environment, capture_output=True, text=True, timeout=300, check=False)  # type: ignore[call-overload]
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


def line_of(source: str, text: str) -> int:
    lines = (HERE / source).read_text(encoding="utf-8").splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return number


@pytest.mark.parametrize("name", OUTPUT)
def test_program_prints_its_results_without_findings(build: Build, libraries: Path, name: str) -> None:
    program = build(name, "-arch=compute_90")
    assert run([program], toolchain.environment(libraries))[0] == OUTPUT[name]


@pytest.mark.parametrize("kind", FAT_BINARIES)
def test_fat_binary_of_each_kind_is_read(build: Build, libraries: Path, kind: str) -> None:
    program = build("symbols", *FAT_BINARIES[kind])
    printed, said = run([program], toolchain.environment(libraries))
    assert (printed, said) == (OUTPUT["symbols"], "")


def test_kernel_uses_pageable_memory_on_request(build: Build, libraries: Path) -> None:
    program = build("pageable", "-arch=compute_90", "-g")
    assert run([program], toolchain.environment(libraries))[0] == "no access to pageable memory\n"
    settings = toolchain.environment(libraries, CUARRAY_SIM_PAGEABLE_MEMORY="1", CUARRAY_SIM_EXIT_STATUS="66")
    printed, said = run([program], settings)
    assert (printed, said) == ("count: 262144, numbers: 100000, squares: 3969\nunregistered: 1\n", "")
    said = run([program, "early"], settings, status=66)[1]
    assert "data-race" in said
    assert f"pageable.cu:{line_of('pageable.cu', 'too early')}" in said


def test_program_for_a_newer_device_has_no_kernel_image(build: Build, libraries: Path) -> None:
    program = build("symbols", "-arch=compute_100")
    settings = toolchain.environment(libraries, CUARRAY_SIM_LEAKS="0")
    said = run([program], settings, status=1)[1]
    assert "cudaErrorNoKernelImageForDevice: no kernel image is available for execution on the device" in said
    assert "sm_100, a newer device" in said


def test_program_with_machine_code_alone_has_no_kernel_image(build: Build, libraries: Path) -> None:
    program = build("symbols", "-gencode=arch=compute_90,code=sm_90")
    settings = toolchain.environment(libraries, CUARRAY_SIM_LEAKS="0")
    assert "cudaErrorNoKernelImageForDevice" in run([program], settings, status=1)[1]


def test_race_between_streams_has_the_lines_of_both_launches(build: Build, libraries: Path) -> None:
    program = build("stream_race", "-arch=compute_90", "-g", "-lineinfo")
    said = run([program], toolchain.environment(libraries), status=66)[1]
    assert "[1] data-race: stream 2 writes 4,096 bytes that stream 1 writes" in said
    assert "[2]" not in said
    for launch in ("fill<<<", "add<<<"):
        assert f"stream_race.cu:{line_of('stream_race.cu', launch)} in main" in said
    allocation = line_of("stream_race.cu", "cudaMalloc(")
    assert re.search(rf"memory: .* made by cudaMalloc.*\n *at .*stream_race\.cu:{allocation} in main", said)


def test_race_within_a_block_has_the_lines_of_both_accesses(build: Build, libraries: Path) -> None:
    program = build("block_race", "-arch=compute_90", "-lineinfo")
    said = run([program], toolchain.environment(libraries), status=66)[1]
    assert "[1] kernel-race: threads of one block of reverse race" in said
    for access in ("block[threadIdx.x] = values", "values[threadIdx.x] = block"):
        assert f"block_race.cu:{line_of('block_race.cu', access)}, line " in said


def link_names(folder: Path) -> Path:
    """Make the names by which the linker finds the stand-ins."""
    run([sys.executable, "-m", "cuarray_sim.link", folder], os.environ)
    return folder


def linked_with_cublas(build: Build, names: Path, *options: str) -> Path:
    # The wheels of `make nvcc` have no header of cuBLAS.
    has_header = (toolchain.toolkit() / "include/cublas_v2.h").exists()  # type: ignore[operator]
    declarations = [] if has_header else [f"-I{HERE / 'declarations'}"]
    return build("gemm_race", "-arch=compute_90", "-g", *options, *declarations, f"-L{names}", "-lcublas")


def test_race_across_a_product_of_cublas_has_both_lines(build: Build, tmp_path: Path) -> None:
    program = linked_with_cublas(build, link_names(tmp_path / "link"))
    said = run([sys.executable, "-m", "cuarray_sim", program], os.environ, status=66)[1]
    assert "[1] data-race: stream 1 reads 16,384 bytes that stream 2 writes" in said
    assert re.search(r"B cublasSgemm reads 16,384 bytes[^[]* argument B\n", said)
    assert "[2]" not in said
    for call in ("(b, count, 2)", "cublasSgemm(handle"):
        assert f"gemm_race.cu:{line_of('gemm_race.cu', call)} in main" in said


def test_product_of_cublas_after_a_wait_is_right_without_findings(build: Build, tmp_path: Path) -> None:
    program = linked_with_cublas(build, link_names(tmp_path / "link"), "-DWAIT")
    printed, said = run([sys.executable, "-m", "cuarray_sim", program], os.environ)
    assert printed == "first element: 128\n"
    assert "data-race" not in said


UNLOADED = """
import _ctypes, ctypes, sys
for _ in range(3):
    library = ctypes.CDLL(sys.argv[1])
    assert [library.count_calls() for _ in range(3)] == [1, 2, 3]
    _ctypes.dlclose(library._handle)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        assert sys.argv[1] not in maps.read()
"""


def test_unloaded_library_drops_its_kernels_and_is_loaded_anew(build: Build, libraries: Path) -> None:
    library = build("unload", "-arch=compute_90", "-shared", "-Xcompiler=-fPIC")
    run([sys.executable, "-c", UNLOADED, library], toolchain.environment(libraries))


@pytest.mark.skipif(toolchain.cmake() is None, reason="CMake is not installed: `make nvcc` installs it")
def test_cmake_project_links_device_code_of_two_files(libraries: Path, tmp_path: Path) -> None:
    configure = [toolchain.cmake(), "-S", HERE / "cmake", "-B", tmp_path, f"-DCMAKE_CUDA_COMPILER={toolchain.nvcc()}"]
    environment = toolchain.environment(libraries)
    run(configure, os.environ)
    run([toolchain.cmake(), "--build", tmp_path], os.environ)
    assert run([tmp_path / "blocks"], environment)[0] == "0.5 2 4.5 8\n"
