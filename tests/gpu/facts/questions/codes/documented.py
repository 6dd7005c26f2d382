"""The error codes that the manual documents for each function, and the questions that speak of a code."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from ...entry_points import LATEST, EntryPoint, implemented
from ...question import QUESTIONS

TABLE = Path(__file__).parents[5] / "crates/cuarray-sim/tests/driver/error_codes/documented.txt"

SERIES = {
    "NOT_INITIALIZED": ("codes.before_init",),
    "DEINITIALIZED": ("codes.after_end_of_driver",),
    "INVALID_CONTEXT": ("codes.without_context", "codes.after_end_of_context", "codes.ended_handles"),
    "INVALID_VALUE": ("codes.zeros", "codes.one_wrong_argument", "codes.ended_handles"),
    "INVALID_HANDLE": ("codes.zeros", "codes.one_wrong_argument", "codes.ended_handles"),
    "NOT_SUPPORTED": ("codes.valid",),
}
"""The series in which a driver may return a code. Their steps name the function, or the group of functions."""

CASES = "codes.documented"
"""The series of single cases: its steps are the name of the function, the code and the case."""


@dataclass(frozen=True)
class Pair:
    """A function and a code that the manual documents for it."""

    name: str
    code: str
    reason: str
    """Why no call of the simulator returns the code; empty if a test shows it."""

    @property
    def entries(self) -> list[EntryPoint]:
        """The versions of the function that the driver has."""
        return [entry for entry in implemented() if entry.name == self.name and entry.since <= LATEST]


@functools.cache
def pairs() -> tuple[Pair, ...]:
    """All documented pairs."""
    found = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("cu"):
            name, _, codes = line.partition(":")
            for text in codes.split():
                code, _, reason = text.partition("=")
                found.append(Pair(name, code, reason))
    return tuple(found)


@functools.cache
def items(series: str) -> tuple[str, ...]:
    """The steps of a series."""
    steps = QUESTIONS[series].steps
    return tuple(steps()) if steps else ()


def questions_of(pair: Pair) -> list[str]:
    """The steps that speak of a pair: the names of their facts begin so."""
    words = {word for entry in pair.entries for word in (entry.symbol, entry.group)}
    found = [f"{CASES}.{step}" for step in items(CASES) if step.startswith(f"{pair.name}.{pair.code}.")]
    for series in SERIES[pair.code]:
        found += [f"{series}.{step}" for step in items(series) if words.intersection(step.split(".")[:2])]
    return found
