"""The page of the runtime's functions, which is made from the list of entry points. `UPDATE=1` writes it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from generated import differences

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "crates/cuarray-cudart/src/entry_points.rs"
PAGE = ROOT / "docs/results/runtime-functions.md"

HEAD = """# Functions of the CUDA runtime

`python -m pytest tests/project/test_runtime_functions.py` compares this page with the list of entry points in `crates/cuarray-cudart`; `UPDATE=1`
writes it. Tests compare the list with NVIDIA's wheels (CUDA 12.9 and 13.5): `libcudart.so.12` and `libcudart.so.13` export every function that
NVIDIA's export, with its version node and its signature, and no other function.

"""

Functions = dict[str, list[tuple[str, list[int], bool]]]
"""The symbol, the majors, and whether it works, of each function, by chapter. A variant for per-thread streams is a function too."""


def functions() -> Functions:
    found: Functions = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if opened := re.fullmatch(r" {12}(\w+) \{", line):
            chapter = found.setdefault(opened[1], [])
        elif entry := re.match(r" {16}(both|only_12|only_13) (\w+) fn (\w+)\(", line):
            majors = [12, 13] if entry[1] == "both" else [int(entry[1][-2:])]
            renamed = re.search(r"\) (?:-> .+ )?as (\w+)", line)
            twin = re.search(r"\[twin (\w+)\];", line)
            for symbol in (renamed[1] if renamed else entry[3], twin[1] if twin else None):
                if symbol:
                    chapter.append((symbol, majors, entry[2] != "refused"))
    return found


def exported(listed: Functions, major: int, works: bool | None = None) -> int:
    """The number of functions of a major, or of those that work or do not."""
    return sum(
        major in majors and works in (None, worked) for chapter in listed.values() for _, majors, worked in chapter
    )


def table(listed: Functions, works: bool) -> str:
    """A block for each chapter. A number after a name is the only major that has the function, or that has it so."""
    blocks = []
    for chapter, entries in listed.items():
        majors: dict[str, set[int]] = {}
        for symbol, of, worked in entries:
            if worked == works:
                majors.setdefault(symbol, set()).update(of)
        names = [symbol if len(of) == 2 else f"{symbol}@{min(of)}" for symbol, of in majors.items()]
        if names:
            text = textwrap.fill(", ".join(names), 150, break_long_words=False, break_on_hyphens=False)
            blocks.append(f"{chapter.replace('_', ' ').capitalize()}:\n\n```text\n{text}\n```\n")
    return "\n".join(blocks)


def page() -> str:
    listed = functions()
    rows = "".join(
        f"| `libcudart.so.{major}` | {exported(listed, major)} | {exported(listed, major, True)} | {exported(listed, major, False)} |\n"
        for major in (12, 13)
    )
    return (
        HEAD
        + f"| library | exported | implemented | refused |\n|---|---|---|---|\n{rows}\n"
        + "`cudaMemAdvise_v2@12` is a function that only `libcudart.so.12` has. A name with `_ptsz` or `_ptds` is for programs with per-thread default\n"
        + "streams.\n\n"
        + f"## Implemented\n\n{table(listed, True)}"
        + "\n## Refused\n\nA call returns `cudaErrorNotSupported`, is counted, and is traced: [settings](../reference/runtime.md#settings).\n\n"
        + table(listed, False)
    )


def test_page_of_functions_is_that_of_the_list() -> None:
    assert differences(PAGE, page()) == []
