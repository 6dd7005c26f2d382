"""The page of the driver's functions, which is made from the two lists of entry points. `UPDATE=1` writes it."""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "crates/cuarray-abi/src"
PAGE = ROOT / "docs/results/driver-coverage.md"

HEAD = """# Coverage of the driver

`python -m pytest tests/project/test_driver_coverage.py` compares this page with the lists of entry points in `crates/cuarray-abi`;
`UPDATE=1` writes it. A test compares the lists with NVIDIA's headers (CUDA 13.5, with the symbols of older versions). The shared library exports all of
them, and `cuGetProcAddress` finds each name at the versions of its signatures. `cuMemAlloc_v2@3.2` is a symbol, with the version of CUDA that introduced it.

"""


def groups(file: str) -> dict[tuple[str, str], list[tuple[str, str, str]]]:
    """The name, version and symbol of each entry point, by group and reason of refusal."""
    text = (SOURCES / file).read_text(encoding="utf-8")
    found: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    group: list[tuple[str, str, str]] = []
    for line in text.splitlines():
        if opened := re.fullmatch(r' {12}(\w+)(?:: "([^"]+)")? \{', line):
            group = found.setdefault((opened[1], opened[2] or ""), [])
        elif entry := re.match(r' {16}"(cu\w+)" @ (\d+) (?:\[[^\]]*\] )?(?:fn )?(cu\w+)', line):
            group.append((entry[1], entry[2], entry[3]))
    return {key: entries for key, entries in found.items() if entries}


def version(number: str) -> str:
    return f"{int(number) // 1000}.{int(number) % 1000 // 10}"


def chapter(group: str) -> str:
    return group.replace("_", " ").capitalize()


def names(entries: list[tuple[str, str, str]]) -> set[str]:
    return {name for name, _, _ in entries}


def table(listed: dict[tuple[str, str], list[tuple[str, str, str]]]) -> str:
    """A block for each group: each function with the version of CUDA that introduced its signature."""
    blocks = []
    for (group, _), entries in listed.items():
        text = textwrap.fill(
            ", ".join(f"{symbol}@{version(since)}" for _, since, symbol in entries),
            150,
            break_long_words=False,
            break_on_hyphens=False,
        )
        blocks.append(f"{chapter(group)}:\n\n```text\n{text}\n```\n")
    return "\n".join(blocks)


def page() -> str:
    supported, unsupported = groups("entry_points.rs"), groups("unsupported.rs")
    counts = [sum(map(len, listed.values())) for listed in (supported, unsupported)]
    implemented = set[str]().union(*map(names, supported.values()))
    known = implemented.union(*map(names, unsupported.values()))
    rows = "".join(
        f"| {chapter(group)} | {len(names(entries) - implemented)} | {reason} |\n"
        for (group, reason), entries in unsupported.items()
    )
    share = f"{len(implemented) * 100 // len(known)} percent"
    return (
        HEAD
        + f"{len(implemented)} of {len(known)} names have a signature that is implemented: {share}.\n\n"
        + f"| refused | names | why, and what to do |\n|---|---|---|\n{rows}\n"
        + f"## Implemented\n\n{counts[0]} signatures. Some refuse part of their arguments: [refusals](../reference/simulator.md#refusals).\n\n"
        + table(supported)
        + f"\n## Refused\n\n{counts[1]} signatures. A call returns `CUDA_ERROR_NOT_SUPPORTED`, is counted in the statistics, and is a line of the trace. "
        + "The first call of a function prints the reason.\n\n"
        + table(unsupported)
    )


def test_every_refused_group_has_a_reason() -> None:
    assert all(reason for _, reason in groups("unsupported.rs"))


def test_page_of_coverage_is_that_of_the_lists() -> None:
    text = page()
    if os.environ.get("UPDATE") == "1":
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text
