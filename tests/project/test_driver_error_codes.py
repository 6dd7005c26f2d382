"""The table of the error codes that the manual documents, compared with the comments of NVIDIA's headers. `UPDATE=1` writes it.

A test of the simulated driver, `documented` in `crates/cuarray-sim/tests/driver/error_codes`, shows each code of the table.
"""

from __future__ import annotations

import re

from driver_headers import include_dir
from generated import differences
from project.driver_lists import ERROR_CODES, FILES, error_codes, groups, names

CODES = ("NOT_INITIALIZED", "DEINITIALIZED", "INVALID_CONTEXT", "INVALID_VALUE", "INVALID_HANDLE", "NOT_SUPPORTED")

# The wheels have no `cudaProfiler.h`, so these are from the manual's chapter on profiler control.
PROFILER = {
    "cuProfilerStart": {"INVALID_CONTEXT"},
    "cuProfilerStop": {"INVALID_CONTEXT"},
    "cuProfilerInitialize": {"INVALID_CONTEXT", "INVALID_VALUE"},
}
# A macro of the header gives the documented name to this symbol.
RENAMED = {"cuGraphInstantiateWithFlags": "cuGraphInstantiate"}


def documented(text: str) -> dict[str, set[str]]:
    """The codes of each function, out of six: those that its comment lists as returned."""
    comment = r"/\*\*((?:(?!\*/).)*)\*/\s*(?:#[^\n]*\n\s*)*(?:__CUDA_DEPRECATED\s+)?CUresult\s+CUDAAPI\s+(\w+)\s*\("
    found: dict[str, set[str]] = {}
    for body, name in re.findall(comment, text, re.DOTALL):
        lists = re.findall(r"^\s*\*?\s*\\returns?\b(.*?)(?=\\note|\\sa\b|\Z)", body, re.DOTALL | re.MULTILINE)
        listed = set(re.findall(r"CUDA_ERROR_(\w+)", lists[-1])) if lists else set()
        # Declarations without their own comments follow at the end of the header.
        found.setdefault(name, listed.intersection(CODES))
    return found


def test_codes_of_the_table_are_those_of_the_header() -> None:
    header = (include_dir() / "cuda.h").read_text(encoding="utf-8", errors="replace")
    listed = documented(header) | PROFILER
    implemented = sorted(set[str]().union(*map(names, groups(FILES[0]).values())))
    old = error_codes()
    # The comments and the reasons are written by hand.
    lines = [line for line in ERROR_CODES.read_text(encoding="utf-8").splitlines() if not line.startswith("cu")]
    for name in implemented:
        codes = listed.get(RENAMED.get(name, name), set())
        reasons = old.get(name, {})
        shown = [f"{code}={reasons[code]}" if reasons.get(code) else code for code in CODES if code in codes]
        lines.append(" ".join([f"{name}:", *shown]))
    assert differences(ERROR_CODES, "\n".join(lines) + "\n") == []
