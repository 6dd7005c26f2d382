"""The axioms of the PTX memory consistency model, evaluated by brute force.

An execution says from which write each read gets each unit of its value. It is allowed if an order of the ``fence.sc``
operations and a coherence order of the writes exist that satisfy all axioms. Sections are those of the chapter "Memory
Consistency Model" in the manual of the PTX instruction set.

Relations are lists of bit masks: bit ``j`` of ``relation[i]`` says that event ``i`` precedes event ``j``.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .programs import UNIT, Program, Step

INITIAL = -1  # the write that initializes memory, 8.2.6
Relation = list[int]
ReadsFrom = dict[tuple[int, int], int]
Unit = tuple[str, int, int]


@dataclass(frozen=True)
class Event:
    """An operation of a thread; a barrier is two, an arrival and a wait (8.4)."""

    thread: int
    number: int  # of the step
    step: Step
    kind: str  # "memory", "fence", "arrival" or "wait"
    reads: bool
    writes: bool
    units: tuple[Unit, ...] = ()

    @property
    def strong(self) -> bool:
        return self.kind == "fence" or (self.kind == "memory" and self.step.operation.semantics != "weak")

    @property
    def semantics(self) -> str:
        return self.step.operation.semantics

    @property
    def acquires(self) -> bool:
        return self.semantics in ("acquire", "acq_rel") or (self.kind == "fence" and self.semantics == "sc")

    @property
    def releases(self) -> bool:
        return self.semantics in ("release", "acq_rel") or (self.kind == "fence" and self.semantics == "sc")


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits of a mask."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def closure(relation: Relation) -> Relation:
    """The transitive closure of a relation."""
    found = list(relation)
    for middle in range(len(found)):
        row, bit = found[middle], 1 << middle
        for start in range(len(found)):
            if found[start] & bit:
                found[start] |= row
    return found


def is_acyclic(relation: Relation) -> bool:
    return not any(row >> index & 1 for index, row in enumerate(closure(relation)))


def union(*relations: Relation) -> Relation:
    return [functools.reduce(int.__or__, rows) for rows in zip(*relations, strict=True)]


class Structure:
    """The events of a program, and the relations between them that no execution changes."""

    def __init__(self, program: Program, failed: frozenset[tuple[int, int]] = frozenset()) -> None:
        """Make the events. ``failed`` has the step and thread of each compare-and-swap that does not write."""
        self.program = program
        self.events: list[Event] = []
        barriers: dict[int, tuple[list[int], list[int]]] = {}
        for number, step in enumerate(program.steps):
            for thread in step.threads:
                self._add(number, step, thread, failed, barriers)
        events = self.events
        count = range(len(events))
        self.po = [
            self.mask(j for j in range(i + 1, len(events)) if events[j].thread == events[i].thread) for i in count
        ]
        self.overlap = [
            self.mask(j for j in count if i != j and set(events[i].units) & set(events[j].units)) for i in count
        ]
        self.strong = [self.mask(j for j in count if i != j and self._morally_strong(i, j)) for i in count]
        self.memory = [i for i in count if events[i].kind == "memory"]
        self.writes = [i for i in self.memory if events[i].writes]
        self.reads = [i for i in self.memory if events[i].reads]
        self.write_mask = self.mask(self.writes)
        self.sc_fences = [i for i in count if events[i].kind == "fence" and events[i].semantics == "sc"]
        self.barrier_order = [0] * len(events)
        for arrivals, waits in barriers.values():
            for arrival in arrivals:
                self.barrier_order[arrival] |= self.mask(waits)
        self.release_patterns = list(self._release_patterns())
        self.acquire_patterns = list(self._acquire_patterns())
        self.by_unit: dict[Unit, list[int]] = {}
        for index in self.writes:
            for unit in events[index].units:
                self.by_unit.setdefault(unit, []).append(index)

    def _add(
        self,
        number: int,
        step: Step,
        thread: int,
        failed: frozenset[tuple[int, int]],
        barriers: dict[int, tuple[list[int], list[int]]],
    ) -> None:
        operation, index = step.operation, len(self.events)
        if operation.kind in ("barrier", "warp_barrier"):
            arrivals, waits = barriers.setdefault(number, ([], []))
            arrivals.append(index)
            self.events.append(Event(thread, number, step, "arrival", False, False))
            if thread not in step.arriving:
                waits.append(index + 1)
                self.events.append(Event(thread, number, step, "wait", False, False))
        elif operation.kind == "fence":
            self.events.append(Event(thread, number, step, "fence", False, False))
        else:
            location = operation.location
            assert location is not None
            block = self.program.places[thread].block if location.space == "shared" else 0
            units = tuple((location.space, block, unit) for unit in location.units)
            writes = operation.kind != "load" and (number, thread) not in failed
            self.events.append(Event(thread, number, step, "memory", operation.reads, writes, units))

    @staticmethod
    def mask(indices: Iterable[int]) -> int:
        """The bits of these events."""
        return sum(1 << index for index in indices)

    def _morally_strong(self, i: int, j: int) -> bool:
        """8.7: operations of one thread, or strong ones whose scopes include each other; memory operations overlap completely."""
        one, other = self.events[i], self.events[j]
        if one.kind == other.kind == "memory" and one.units != other.units:
            return False
        if one.thread == other.thread:
            return True
        return one.strong and other.strong and self._includes(one, other) and self._includes(other, one)

    def _includes(self, one: Event, other: Event) -> bool:
        scope = one.step.operation.scope
        assert scope is not None
        return self.program.includes(scope, one.thread, other.thread)

    def _release_patterns(self) -> Iterator[tuple[int, int]]:
        """8.8: the first operation of each release pattern, and its write."""
        for first, event in enumerate(self.events):
            if not event.releases:
                continue
            if event.writes:
                yield first, first
            for later in bits(self.po[first] & self.write_mask):
                write = self.events[later]
                if write.strong and (event.kind == "fence" or write.units == event.units):
                    yield first, later

    def _acquire_patterns(self) -> Iterator[tuple[int, int]]:
        """8.8: the read of each acquire pattern, and its last operation. A reduction is no such read."""
        for first in self.reads:
            event = self.events[first]
            if not event.strong or event.step.operation.kind == "red":
                continue
            if event.acquires:
                yield first, first
            for later in bits(self.po[first]):
                last = self.events[later]
                if last.acquires and (last.kind == "fence" or last.units == event.units):
                    yield first, later


class Execution:
    """A choice of the write from which each read gets each unit."""

    def __init__(self, structure: Structure, reads_from: ReadsFrom) -> None:
        self.structure, self.reads_from = structure, reads_from
        count = len(structure.events)
        self.rf: Relation = [0] * count
        for (read, _), write in reads_from.items():
            if write != INITIAL:
                self.rf[write] |= 1 << read
        # 8.9.2: observation order goes through atomic operations.
        self.observed = [row & strong for row, strong in zip(self.rf, structure.strong, strict=True)]
        atomic = [i for i in structure.reads if structure.events[i].step.operation.is_atomic]
        for _ in atomic:
            for start in range(count):
                for middle in atomic:
                    if self.observed[start] >> middle & 1:
                        self.observed[start] |= self.observed[middle]
        # 8.9.4: a release pattern synchronizes with an acquire pattern.
        self.synchronizes: Relation = [0] * count
        for first, write in structure.release_patterns:
            for read, last in structure.acquire_patterns:
                if self.observed[write] >> read & 1 and structure.strong[first] >> last & 1:
                    self.synchronizes[first] |= 1 << last

    def fence_orders(self) -> Iterator[Relation]:
        """8.9.3: the orders of morally strong pairs of ``fence.sc``."""
        structure, seen = self.structure, set()
        for order in itertools.permutations(structure.sc_fences):
            place = {fence: index for index, fence in enumerate(order)}
            if any(place[later] < place[i] for i in order for later in bits(structure.po[i]) if later in place):
                continue
            relation = [0] * len(structure.events)
            for i, j in itertools.combinations(order, 2):
                relation[i] |= structure.strong[i] & 1 << j
            key = tuple(relation)
            if key not in seen:
                seen.add(key)
                yield relation

    def base_causality(self, fences: Relation) -> Relation:
        """8.9.5: program order and synchronization, transitively."""
        structure = self.structure
        return closure(union(structure.po, self.synchronizes, structure.barrier_order, fences))

    def causality(self, base: Relation) -> Relation:
        """8.9.5: base causality order, also after an observation; between overlapping memory operations."""
        found = []
        for index, row in enumerate(base):
            for reader in bits(self.observed[index]):
                row |= base[reader]
            found.append(row & self.structure.overlap[index])
        return found

    def precedence(self, base: Relation) -> Relation:
        """The causality order that races are compared with.

        8.8: a release affects only operations before it, and an acquire only those after it. So a path of causality counts for
        an operation only if it begins and ends with program order. The formal model of 2019 has no such restriction: there an
        acquire operation is itself ordered after the operations that it acquires.
        """
        structure = self.structure
        outer = []
        for row in structure.po:
            reached = row
            for later in bits(row):
                for last in bits(base[later]):
                    reached |= structure.po[last]
            outer.append(reached)
        return self.causality(outer)

    def races(self, causality: Relation) -> frozenset[tuple[int, int]]:
        """8.7.1: conflicting operations that are neither morally strong nor related in causality order (:meth:`precedence`)."""
        structure, found = self.structure, set()
        for i in structure.memory:
            for j in bits(structure.overlap[i] & ~structure.strong[i] & ~causality[i]):
                one, other = structure.events[i], structure.events[j]
                if i < j and one.thread != other.thread and (one.writes or other.writes) and not causality[j] >> i & 1:
                    found.add((i, j))
        return frozenset(found)

    def base_orders(self) -> Iterator[Relation]:
        """The base causality order for each Fence-SC order that does not contradict it (8.10.2)."""
        fences_of_program = self.structure.sc_fences
        for fences in self.fence_orders():
            base = self.base_causality(fences)
            if not any(fences[i] >> j & 1 and base[j] >> i & 1 for i in fences_of_program for j in fences_of_program):
                yield base

    def witnesses(self) -> Iterator[tuple[Relation, Relation]]:
        """The base causality and coherence orders under which the execution is allowed."""
        for base in self.base_orders():
            for coherence in self.coherence_orders(self.causality(base)):
                yield base, coherence

    def coherence_orders(self, causality: Relation) -> Iterator[Relation]:
        """8.9.6 and 8.10.1: writes that are morally strong or related in causality order are related in coherence order."""
        structure = self.structure
        order = [0] * len(structure.events)
        for i in structure.writes:
            order[i] = causality[i] & structure.write_mask
        pairs = [
            (i, j)
            for i, j in itertools.combinations(structure.writes, 2)
            if structure.overlap[i] & structure.strong[i] & 1 << j
        ]
        yield from self._extend(closure(order), pairs, causality)

    def _extend(self, order: Relation, pairs: list[tuple[int, int]], causality: Relation) -> Iterator[Relation]:
        if not self._holds(order, causality):
            return
        for i, j in pairs:
            if not (order[i] >> j | order[j] >> i) & 1:
                for one, other in ((i, j), (j, i)):
                    longer = list(order)
                    longer[one] |= 1 << other
                    yield from self._extend(closure(longer), pairs, causality)
                return
        yield order

    def _holds(self, coherence: Relation, causality: Relation) -> bool:
        """Whether the axioms hold. More pairs in the coherence order never make a broken axiom hold."""
        structure = self.structure
        events, strong = structure.events, structure.strong
        if any(row >> index & 1 for index, row in enumerate(coherence)):
            return False
        from_reads = [0] * len(events)
        for (read, unit), write in self.reads_from.items():
            later = structure.by_unit.get(events[read].units[unit], ())
            for other in later:
                if other != read and (write == INITIAL or coherence[write] >> other & 1):
                    from_reads[read] |= 1 << other
        for read in structure.reads:
            row = from_reads[read] & strong[read]
            # 8.10.3, single-copy atomicity: no part of the value from a write, and another from before that write.
            if any(self.rf[write] >> read & 1 for write in bits(row)):
                return False
            # 8.10.3, atomicity of read-modify-write operations: no other write between the read and the write.
            if events[read].writes and any(coherence[write] >> read & 1 for write in bits(row)):
                return False
            # 8.10.6: a read cannot miss a write that precedes it.
            if any(causality[write] >> read & 1 for write in bits(from_reads[read])):
                return False
            # 8.10.6: a read cannot get its value from a write that it precedes.
            if any(self.rf[write] >> read & 1 for write in bits(causality[read] & structure.write_mask)):
                return False
        # 8.10.5: sequential consistency per location.
        communication = union(self.rf, coherence, from_reads)
        return is_acyclic(
            [
                row & strong[i] & structure.overlap[i] | structure.po[i] & structure.overlap[i]
                for i, row in enumerate(communication)
            ]
        )


def unit_of(value: int, index: int) -> int:
    """A unit of a number."""
    return value >> 8 * UNIT * index & (1 << 8 * UNIT) - 1
