"""Small programs of a few threads: the common input of the evaluator and of the writer of PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

UNDEFINED = (0xFFF5A5A5).to_bytes(4, "little")
UNIT = 2  # bytes: the smallest access, and the granularity at which a read gets its value from writes
SCOPES = ("cta", "cluster", "gpu", "sys")
ATOMICS = ("exch", "add", "cas", "red")


@dataclass(frozen=True)
class Place:
    """The place of a thread in the grid."""

    block: int
    warp: int
    lane: int = 0


@dataclass(frozen=True)
class Location:
    """Bytes of global or shared memory. Each block has its own shared memory."""

    space: str
    offset: int
    size: int

    @property
    def initial(self) -> int:
        """The value before any write: zero in global memory, and the simulator's undefined value in shared memory."""
        fresh = UNDEFINED if self.space == "shared" else bytes(len(UNDEFINED))
        start = self.offset % len(fresh)
        return int.from_bytes((3 * fresh)[start : start + self.size], "little")

    @property
    def units(self) -> range:
        return range(self.offset // UNIT, (self.offset + self.size) // UNIT)


@dataclass(frozen=True)
class Operation:
    """One instruction. ``value`` is written, added or, if it is a string, the name of a register that is stored."""

    kind: str
    semantics: str = "weak"
    scope: str | None = None
    location: Location | None = None
    value: int | str = 0
    expected: int = 0
    register: str | None = None

    @property
    def reads(self) -> bool:
        return self.kind == "load" or self.kind in ATOMICS

    @property
    def is_atomic(self) -> bool:
        return self.kind in ATOMICS


@dataclass(frozen=True)
class Step:
    """An instruction, and the threads that execute it. At a barrier, threads in ``arriving`` do not wait."""

    operation: Operation
    threads: tuple[int, ...]
    arriving: tuple[int, ...] = ()
    # A load that is repeated until it reads this value, or until it has been repeated often enough.
    awaited: int | None = None


@dataclass
class Program:
    """Threads and their instructions. The order of ``steps`` is the order in the text of the kernel."""

    places: tuple[Place, ...]
    steps: list[Step] = field(default_factory=list)
    cluster: int = 1  # blocks

    def includes(self, scope: str, thread: int, other: int) -> bool:
        """Whether a scope of ``thread`` includes the thread ``other``."""
        one, two = self.places[thread].block, self.places[other].block
        if scope == "cta":
            return one == two
        if scope == "cluster":
            return one // self.cluster == two // self.cluster
        return True

    def written(self, step: Step, thread: int) -> int:
        """The number that a thread writes or adds. Threads that execute one store write different numbers."""
        operation = step.operation
        assert operation.location is not None
        assert isinstance(operation.value, int)
        own = 0 if operation.kind in ("add", "red") or len(step.threads) == 1 else repeated(0x10 * thread)
        return operation.value + own & (1 << 8 * operation.location.size) - 1


def repeated(number: int) -> int:
    """A word of 64 bits with the number in each unit."""
    return number * 0x0001_0001_0001_0001


PLACEMENTS = {
    "warp": (Place(0, 0, 0), Place(0, 0, 1), Place(0, 0, 2), Place(0, 0, 3)),
    "block": (Place(0, 0), Place(0, 1), Place(0, 2), Place(0, 3)),
    "cluster": (Place(0, 0), Place(1, 0), Place(2, 0), Place(3, 0)),
    "grid": (Place(0, 0), Place(1, 0), Place(2, 0), Place(3, 0)),
    # Two threads of a block, and others.
    "bridge": (Place(0, 0), Place(0, 1), Place(1, 0), Place(2, 0)),
}
NAMES = "xyzw"


def _instruction(text: str, space: str) -> Operation:
    head, *rest = re.split(r"[ ,]+", text.strip())
    name, *flags = head.split(".")
    kind = {"ld": "load", "st": "store"}.get(name, name)
    if kind == "bar":
        return Operation("barrier")
    semantics = next((flag for flag in flags if flag not in (*SCOPES, *ATOMICS)), "weak")
    scope = next((flag for flag in flags if flag in SCOPES), None)
    if kind == "fence":
        return Operation(kind, semantics, scope)
    if semantics == "volatile":
        semantics, scope = "volatile", "sys"
    if kind in ("atom", "red"):
        semantics, scope = ("relaxed" if semantics == "weak" else semantics), scope or "gpu"
        kind = "red" if kind == "red" else next(flag for flag in flags if flag in ATOMICS)
    register = rest.pop(0) if kind not in ("store", "red") else None
    location = Location(space, 8 * NAMES.index(rest.pop(0)), 4)
    numbers = [int(word) if word.isdigit() else word for word in rest]
    value = numbers[-1] if numbers else 0
    expected = numbers[0] if kind == "cas" else 0
    assert isinstance(expected, int)
    return Operation(kind, semantics, scope, location, value, expected, register)


def parse(text: str, placement: str, space: str = "global") -> Program:
    """Read a program. ``|`` separates threads, ``;`` instructions: ``st.weak x, 1; fence.sc.gpu | ld.relaxed.gpu r0, y``."""
    threads = [[_instruction(one, space) for one in thread.split(";") if one.strip()] for thread in text.split("|")]
    program = Program(PLACEMENTS[placement][: len(threads)], [], 4 if placement == "cluster" else 1)
    # Barriers are instructions of all threads, so each phase between two barriers is written thread by thread.
    phases = [[[]] for _ in threads]
    for phase, operations in zip(phases, threads, strict=True):
        for operation in operations:
            if operation.kind == "barrier":
                phase.append([])
            else:
                phase[-1].append(operation)
    everyone = tuple(range(len(threads)))
    for number in range(max(map(len, phases))):
        if number:
            program.steps.append(Step(Operation("barrier"), everyone))
        for thread, phase in enumerate(phases):
            program.steps += [Step(operation, (thread,)) for operation in phase[number]]
    return program
