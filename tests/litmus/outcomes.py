"""The outcomes of a program that the axioms allow: the values of its registers, and the final values of its locations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .axioms import INITIAL, Execution, ReadsFrom, Relation, Structure, bits
from .programs import NAMES, Program

Values = dict[int, int]
State = dict[str, int]


@dataclass
class Candidate:
    """An execution of a program, the values that its reads return, and those that its writes write."""

    execution: Execution
    read: Values
    written: Values

    @cached_property
    def witnesses(self) -> list[tuple[Relation, Relation]]:
        return list(self.execution.witnesses())

    def states(self, coherence: Relation) -> Iterator[State]:
        """The final states. A location's final value is that of a write that no other one follows in coherence order."""
        structure = self.execution.structure
        state: State = {}
        for index, value in self.read.items():
            register = structure.events[index].step.operation.register
            if register is not None:
                state[register] = value
        last: dict[str, list[int]] = {}
        for index in structure.writes:
            if not any(
                coherence[index] >> other & 1 for other in bits(structure.overlap[index] & structure.write_mask)
            ):
                name = NAMES[structure.events[index].units[0][2] // 4]
                last.setdefault(name, []).append(self.written[index])
        for values in itertools.product(*last.values()):
            yield {**state, **dict(zip(last, values, strict=True))}


def candidates(program: Program) -> Iterator[Candidate]:
    """All executions whose values fit together. Each read gets its whole value from one write."""
    swaps = [
        (number, thread)
        for number, step in enumerate(program.steps)
        for thread in step.threads
        if step.operation.kind == "cas"
    ]
    for count in range(len(swaps) + 1):
        for failed in itertools.combinations(swaps, count):
            structure = Structure(program, frozenset(failed))
            choices = [
                [
                    INITIAL,
                    *(write for write in structure.by_unit.get(structure.events[read].units[0], ()) if write != read),
                ]
                for read in structure.reads
            ]
            for choice in itertools.product(*choices):
                sources = dict(zip(structure.reads, choice, strict=True))
                values = _values(structure, sources)
                if values is not None and _swaps_fit(structure, values[0], set(failed)):
                    units = range(len(structure.events[0].units) or 2)
                    reads_from: ReadsFrom = {(read, unit): write for read, write in sources.items() for unit in units}
                    yield Candidate(Execution(structure, reads_from), *values)


def _values(structure: Structure, sources: dict[int, int]) -> tuple[Values, Values] | None:
    """The values read and written; ``None`` if a value depends on itself, which 8.10.4 forbids."""
    read: Values = {}
    written: Values = {}
    pending: set[int] = set()
    names = {
        (structure.events[index].thread, structure.events[index].step.operation.register): index
        for index in structure.reads
    }

    def value_read(index: int) -> int | None:
        if index not in read:
            source = sources[index]
            value = 0 if source == INITIAL else value_written(source)
            if value is None:
                return None
            read[index] = value
        return read[index]

    def value_written(index: int) -> int | None:
        if index in pending:
            return None
        pending.add(index)
        event = structure.events[index]
        operation = event.step.operation
        # A read-modify-write depends on its read, whatever it writes.
        old = value_read(index) if operation.is_atomic else 0
        if isinstance(operation.value, str):
            value = value_read(names[event.thread, operation.value])
        else:
            value = structure.program.written(event.step, event.thread)
            if operation.kind in ("add", "red") and old is not None:
                value += old
        pending.discard(index)
        return None if old is None else value

    for index in structure.writes:
        value = value_written(index)
        if value is None:
            return None
        written[index] = value
    if any(value_read(index) is None for index in structure.reads):
        return None
    return read, written


def _swaps_fit(structure: Structure, read: Values, failed: set[tuple[int, int]]) -> bool:
    for index in structure.reads:
        event = structure.events[index]
        operation = event.step.operation
        if operation.kind == "cas" and (read[index] == operation.expected) == ((event.number, event.thread) in failed):
            return False
    return True


def outcomes(program: Program) -> list[State]:
    """The allowed final states."""
    found: dict[tuple[tuple[str, int], ...], State] = {}
    for candidate in candidates(program):
        for _, coherence in candidate.witnesses:
            for state in candidate.states(coherence):
                found[tuple(sorted(state.items()))] = state
    return list(found.values())


def allows(program: Program, wanted: State) -> bool:
    """Whether an allowed outcome has these values."""
    return any(all(state.get(name, 0) == value for name, value in wanted.items()) for state in outcomes(program))
