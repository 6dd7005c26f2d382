"""Arithmetic on integers of several words, with carries from one instruction to the next."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case

ONES = (1 << 64) - 1
HALVES = "mov.b64 {x, y}, a; mov.b64 {z, w}, b; "
JOINED = "; mov.b64 d, {x, y}"


def carries() -> Iterator[Case]:
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
