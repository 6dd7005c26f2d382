"""Logic, shifts, and instructions that find, extract and insert bits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from exact_arithmetic import of_type

from .case import Case


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
    yield from fields()


def fields() -> Iterator[Case]:
    """Bit fields: ``bfi``, ``bmsk``, ``szext``, ``fns``, the modes of ``prmt``, ``lop3`` with a predicate, vectors."""
    for n in (32, 64):

        def inserted(a: int, b: int, start: int, length: int, n: int = n) -> int:
            start, length = start & 255, length & 255
            for index in range(length):
                if start + index < n:
                    b = b & ~(1 << start + index) | (a >> index & 1) << start + index
            return b

        yield Case(f"bfi.b{n}", f"b{n}", (f"b{n}", f"b{n}", "u32", "u32"), inserted)
    for mode in ("clamp", "wrap"):

        def masked(a: int, b: int, mode: str = mode) -> int:
            a, b = (a, b) if mode == "clamp" else (a & 31, b & 31)
            return sum(1 << index for index in range(32) if a <= index < a + b)

        yield Case(f"bmsk.{mode}.b32", "u32", ("u32", "u32"), masked)
        for ty in ("u32", "s32"):

            def extended(a: int, b: int, mode: str = mode, ty: str = ty) -> int:
                b = b & 31 if mode == "wrap" else min(b, 32)
                return (of_type(f"{ty[0]}{b}", a) if b else 0) & 0xFFFFFFFF

            yield Case(f"szext.{mode}.{ty}", ty, (ty, "u32"), extended)

    def nth(a: int, base: int, count: int) -> int:
        base, count = base & 31, of_type("s32", count)
        ones = [index for index in range(32) if a >> index & 1]
        if count == 0:
            return base if base in ones else 0xFFFFFFFF
        ones = [one for one in ones if one >= base] if count > 0 else [one for one in reversed(ones) if one <= base]
        return ones[abs(count) - 1] if abs(count) <= len(ones) else 0xFFFFFFFF

    yield Case("and.b32 b, b, 31; fns.b32 $", "u32", ("u32", "u32", "s32"), nth)
    # The bytes that each mode selects, by the two lowest bits of the selector, highest byte first.
    modes = {
        "f4e": ("3210", "4321", "5432", "6543"),
        "b4e": ("5670", "6701", "7012", "0123"),
        "rc8": ("0000", "1111", "2222", "3333"),
        "ecl": ("3210", "3211", "3222", "3333"),
        "ecr": ("0000", "1110", "2210", "3210"),
        "rc16": ("1010", "3232", "1010", "3232"),
    }
    for mode, chosen in modes.items():
        yield Case(
            f"prmt.b32.{mode}",
            "u32",
            ("u32",) * 3,
            lambda a, b, c, chosen=chosen: int.from_bytes(
                bytes((b << 32 | a) >> 8 * int(byte) & 255 for byte in chosen[c & 3]), "big"
            ),
        )
    for name, f in (("or", lambda a, b: a or b), ("and", lambda a, b: a and b)):
        text = f"setp.gt.u32 q, a, b; lop3.{name}.b32 d|p, a, b, c, 0x96, q; @p add.u32 d, d, 1"
        yield Case(
            text,
            "u32",
            ("u32",) * 3,
            lambda a, b, c, f=f: (a ^ b ^ c) + int(f(a ^ b ^ c != 0, a > b)) & 0xFFFFFFFF,
            since=80,
        )
    swapped = "mov.b64 {x, y}, a; mov.b64 d, {y, x}"
    yield Case(swapped, "b64", ("b64",), lambda a: (a << 32 | a >> 32) & (1 << 64) - 1)
    swapped = ".reg .b16 h0, h1, h2, h3; mov.b64 {h0, h1, h2, h3}, a; mov.b64 d, {h3, h1, h2, h0}"
    yield Case(swapped, "b64", ("b64",), lambda a: a & 0x0000FFFFFFFF0000 ^ 0 | a >> 48 | (a & 0xFFFF) << 48)
    swapped = ".reg .b16 h0, h1; mov.b32 {h0, h1}, a; mov.b32 d, {h1, h0}"
    yield Case(swapped, "b32", ("b32",), lambda a: (a << 16 | a >> 16) & 0xFFFFFFFF)
    swapped = ".reg .b128 o; mov.b128 o, {a, b}; mov.b128 {v, u}, o; sub.u64 d, u, v"
    yield Case(swapped, "b64", ("b64", "b64"), lambda a, b: b - a & (1 << 64) - 1)
    # The target is also a source.
    yield Case(
        "mov.b64 {x, y}, a; mov.b64 u, {x, x}; mov.b64 {y, x}, u; mov.b64 d, {x, y}",
        "b64",
        ("b64",),
        lambda a: (a & 0xFFFFFFFF) * 0x100000001,
    )
