"""Compares the races that the simulator reports with those that the axioms name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .axioms import Event
from .kernels import Text, values_read
from .observed import Key, Pair, Race, explanations


@dataclass
class Comparison:
    """The races of one kernel: by the axioms in some allowed execution with the values read, and as reported."""

    text: Text
    named: dict[Race, list[Pair]]
    possible: set[Race]
    reported: set[Race]
    explained: bool

    @property
    def false_alarms(self) -> set[Race]:
        """The reported races that the axioms do not name.

        The search learns the order of two ``fence.sc`` from strong accesses only. If plain accesses tell it, these race
        themselves, and other accesses may be reported that are ordered by the fences. The axioms do not apply to a program
        with a mixed-size race (8.7.2), so there any pair may be reported.
        """
        if any(pair.one.units != pair.other.units for pairs in self.named.values() for pair in pairs):
            return set()
        others = self.reported - self.named.keys()
        return others - self.possible if self.named else others

    @property
    def hidden(self) -> set[Race]:
        """The races that are not reported."""
        return self.named.keys() - self.reported

    @property
    def missed(self) -> set[Race]:
        """The hidden races that no reported one stands for."""
        return {race for race in self.hidden if not all(map(self._stands_for, self.named[race]))}

    @property
    def unexcused(self) -> set[Race]:
        """The missed races that the default mode has no reason to hide."""
        return {race for race in self.missed if not all(pair.accepted for pair in self.named[race])}

    def _stands_for(self, pair: Pair) -> bool:
        """Whether a reported race of the same bytes stands for a hidden one.

        The search forgets an access after a later one that conflicts with all that it conflicts with: a write, or an access
        of the same thread. So of the races between three accesses it may report two.
        """
        ends = (pair.one, pair.other)
        shared = set(pair.one.units) & set(pair.other.units)
        for found in (one for race in self.reported & self.named.keys() for one in self.named[race]):
            if not shared & set(found.one.units) & set(found.other.units):
                continue
            if {found.one.thread, found.other.thread} == {pair.one.thread, pair.other.thread}:
                return True
            for end, third in ((found.one, found.other), (found.other, found.one)):
                if _is_any(end, ends) and third.writes:
                    return True
        # A later write of the same bytes takes the place of an access that is ordered before it.
        for kept, later in zip(ends[::-1], pair.later, strict=True):
            if any(self._is_reported(kept, key) for key in later):
                return True
        return False

    def _is_reported(self, kept: Event, later: Key) -> bool:
        """Whether a race of an event and a later write is reported, or another one stands for it."""
        wanted = {(kept.number, kept.thread), later}
        pairs = [
            pair
            for pairs in self.named.values()
            for pair in pairs
            if {(pair.one.number, pair.one.thread), (pair.other.number, pair.other.thread)} == wanted
        ]
        return any(pair.race in self.reported or self._stands_for(pair) for pair in pairs)


def _is_any(event: Event, others: tuple[Event, Event]) -> bool:
    return any((event.number, event.thread) == (other.number, other.thread) for other in others)


def compare(text: Text, result: dict[str, Any]) -> Comparison:
    """Compare the races of a kernel with its result (:func:`litmus.runner.run`)."""
    races, memory = result["races"], result["memory"]
    found, possible = explanations(text, result["words"], memory)
    named: dict[Race, list[Pair]] = {}
    for pair in {pair for explanation in found for pair in explanation}:
        named.setdefault(pair.race, []).append(pair)
    reported = {(race["variable"], *race["lines"]) for race in races}
    return Comparison(text, named, possible, reported, bool(found))


def describe(text: Text, words: Sequence[int]) -> str:
    """Write the program as a list of steps, with the values that were read."""
    program, values = text.program, values_read(text, words)
    places = ", ".join(f"T{n} in block {p.block}, warp {p.warp}, lane {p.lane}" for n, p in enumerate(program.places))
    lines = [f"{places}; {program.cluster} blocks in a cluster"]
    for number, step in enumerate(program.steps):
        operation, location = step.operation, step.operation.location
        words_of_step = [operation.kind, operation.semantics if location or operation.kind == "fence" else ""]
        words_of_step.append(operation.scope or "")
        if location:
            words_of_step.append(f"{location.space}[{location.offset}..{location.offset + location.size}]")
        if operation.kind not in ("load", "fence", "barrier", "warp_barrier"):
            words_of_step.append(" ".join(f"{program.written(step, thread):#x}" for thread in step.threads))
        if operation.kind == "cas":
            words_of_step.append(f"if {operation.expected:#x}")
        read = [f"T{thread} reads {values[number, thread]:#x}" for thread in step.threads if (number, thread) in values]
        names = "".join(f"T{thread}{'(arrives)' if thread in step.arriving else ''} " for thread in step.threads)
        shown = " ".join(word for word in words_of_step if word)
        lines.append(f"  {text.line(number)}: {names}{shown}{'  # ' if read else ''}{', '.join(read)}")
    return "\n".join(lines)
