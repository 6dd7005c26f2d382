"""Random programs with control flow, as PTX and as a reference interpreter.

A program is a tree of statements over four registers of a thread, ``r0`` to ``r3``. As PTX its threads diverge and converge in
warps. The interpreter here runs each thread alone, except in statements that exchange values between threads. If the results
differ, the driver has lost a thread, run one twice, or mixed the control flow of two threads.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

REGISTERS = 4
ONES = 0xFFFFFFFF
LANES = 32


class Jump(Exception):
    """A thread leaves a loop, an iteration, a function or the kernel."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


@dataclass
class Writer:
    """A writer of PTX that also generates unique names."""

    lines: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    count: int = 0
    loops: list[str] = field(default_factory=list)
    inside_function: bool = False

    def fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}{self.count}"

    def put(self, *lines: str) -> None:
        self.lines.extend(lines)


Thread = list[int]
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda a, b: a + b & ONES,
    "sub.u32": lambda a, b: a - b & ONES,
    "mul.lo.u32": lambda a, b: a * b & ONES,
    "xor.b32": lambda a, b: a ^ b,
    "or.b32": lambda a, b: a | b,
    "min.u32": min,
}


@dataclass
class Compute:
    """The statement ``r[to] = r[a] op operand``, where the operand is a register or a number."""

    operation: str
    to: int
    a: int
    operand: int
    is_register: bool

    def write(self, out: Writer) -> None:
        operand = f"r{self.operand}" if self.is_register else str(self.operand)
        out.put(f"{self.operation} r{self.to}, r{self.a}, {operand};")

    def run(self, thread: Thread) -> None:
        operand = thread[self.operand] if self.is_register else self.operand
        thread[self.to] = OPERATIONS[self.operation](thread[self.a], operand)


@dataclass
class Test:
    """The condition that some bits of a register are less than a number."""

    register: int
    mask: int
    bound: int

    def write(self, out: Writer) -> None:
        out.put(f"and.b32 x, r{self.register}, {self.mask}; setp.lt.u32 p, x, {self.bound};")

    def holds(self, thread: Thread) -> bool:
        return thread[self.register] & self.mask < self.bound


@dataclass
class If:
    test: Test
    then: list[Statement]
    other: list[Statement]

    def write(self, out: Writer) -> None:
        other, end = out.fresh("L"), out.fresh("L")
        self.test.write(out)
        out.put(f"@!p bra {other};")
        write(self.then, out)
        out.put(f"bra {end};", f"{other}:")
        write(self.other, out)
        out.put(f"{end}:")

    def run(self, thread: Thread) -> None:
        run(self.then if self.test.holds(thread) else self.other, thread)


@dataclass
class Loop:
    """A loop whose number of iterations is in some bits of a register."""

    register: int
    mask: int
    body: list[Statement]

    def write(self, out: Writer) -> None:
        counter, again, end, turn = (out.fresh(name) for name in ("n", "L", "L", "L"))
        out.put("{", f".reg .b32 {counter}; and.b32 {counter}, r{self.register}, {self.mask};", f"{again}:")
        out.put(f"setp.eq.u32 p, {counter}, 0; @p bra {end};")
        out.loops.append(f"{end} {turn}")
        write(self.body, out)
        out.loops.pop()
        out.put(f"{turn}:", f"sub.u32 {counter}, {counter}, 1; bra {again};", f"{end}:", "}")

    def run(self, thread: Thread) -> None:
        for _ in range(thread[self.register] & self.mask):
            try:
                run(self.body, thread)
            except Jump as jump:
                if jump.kind == "break":
                    break
                if jump.kind != "continue":
                    raise


@dataclass
class Leave:
    """A ``break``, ``continue``, ``return`` or ``exit`` under a condition."""

    kind: str
    test: Test

    def write(self, out: Writer) -> None:
        self.test.write(out)
        if self.kind in ("break", "continue"):
            out.put(f"@p bra {out.loops[-1].split()[self.kind == 'continue']};")
        elif self.kind == "return":
            out.put("@p bra DONE;")
        else:
            stay = out.fresh("L")
            out.put(f"@!p bra {stay};", *STORE, "exit;", f"{stay}:")

    def run(self, thread: Thread) -> None:
        if self.test.holds(thread):
            raise Jump(self.kind)


@dataclass
class Switch:
    """A branch to one of several cases, by a table of targets."""

    register: int
    cases: list[list[Statement]]

    def write(self, out: Writer) -> None:
        table, end = out.fresh("T"), out.fresh("L")
        labels = [out.fresh("L") for _ in self.cases]
        out.put("{", f"{table}: .branchtargets {', '.join(labels)};")
        out.put(f"and.b32 x, r{self.register}, {len(self.cases) - 1}; brx.idx x, {table};")
        for label, case in zip(labels, self.cases, strict=True):
            out.put(f"{label}:")
            write(case, out)
            out.put(f"bra {end};")
        out.put(f"{end}:", "}")

    def run(self, thread: Thread) -> None:
        run(self.cases[thread[self.register] & (len(self.cases) - 1)], thread)


@dataclass
class Call:
    """A call with two registers as arguments. The result goes to the first."""

    first: int
    second: int
    body: list[Statement]

    def write(self, out: Writer) -> None:
        name = out.fresh("f")
        inner = Writer(count=out.count + 1000, functions=out.functions, inside_function=True)
        write(self.body, inner)
        out.count = inner.count
        out.functions.append(
            f".func (.reg .b32 result) {name}(.reg .b32 first, .reg .b32 second) {{\n{DECLARED}\n"
            "mov.u32 r0, first; mov.u32 r1, second; mov.u32 r2, first; mov.u32 r3, second;\n"
            + "\n".join(inner.lines)
            + "\nDONE: mov.u32 result, r0; ret;\n}"
        )
        out.put(f"call (r{self.first}), {name}, (r{self.first}, r{self.second});")

    def run(self, thread: Thread) -> None:
        a, b = thread[self.first], thread[self.second]
        inner = [a, b, a, b]
        try:
            run(self.body, inner)
        except Jump as jump:
            if jump.kind != "return":
                raise
        thread[self.first] = inner[0]


@dataclass
class Exchange:
    """An exchange of a register between all threads of a warp. Only used before any thread has left."""

    register: int
    by: int

    def write(self, out: Writer) -> None:
        out.put(f"bar.warp.sync 0xffffffff; shfl.sync.bfly.b32 x, r{self.register}, {self.by}, 31, 0xffffffff;")
        out.put(f"add.u32 r{self.register}, r{self.register}, x;")

    def together(self, threads: list[Thread]) -> None:
        before = [thread[self.register] for thread in threads]
        for index, thread in enumerate(threads):
            thread[self.register] = before[index] + before[index ^ self.by] & ONES


Statement = Compute | If | Loop | Leave | Switch | Call | Exchange
DECLARED = ".reg .b32 r0, r1, r2, r3, x, y; .reg .pred p;"
STORE = ("xor.b32 y, r0, r1; xor.b32 y, y, r2; add.u32 y, y, r3; st.global.u32 [out], y;",)


def write(statements: list[Statement], out: Writer) -> None:
    for statement in statements:
        statement.write(out)


def run(statements: list[Statement], thread: Thread) -> None:
    for statement in statements:
        statement.run(thread)  # type: ignore[union-attr]


def kernel(name: str, statements: list[Statement]) -> str:
    """Write the program as a kernel over an array of 64-bit words. Each thread replaces its input word by its result."""
    out = Writer(count=random.Random(name).randrange(1 << 30) * 10_000)
    write(statements, out)
    head = (
        f".visible .entry {name}(.param .u64 array) {{\n{DECLARED} .reg .b64 out, at; .reg .b32 t;\n"
        "ld.param.u64 out, [array]; mov.u32 t, %tid.x; mul.wide.u32 at, t, 8; add.u64 out, out, at;\n"
        "ld.global.u32 r0, [out]; mov.u32 r1, t; mul.lo.u32 r2, t, 0x9e3779b1; shr.u32 r3, r0, 7;\n"
    )
    return "\n".join([*out.functions, head, *out.lines, *STORE, "ret;\n}"])


def results(statements: list[Statement], words: list[int]) -> list[int]:
    """Return the results of the threads of a block, by the interpreter."""
    threads = [[word, index, index * 0x9E3779B1 & ONES, word >> 7] for index, word in enumerate(words)]
    alive = list(threads)
    for statement in statements:
        if isinstance(statement, Exchange):
            for start in range(0, len(threads), LANES):
                statement.together(threads[start : start + LANES])
            continue
        for thread in list(alive):
            try:
                statement.run(thread)
            except Jump:
                alive = [other for other in alive if other is not thread]
    return [(a ^ b ^ c) + d & ONES for a, b, c, d in threads]


class Maker:
    """A generator of random programs, reproducible by its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.exits = seed % 3 == 0

    def register(self) -> int:
        return self.random.randrange(REGISTERS)

    def test(self) -> Test:
        mask = self.random.choice((1, 3, 7, 15, 31, 6, 0x18))
        return Test(self.register(), mask, self.random.randint(1, mask))

    def compute(self) -> Compute:
        is_register = self.random.random() < 0.5
        operand = self.register() if is_register else self.random.randrange(1, 1 << 16)
        return Compute(self.random.choice(list(OPERATIONS)), self.register(), self.register(), operand, is_register)

    def body(self, depth: int, loop: bool, function: bool) -> list[Statement]:
        return [self.statement(depth, loop, function) for _ in range(self.random.randint(1, 3))]

    def statement(self, depth: int, loop: bool, function: bool) -> Statement:
        choice = self.random.random()
        if depth == 0 or choice < 0.3:
            kinds = ["break", "continue"] if loop else []
            kinds += ["return"] if function else ["exit"] if self.exits else []
            if kinds and self.random.random() < 0.3:
                return Leave(self.random.choice(kinds), self.test())
            return self.compute()
        if choice < 0.55:
            return If(self.test(), self.body(depth - 1, loop, function), self.body(depth - 1, loop, function))
        if choice < 0.75:
            mask = self.random.choice((1, 3, 5, 7))
            return Loop(self.register(), mask, self.body(depth - 1, True, function))
        if choice < 0.88:
            cases = [self.body(depth - 1, loop, function) for _ in range(self.random.choice((2, 4)))]
            return Switch(self.register(), cases)
        first = self.register()
        second = (first + self.random.randint(1, 3)) % REGISTERS
        return Call(first, second, self.body(depth - 1, False, True))

    def program(self) -> Iterator[Statement]:
        for _ in range(self.random.randint(3, 5)):
            yield self.statement(4, False, False)
            if not self.exits:
                yield Exchange(self.register(), self.random.choice((1, 2, 4, 8, 16, 31)))
