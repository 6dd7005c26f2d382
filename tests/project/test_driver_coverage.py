"""The page of the driver's functions, which is made from the two lists of entry points. `UPDATE=1` writes it."""

from __future__ import annotations

import textwrap
from pathlib import Path

from generated import differences
from project.driver_lists import FILES, error_code_reasons, error_codes, groups, names

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/results/driver-coverage.md"
# The functions of each chapter of NVIDIA's manual, by the groups of its headers.
CHAPTERS = Path(__file__).with_name("driver_chapters.txt")

HEAD = """# Coverage of the driver

`python -m pytest tests/project/test_driver_coverage.py` compares this page with the lists of entry points in `crates/cuarray-abi`;
`UPDATE=1` writes it. A test compares the lists with NVIDIA's headers (CUDA 13.5, with the symbols of older versions). The shared library exports all of
them, and `cuGetProcAddress` finds each name at the versions of its signatures. `cuMemAlloc_v2@3.2` is a symbol, with the version of CUDA that introduced it.

"""


def version(number: str) -> str:
    return f"{int(number) // 1000}.{int(number) % 1000 // 10}"


def chapter(group: str) -> str:
    return group.replace("_", " ").capitalize()


def chapters() -> dict[str, list[str]]:
    """The names of the functions of each chapter of the manual."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in CHAPTERS.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            found[title].extend(line.split())
        else:
            title = line.removesuffix(":")
            found[title] = []
    return found


def shares(implemented: set[str]) -> str:
    """A row for each chapter of the manual."""
    rows = []
    for title, listed in chapters().items():
        count = len(implemented.intersection(listed))
        rows.append(f"| {title} | {len(listed)} | {count} | {count * 100 // len(listed)} % |\n")
    return "".join(rows)


def error_code_table() -> str:
    """The share of the documented error codes that tests show."""
    table, texts = error_codes(), error_code_reasons()
    pairs = [(code, reason) for codes in table.values() for code, reason in codes.items()]
    rows = []
    for code in dict.fromkeys(code for code, _ in pairs):
        reasons = [reason for of, reason in pairs if of == code]
        count = sum(reason in ("", "version") for reason in reasons)
        rows.append(f"| `CUDA_ERROR_{code}` | {len(reasons)} | {count} | {count * 100 // len(reasons)} % |\n")
    shown = sum(reason in ("", "version") for _, reason in pairs)
    without = [name for name, codes in table.items() if not codes]
    text = (
        f"NVIDIA's header documents {len(pairs)} pairs of an implemented function and one of six codes. Tests of the simulator show {shown} of them: sweeps "
        "that call every function before `cuInit`, with one wrong argument each, with ended handles, without a context and after the "
        "driver's end, and single cases. The test `each_documented_code_is_returned_or_has_a_reason` in "
        "`crates/cuarray-sim/tests/driver/error_codes` fails for a code that is neither shown nor has one of the reasons below. "
        f"{len(without)} functions have no list of codes: {', '.join(f'`{name}`' for name in without)}.\n\n"
        f"| code | functions that document it | shown | share |\n|---|---|---|---|\n{''.join(rows)}\n"
        "| reason why no call returns a code | functions |\n|---|---|\n"
    )
    for reason, why in texts.items():
        by_code: dict[str, list[str]] = {}
        for name, codes in table.items():
            for code, given in codes.items():
                if given == reason:
                    by_code.setdefault(code, []).append(f"`{name}`")
        listed = "; ".join(f"{code}: {', '.join(names)}" for code, names in by_code.items())
        text += f"| {why} | {listed} |\n"
    return text


def table(listed: dict[tuple[str, str], list[tuple[str, str, str]]]) -> str:
    """A block for each group: each function with the version of CUDA that introduced its signature, after the reason of a refusal."""
    blocks = []
    for (group, reason), entries in listed.items():
        text = textwrap.fill(
            ", ".join(f"{symbol}@{version(since)}" for _, since, symbol in entries),
            150,
            break_long_words=False,
            break_on_hyphens=False,
        )
        why = f" ({reason}):" if reason else ":"
        blocks.append(f"{chapter(group)}{why}\n\n```text\n{text}\n```\n")
    return "\n".join(blocks)


def page() -> str:
    supported, unsupported = (groups(file) for file in FILES)
    counts = [sum(map(len, listed.values())) for listed in (supported, unsupported)]
    implemented = set[str]().union(*map(names, supported.values()))
    known = implemented.union(*map(names, unsupported.values()))
    share = f"{len(implemented) * 100 // len(known)} percent"
    return (
        HEAD
        + f"{len(implemented)} of {len(known)} names have a signature that is implemented: {share}.\n\n"
        + f"| chapter of the manual | names | implemented | share |\n|---|---|---|---|\n{shares(implemented)}\n"
        + f"## Error codes\n\n{error_code_table()}\n"
        + f"## Implemented\n\n{counts[0]} signatures. Some refuse part of their arguments: [refusals](../reference/simulator.md#refusals).\n\n"
        + table(supported)
        + f"\n## Refused\n\n{counts[1]} signatures. A call returns `CUDA_ERROR_NOT_SUPPORTED`, is counted in the statistics, and is a line of the trace. "
        + "The first call of a function prints the reason, and each call is a message of the error log. A reason belongs to all functions "
        + "below it.\n\n"
        + table(unsupported)
    )


def test_every_refused_group_has_a_reason() -> None:
    assert all(reason for _, reason in groups("unsupported.rs"))


def test_chapters_hold_each_name_once() -> None:
    listed = [name for listed in chapters().values() for name in listed]
    known = set[str]().union(*(names(entries) for file in FILES for entries in groups(file).values()))
    assert len(listed) == len(set(listed))
    assert set(listed) == known


def test_page_of_coverage_is_that_of_the_lists() -> None:
    assert differences(PAGE, page()) == []
