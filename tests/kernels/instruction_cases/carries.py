"""Arithmetic on integers of several words, with carries from one instruction to the next.

The flag of a subtraction is the carry of ``a + ~b + flag``, thus 0 after a borrow. An addition can consume it.
"""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case

ONES = (1 << 64) - 1
HALVES = "mov.b64 {x, y}, a; mov.b64 {z, w}, b; "
JOINED = "; mov.b64 d, {x, y}"


SETTERS = ("add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc")
USERS = ("addc", "addc.cc", "subc", "subc.cc", "madc.lo", "madc.lo.cc", "madc.hi", "madc.hi.cc")


def step(opcode: str, ty: str, flag: int, *values: int) -> tuple[int, int]:
    """Return the result of an instruction, and the carry flag after it."""
    bits = int(ty[1:])
    ones = (1 << bits) - 1
    base = opcode.split(".")[0]
    carry = flag if base.endswith("c") else int(base == "sub")
    if base.startswith("mad"):
        a, b, c = values
        if ty[0] == "s":
            a, b = ((one ^ 1 << bits - 1) - (1 << bits - 1) for one in (a, b))
        total = (a * b >> (bits if ".hi" in opcode else 0) & ones) + c + carry
    elif base.startswith("sub"):
        total = values[0] + (values[1] ^ ones) + carry
    else:
        total = sum(values) + carry
    return total & ones, total >> bits if opcode.endswith(".cc") else flag


def pairs() -> Iterator[Case]:
    """Yield each pair of an instruction that sets the flag and one that uses it. The result includes the last flag."""
    for ty in ("u32", "s32", "u64", "s64"):
        for first in SETTERS:
            for second in USERS:

                def expected(a: int, b: int, c: int, e: int, first: str = first, second: str = second, ty: str = ty) -> int:
                    one, flag = step(first, ty, 0, a, b, *([e] if "mad" in first else []))
                    two, flag = step(second, ty, flag, c, one, *([e] if "mad" in second else []))
                    return two + flag & (1 << int(ty[1:])) - 1

                t = "x" if ty.endswith("32") else "u"
                one = f"{first}.{ty} {t}, a, b" + (", e" if "mad" in first else "")
                two = f"{second}.{ty} d, c, {t}" + (", e" if "mad" in second else "")
                yield Case(f"{one}; {two}; addc.{ty} d, d, 0", ty, (ty,) * 4, expected)


def carries() -> Iterator[Case]:
    yield from pairs()
    for sign in "us":
        two = f"{HALVES}add.cc.{sign}32 x, x, z; addc.{sign}32 y, y, w{JOINED}"
        yield Case(two, "u64", ("u64", "u64"), lambda a, b: a + b & ONES)
        two = f"{HALVES}sub.cc.{sign}32 x, x, z; subc.{sign}32 y, y, w{JOINED}"
        yield Case(two, "u64", ("u64", "u64"), lambda a, b: a - b & ONES)
        four = ("u64",) * 4
        yield Case(
            f"add.cc.{sign}64 u, a, b; addc.{sign}64 d, c, e",
            "u64",
            four,
            lambda a, b, c, e: (a + b >> 64) + c + e & ONES,
        )
        yield Case(
            f"sub.cc.{sign}64 u, a, b; subc.{sign}64 d, c, e", "u64", four, lambda a, b, c, e: c - e - (a < b) & ONES
        )
        # A carry through three words, and a carry that an instruction without carry does not consume.
        yield Case(
            f"add.cc.{sign}64 u, a, b; addc.cc.{sign}64 v, c, e; addc.{sign}64 d, 0, 0",
            "u64",
            four,
            lambda a, b, c, e: (a + b >> 64) + c + e >> 64,
        )
        yield Case(
            f"add.cc.{sign}64 u, a, b; sub.{sign}64 v, c, e; addc.{sign}64 d, v, 0",
            "u64",
            four,
            lambda a, b, c, e: c - e + (a + b >> 64) & ONES,
        )
        yield Case(
            f"sub.cc.{sign}64 u, a, b; subc.cc.{sign}64 v, c, e; subc.{sign}64 d, 0, 0",
            "u64",
            four,
            lambda a, b, c, e: -(c - e - (a < b) < 0) & ONES,
        )
    for n in (32, 64):
        ones, ty = (1 << n) - 1, f"u{n}"
        yield Case(
            f"mad.lo.cc.{ty} d, a, b, c; madc.hi.{ty} d, a, b, e",
            ty,
            (ty,) * 4,
            lambda a, b, c, e, n=n, ones=ones: ((a * b & ones) + c >> n) + (a * b >> n) + e & ones,
        )
        yield Case(
            f"mad.hi.cc.{ty} d, a, b, c; addc.{ty} d, e, 0",
            ty,
            (ty,) * 4,
            lambda a, b, c, e, n=n, ones=ones: ((a * b >> n) + c >> n) + e & ones,
        )
        yield Case(
            f"add.cc.{ty} d, c, e; madc.lo.cc.{ty} d, a, b, c; addc.{ty} d, d, 0",
            ty,
            (ty,) * 4,
            lambda a, b, c, e, n=n, ones=ones: (lambda s: (s & ones) + (s >> n) & ones)(
                (a * b & ones) + c + (c + e >> n)
            ),
        )
        yield Case(
            f"madc.hi.{ty} d, a, b, c",
            ty,
            (ty,) * 3,
            lambda a, b, c, n=n, ones=ones: (a * b >> n) + c & ones,
            # The carry is undefined, since no instruction has set it.
            lambda *_: True,
        )
    # The upper half of a 64-bit by 64-bit product, computed from 32-bit words.
    text = (
        "mov.b64 {x, y}, a; mov.b64 {z, w}, b; .reg .b32 r0, r1, r2, r3; mul.lo.u32 r0, x, z; mul.hi.u32 r1, x, z; "
        "mad.lo.cc.u32 r1, x, w, r1; madc.hi.u32 r2, x, w, 0; mad.lo.cc.u32 r1, y, z, r1; madc.hi.cc.u32 r2, y, z, r2; "
        "madc.hi.u32 r3, y, w, 0; mad.lo.cc.u32 r2, y, w, r2; addc.u32 r3, r3, 0; mov.b64 d, {r2, r3}"
    )
    yield Case(text, "u64", ("u64", "u64"), lambda a, b: a * b >> 64)
