"""Random programs: threads in any placement, over a few words of global and shared memory.

Half of the programs pass messages between their threads: a write, a release pattern, an acquire pattern, another access.
Scopes, fences and the parts of a pattern are chosen at random, so some of these programs are right and most are not.
"""

from __future__ import annotations

import random

from .kernels import Pause, Text
from .programs import ATOMICS, UNIT, Location, Operation, Place, Program, Step, repeated

FLAGS = (Location("global", 32, 4), Location("global", 40, 8), Location("shared", 32, 4))
# The barriers with threads that only arrive: those that pauses leave.
MOST_ARRIVALS = 10
# The iterations of a load that waits: more than the turn of a warp has, and of a block.
PATIENCE, LONG_PATIENCE = 14_000, 450_000


class Maker:
    """A generator of random programs, reproducible by its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = seed
        self.program = Program(())
        self.mixed = self.random.random() < 0.3
        self.layout: dict[tuple[str, int], Location] = {}
        self.adds = 0
        self.outlasts = False
        self.pauses: dict[int, list[Pause]] = {}

    def text(self, number: int) -> Text:
        """Make the program, and choose where its warps pause."""
        self.program.places, self.program.cluster = self.places()
        while len(self.program.steps) < 4 or (self.random.random() < 0.85 and len(self.program.steps) < 12):
            choice = self.random.random()
            if choice < 0.30:
                self.message()
            elif choice < 0.42:
                self.barrier()
            elif choice < 0.55:
                self.put(self.fence())
            else:
                self.access()
        patience = LONG_PATIENCE if self.outlasts else PATIENCE
        return Text(number, self.program, self.pauses, patience)

    def places(self) -> tuple[tuple[Place, ...], int]:
        """Choose distinct places, and the size of clusters."""
        count = self.random.choice((2, 2, 3, 3, 4))
        blocks, warps = self.random.choice(((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (3, 1), (4, 1), (4, 2)))
        cluster = self.random.choice((1, 1, 2)) if blocks > 1 else 1
        found: list[Place] = []
        while len(found) < count:
            lane = self.random.choice((0, 0, 1, 2, 17))
            place = Place(self.random.randrange(blocks), self.random.randrange(warps), lane)
            if place not in found:
                found.append(place)
        return tuple(found), cluster

    def thread(self) -> int:
        return self.random.randrange(len(self.program.places))

    def scope(self) -> str:
        return self.random.choices(("cta", "cluster", "gpu", "sys"), (25, 10, 45, 20))[0]

    def alone(self, thread: int) -> bool:
        """Whether no other thread of the program is in the thread's warp."""
        places = self.program.places
        own = places[thread]
        return sum(place.block == own.block and place.warp == own.warp for place in places) == 1

    def put(
        self, operation: Operation, *threads: int, awaited: int | None = None, arriving: tuple[int, ...] = ()
    ) -> None:
        """Add a step, and perhaps a pause before it."""
        threads = threads or (self.thread(),)
        number, paused = len(self.program.steps), sum(map(len, self.pauses.values()))
        thread = threads[0]
        if self.random.random() < 0.15 and paused < 5 and operation.kind != "barrier" and self.alone(thread):
            self.pauses.setdefault(number, []).append(Pause(thread))
        self.program.steps.append(Step(operation, tuple(sorted(threads)), arriving, awaited))

    def location(self) -> Location:
        """Choose bytes: in a third of the programs accesses of any size overlap."""
        space = self.random.choice(("global", "global", "shared"))
        cell = 8 * self.random.randrange(2)
        if not self.mixed and (space, cell) in self.layout:
            return self.layout[space, cell]
        size = self.random.choice((8, 4, 4, 2))
        found = Location(space, cell + size * self.random.randrange(8 // size), size)
        self.layout[space, cell] = found
        return found

    def value(self, location: Location) -> int:
        """A number that no other step writes, in any unit."""
        first = 0x40 * (1 + 4 * len(self.program.steps))
        return sum(first + 0x40 * index << 8 * UNIT * index for index in range(location.size // UNIT))

    def fence(self) -> Operation:
        semantics = self.random.choice(("sc", "acq_rel", "acq_rel", "release", "acquire", "membar"))
        if semantics == "membar":
            return Operation("fence", "sc", self.random.choice(("cta", "gpu", "sys")), register="membar")
        return Operation("fence", semantics, self.scope())

    def plain(self, location: Location, writes: bool, weak: float = 0.4) -> Operation:
        """A load or a store."""
        kind = "store" if writes else "load"
        value = self.value(location) if writes else 0
        if self.random.random() < weak:
            return Operation(kind, "weak", None, location, value)
        semantics = self.random.choice(("relaxed", "volatile", "release" if writes else "acquire"))
        scope = "sys" if semantics == "volatile" else self.scope()
        return Operation(kind, semantics, scope, location, value)

    def atomic(self, location: Location) -> Operation:
        # The value that a reduction replaces is unknown, so few are used, and only where sizes are not mixed.
        reductions = any(step.operation.kind == "red" for step in self.program.steps)
        kind = self.random.choice([name for name in ATOMICS if name != "red" or not (self.mixed or reductions)])
        semantics = ("relaxed", "release") if kind == "red" else ("relaxed", "acquire", "release", "acq_rel")
        value, expected = self.value(location), 0
        if kind in ("add", "red"):
            value = repeated(1 << self.adds % 4)
            self.adds += 1
        if kind == "cas":
            written = [
                int(step.operation.value)
                for step in self.program.steps
                if step.operation.location == location and step.operation.kind in ("store", "exch")
            ]
            expected = self.random.choice([location.initial, *written]) & (1 << 8 * location.size) - 1
        return Operation(kind, self.random.choice(semantics), self.scope(), location, value, expected)

    def access(self) -> None:
        location = self.location()
        is_atomic = location.size > 2 and self.random.random() < 0.4
        operation = self.atomic(location) if is_atomic else self.plain(location, self.random.random() < 0.5)
        threads = [self.thread()]
        if self.random.random() < 0.1 and operation.kind != "red":
            threads = self.random.sample(range(len(self.program.places)), 2)
        self.put(operation, *threads)

    def message(self) -> None:
        """Pass a message: each part of the pattern may be missing, weak, or of a narrow scope."""
        sender, receiver = self.random.sample(range(len(self.program.places)), 2)
        # A load that waits reads the initial value until it reads the awaited one, so no other step writes its flag.
        awaited_flags = [step.operation.location for step in self.program.steps if step.awaited is not None]
        flags = [flag for flag in FLAGS if flag not in awaited_flags]
        if not flags:
            return
        data, flag = self.location(), self.random.choice(flags)
        scope = self.scope()
        pick = self.random.random
        if pick() < 0.8:
            self.put(self.plain(data, pick() < 0.7, 0.8), sender)
        release = self.random.choice(("store", "atomic", "fence", "fence"))
        if release == "fence":
            fence = self.fence()
            self.put(Operation("fence", fence.semantics, scope if pick() < 0.7 else fence.scope), sender)
        semantics = "relaxed" if release == "fence" and pick() < 0.9 else "release"
        value = self.value(flag)
        kind = "exch" if release == "atomic" else "store"
        self.put(Operation(kind, semantics, scope, flag, value), sender)
        others = [
            step for step in self.program.steps[:-1] if step.operation.location and step.operation.location == flag
        ]
        if pick() < 0.2 and release != "fence":
            between = self.thread()
            self.put(Operation("add", "relaxed", self.scope(), flag, repeated(1 << self.adds % 4)), between)
            self.adds += 1
            others.append(self.program.steps[-1])
        kept = scope if pick() < 0.7 else self.scope()
        acquire = self.random.choice(("load", "load", "atomic", "fence"))
        semantics = "relaxed" if acquire == "fence" else "acquire"
        if acquire == "atomic":
            self.put(Operation("exch", semantics, kept, flag, self.value(flag)), receiver)
        else:
            # Blocks run one after the other, so a receiver in an earlier block must outlast the turn of its block.
            later = self.program.places[sender].block > self.program.places[receiver].block
            awaited = value if not others and kind == "store" and pick() < (0.3 if later else 0.15) else None
            self.outlasts |= awaited is not None and later and pick() < 0.2
            self.put(Operation("load", semantics, kept, flag), receiver, awaited=awaited)
        if acquire == "fence":
            fence = self.fence()
            self.put(Operation("fence", fence.semantics, kept if pick() < 0.7 else fence.scope), receiver)
        self.put(self.plain(data, pick() < 0.5, 0.8), receiver)

    def barrier(self) -> None:
        """A barrier of a block, of two of its warps, or of threads of a warp."""
        places = self.program.places
        own = places[self.thread()]
        block = [thread for thread, place in enumerate(places) if place.block == own.block]
        warp = [thread for thread in block if places[thread].warp == own.warp]
        if len(warp) > 1 and self.random.random() < 0.5:
            members = self.random.sample(warp, self.random.randint(2, len(warp)))
            return self.put(Operation("warp_barrier"), *members)
        if len(block) < 2:
            return None
        alone = [thread for thread in block if self.alone(thread)]
        used = sum(bool(step.arriving) for step in self.program.steps)
        if len(alone) > 1 and self.random.random() < 0.3 and used < MOST_ARRIVALS:
            pair = self.random.sample(alone, 2)
            return self.put(Operation("barrier"), *pair, arriving=(pair[0],))
        return self.put(Operation("barrier"), *block)
