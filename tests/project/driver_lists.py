"""The lists of the driver's functions: the implemented and the refused ones, and the error codes that the manual documents."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "crates/cuarray-abi/src"
# The implemented functions, and the refused ones.
FILES = ("entry_points.rs", "unsupported.rs")
ERROR_CODES = ROOT / "crates/cuarray-sim/tests/driver/error_codes/documented.txt"


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


def names(entries: list[tuple[str, str, str]]) -> set[str]:
    return {name for name, _, _ in entries}


def error_codes() -> dict[str, dict[str, str]]:
    """The documented codes of each function, out of six, with the reason why a code is never returned, or nothing."""
    found = {}
    for line in ERROR_CODES.read_text(encoding="utf-8").splitlines():
        if line.startswith("cu"):
            name, _, codes = line.partition(":")
            pairs = [code.partition("=") for code in codes.split()]
            found[name] = {code: reason for code, _, reason in pairs}
    return found


def error_code_reasons() -> dict[str, str]:
    """The text of each reason."""
    lines = ERROR_CODES.read_text(encoding="utf-8").splitlines()
    found = (line[1:].split(" ", 2) for line in lines if line.startswith("="))
    return {reason: text for reason, _, text in found}
