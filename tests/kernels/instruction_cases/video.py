"""Video instructions: scalar with selectors, saturation, merging and a second operation; SIMD on halves and bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from exact_arithmetic import of_type

from .case import Case
from .comparisons import ORDERED

TYPES = ("u32", "s32")
PARTS = {"b0": (8, 0), "b1": (8, 8), "b2": (8, 16), "b3": (8, 24), "h0": (16, 0), "h1": (16, 16), "": (32, 0)}
PRIMARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "absdiff": lambda a, b: abs(a - b),
    "min": min,
    "max": max,
}
SECONDARY: dict[str, Callable[[int, int], int]] = {"add": lambda t, c: t + c, "min": min, "max": max}
# All forms in the manual: selectors of a, b and the target, saturation, second operation.
FORMS = (
    ("", "", "", False, ""),
    ("", "", "", True, ""),
    ("b0", "h1", "", False, ""),
    ("b3", "b1", "", True, "add"),
    ("h0", "", "", False, "min"),
    ("", "b2", "", True, "max"),
    ("h1", "h0", "b1", True, ""),
    ("b1", "", "h1", True, ""),
    ("", "", "b3", False, ""),
    ("h0", "b0", "h0", False, ""),
    ("b2", "b3", "b0", True, ""),
    ("", "h1", "b2", True, ""),
)


def taken(ty: str, part: str, word: int) -> int:
    bits, at = PARTS[part]
    return of_type(f"{ty[0]}{bits}", word >> at)


def clamped(ty: str, bits: int, number: int) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if ty[0] == "s" else (0, (1 << bits) - 1)
    return max(low, min(high, number))


def merged(part: str, number: int, c: int) -> int:
    bits, at = PARTS[part]
    ones = (1 << bits) - 1 << at
    return number << at & ones | c & ~ones & 0xFFFFFFFF


def with_part(name: str, part: str) -> str:
    return f"{name}.{part}" if part else name


def scalar(
    name: str, types: tuple[str, str, str], form: tuple[str, str, str, bool, str], primary: Callable[[int, int], int]
) -> Case:
    (to, one, other), (of_a, of_b, into, saturates, second) = types, form
    spelled_types = [one, other] if name.startswith("vset") else [to, one, other]
    head, *mode = name.split(".")
    words = [head, *spelled_types, *(["sat"] if saturates else []), *mode, *([second] if second else [])]
    third = ", c" if into or second else ""
    text = f"{'.'.join(words)} {with_part('d', into)}, {with_part('a', of_a)}, {with_part('b', of_b)}{third}"

    def expected(a: int, b: int, c: int) -> int:
        number = primary(taken(one, of_a, a), taken(other, of_b, b))
        if saturates:
            number = clamped(to, PARTS[into][0], number)
        if second:
            number = SECONDARY[second](number, of_type(to, c))
        return merged(into, number, c)

    def undefined(a: int, b: int, _c: int) -> bool:
        # The manual does not define the width of the intermediate value in the second operation.
        number = primary(taken(one, of_a, a), taken(other, of_b, b))
        return second in ("min", "max") and not saturates and number != clamped(to, 32, number)

    return Case(text, "u32", ("u32",) * 3, expected, undefined)


def scalars() -> Iterator[Case]:
    every = list(itertools.product(TYPES, TYPES, TYPES))
    for name, primary in PRIMARY.items():
        for index, form in enumerate(FORMS):
            for step in (0, 3):
                yield scalar(f"v{name}", every[(index + step) % 8], form, primary)
    for index, (form, mode, shift) in enumerate(itertools.product(FORMS, ("clamp", "wrap"), ("shl", "shr"))):
        to, one = TYPES[index // 4 % 2], TYPES[(index // 4 + index // 16) % 2]

        def shifted(a: int, b: int, mode: str = mode, shift: str = shift) -> int:
            by = min(b, 32) if mode == "clamp" else b & 31
            return a << by if shift == "shl" else a >> by

        yield scalar(f"v{shift}.{mode}", (to, one, "u32"), form, shifted)
    forms = [form for form in FORMS if not form[3]] + [("b1", "b2", "", False, "add"), ("h1", "", "", False, "max")]
    for index, (compare, form) in enumerate(itertools.product(ORDERED, forms)):
        one, other = every[index % 8][1:]
        yield scalar(f"vset.{compare}", ("u32", one, other), form, lambda a, b, c=compare: int(ORDERED[c](a, b)))


def products() -> Iterator[Case]:
    minus = (("", "", ""), ("-", "", ""), ("", "-", ""), ("-", "-", ""), ("", "", "-"))
    parts = (("", ""), ("b0", "h1"), ("h0", ""), ("b3", "b2"))
    everything = itertools.product(itertools.product(TYPES, TYPES), (*minus, None), ("", "shr7", "shr15"))
    for index, ((one, other), negated, scale) in enumerate(everything):
        of_a, of_b = parts[index % 4]
        saturates = index // 3 % 2 == 0
        na, nb, nc = negated or ("", "", "")
        signed = "s" in one[0] + other[0] or (na != nb) or bool(nc)
        words = ["vmad", "s32" if signed else "u32", one, other, "po" if negated is None else ""]
        words += ["sat" if saturates else "", scale]
        name = ".".join(word for word in words if word)

        def expected(
            a: int,
            b: int,
            c: int,
            of: tuple[str, str, str, str] = (one, other, of_a, of_b),
            signs: tuple[bool, bool] = (na != nb, bool(nc)),
            signed: bool = signed,
            one_more: bool = negated is None,
            scale: str = scale,
            saturates: bool = saturates,
        ) -> int:
            product = taken(of[0], of[2], a) * taken(of[1], of[3], b)
            # A negated c is complemented in 32 bits first.
            third = of_type("s32" if signed else "u32", ~c & 0xFFFFFFFF if signs[1] else c)
            total = (-product if signs[0] else product) + third + (one_more or signs[1])
            total >>= {"": 0, "shr7": 7, "shr15": 15}[scale]
            return (clamped("s32" if signed else "u32", 32, total) if saturates else total) & 0xFFFFFFFF

        text = f"{name} d, {na}{with_part('a', of_a)}, {nb}{with_part('b', of_b)}, {nc}c"
        yield Case(text, "u32", ("u32",) * 3, expected)


def simd() -> Iterator[Case]:
    primary = {**PRIMARY, "avrg": lambda a, b: (a + b + (a + b >= 0)) >> 1}
    every = list(itertools.product(TYPES, TYPES, TYPES))
    selectors = {
        2: (("", "", ""), ("h01", "h22", "h1"), ("h31", "h20", "h0"), ("h33", "h10", "h10")),
        4: (("", "", ""), ("b7531", "b6420", "b20"), ("b0123", "b4444", "b3"), ("b7654", "b0000", "b3210")),
    }
    names = [*primary, *(f"set.{compare}" for compare in ORDERED)]
    for (position, name), fields, (form, (of_a, of_b, where)) in itertools.product(
        enumerate(names), (2, 4), enumerate(selectors[2])
    ):
        if fields == 4:
            of_a, of_b, where = selectors[4][form]
        to, one, other = every[(position + 3 * form + fields) % 8]
        compares = name.startswith("set")
        saturates, accumulates = (not compares and form in (1, 3), form == 2)
        f = ORDERED[name[4:]] if compares else primary[name]
        types = f"{one}.{other}.{name[4:]}" if compares else f"{to}.{one}.{other}"
        head = "set" if compares else name
        text = f"v{head}{fields}.{types}{'.sat' if saturates else ''}{'.add' if accumulates else ''} "
        text += f"{with_part('d', where)}, {with_part('a', of_a)}, {with_part('b', of_b)}, c"

        def expected(
            a: int,
            b: int,
            c: int,
            fields: int = fields,
            types: tuple[str, str, str] = (to, one, other),
            chosen: tuple[str, str, str] = (of_a, of_b, where),
            saturates: bool = saturates,
            accumulates: bool = accumulates,
            f: Callable[[int, int], int] = f,
        ) -> int:
            bits = 32 // fields
            digits = [[int(digit) for digit in reversed(word[1:])] for word in chosen]
            of_a, of_b = digits[0] or list(range(fields)), digits[1] or list(range(fields, 2 * fields))
            result = c
            for index in digits[2] or range(fields):
                x, y = (
                    of_type(f"{ty[0]}{bits}", (b << 32 | a) >> bits * selector[index])
                    for ty, selector in ((types[1], of_a), (types[2], of_b))
                )
                number = int(f(x, y))
                number = clamped(types[0], bits, number) if saturates else number
                ones = (1 << bits) - 1 << bits * index
                result = result + number if accumulates else result & ~ones | number << bits * index & ones
            return result & 0xFFFFFFFF

        yield Case(text, "u32", ("u32",) * 3, expected)


def video() -> Iterator[Case]:
    yield from scalars()
    yield from products()
    yield from simd()
