"""The functions of both CUDA runtimes, compared with NVIDIA's wheels: symbols, version nodes, and signatures by the C++ compiler."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import cuarray_sim

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "crates/cuarray-cudart/src"
LIST = SOURCES / "entry_points.rs"
MAJORS = [12, 13]
PACKAGES = {12: "nvidia-cuda-runtime-cu12", 13: "nvidia-cuda-runtime"}

LINE = re.compile(
    r"^ {16}(?P<majors>both|only_12|only_13) (?P<level>\w+) fn (?P<name>\w+)\((?P<arguments>.*?)\)"
    r"(?: -> (?P<result>.+?))?(?: as (?P<symbol>\w+))?(?: \[twin (?P<twin>\w+)\])?;$",
    re.MULTILINE,
)
WITHOUT_SIGNATURE = {"undocumented", "graphics", "profiler"}
"""Chapters whose functions are exported without arguments, or are declared in headers of other packages."""

C_TYPES = {
    "c_void": "void",
    "c_char": "char",
    "c_int": "int",
    "c_uint": "unsigned int",
    "c_ulonglong": "unsigned long long",
    "f32": "float",
    "f64": "double",
    "usize": "size_t",
    "()": "void",
    # CUDA 12 declares the older function with the newer structure.
    "cudaDeviceProp_v1": "cudaDeviceProp",
}


@dataclass
class Line:
    chapter: str
    majors: list[int]
    works: bool
    symbol: str
    twin: str | None
    arguments: list[str]
    result: str


def lines() -> list[Line]:
    text = LIST.read_text(encoding="utf-8")
    found = []
    for chapter, block in re.findall(r"^ {12}(\w+) \{\n(.*?)^ {12}\}", text, re.MULTILINE | re.DOTALL):
        for line in LINE.finditer(block):
            arguments = [argument.split(": ", 1)[1] for argument in line["arguments"].split(", ") if argument]
            majors = MAJORS if line["majors"] == "both" else [int(line["majors"][-2:])]
            symbol = line["symbol"] or line["name"]
            result = line["result"] or "cudaError_t"
            found.append(Line(chapter, majors, line["level"] != "refused", symbol, line["twin"], arguments, result))
        assert block.count(";\n") == len(LINE.findall(block)), f"{chapter} has a line that this test does not read"
    return found


def c_type(rust: str) -> str:
    """The C++ type of a Rust type: ``*const *mut c_void`` is ``void *const *``."""
    if pointer := re.fullmatch(r"\*(const|mut) (.+)", rust):
        return f"{c_type(pointer[2])}{' const' if pointer[1] == 'const' else ''} *"
    # A structure that differs between the majors has its own name in Rust.
    return C_TYPES.get(rust, re.sub(r"_of_1[23]$", "", rust))


def package_file(package: str, name: str) -> Path:
    # CuPy's folder has the metadata of packages whose files its build needed alone.
    installed = [file for each in importlib.metadata.distributions(name=package) for file in each.files or []]
    paths = [Path(str(file.locate())) for file in installed if file.name == name]
    found = next((path for path in paths if path.exists()), None)
    if found is None:
        pytest.skip(f"{package} is not installed; `make peers` installs it")
    return found


def symbols(library: Path) -> set[tuple[str, str]]:
    """The functions that a library defines, each with its version node."""
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    listed = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    names = [line.split()[-1].partition("@@") for line in listed.stdout.splitlines() if " A " not in line]
    return {(name, node) for name, _, node in names}


def ours(major: int) -> Path:
    library = cuarray_sim.library_path().parent / "runtime" / f"libcudart.so.{major}"
    assert library.is_file(), "the wheel cuarray-sim has no CUDA runtime"
    return library


@pytest.mark.parametrize("major", MAJORS)
def test_symbols_and_version_nodes_are_those_of_the_list(major: int) -> None:
    listed = {symbol for line in lines() if major in line.majors for symbol in (line.symbol, line.twin) if symbol}
    assert symbols(ours(major)) == {(symbol, f"libcudart.so.{major}") for symbol in listed}


@pytest.mark.parametrize("major", MAJORS)
def test_symbols_and_version_nodes_are_those_of_nvidia(major: int) -> None:
    assert symbols(ours(major)) == symbols(package_file(PACKAGES[major], f"libcudart.so.{major}"))


def registration(crt: Path) -> list[str]:
    """The declarations of the compiler's functions, which its headers have between code for the program."""
    text = (crt / "host_runtime.h").read_text(encoding="utf-8") + (crt / "device_functions.h").read_text(
        encoding="utf-8"
    )
    found = re.findall(r'^extern (?:"C" )?([^;{}()]*CUDARTAPI __cuda\w+\([^;]*\));', text, re.MULTILINE)
    # A repeated declaration must not repeat a default argument.
    return [re.sub(r" = \d", "", f'extern "C" {declaration};') for declaration in found]


def check(major: int, folder: Path, lines: list[str]) -> None:
    """Compile C++ against the headers of a major."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    include = package_file(PACKAGES[major], "cuda_runtime_api.h").parent
    crt = package_file("nvidia-cuda-crt", "host_runtime.h").parent
    source = [
        "#define __CUDA_API_VERSION_INTERNAL  // declares each version of a function, and the functions for per-thread streams",
        "#include <cuda_runtime_api.h>",
        "#include <type_traits>",
        *registration(crt),
        *lines,
    ]
    (folder / "check.cpp").write_text("\n".join(source), encoding="utf-8")
    command = ["g++", "-fsyntax-only", "-w", "-I", str(include), "-I", str(crt.parent), str(folder / "check.cpp")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:5000]


@pytest.mark.parametrize("major", MAJORS)
def test_signatures_are_those_of_the_headers(major: int, tmp_path: Path) -> None:
    checks = []
    for line in lines():
        if major not in line.majors or line.chapter in WITHOUT_SIGNATURE:
            continue
        signature = f"{c_type(line.result)}({', '.join(map(c_type, line.arguments))})"
        for symbol in filter(None, (line.symbol, line.twin)):
            checks.append(f'static_assert(std::is_same<decltype({symbol}), {signature}>::value, "{symbol}");')
    assert len(checks) > 350
    check(major, tmp_path, checks)


@pytest.mark.parametrize("major", MAJORS)
def test_sizes_of_structures_are_those_of_the_headers(major: int, tmp_path: Path) -> None:
    """A structure that differs between the majors has its own name in Rust, which ends in ``_of_12`` or ``_of_13``."""
    checks = []
    for source in SOURCES.glob("**/*.rs"):
        for name, size in re.findall(r"size_of::<(\w+)>\(\) == (\d+)\)", source.read_text(encoding="utf-8")):
            structure, _, of = name.partition("_of_")
            if (name.startswith("cuda") or name == "dim3") and (not of or int(of) == major):
                checks.append(f'static_assert(sizeof({structure}) == {size}, "{name}");')
    assert len(checks) >= 11
    check(major, tmp_path, checks)
