"""Writes programs as kernels in PTX, and reads back what their threads have read.

The threads of a program execute one text, in which each instruction is predicated on the threads that execute it. So the
order of the text interleaves threads of one warp. A warp runs until it waits. At a :class:`Pause` it waits at a barrier, together
with one warp that does nothing else. So other warps of its block run meanwhile, and no other thread is ordered by the pause.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .programs import Location, Operation, Program, Step

HEAD = '.version 8.7\n.target sm_90\n.address_size 64\n.file 1 "litmus.cu"\n'
SLOTS = 64  # words of 64 bits for the results of a thread
REPEATS = 32  # the first of those words with the numbers of repeated loads
THREADS = 4
LINES = 100  # source lines of a program
BARRIERS = 16  # of a block; number 0 is for all its threads, the next ones are for pauses, and the last ones for threads that arrive
SPACE = 64  # bytes of each program in global memory, and of each block in shared memory


@dataclass(frozen=True)
class Pause:
    """A place in the text at which the warp of a thread lets other warps of its block run."""

    thread: int


@dataclass
class Text:
    """The text of one kernel: the number of the kernel, its program, and the pauses before each step."""

    number: int
    program: Program
    pauses: dict[int, list[Pause]] = field(default_factory=dict)
    patience: int = 5_000  # the number of times that an awaited value is read

    @property
    def name(self) -> str:
        return f"litmus{self.number}"

    def line(self, step: int) -> int:
        """The source line of a step."""
        return self.number * LINES + step + 1

    def waited(self, words: Sequence[int], step: int, thread: int) -> bool:
        """Whether a load that waits was executed more than once."""
        return bool(words[thread * SLOTS + REPEATS + step])

    @property
    def warps(self) -> int:
        """The warps of each block: those of the program, and one for each pause."""
        return self._own_warps() + sum(map(len, self.pauses.values()))

    @property
    def blocks(self) -> int:
        last = max(place.block for place in self.program.places) + 1
        return -(-last // self.program.cluster) * self.program.cluster

    def _own_warps(self) -> int:
        return max(place.warp for place in self.program.places) + 1

    def write(self) -> str:
        """Write the kernel."""
        program, own = self.program, self._own_warps()
        cluster = f" .explicitcluster .reqnctapercluster {program.cluster}, 1, 1" if program.cluster > 1 else ""
        lines = [
            f".global .align 16 .b8 global{self.number}[{SPACE}];",
            f".visible .entry {self.name}(.param .u64 array){cluster} {{",
            f".shared .align 16 .b8 shared{self.number}[{SPACE}];",
            ".reg .pred q, p<16>; .reg .b32 block, thread, role, warp, n; .reg .b64 out, at;",
            "ld.param.u64 out, [array]; mov.u32 block, %ctaid.x; mov.u32 thread, %tid.x; mov.u32 role, 99;",
        ]
        for thread, place in enumerate(program.places):
            lines.append(f"setp.eq.u32 q, block, {place.block};")
            lines.append(
                f"setp.eq.and.u32 q, thread, {32 * place.warp + place.lane}, q; selp.u32 role, {thread}, role, q;"
            )
        lines += ["shr.u32 warp, thread, 5;"]
        barrier = 0
        pauses = {}
        for step in range(len(program.steps) + 1):
            for pause in self.pauses.get(step, []):
                barrier += 1
                block = program.places[pause.thread].block
                pauses.setdefault(step, []).append(f"@p{1 << pause.thread} barrier.cta.sync {barrier}, 64;")
                lines.append(f"setp.eq.u32 q, warp, {own + barrier - 1}; setp.eq.and.u32 q, block, {block}, q;")
                lines.append(f"@q barrier.cta.sync {barrier}, 64;")
        lines += ["setp.eq.u32 q, role, 99; @q exit;"]
        for mask in range(1, 1 << len(program.places)):
            lines.append(f"mov.u32 n, {mask}; shr.u32 n, n, role; and.b32 n, n, 1; setp.ne.u32 p{mask}, n, 0;")
        lines.append(f"mul.lo.u32 n, role, {8 * SLOTS}; cvt.u64.u32 at, n; add.u64 out, out, at;")
        results = []
        for number, step in enumerate(program.steps):
            lines += pauses.get(number, [])
            written, kept = self._step(number, step)
            lines += written
            results += kept
        lines += pauses.get(len(program.steps), [])
        return "\n".join([*lines, *results, "ret;\n}"])

    def _step(self, number: int, step: Step) -> tuple[list[str], list[str]]:
        """The instructions of a step, and those that store its result."""
        operation, program = step.operation, self.program
        guard = f"@p{sum(1 << thread for thread in step.threads)}"
        place = f".loc 1 {self.line(number)} 0"
        if operation.kind == "barrier":
            return [place, *self._barrier(number, guard)], []
        if operation.kind == "warp_barrier":
            mask = sum(1 << program.places[thread].lane for thread in step.threads)
            return [place, f"{guard} bar.warp.sync {mask:#x};"], []
        if operation.kind == "fence":
            return [place, f"{guard} {fence(operation)};"], []
        location = operation.location
        assert location is not None
        bits, address = 8 * location.size, f"[a{number}+{location.offset}]"
        value, result = f"v{number}", f"r{number}"
        # The default mode takes a load for the first one of a loop of compare-and-swap operations if both use one register.
        lines = [f".reg .b64 a{number}; mov.u64 a{number}, {location.space}{self.number};"]
        lines.append(f".reg .b{bits} {value}, {result};")
        if operation.kind != "load":
            for thread in step.threads:
                lines.append(f"@p{1 << thread} mov.b{bits} {value}, {self._value(step, thread)};")
        lines.append(place)
        if step.awaited is not None:
            lines += self._waiting(number, step, bits, f"{access(operation)} {result}, {address};")
        elif operation.kind == "load":
            lines.append(f"{guard} {access(operation)} {result}, {address};")
        elif operation.kind == "store" or operation.kind == "red":
            lines.append(f"{guard} {access(operation)} {address}, {value};")
        elif operation.kind == "cas":
            lines.append(f"{guard} {access(operation)} {result}, {address}, {operation.expected}, {value};")
        else:
            lines.append(f"{guard} {access(operation)} {result}, {address}, {value};")
        kept = []
        if operation.kind not in ("store", "red"):
            wide = f"cvt.u64.u{bits} at, {result};" if bits < 64 else f"mov.u64 at, {result};"
            kept.append(f"{wide} {guard} st.global.u64 [out+{8 * number}], at;")
        if step.awaited is not None:
            kept.append(f"cvt.u64.u32 at, n{number}; {guard} st.global.u64 [out+{8 * (REPEATS + number)}], at;")
        return lines, kept

    def _value(self, step: Step, thread: int) -> int | str:
        """A number, or the register of an earlier load."""
        value = step.operation.value
        if isinstance(value, int):
            return self.program.written(step, thread)
        names = [step.operation.register for step in self.program.steps]
        return f"r{names.index(value)}"

    def _barrier(self, number: int, guard: str) -> list[str]:
        """A barrier of all threads of a block; with threads that only arrive, of two warps."""
        step = self.program.steps[number]
        if not step.arriving:
            # A warp that serves a pause takes no part, so the others are counted.
            places = [self.program.places[thread] for thread in step.threads]
            count = f", {32 * len({place.warp for place in places})}" if self.pauses else ""
            return [f"{guard} barrier.cta.sync 0{count};"]
        waiting = sum(1 << thread for thread in step.threads if thread not in step.arriving)
        arriving = sum(1 << thread for thread in step.arriving)
        # A thread that arrives twice at one barrier would complete it alone.
        barrier = BARRIERS - sum(bool(step.arriving) for step in self.program.steps[: number + 1])
        return [f"@p{arriving} barrier.cta.arrive {barrier}, 64;", f"@p{waiting} barrier.cta.sync {barrier}, 64;"]

    def _waiting(self, number: int, step: Step, bits: int, load: str) -> list[str]:
        """A loop that repeats a load until it reads the awaited value."""
        (thread,) = step.threads
        return [
            f".reg .b32 n{number}; mov.u32 n{number}, 0;",
            f"L{number}: @!p{1 << thread} bra E{number};",
            load,
            f"setp.eq.b{bits} q, r{number}, {step.awaited}; @q bra E{number};",
            f"add.u32 n{number}, n{number}, 1; setp.lt.u32 q, n{number}, {self.patience}; @q bra L{number};",
            f"E{number}:",
        ]


def fence(operation: Operation) -> str:
    """The instruction of a fence. A ``membar`` is a ``fence.sc``."""
    if operation.kind == "fence" and operation.register == "membar":
        return {"cta": "membar.cta", "gpu": "membar.gl", "sys": "membar.sys"}[str(operation.scope)]
    return f"fence.{operation.semantics}.{operation.scope}"


def access(operation: Operation) -> str:
    """The opcode of an access."""
    location = operation.location
    assert isinstance(location, Location)
    bits = 8 * location.size
    strength = "" if operation.semantics == "weak" else f".{operation.semantics}"
    if operation.semantics not in ("weak", "volatile"):
        strength += f".{operation.scope}"
    if operation.kind in ("load", "store"):
        return f"{'ld' if operation.kind == 'load' else 'st'}{strength}.{location.space}.b{bits}"
    name = {"red": "red", "exch": "atom", "cas": "atom", "add": "atom"}[operation.kind]
    function = "add" if operation.kind == "red" else operation.kind
    kind = f"u{bits}" if function == "add" else f"b{bits}"
    return f"{name}{strength}.{location.space}.{function}.{kind}"


def module(texts: Iterable[Text]) -> str:
    """The text of a module with these kernels."""
    return HEAD + "\n".join(text.write() for text in texts)


def values_read(text: Text, words: Sequence[int]) -> dict[tuple[int, int], int]:
    """The value that each thread has read at each step, from the words that the kernel has stored."""
    return {
        (number, thread): int(words[thread * SLOTS + number])
        for number, step in enumerate(text.program.steps)
        for thread in step.threads
        if step.operation.reads and step.operation.kind != "red"
    }
