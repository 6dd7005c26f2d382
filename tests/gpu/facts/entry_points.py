"""The driver's functions with the types of their parameters, read from the lists of ``crates/cuarray-abi``."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

LISTS = Path(__file__).parents[3] / "crates/cuarray-abi/src"

LATEST = 13000
"""The version of the driver that is asked. Functions of later versions are left out, as such a driver lacks them."""

ENTRY = re.compile(
    r' {16}"(?P<name>cu\w+)" @ (?P<since>\d+) (?:\[[^\]]*\] )?(?:fn )?(?P<symbol>cu\w+)'
    r"(?:\((?P<parameters>[^)]*)\))?(?: per_thread (?P<per_thread>cu\w+))?;"
)


def words(text: str) -> list[str]:
    """Names that are written with spaces between them."""
    return text.split()


@dataclass(frozen=True)
class Parameter:
    """The type and the name of a parameter, as the list writes them."""

    type: str
    name: str

    @property
    def is_pointer(self) -> bool:
        return self.type.startswith("*")


@dataclass(frozen=True)
class EntryPoint:
    """A line of a list."""

    group: str
    name: str
    """The name for ``cuGetProcAddress``."""
    since: int
    """The version from which the name means this symbol."""
    symbol: str
    per_thread: str | None
    parameters: tuple[Parameter, ...]
    """The parameters; none for a refused function, whose line has no signature."""


def read(file: str) -> tuple[EntryPoint, ...]:
    found, group = [], ""
    for line in (LISTS / file).read_text(encoding="utf-8").splitlines():
        if opened := re.match(r" {12}(\w+)(?:: \"[^\"]+\")? \{$", line):
            group = opened[1]
        elif entry := ENTRY.match(line):
            texts = (text.split(": ") for text in (entry["parameters"] or "").split(", ") if text)
            parameters = tuple(Parameter(type, name) for name, type in texts)
            since = int(entry["since"])
            found.append(EntryPoint(group, entry["name"], since, entry["symbol"], entry["per_thread"], parameters))
    assert found, f"{file} has no entry points"
    return tuple(found)


@functools.cache
def implemented() -> tuple[EntryPoint, ...]:
    """The functions that the simulator implements."""
    return read("entry_points.rs")


@functools.cache
def refused() -> tuple[EntryPoint, ...]:
    """The functions that the simulator exports and refuses."""
    return read("unsupported.rs")


@functools.cache
def called() -> dict[str, EntryPoint]:
    """The functions that the sweeps call, by symbol."""
    return {entry.symbol: entry for entry in implemented() if entry.since <= LATEST}
