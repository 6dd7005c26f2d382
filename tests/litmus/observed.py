"""The executions that explain the values which a kernel has read, and their races."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .axioms import INITIAL, Event, Execution, ReadsFrom, Relation, Structure, bits, unit_of
from .kernels import Text, values_read
from .leniencies import is_accepted, lenient_order
from .programs import UNIT, Location, Program

Race = tuple[str, int, int]
Key = tuple[int, int]
MOST = 4096  # executions that are tried


@dataclass(frozen=True)
class Pair:
    """Two racing events, as the comparison needs them."""

    one: Event
    other: Event
    race: Race
    accepted: bool  # by the default mode
    # The plain writes that are ordered after either event, and that write all bytes which both access: steps and threads
    later: tuple[frozenset[Key], frozenset[Key]]


Explanation = frozenset[Pair]


def explanations(text: Text, words: Sequence[int], memory: Sequence[int]) -> tuple[list[Explanation], set[Race]]:
    """The races of each allowed execution with these values: several if the values do not tell the order of fences.

    ``memory`` has the final values in global memory, which tell the last of several strong writes.

    The second set has the races under any order of fences, even one that contradicts the values which were read.
    """
    program, values, lines = _unrolled(text, words)
    failed = frozenset(
        key
        for key, value in values.items()
        if (step := program.steps[key[0]]).operation.kind == "cas" and value != step.operation.expected
    )
    structure = Structure(program, failed)
    found: dict[frozenset[Race], Explanation] = {}
    outside: dict[frozenset[Race], Explanation] = {}
    possible: set[Race] = set()
    for reads_from, written in itertools.islice(_sources(structure, values), MOST):
        execution = Execution(structure, reads_from)
        for base in execution.base_orders():
            precedence = execution.precedence(base)
            races = execution.races(precedence)
            lenient = lenient_order(execution, base)
            pairs = frozenset(
                _pair(text, structure, lines, precedence, race, is_accepted(execution, lenient, *race))
                for race in races
            )
            key = frozenset(pair.race for pair in pairs)
            possible |= key
            if key in found:
                continue
            # 8.7.2: the axioms do not apply to a program with a mixed-size race.
            mixed = any(structure.events[i].units != structure.events[j].units for i, j in races)
            if any(
                _leaves(structure, written, coherence, memory)
                for coherence in execution.coherence_orders(execution.causality(base))
            ):
                found[key] = pairs
            elif mixed:
                outside[key] = pairs
    return list((found or outside).values()), possible


def _leaves(structure: Structure, written: dict[int, int], coherence: Relation, memory: Sequence[int]) -> bool:
    """Whether global memory has the value of a last write in each unit that only strong writes access.

    The search does not learn the order of plain writes that race.
    """
    for unit, writes in structure.by_unit.items():
        if unit[0] != "global" or not all(structure.events[write].strong for write in writes):
            continue
        value = unit_of(memory[unit[2] * UNIT // 4], unit[2] % (4 // UNIT))
        mask = structure.mask(writes)
        last = [write for write in writes if not coherence[write] & mask]
        if all(unit_of(written[write], structure.events[write].units.index(unit)) != value for write in last):
            return False
    return True


def _later(structure: Structure, precedence: Relation, i: int, shared: set[tuple[str, int, int]]) -> frozenset[Key]:
    events = [structure.events[index] for index in bits(precedence[i] & structure.write_mask)]
    return frozenset(
        (event.number, event.thread) for event in events if not event.strong and shared <= set(event.units)
    )


def _pair(
    text: Text, structure: Structure, lines: list[int], precedence: Relation, race: tuple[int, int], accepted: bool
) -> Pair:
    one, other = (structure.events[index] for index in race)
    shared = set(one.units) & set(other.units)
    i, j = race
    later = (_later(structure, precedence, i, shared), _later(structure, precedence, j, shared))
    space = one.units[0][0]
    first, second = sorted(lines[event.number] for event in (one, other))
    return Pair(one, other, (f"{space}{text.number}", first, second), accepted, later)


def _unrolled(text: Text, words: Sequence[int]) -> tuple[Program, dict[tuple[int, int], int], list[int]]:
    """The program with one more read in front of each load that has waited, the values, and the lines of its steps."""
    values = values_read(text, words)
    program = Program(text.program.places, [], text.program.cluster)
    known: dict[tuple[int, int], int] = {}
    lines: list[int] = []
    for number, step in enumerate(text.program.steps):
        if step.awaited is not None:
            (thread,) = step.threads
            if values[number, thread] != step.awaited or text.waited(words, number, thread):
                # Only one step writes the flag, so a read of another value has read the initial one.
                known[len(lines), thread] = step.operation.location.initial  # type: ignore[union-attr]
                program.steps.append(replace(step, awaited=None))
                lines.append(text.line(number))
        for thread in step.threads:
            if (number, thread) in values:
                known[len(lines), thread] = values[number, thread]
        program.steps.append(step)
        lines.append(text.line(number))
    return program, known, lines


def _sources(structure: Structure, values: dict[tuple[int, int], int]) -> Iterator[tuple[ReadsFrom, dict[int, int]]]:
    """All choices of writes whose values are those that were read, with the values of all writes."""
    events = structure.events
    reductions = [index for index in structure.reads if events[index].step.operation.kind == "red"]
    writers = [
        [INITIAL, *(write for write in structure.by_unit[events[index].units[0]] if write != index)]
        for index in reductions
    ]
    for sources in itertools.product(*writers):
        chosen = dict(zip(reductions, sources, strict=True))
        written = _written(structure, values, chosen)
        if written is None:
            continue
        choices: list[tuple[tuple[int, int], list[int]]] = []
        for index in structure.reads:
            event = events[index]
            for unit, place in enumerate(event.units):
                if index in chosen:
                    choices.append(((index, unit), [chosen[index]]))
                    continue
                value = unit_of(values[event.number, event.thread], unit)
                fits = [
                    write
                    for write in structure.by_unit.get(place, ())
                    if write != index and unit_of(written[write], events[write].units.index(place)) == value
                ]
                if value == Location("global" if place[0] == "global" else "shared", place[-1] * UNIT, UNIT).initial:
                    fits.append(INITIAL)
                choices.append(((index, unit), fits))
        keys = [key for key, _ in choices]
        for choice in itertools.product(*(fits for _, fits in choices)):
            yield dict(zip(keys, choice, strict=True)), written


def _written(structure: Structure, values: dict[tuple[int, int], int], chosen: dict[int, int]) -> dict[int, int] | None:
    """The values of all writes; ``None`` if reductions would read from each other."""
    found: dict[int, int] = {}

    def value(index: int, depth: int) -> int | None:
        event = structure.events[index]
        operation, location = event.step.operation, event.step.operation.location
        assert location is not None
        own = structure.program.written(event.step, event.thread)
        if operation.kind not in ("add", "red"):
            return own
        mask = (1 << 8 * location.size) - 1
        if operation.kind == "add":
            return values[event.number, event.thread] + own & mask
        source = chosen[index]
        if depth > len(chosen):
            return None
        old = location.initial if source == INITIAL else value(source, depth + 1)
        return None if old is None else old + own & mask

    for index in structure.writes:
        result = value(index, 0)
        if result is None:
            return None
        found[index] = result
    return found
