"""Logic, shifts, and what finds, takes and puts bits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from exact import of_type

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
