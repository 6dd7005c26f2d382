"""The table of kernels: each instruction with its modifiers and types, and what it answers by :mod:`exact`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from exact import (
    F16,
    F32,
    F64,
    NAN,
    Format,
    Fraction,
    Infinite,
    Zero,
    add,
    clamp,
    divide,
    flushed,
    multiply,
    negated,
    of_type,
    rounded,
    saturated,
    signed,
    square_root,
    to_integer,
    value,
)

MODES = ("rn", "rz", "rm", "rp")
FORMATS = {"f32": F32, "f64": F64}
INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
ALL_INTEGERS = ("u8", "s8", *INTEGERS)


@dataclass(frozen=True)
class Case:
    """``text`` computes ``d`` from ``a``, ``b`` and ``c``, registers of these types.

    ``undefined`` tells the operands for which the manual leaves the answer open. The simulated driver still has one that is written
    down, which is checked; a GPU may answer anything.
    """

    text: str
    target: str
    sources: tuple[str, ...]
    answer: Callable[..., int]
    undefined: Callable[..., bool] = lambda *_: False


def width(ty: str) -> int:
    return int("".join(c for c in ty if c.isdigit()))


def mask(ty: str) -> int:
    return (1 << width(ty)) - 1


def integers() -> Iterator[Case]:
    for ty in INTEGERS:
        n = width(ty)

        def two(f: Callable[[int, int], int], ty: str = ty) -> Callable[[int, int], int]:
            return lambda a, b: f(of_type(ty, a), of_type(ty, b)) & mask(ty)

        def three(f: Callable[[int, int, int], int], ty: str = ty) -> Callable[[int, int, int], int]:
            return lambda a, b, c: f(of_type(ty, a), of_type(ty, b), of_type(ty, c)) & mask(ty)

        def quotient(a: int, b: int) -> int:
            return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

        yield Case(f"add.{ty}", ty, (ty, ty), two(lambda a, b: a + b))
        yield Case(f"sub.{ty}", ty, (ty, ty), two(lambda a, b: a - b))
        yield Case(f"mul.lo.{ty}", ty, (ty, ty), two(lambda a, b: a * b))
        yield Case(f"mul.hi.{ty}", ty, (ty, ty), two(lambda a, b, n=n: a * b >> n))
        yield Case(f"mad.lo.{ty}", ty, (ty,) * 3, three(lambda a, b, c: a * b + c))
        yield Case(f"mad.hi.{ty}", ty, (ty,) * 3, three(lambda a, b, c, n=n: (a * b >> n) + c))
        yield Case(f"div.{ty}", ty, (ty, ty), two(quotient), lambda a, b: b == 0)
        yield Case(f"rem.{ty}", ty, (ty, ty), two(lambda a, b: a - b * quotient(a, b) if b else a), lambda a, b: b == 0)
        yield Case(f"min.{ty}", ty, (ty, ty), two(min))
        yield Case(f"max.{ty}", ty, (ty, ty), two(max))
        yield Case(f"sad.{ty}", ty, (ty,) * 3, three(lambda a, b, c: abs(a - b) + c))
        if ty[0] == "s":
            yield Case(f"abs.{ty}", ty, (ty,), lambda a, ty=ty: abs(of_type(ty, a)) & mask(ty))
            yield Case(f"neg.{ty}", ty, (ty,), lambda a, ty=ty: -a & mask(ty))
        if n < 64:
            wide = f"{ty[0]}{2 * n}"
            yield Case(
                f"mul.wide.{ty}",
                wide,
                (ty, ty),
                lambda a, b, ty=ty, wide=wide: of_type(ty, a) * of_type(ty, b) & mask(wide),
            )
            yield Case(
                f"mad.wide.{ty}",
                wide,
                (ty, ty, wide),
                lambda a, b, c, ty=ty, wide=wide: of_type(ty, a) * of_type(ty, b) + c & mask(wide),
            )
        shift = f"shr.{ty}"
        yield Case(shift, ty, (ty, "u32"), lambda a, b, ty=ty: (of_type(ty, a) >> min(b, 200)) & mask(ty))
    yield Case(
        "add.sat.s32", "s32", ("s32", "s32"), lambda a, b: clamp("s32", signed(a, 32) + signed(b, 32)) & 0xFFFFFFFF
    )
    yield Case(
        "sub.sat.s32", "s32", ("s32", "s32"), lambda a, b: clamp("s32", signed(a, 32) - signed(b, 32)) & 0xFFFFFFFF
    )
    for ty in ("u32", "s32"):
        low = f"{ty[0]}24"

        def product(a: int, b: int, low: str = low) -> int:
            return of_type(low, a) * of_type(low, b)

        yield Case(f"mul24.lo.{ty}", ty, (ty, ty), lambda a, b, p=product: p(a, b) & 0xFFFFFFFF)
        yield Case(f"mul24.hi.{ty}", ty, (ty, ty), lambda a, b, p=product: p(a, b) >> 16 & 0xFFFFFFFF)
        yield Case(f"mad24.lo.{ty}", ty, (ty,) * 3, lambda a, b, c, p=product: p(a, b) + c & 0xFFFFFFFF)


def bits() -> Iterator[Case]:
    for n in (16, 32, 64):
        ty, ones = f"b{n}", (1 << n) - 1
        yield Case(f"and.{ty}", ty, (ty, ty), lambda a, b: a & b)
        yield Case(f"or.{ty}", ty, (ty, ty), lambda a, b: a | b)
        yield Case(f"xor.{ty}", ty, (ty, ty), lambda a, b: a ^ b)
        yield Case(f"not.{ty}", ty, (ty,), lambda a, ones=ones: ~a & ones)
        yield Case(f"cnot.{ty}", ty, (ty,), lambda a: int(a == 0))
        yield Case(f"shl.{ty}", ty, (ty, "u32"), lambda a, b, ones=ones: (a << min(b, 200)) & ones)
    for n in (32, 64):
        ty = f"b{n}"
        yield Case(f"popc.{ty}", "u32", (ty,), lambda a: a.bit_count())
        yield Case(f"clz.{ty}", "u32", (ty,), lambda a, n=n: n - a.bit_length())
        yield Case(f"brev.{ty}", ty, (ty,), lambda a, n=n: int(f"{a:0{n}b}"[::-1], 2))
        for sign in "us":
            ty = f"{sign}{n}"

            def highest(a: int, ty: str = ty, n: int = n) -> int:
                number = of_type(ty, a)
                return (number if number >= 0 else ~number).bit_length() - 1

            yield Case(f"bfind.{ty}", "u32", (ty,), lambda a, h=highest: h(a) & 0xFFFFFFFF)
            yield Case(
                f"bfind.shiftamt.{ty}",
                "u32",
                (ty,),
                lambda a, h=highest, n=n: 0xFFFFFFFF if h(a) < 0 else n - 1 - h(a),
            )

            def field(a: int, start: int, length: int, ty: str = ty, n: int = n) -> int:
                start, length = start & 255, length & 255
                top = min(start + length - 1, n - 1)
                sign = 0 if ty[0] == "u" or length == 0 else a >> top & 1
                filled = [a >> start + i & 1 if i < length and start + i < n else sign for i in range(n)]
                return sum(bit << i for i, bit in enumerate(filled))

            yield Case(f"bfe.{ty}", ty, (ty, "u32", "u32"), field)
    for table in (0x00, 0x01, 0x1B, 0x3C, 0x80, 0x96, 0xCA, 0xE8, 0xFE, 0xFF):

        def looked_up(a: int, b: int, c: int, table: int = table) -> int:
            rows = ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1 for i in range(32))
            return sum((table >> row & 1) << i for i, row in enumerate(rows))

        yield Case(f"lop3.b32 $, {table}", "b32", ("b32",) * 3, looked_up)
    for mode in ("clamp", "wrap"):

        def amount(c: int, mode: str = mode) -> int:
            return min(c, 32) if mode == "clamp" else c & 31

        yield Case(
            f"shf.l.{mode}.b32",
            "b32",
            ("b32", "b32", "u32"),
            lambda a, b, c, n=amount: ((b << 32 | a) << n(c) >> 32) & 0xFFFFFFFF,
        )
        yield Case(
            f"shf.r.{mode}.b32",
            "b32",
            ("b32", "b32", "u32"),
            lambda a, b, c, n=amount: (b << 32 | a) >> n(c) & 0xFFFFFFFF,
        )

    def permuted(a: int, b: int, c: int) -> int:
        both = (b << 32 | a).to_bytes(8, "little")
        result = []
        for i in range(4):
            selector = c >> 4 * i & 15
            byte = both[selector & 7]
            result.append((255 if byte & 128 else 0) if selector & 8 else byte)
        return int.from_bytes(bytes(result), "little")

    yield Case("prmt.b32", "b32", ("b32",) * 3, permuted)
    for one, other in itertools.product("us", "us"):

        def dot(a: int, b: int, c: int, one: str = one, other: str = other) -> int:
            parts = (of_type(f"{one}8", a >> 8 * i) * of_type(f"{other}8", b >> 8 * i) for i in range(4))
            return c + sum(parts) & 0xFFFFFFFF

        target = "u32" if (one, other) == ("u", "u") else "s32"
        yield Case(f"dp4a.{one}32.{other}32", target, ("b32", "b32", target), dot)
        for half in ("lo", "hi"):

            def dot2(a: int, b: int, c: int, one: str = one, other: str = other, half: str = half) -> int:
                b >>= 16 if half == "hi" else 0
                parts = (of_type(f"{one}16", a >> 16 * i) * of_type(f"{other}8", b >> 8 * i) for i in range(2))
                return c + sum(parts) & 0xFFFFFFFF

            yield Case(f"dp2a.{half}.{one}32.{other}32", target, ("b32", "b32", target), dot2)


ORDERED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
SAME_AS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def comparisons() -> Iterator[Case]:
    for ty in INTEGERS:
        tests = [*ORDERED, *(SAME_AS if ty[0] == "u" else ())]
        for test in tests:
            holds = ORDERED[SAME_AS.get(test, test)]
            yield Case(
                f"setp.{test}.{ty} p, #; selp.u32 d, 1, 0, p",
                "u32",
                (ty, ty),
                lambda a, b, ty=ty, holds=holds: int(holds(of_type(ty, a), of_type(ty, b))),
            )

    def order(form: Format, bits: int) -> Fraction | float:
        number = value(form, bits)
        if isinstance(number, Infinite):
            return float("-inf") if number.negative else float("inf")
        return Fraction(0) if isinstance(number, Zero) else number  # type: ignore[return-value]

    for ty, form in FORMATS.items():
        for test, holds in ORDERED.items():
            for unordered in (False, True):

                def compared(
                    a: int,
                    b: int,
                    form: Format = form,
                    holds: Callable[..., bool] = holds,
                    unordered: bool = unordered,
                ) -> int:
                    if NAN in (value(form, a), value(form, b)):
                        return int(unordered)
                    return int(holds(order(form, a), order(form, b)))

                name = test + ("u" if unordered else "")
                yield Case(f"setp.{name}.{ty} p, #; selp.u32 d, 1, 0, p", "u32", (ty, ty), compared)
        for test, answer in (("num", 0), ("nan", 1)):
            yield Case(
                f"setp.{test}.{ty} p, #; selp.u32 d, 1, 0, p",
                "u32",
                (ty, ty),
                lambda a, b, form=form, answer=answer: answer ^ int(NAN not in (value(form, a), value(form, b))),
            )
            # "nan" holds where one is none, "num" where both are numbers.


def floats() -> Iterator[Case]:
    for ty, form in FORMATS.items():
        for mode, ftz, sat in itertools.product(MODES, (False, True), (False, True)):
            if (ftz or sat) and ty == "f64":
                continue
            flags = (".ftz" if ftz else "") + (".sat" if sat else "")

            def finish(bits: int, form: Format = form, ftz: bool = ftz, sat: bool = sat) -> int:
                bits = flushed(form, bits) if ftz else bits
                return saturated(form, bits) if sat else bits

            def taken(bits: int, form: Format = form, ftz: bool = ftz) -> object:
                return value(form, flushed(form, bits) if ftz else bits)

            def of(f: Callable[..., object], mode: str = mode, form: Format = form, taken=taken, finish=finish):
                return lambda *xs: finish(rounded(form, f(*map(taken, xs)), mode))  # type: ignore[arg-type]

            yield Case(f"add.{mode}{flags}.{ty}", ty, (ty, ty), of(lambda a, b, m=mode, f=form: add(f, a, b, m)))
            yield Case(
                f"sub.{mode}{flags}.{ty}", ty, (ty, ty), of(lambda a, b, m=mode, f=form: add(f, a, negated(b), m))
            )
            yield Case(f"mul.{mode}{flags}.{ty}", ty, (ty, ty), of(multiply))
            yield Case(
                f"fma.{mode}{flags}.{ty}",
                ty,
                (ty,) * 3,
                of(lambda a, b, c, m=mode, f=form: add(f, multiply(a, b), c, m)),
            )
            if not sat:
                yield Case(f"div.{mode}{flags}.{ty}", ty, (ty, ty), of(divide))
                yield Case(f"rcp.{mode}{flags}.{ty}", ty, (ty,), of(lambda a: divide(Fraction(1), a)))
                yield Case(
                    f"sqrt.{mode}{flags}.{ty}",
                    ty,
                    (ty,),
                    lambda a, m=mode, f=form, taken=taken, finish=finish: finish(square_root(f, taken(a), m)),
                )
    for name, f in (
        ("add", lambda a, b: add(F16, a, b, "rn")),
        ("sub", lambda a, b: add(F16, a, negated(b), "rn")),
        ("mul", multiply),
    ):
        yield Case(
            f"{name}.rn.f16",
            "b16",
            ("b16", "b16"),
            lambda a, b, f=f: rounded(F16, f(value(F16, a), value(F16, b)), "rn"),
        )
    yield Case(
        "fma.rn.f16",
        "b16",
        ("b16",) * 3,
        lambda a, b, c: rounded(F16, add(F16, multiply(value(F16, a), value(F16, b)), value(F16, c), "rn"), "rn"),
    )


def conversions() -> Iterator[Case]:
    for to, source, sat in itertools.product(ALL_INTEGERS, ALL_INTEGERS, (False, True)):
        # Registers of 8 bits are held in wider ones.
        target, register = (ty.replace("8", "32") if width(ty) == 8 else ty for ty in (to, source))

        def converted(a: int, to: str = to, source: str = source, sat: bool = sat, target: str = target) -> int:
            number = of_type(source, a)
            number = clamp(to, number) if sat else of_type(to, number)
            return number & mask(target)

        yield Case(f"cvt{'.sat' if sat else ''}.{to}.{source}", target, (register,), converted)
    for (ty, form), to, mode in itertools.product(FORMATS.items(), INTEGERS, MODES):

        def to_int(a: int, form: Format = form, to: str = to, mode: str = mode) -> int:
            number = value(form, a)
            if number == NAN:
                wide = width(to) == 64 or form is F64
                return 1 << (width(to) - 1) if wide else 0
            if isinstance(number, Infinite):
                return clamp(to, -(1 << 80) if number.negative else 1 << 80) & mask(to)
            whole = 0 if isinstance(number, Zero) else to_integer(number, mode)  # type: ignore[arg-type]
            return clamp(to, whole) & mask(to)

        yield Case(f"cvt.{mode}i.{to}.{ty}", to, (ty,), to_int)
        yield Case(
            f"cvt.{mode}.{ty}.{to}",
            ty,
            (to,),
            lambda a, form=form, to=to, mode=mode: rounded(form, Fraction(of_type(to, a)), mode),
        )
    for mode in MODES:
        yield Case(f"cvt.{mode}.f32.f64", "f32", ("f64",), lambda a, m=mode: rounded(F32, value(F64, a), m))
    for mode in ("rn", "rz"):
        yield Case(f"cvt.{mode}.f16.f32", "b16", ("f32",), lambda a, m=mode: rounded(F16, value(F32, a), m))
    yield Case("cvt.f64.f32", "f64", ("f32",), lambda a: rounded(F64, value(F32, a), "rn"))
    yield Case("cvt.f32.f16", "f32", ("b16",), lambda a: rounded(F32, value(F16, a), "rn"))
    for (ty, form), mode in itertools.product(FORMATS.items(), MODES):

        def whole(a: int, form: Format = form, mode: str = mode) -> int:
            number = value(form, a)
            if not isinstance(number, Fraction):
                return rounded(form, number, mode)
            result = to_integer(number, mode)
            return rounded(form, Fraction(result), mode) if result else (form.sign if number < 0 else 0)

        yield Case(f"cvt.{mode}i.{ty}.{ty}", ty, (ty,), whole)


CASES = [*integers(), *bits(), *comparisons(), *floats(), *conversions()]
