"""The functions that the shared library exports, compared with NVIDIA's headers in the installed peers."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys

import pytest
from driver_headers import include_dir

import cuarray_sim

HEADERS = ("cuda.h", "cudaGL.h", "cudaVDPAU.h", "cudaEGL.h", "cudaProfiler.h")


def documented() -> set[str]:
    """The symbols of the headers: declarations, the names that macros map them to, and variants for per-thread streams."""
    symbols = set()
    for header in HEADERS:
        path = include_dir() / header
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        symbols |= set(re.findall(r"CUresult\s+CUDAAPI\s+(cu\w+)\s*\(", text))
        for _, kind, symbol in re.findall(r"#\s*define\s+(cu\w+)\s+(?:__CUDA_API_(PTDS|PTSZ)\()?(cu\w+)\)?", text):
            symbols.add(symbol)
            if kind:
                symbols.add(f"{symbol}_{kind.lower()}")
    return {symbol for symbol in symbols if not symbol.startswith("cuWGL")}  # Windows only


def typedefs() -> set[tuple[str, int, bool]]:
    """Each name with the versions at which it got a signature, and whether it is that of per-thread streams."""
    text = (include_dir() / "cudaTypedefs.h").read_text(encoding="utf-8", errors="replace")
    found = re.findall(r"\*PFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\)", text)
    return {(name, int(version), bool(kind)) for name, version, kind in found}


def test_every_documented_symbol_is_exported() -> None:
    wanted = documented()
    assert len(wanted) > 600
    library = ctypes.CDLL(str(cuarray_sim.library_path()))
    assert sorted(symbol for symbol in wanted if not hasattr(library, symbol)) == []


LOOK_UP = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for line in sys.stdin:
    name, version, flags = line.split()
    address, status = ctypes.c_void_p(), ctypes.c_int(9)
    library.cuGetProcAddress_v2(name.encode(), ctypes.byref(address), int(version), ctypes.c_uint64(int(flags)), ctypes.byref(status))
    print(name, version, flags, status.value, bool(address.value))
"""


def test_every_name_is_found_at_each_version_of_its_signatures(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = sorted(typedefs())
    assert len(wanted) > 600
    monkeypatch.setenv("CUARRAY_SIM_DRIVER_VERSION", "13999")
    # Flag 1 asks for the legacy default stream, 2 for the per-thread default stream.
    lines = [f"{name} {version} {2 if per_thread else 1}" for name, version, per_thread in wanted]
    command = [sys.executable, "-c", LOOK_UP, str(cuarray_sim.library_path())]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    assert [answer for answer in answers if not answer.endswith(" 0 True")] == []
