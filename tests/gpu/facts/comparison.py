"""Comparison of two recordings.

Long results of instructions are compared by their hashes; ``python -m gpu.facts.questions.numerics.differences`` prints the operands and
results that differ.

``known.toml`` has patterns of facts that differ between the simulated driver and a GPU, each with the reason. Every other difference is
a defect of the simulator until an entry explains it.
"""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .recorder import Recording

KNOWN = Path(__file__).with_name("known.toml")
ABSENT = "no such fact"


@dataclass(frozen=True)
class Known:
    """Facts that differ for a reason."""

    facts: tuple[str, ...]
    """Patterns of names, as of a shell."""
    reason: str

    def explains(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.facts)


@dataclass(frozen=True)
class Difference:
    """A fact with two values."""

    name: str
    values: tuple[Any, Any]
    reason: str | None

    def __str__(self) -> str:
        one, other = (shown(value) for value in self.values)
        return f"{self.name}: {one} / {other}"


def known() -> list[Known]:
    read = tomllib.loads(KNOWN.read_text(encoding="utf-8")).get("known", [])
    return [Known(tuple(each["facts"]), each["reason"]) for each in read]


def shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 160 else f"{text[:150]}... ({len(text)} characters)"


def unanswered(one: Recording, name: str) -> bool:
    """Whether the question of a fact was not answered in full. Such a fact is no difference; the failure is listed apart."""
    items = [item.replace(" ", ".") for item in (*one.failed, *one.not_asked)]
    return any(name == item or name.startswith(f"{item}.") for item in items)


def differences(one: Recording, other: Recording, explain: bool = True) -> list[Difference]:
    """All facts that differ, sorted by name. Without ``explain``, none has a reason: both drivers are of one kind."""
    explained: list[Known] = known() if explain else []
    one, other = one.without_results(), other.without_results()
    found = []
    for name in sorted(one.facts.keys() | other.facts.keys()):
        values = (one.facts.get(name, ABSENT), other.facts.get(name, ABSENT))
        if values[0] == values[1]:
            continue
        if ABSENT in values and unanswered(one if values[0] == ABSENT else other, name):
            continue
        reason = next((each.reason for each in explained if each.explains(name)), None)
        found.append(Difference(name, values, reason))
    return found


def lines(one: Recording, other: Recording, explain: bool = True) -> tuple[list[str], int]:
    """The text of a comparison, and the number of differences without a reason."""
    found = differences(one, other, explain)
    unknown = [each for each in found if each.reason is None]
    text = [
        f"{len(one.facts)} and {len(other.facts)} facts; {len(found)} differ, {len(unknown)} of them without a reason"
    ]
    text += [f"  {each}" for each in unknown]
    for reason in sorted({each.reason for each in found if each.reason is not None}):
        text.append(f"known: {reason}")
        text += [f"  {each}" for each in found if each.reason == reason]
    for recording, which in ((one, "first"), (other, "second")):
        text += [f"not answered by the {which} driver: {item}: {why}" for item, why in sorted(recording.failed.items())]
    return text, len(unknown)


def compare(one: Path, other: Path) -> int:
    """Print the comparison of two files; return the exit status."""
    text, unknown = lines(Recording.read(one), Recording.read(other))
    print("\n".join(text))
    return 1 if unknown else 0
