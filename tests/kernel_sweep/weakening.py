"""Variants of a kernel's PTX, each with one weaker synchronizing instruction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

INSTRUCTION = re.compile(r"\s*(?:(@!?%p\d+)\s+)?([a-z][\w.:]*)\s*([^;]*);\s*$")
LOCATION = re.compile(r"\s*\.loc\s+(\d+) (\d+) \d+(?:.*inlined_at (\d+) (\d+))?")
LINE = re.compile(r"((?:\.loc\s+|inlined_at )\d+ )([1-9]\d*)")
LINES = 10_000
"""The distance between the line numbers of two variants."""
OPERATIONS = {"add", "min", "max", "and", "or", "xor", "exch", "cas"}
SCOPES = {"gpu", "sys", "cluster"}
ORDERS = {"acquire", "release", "acq_rel", "relaxed"}


@dataclass(frozen=True)
class Variant:
    """A kernel with one weaker instruction."""

    kernel: str
    weakening: str
    """The instruction and its change, such as ``bar.sync removed``."""
    nth: int
    """Counts the equal weakenings of the kernel, from 1."""
    line: int
    """The line of the source, or 0."""
    symbol: str
    text: str
    """The PTX of the whole function."""
    trap: str
    """The function with a trap in place of the instruction."""

    @property
    def name(self) -> str:
        return f"{self.weakening} ({self.nth})"

    def trapped(self) -> Variant:
        """Return a variant that fails if the instruction is executed."""
        return replace(self, symbol=f"{self.symbol}__trap", text=self.trap)


@dataclass
class Module:
    """A PTX module, cut into its functions."""

    head: str
    entries: dict[str, str]
    tail: str
    own_file: int
    """The number of the source file in ``.loc``."""

    def with_variants(self, variants: list[Variant], kernel: str) -> bytes:
        """Return a module with one kernel and its variants."""
        functions = [self.entries[kernel], *(variant.text for variant in variants)]
        return (self.head + "\n".join(functions) + self.tail).encode()


def cut(ptx: bytes, source: str) -> Module:
    """Cut a module into functions."""
    text = ptx.rstrip(b"\0").decode()
    files = {found[2].rsplit("/", 1)[-1]: int(found[1]) for found in re.finditer(r'\.file\s+(\d+) "([^"]+)"', text)}
    debug = re.search(r"^\s*\.(file|section)\s", text, re.MULTILINE)
    body, tail = (text[: debug.start()], text[debug.start() :]) if debug else (text, "")
    head, *functions = re.split(r"^(?=\.visible \.entry )", body, flags=re.MULTILINE)
    entries = {}
    for function in functions:
        # Braces in the code are not the last ones. Declarations behind a function, such as shared variables, go to the front.
        end = function.rindex("\n}\n") + 3
        entries[re.match(r"\.visible \.entry (\w+)\(", function)[1]] = function[:end]
        head += function[end:]
    return Module(head, entries, tail, files[source])


def variants(module: Module, kernel: str) -> Iterator[Variant]:
    """Yield the kernel with each instruction weakened, in each way that applies to it."""
    lines = module.entries[kernel].splitlines(keepends=True)
    line, seen = 0, Counter[str]()
    first = 100 * list(module.entries).index(kernel)
    for number, text in enumerate(lines):
        if location := LOCATION.match(text):
            places = [(int(location[1]), int(location[2]))]
            if location[3]:
                places.append((int(location[3]), int(location[4])))
            line = next((at for file, at in places if file == module.own_file and at), line)
        instruction = INSTRUCTION.match(text)
        if not instruction:
            continue
        guard = f"{instruction[1]} " if instruction[1] else ""
        for weakening, replacement in _weakenings(instruction[1] or "", instruction[2], instruction[3]):
            seen[weakening] += 1
            symbol = f"{kernel}__{sum(seen.values())}"
            changed, trap = (
                _renamed(
                    "".join([*lines[:number], f"\t{new}\n", *lines[number + 1 :]]),
                    kernel,
                    name,
                    first + sum(seen.values()),
                )
                for new, name in ((replacement, symbol), (f"{guard}trap;", f"{symbol}__trap"))
            )
            yield Variant(kernel, weakening, seen[weakening], line, symbol, changed, trap)


def _renamed(text: str, kernel: str, symbol: str, count: int) -> str:
    """Return a function with another name. Races between equal lines are reported once, so each variant has its own lines."""
    text = text.replace(f".entry {kernel}(", f".entry {symbol}(").replace(f"{kernel}_param_", f"{symbol}_param_")
    return LINE.sub(lambda place: f"{place[1]}{int(place[2]) + LINES * count}", text)


def _weakenings(guard: str, opcode: str, operands: str) -> Iterator[tuple[str, str]]:
    """Yield each change of an instruction, and the text that takes its place."""
    parts = opcode.split(".")
    guarded = f"{guard} " if guard else ""
    removed = f"{opcode} removed", "// removed"
    if opcode in (
        "bar.sync",
        "barrier.sync",
        "bar.arrive",
        "bar.warp.sync",
        "barrier.cluster.wait",
    ) or opcode.startswith(("cp.async.wait_", "cp.async.commit_", "cp.async.bulk.wait_", "cp.async.bulk.commit_")):
        yield removed
    elif opcode.startswith(("mbarrier.try_wait", "mbarrier.test_wait")):
        yield f"{opcode} removed", f"{guarded}setp.eq.u32 {operands.split(',')[0]}, 0, 0;"
    elif parts[0] in ("membar", "fence"):
        yield removed
        if wide := {"gl", *SCOPES} & set(parts):
            yield f"{opcode} narrowed", f"{guarded}{_with(parts, wide.pop(), 'cta')};"
    elif parts[0] in ("atom", "red") and OPERATIONS & set(parts):
        if "shared" not in parts and "cta" not in parts:
            narrow = _with(parts, (SCOPES & set(parts)).pop(), "cta") if SCOPES & set(parts) else _insert_scope(parts)
            yield f"{opcode} narrowed", f"{guarded}{narrow} {operands};"
        if order := {"acquire", "release", "acq_rel"} & set(parts):
            yield f"{opcode} relaxed", f"{guarded}{_with(parts, order.pop(), 'relaxed')} {operands};"
        if not guard:
            yield f"{opcode} not atomic", _plain_update(parts, operands)
    elif parts[0] in ("ld", "st") and "volatile" in parts:
        yield f"{opcode} plain", f"{guarded}{_without(parts, {'volatile'})} {operands};"
    elif parts[0] in ("ld", "st") and ORDERS & set(parts):
        (order,) = ORDERS & set(parts)
        if order != "relaxed":
            yield f"{opcode} relaxed", f"{guarded}{_with(parts, order, 'relaxed')} {operands};"
        if wide := SCOPES & set(parts):
            yield f"{opcode} narrowed", f"{guarded}{_with(parts, wide.pop(), 'cta')} {operands};"
        yield f"{opcode} plain", f"{guarded}{_without(parts, ORDERS | SCOPES | {'cta'})} {operands};"


def _with(parts: list[str], old: str, new: str) -> str:
    return ".".join(new if part == old else part for part in parts)


def _without(parts: list[str], removed: set[str]) -> str:
    return ".".join(part for part in parts if part not in removed)


def _insert_scope(parts: list[str]) -> str:
    """Return an atomic operation without a scope with the scope of a block."""
    return ".".join([parts[0], "relaxed", "cta", *parts[1:]])


def _plain_update(parts: list[str], operands: str) -> str:
    """Return a load and a store in place of an atomic operation."""
    (operation,) = OPERATIONS & set(parts)
    kind, space = parts[-1], "".join(f".{part}" for part in parts if part.startswith(("global", "shared")))
    bits = "b" + kind.lstrip("busf")
    pieces = [piece.strip() for piece in operands.split(",")]
    result = pieces.pop(0) if parts[0] == "atom" else None
    address, value = pieces[0], pieces[1]
    update = {
        "exch": f"mov.{bits} %new, {value};",
        "cas": f"setp.eq.{bits} %same, %old, {value}; selp.{bits} %new, {pieces[-1]}, %old, %same;",
    }.get(operation, f"{operation}.{kind} %new, %old, {value};")
    answer = f" mov.{bits} {result}, %old;" if result else ""
    registers = f".reg .{bits} %old, %new; .reg .pred %same;"
    return f"{{ {registers} ld{space}.{kind} %old, {address}; {update} st{space}.{kind} {address}, %new;{answer} }}"
