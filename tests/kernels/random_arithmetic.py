"""Random kernels of integer and floating-point instructions with branches, as PTX and as Python functions.

The oracle knows no code of the driver. It follows the PTX manual: integers are Python's, floating-point results are exact fractions
that are rounded once.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

ONES32, ONES64 = (1 << 32) - 1, (1 << 64) - 1
State = dict[str, Any]
Statement = Callable[[State], None]


def signed(value: int, bits: int) -> int:
    return (value & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


def clamp(value: int, bits: int) -> int:
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, value))


# Floating point: precision and least exponent of the last bit of f32 and f64.
FORMATS = {"f32": (24, -149, 128), "f64": (53, -1074, 1024)}


def rounded(value: Fraction, ty: str, mode: str) -> float:
    """Round an exact number that is not zero."""
    precision, least, most = FORMATS[ty]
    sign, magnitude = (-1.0 if value < 0 else 1.0), abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, least)
    whole, rest = divmod(magnitude, unit)
    away = {"rz": False, "rp": value > 0, "rm": value < 0}
    up = rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1) if mode == "rn" else rest > 0 and away[mode]
    result = (whole + up) * unit
    if result >= Fraction(2) ** most:
        largest = float((Fraction(2) ** precision - 1) * Fraction(2) ** (most - precision))
        return sign * (math.inf if mode == "rn" or away[mode] else largest)
    return sign * float(result)


def zero_sum(a: float, b: float, mode: str) -> float:
    """Return the sum of two numbers that cancel, or of zeros."""
    if a == b == 0 and math.copysign(1, a) == math.copysign(1, b):
        return a
    return -0.0 if mode == "rm" else 0.0


def add(a: float, b: float, ty: str, mode: str) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    total = Fraction(a) + Fraction(b)
    return rounded(total, ty, mode) if total else zero_sum(a, b, mode)


def multiply(a: float, b: float, ty: str, mode: str) -> float:
    if not (math.isfinite(a) and math.isfinite(b)) or a == 0 or b == 0:
        return a * b
    return rounded(Fraction(a) * Fraction(b), ty, mode)


def fused(a: float, b: float, c: float, ty: str, mode: str) -> float:
    if not all(map(math.isfinite, (a, b, c))):
        product = a * b if math.isinf(a) or math.isinf(b) or math.isnan(a) or math.isnan(b) else 0.0
        return product + c
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total:
        return rounded(total, ty, mode)
    return zero_sum(math.copysign(0.0 if a == 0 or b == 0 else 1.0, a) * math.copysign(1.0, b), c, mode)


def divide(a: float, b: float, ty: str, mode: str) -> float:
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)) or (a == 0 and b == 0):
        return math.nan
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    if math.isinf(a) or b == 0:
        return sign * math.inf
    if math.isinf(b) or a == 0:
        return sign * 0.0
    return rounded(Fraction(a) / Fraction(b), ty, mode)


def root(a: float, ty: str, mode: str) -> float:
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0 or math.isinf(a):
        return a
    exact = Fraction(a)
    scale = 1200
    scaled = exact * Fraction(4) ** scale
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    # A sticky bit stands for the digits that are cut off.
    sticky = Fraction(whole) ** 2 != scaled
    return rounded(Fraction(2 * whole + sticky, 2) / Fraction(2) ** scale, ty, mode)


def extreme(a: float, b: float, largest: bool) -> float:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b == 0:
        return (a if math.copysign(1, a) > 0 else b) if largest else (a if math.copysign(1, a) < 0 else b)
    return max(a, b) if largest else min(a, b)


def permute(a: int, b: int, selector: int) -> int:
    data = (a | b << 32).to_bytes(8, "little")
    result = 0
    for index in range(4):
        nibble = selector >> 4 * index & 15
        byte = data[nibble & 7]
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << 8 * index
    return result


def field_of(a: int, position: int, length: int, bits: int, is_signed: bool) -> int:
    position, length = position & 255, length & 255
    if length == 0:
        return 0
    sign = (a >> min(position + length - 1, bits - 1) & 1) if is_signed else 0
    value = 0
    for index in range(bits):
        bit = a >> position + index & 1 if index < length and position + index < bits else sign
        value |= bit << index
    return value


def inserted(a: int, b: int, position: int, length: int) -> int:
    position, length = position & 255, length & 255
    mask = ((1 << length) - 1) << position & ONES32
    return b & ~mask | a << position & mask


def leading(value: int, bits: int) -> int:
    return bits - value.bit_length()


def found(value: int, is_signed: bool) -> int:
    if is_signed and value >> 31:
        value ^= ONES32
    return value.bit_length() - 1 & ONES32


def looked_up(a: int, b: int, c: int, table: int) -> int:
    terms = (
        (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
        for index in range(8)
        if table >> index & 1
    )
    result = 0
    for term in terms:
        result |= term
    return result & ONES32


def s32(value: int) -> int:
    return signed(value, 32)


def s64(value: int) -> int:
    return signed(value, 64)


def remainder(a: int, b: int) -> int:
    return int(math.copysign(1, a)) * (abs(a) % abs(b))


# The text with `$` for the target and sources, the kinds of target and sources, and the result. Kinds are the first letters of registers.
INTEGERS: list[tuple[str, str, Callable[..., int]]] = [
    ("add.s32 $", "rrr", lambda a, b: a + b),
    ("sub.u32 $", "rrr", lambda a, b: a - b),
    ("add.sat.s32 $", "rrr", lambda a, b: clamp(s32(a) + s32(b), 32)),
    ("sub.sat.s32 $", "rrr", lambda a, b: clamp(s32(a) - s32(b), 32)),
    ("mul.lo.s32 $", "rrr", lambda a, b: a * b),
    ("mul.hi.u32 $", "rrr", lambda a, b: a * b >> 32),
    ("mul.hi.s32 $", "rrr", lambda a, b: s32(a) * s32(b) >> 32),
    ("mad.lo.u32 $", "rrrr", lambda a, b, c: a * b + c),
    ("mad.hi.s32 $", "rrrr", lambda a, b, c: (s32(a) * s32(b) >> 32) + c),
    ("mul24.lo.u32 $", "rrr", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    ("sad.u32 $", "rrrr", lambda a, b, c: abs(a - b) + c),
    ("sad.s32 $", "rrrr", lambda a, b, c: abs(s32(a) - s32(b)) + c),
    ("min.s32 $", "rrr", lambda a, b: min(s32(a), s32(b))),
    ("max.u32 $", "rrr", max),
    ("abs.s32 $", "rr", lambda a: abs(s32(a))),
    ("neg.s32 $", "rr", lambda a: -a),
    ("and.b32 $", "rrr", lambda a, b: a & b),
    ("or.b32 $", "rrr", lambda a, b: a | b),
    ("xor.b32 $", "rrr", lambda a, b: a ^ b),
    ("not.b32 $", "rr", lambda a: ~a),
    ("cnot.b32 $", "rr", lambda a: int(a == 0)),
    ("shl.b32 $", "rrr", lambda a, b: a << min(b, 32)),
    ("shr.u32 $", "rrr", lambda a, b: a >> min(b, 32)),
    ("shr.s32 $", "rrr", lambda a, b: s32(a) >> min(b, 32)),
    ("shf.l.wrap.b32 $", "rrrr", lambda a, b, c: (b << 32 | a) << (c & 31) >> 32),
    ("shf.l.clamp.b32 $", "rrrr", lambda a, b, c: (b << 32 | a) << min(c, 32) >> 32),
    ("shf.r.wrap.b32 $", "rrrr", lambda a, b, c: (b << 32 | a) >> (c & 31)),
    ("shf.r.clamp.b32 $", "rrrr", lambda a, b, c: (b << 32 | a) >> min(c, 32)),
    ("prmt.b32 $", "rrrr", permute),
    ("lop3.b32 $, 0x96", "rrrr", lambda a, b, c: looked_up(a, b, c, 0x96)),
    ("lop3.b32 $, 0xca", "rrrr", lambda a, b, c: looked_up(a, b, c, 0xCA)),
    ("popc.b32 $", "rr", lambda a: a.bit_count()),
    ("clz.b32 $", "rr", lambda a: leading(a, 32)),
    ("brev.b32 $", "rr", lambda a: int(f"{a:032b}"[::-1], 2)),
    ("bfind.u32 $", "rr", lambda a: found(a, False)),
    ("bfind.s32 $", "rr", lambda a: found(a, True)),
    ("bfe.u32 $", "rrrr", lambda a, b, c: field_of(a, b, c, 32, False)),
    ("bfe.s32 $", "rrrr", lambda a, b, c: field_of(a, b, c, 32, True)),
    ("bfi.b32 $", "rrrrr", inserted),
    ("or.b32 t, @2, 1; div.u32 @0, @1, t", "rrr", lambda a, b: a // (b | 1)),
    ("or.b32 t, @2, 1; rem.s32 @0, @1, t", "rrr", lambda a, b: remainder(s32(a), s32(b | 1))),
    ("cvt.s32.s8 $", "rr", lambda a: signed(a, 8)),
    ("cvt.u32.u16 $", "rr", lambda a: a & 0xFFFF),
    ("cvt.sat.s8.s32 $", "rr", lambda a: clamp(s32(a), 8)),
    ("cvt.sat.u16.s32 $", "rr", lambda a: max(0, min(65535, s32(a)))),
    ("add.s64 $", "ddd", lambda a, b: a + b),
    ("sub.s64 $", "ddd", lambda a, b: a - b),
    ("mul.lo.u64 $", "ddd", lambda a, b: a * b),
    ("mul.hi.u64 $", "ddd", lambda a, b: a * b >> 64),
    ("mul.hi.s64 $", "ddd", lambda a, b: s64(a) * s64(b) >> 64),
    ("mul.wide.u32 $", "drr", lambda a, b: a * b),
    ("mul.wide.s32 $", "drr", lambda a, b: s32(a) * s32(b)),
    ("mad.wide.s32 $", "drrd", lambda a, b, c: s32(a) * s32(b) + c),
    ("min.s64 $", "ddd", lambda a, b: min(s64(a), s64(b))),
    ("max.u64 $", "ddd", max),
    ("xor.b64 $", "ddd", lambda a, b: a ^ b),
    ("shl.b64 $", "ddr", lambda a, b: a << min(b, 64)),
    ("shr.u64 $", "ddr", lambda a, b: a >> min(b, 64)),
    ("shr.s64 $", "ddr", lambda a, b: s64(a) >> min(b, 64)),
    ("bfe.s64 $", "ddrr", lambda a, b, c: field_of(a, b, c, 64, True)),
    ("or.b64 w, @2, 1; div.s64 @0, @1, w", "ddd", lambda a, b: (s64(a) - remainder(s64(a), s64(b | 1))) // s64(b | 1)),
    ("or.b64 w, @2, 1; rem.u64 @0, @1, w", "ddd", lambda a, b: a % (b | 1)),
    ("popc.b64 $", "rd", lambda a: a.bit_count()),
    ("clz.b64 $", "rd", lambda a: leading(a, 64)),
    ("cvt.u64.u32 $", "dr", lambda a: a),
    ("cvt.s64.s32 $", "dr", s32),
    ("cvt.u32.u64 $", "rd", lambda a: a),
    ("mov.b64 @0, {@1, @2}", "drr", lambda a, b: a | b << 32),
    ("mov.b64 {t, @0}, @1", "rd", lambda a: a >> 32),
    # Words of a larger integer: the carry goes to the next instruction.
    ("add.cc.u32 t, @1, @2; addc.u32 @0, @3, @1", "rrrr", lambda a, b, c: c + a + (a + b >> 32)),
    ("sub.cc.u32 t, @1, @2; subc.u32 @0, @3, @1", "rrrr", lambda a, b, c: c - a - (a < b)),
    ("sub.cc.u64 w, @1, @2; addc.u64 @0, @3, @1", "dddd", lambda a, b, c: c + a + (a >= b)),
    ("mad.lo.cc.u32 t, @1, @2, @3; madc.hi.u32 @0, @1, @2, @3", "rrrr", lambda a, b, c: (a * b + c >> 32) + c),
]


def floats() -> list[tuple[str, str, Callable[..., float]]]:
    table: list[tuple[str, str, Callable[..., float]]] = []
    for ty, kind in (("f32", "f"), ("f64", "g")):
        for mode in ("rn", "rz", "rm", "rp"):
            for name, sources, of in (
                ("add", 2, add),
                ("mul", 2, multiply),
                ("fma", 3, fused),
                ("div", 2, divide),
                ("sqrt", 1, root),
            ):

                def result(*values: float, of: Any = of, ty: str = ty, mode: str = mode) -> float:
                    return of(*values, ty, mode)

                table.append((f"{name}.{mode}.{ty} $", kind * (sources + 1), result))
            table.append((f"sub.{mode}.{ty} $", kind * 3, lambda a, b, ty=ty, mode=mode: add(a, -b, ty, mode)))
            table.append((f"rcp.{mode}.{ty} $", kind * 2, lambda a, ty=ty, mode=mode: divide(1.0, a, ty, mode)))
            narrow = "r" if ty == "f32" else "d"
            source = "s32" if ty == "f32" else "u64"

            def converted(a: int, ty: str = ty, mode: str = mode) -> float:
                exact = s32(a) if ty == "f32" else a
                return rounded(Fraction(exact), ty, mode) if exact else 0.0

            table.append((f"cvt.{mode}.{ty}.{source} $", kind + narrow, converted))
        table.append((f"min.{ty} $", kind * 3, lambda a, b: extreme(a, b, False)))
        table.append((f"max.{ty} $", kind * 3, lambda a, b: extreme(a, b, True)))
        table.append((f"abs.{ty} $", kind * 2, abs))
        table.append((f"neg.{ty} $", kind * 2, lambda a: -a))

    def single(a: float, mode: str) -> float:
        return rounded(Fraction(a), "f32", mode) if math.isfinite(a) and a else a

    table.append(("cvt.f64.f32 $", "gf", lambda a: a))
    for mode in ("rn", "rz", "rm", "rp"):
        table.append((f"cvt.{mode}.f32.f64 $", "fg", lambda a, mode=mode: single(a, mode)))
    return table


FLOATS = floats()


def to_integer(a: float, how: Callable[[float], int]) -> int:
    """Convert as `cvt` to `s32` does: saturate, and make zero of NaN."""
    if math.isnan(a):
        return 0
    return clamp(how(a) if math.isfinite(a) else int(math.copysign(1 << 40, a)), 32)


ROUNDINGS = {"rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil, "rni": round}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "lt.f32": lambda a, b: a < b,
    "geu.f32": lambda a, b: not a < b,
    "num.f32": lambda a, b: not (math.isnan(a) or math.isnan(b)),
    "neu.f64": lambda a, b: a != b,
    "gt.f64": lambda a, b: a > b,
    "lt.s32": lambda a, b: s32(int(a)) < s32(int(b)),
    "hi.u32": lambda a, b: a > b,
    "ne.b64": lambda a, b: a != b,
    "le.s64": lambda a, b: s64(int(a)) <= s64(int(b)),
}
COUNTS = {"r": 5, "d": 4, "f": 4, "g": 4}
KIND = {"f32": "f", "f64": "g", "s32": "r", "u32": "r", "b64": "d", "s64": "d"}


@dataclass
class Kernel:
    """A random kernel: its PTX, and the same program as a function of a thread's registers."""

    seed: int
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.labels = 0
        self.program = self.block(0, self.random.randint(12, 24))

    def register(self, kind: str) -> str:
        return f"{kind}{self.random.randrange(COUNTS[kind])}"

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def block(self, depth: int, count: int) -> Statement:
        statements = [self.statement(depth) for _ in range(count)]

        def run(state: State) -> None:
            for statement in statements:
                statement(state)

        return run

    def statement(self, depth: int) -> Statement:
        choice = self.random.random()
        if depth < 3 and choice < 0.12:
            return self.branch(depth)
        if depth < 2 and choice < 0.17:
            return self.loop(depth)
        if choice < 0.24:
            return self.memory()
        if choice < 0.32:
            return self.selection()
        if choice < 0.37:
            return self.conversion()
        return self.operation(INTEGERS if choice < 0.72 else FLOATS)

    def operation(self, table: list[tuple[str, str, Callable[..., Any]]]) -> Statement:
        text, kinds, result = self.random.choice(table)
        registers = [self.register(kind) for kind in kinds]
        text = text.replace("$", ", ".join(registers))
        for index, register in enumerate(registers):
            text = text.replace(f"@{index}", register)
        self.lines.append(f"{text};")
        target, sources = registers[0], registers[1:]
        ones = {"r": ONES32, "d": ONES64}.get(kinds[0])

        def run(state: State) -> None:
            value = result(*(state[source] for source in sources))
            state[target] = value if ones is None else value & ones

        return run

    def test(self) -> Callable[[State], bool]:
        name = self.random.choice(list(COMPARISONS))
        a, b = (self.register(KIND[name.split(".")[1]]) for _ in range(2))
        self.lines.append(f"setp.{name} p, {a}, {b};")
        return lambda state: COMPARISONS[name](state[a], state[b])

    def selection(self) -> Statement:
        test = self.test()
        kind, ty = self.random.choice([("r", "b32"), ("d", "b64"), ("f", "f32"), ("g", "f64")])
        target, a, b = (self.register(kind) for _ in range(3))
        guarded = self.random.random() < 0.5
        self.lines.append(f"@!p mov.{ty} {target}, {a};" if guarded else f"selp.{ty} {target}, {a}, {b}, p;")

        def run(state: State) -> None:
            holds = test(state)
            if not guarded:
                state[target] = state[a if holds else b]
            elif not holds:
                state[target] = state[a]

        return run

    def conversion(self) -> Statement:
        mode, how = self.random.choice(list(ROUNDINGS.items()))
        target, source = self.register("r"), self.register("f")
        self.lines.append(f"cvt.{mode}.s32.f32 {target}, {source};")

        def run(state: State) -> None:
            state[target] = to_integer(state[source], how) & ONES32

        return run

    def memory(self) -> Statement:
        """Access an element of an array of the thread, by an index from a register or a number."""
        index, value = self.register("r"), self.register("r")
        number = self.random.randrange(8)
        writes, indexed = self.random.random() < 0.5, self.random.random() < 0.5
        at = "array[t]" if indexed else f"[array+{4 * number}]"
        if indexed:
            self.lines.append(f"and.b32 t, {index}, 7;")
        self.lines.append(f"st.local.u32 {at}, {value};" if writes else f"ld.local.u32 {value}, {at};")

        def run(state: State) -> None:
            place = f"array{state[index] & 7 if indexed else number}"
            if writes:
                state[place] = state[value]
            else:
                state[value] = state[place]

        return run

    def branch(self, depth: int) -> Statement:
        test = self.test()
        other, end = self.label(), self.label()
        self.lines.append(f"@!p bra {other};")
        then = self.block(depth + 1, self.random.randint(1, 4))
        self.lines.append(f"bra {end}; {other}:")
        otherwise = self.block(depth + 1, self.random.randint(0, 4))
        self.lines.append(f"{end}:")
        return lambda state: then(state) if test(state) else otherwise(state)

    def loop(self, depth: int) -> Statement:
        source, counter = self.register("r"), f"n{depth}"
        again, end = self.label(), self.label()
        self.lines.append(f"and.b32 {counter}, {source}, 3; {again}: setp.eq.u32 p, {counter}, 0; @p bra {end};")
        body = self.block(depth + 1, self.random.randint(1, 4))
        self.lines.append(f"sub.u32 {counter}, {counter}, 1; bra {again}; {end}:")

        def run(state: State) -> None:
            for _ in range(state[source] & 3):
                body(state)

        return run

    def ptx(self) -> str:
        """Write the kernel. Each thread reads four words, and writes a word for each register."""
        head = (
            ".reg .b32 r<5>, n<2>, t; .reg .b64 d<4>, at, all, w; .reg .f32 f<4>; .reg .f64 g<4>; .reg .pred p;"
            ".local .align 4 .b32 array[8]; ld.param.u64 all, [data]; mov.u32 t, %tid.x; mul.wide.u32 at, t, 136;"
            "add.u64 at, at, all;"
        )
        begin = [f"ld.global.b32 r{index}, [at+{8 * index}];" for index in range(5)]
        begin += [f"ld.global.b64 d{index}, [at+{8 * index + 40}];" for index in range(4)]
        begin += [f"ld.global.f32 f{index}, [at+{8 * index + 72}];" for index in range(4)]
        begin += [f"ld.global.f64 g{index}, [at+{8 * index + 104}];" for index in range(4)]
        begin += [f"st.local.u32 [array+{4 * index}], r{index % 5};" for index in range(8)]
        end = [f"cvt.u64.u32 w, r{index}; st.global.b64 [at+{8 * index}], w;" for index in range(5)]
        end += [f"st.global.b64 [at+{8 * index + 40}], d{index};" for index in range(4)]
        end += [f"mov.b32 t, f{index}; cvt.u64.u32 w, t; st.global.b64 [at+{8 * index + 72}], w;" for index in range(4)]
        end += [f"st.global.f64 [at+{8 * index + 104}], g{index};" for index in range(4)]
        body = "\n".join([head, *begin, *self.lines, *end, "ret;"])
        return f".visible .entry random{self.seed}(.param .u64 data) {{\n{body}\n}}"

    def expected(self, words: list[int]) -> list[int | None]:
        """Return the words that a thread writes for its input. A NaN is ``None``, because its bits are not defined."""
        state: State = {f"r{index}": words[index] & ONES32 for index in range(5)}
        state |= {f"d{index}": words[5 + index] for index in range(4)}
        state |= {f"f{index}": unpacked("<f", words[9 + index] & ONES32) for index in range(4)}
        state |= {f"g{index}": unpacked("<d", words[13 + index]) for index in range(4)}
        state |= {f"array{index}": state[f"r{index % 5}"] for index in range(8)}
        self.program(state)
        result: list[int | None] = [
            state[f"{kind}{index}"] for kind, count in (("r", 5), ("d", 4)) for index in range(count)
        ]
        return result + [
            bits(form, state[f"{kind}{index}"]) for kind, form in (("f", "<f"), ("g", "<d")) for index in range(4)
        ]


def unpacked(form: str, word: int) -> float:
    return struct.unpack(form, word.to_bytes(struct.calcsize(form), "little"))[0]


def bits(form: str, value: float) -> int | None:
    return None if math.isnan(value) else int.from_bytes(struct.pack(form, value), "little")


def inputs(seed: int, threads: int) -> list[list[int]]:
    """Return the words of each thread: small and large integers, and numbers near each other and far apart."""
    generator = random.Random(f"inputs {seed}")

    def integer(size: int) -> int:
        return generator.choice(
            (generator.getrandbits(size), generator.randrange(64), -generator.randrange(64) & (1 << size) - 1)
        )

    def number() -> float:
        return generator.choice(
            (generator.uniform(-8, 8), generator.uniform(-1, 1) * 10.0 ** generator.randint(-37, 37), 0.0, 1.0, -2.5)
        )

    return [
        [integer(32) for _ in range(5)]
        + [integer(64) for _ in range(4)]
        + [bits("<f", number()) or 0 for _ in range(4)]
        + [bits("<d", number() ** generator.choice((1, 1, 3))) or 0 for _ in range(4)]
        for _ in range(threads)
    ]
