"""Build stand-ins for the libraries that PyTorch's wheel links and its tests here do not need: 2 GB of downloads less.

    python tests/peers/stand_ins.py

A stand-in defines the functions that PyTorch's own libraries import from the real library. Each prints its name and the library's, and
ends the process. The stand-ins are written into `nvidia/cu13/lib` beside the installed `torch`, the last folder of NVIDIA's that
PyTorch's libraries are searched in. An installed real library is therefore found first or takes the stand-in's place. A C compiler and
`readelf` are needed."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

# The libraries, each with the prefix of its functions. If two prefixes fit a function, the longer one decides.
PREFIXES = {
    "libcublas.so": "cublas",
    "libcublasLt.so": "cublasLt",
    "libcudnn.so": "cudnn",
    "libcufft.so": "cufft",
    "libcufile.so": "cuFile",
    "libcupti.so": "cupti",
    "libcusolver.so": "cusolver",
    "libcusparse.so": "cusparse",
    "libcusparseLt.so": "cusparseLt",
    "libnccl.so": "nccl",
    "libnvshmem_host.so": "nvshmem",
}

# The address of `mark` tells a stand-in from a real library.
MARK = "cuarray_stand_in"

SOURCE = """\
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char {mark} = 1;

static void print(const char *text) {{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) abort();
}}

static void stop(const char *function) {{
    print("{library}: ");
    print(function);
    print(" was called, but this library is a stand-in without code (tests/peers/stand_ins.py). "
          "Use operations that do not need {library}, or a GPU and the real library.\\n");
    abort();
}}

#define FUNCTION(name) void name(void) {{ stop(#name); }}
{functions}
"""


class Import(NamedTuple):
    """A function that a library imports, and the version of it that the library names."""

    name: str
    version: str | None


def _readelf(option: str, library: Path) -> str:
    return subprocess.run(["readelf", "--wide", option, library], check=True, capture_output=True, text=True).stdout


def needed(library: Path) -> set[str]:
    """Return the names of the libraries that a library links."""
    return set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", _readelf("--dynamic", library)))


def imports(library: Path) -> set[Import]:
    """Return the symbols that a library imports."""
    found = re.findall(
        r"^.* (?:GLOBAL|WEAK)\s+\S+\s+UND ([^\s@]+)(?:@(\S+))?", _readelf("--dyn-syms", library), re.MULTILINE
    )
    return {Import(name, version or None) for name, version in found}


def owner(name: str) -> str | None:
    """Return the library of `PREFIXES` that a function belongs to."""
    fitting = [library for library, prefix in PREFIXES.items() if name.startswith(prefix)]
    return max(fitting, key=lambda library: len(PREFIXES[library]), default=None)


def stand_ins(libraries: Iterable[Path]) -> dict[str, set[Import]]:
    """Return the stand-ins that libraries need, by file name, each with its functions."""
    names: dict[str, str] = {}
    functions: dict[str, set[Import]] = defaultdict(set)
    for library in libraries:
        for name in needed(library):
            names[name.partition(".so")[0] + ".so"] = name
        for symbol in imports(library):
            functions[owner(symbol.name) or ""].add(symbol)
    return {names[library]: functions[library] for library in PREFIXES if library in names and functions[library]}


def build(name: str, functions: set[Import], directory: Path) -> None:
    """Compile the stand-in `name` into `directory`."""
    source = SOURCE.format(
        mark=MARK,
        library=name,
        functions="\n".join(f"FUNCTION({function})" for function in sorted({f.name for f in functions})),
    )
    versions = sorted({function.version for function in functions} - {None})
    if len(versions) > 1:
        raise SystemExit(f"{name}: its functions have several versions, which a stand-in cannot have: {versions}")
    with tempfile.TemporaryDirectory() as temporary:
        (Path(temporary) / "stand_in.c").write_text(source)
        command = [
            "cc",
            "-shared",
            "-fPIC",
            "-w",
            "stand_in.c",
            f"-Wl,-soname,{name}",
            "-o",
            str(directory.resolve() / name),
        ]
        if versions:
            (Path(temporary) / "versions").write_text(f"{versions[0]} {{ global: *; }};\n")
            command.append("-Wl,--version-script,versions")
        subprocess.run(command, cwd=temporary, check=True)


def is_real(library: Path) -> bool:
    """Whether a file is an installed library and not a stand-in."""
    return library.exists() and f" {MARK}" not in _readelf("--dyn-syms", library)


def main() -> None:
    torch = find_spec("torch")
    if torch is None:
        raise SystemExit(f"PyTorch is not installed in the environment of {sys.executable}; run: make peers-torch")
    directory = Path(torch.origin).parents[1] / "nvidia" / "cu13" / "lib"
    directory.mkdir(parents=True, exist_ok=True)
    found = stand_ins(sorted((Path(torch.origin).parent / "lib").glob("*.so*")))
    for name, functions in found.items():
        if is_real(directory / name):
            print(f"{name}: the real library is installed")
            continue
        build(name, functions, directory)
        print(f"{name}: a stand-in with {len(functions)} functions")


if __name__ == "__main__":
    main()
