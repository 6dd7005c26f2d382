"""The kernel of a case, and the edge values that it is run with. The module needs only the standard library."""

from __future__ import annotations

import math
import struct
from functools import cache

from .case import Computation, width

INTEGER_EDGES = [
    *(0, 1, 2, 3, 5, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 32767, 32768, 65535, 65536),
    *(0x7FFFFF, 0xFFFFFF, 0x1000000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x123456789ABCDEF0),
    *(0x5555555555555555, 0x8080808080808080, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0xFEDCBA98),
]
FLOAT_EDGES = [
    *(
        0.0,
        1.0,
        0.5,
        1.5,
        2.5,
        3.0,
        0.1,
        1 / 3,
        7.0,
        100.5,
        127.5,
        128.0,
        255.5,
        32767.5,
        65535.5,
        2147483647.5,
        4294967295.5,
    ),
    *(
        1e10,
        9.2e18,
        1.9e19,
        1e30,
        3.4e38,
        1e-30,
        1.2e-38,
        1e-40,
        1e-45,
        1e300,
        1e-300,
        5e-324,
        float("inf"),
        float("nan"),
    ),
    *(16777217.0, 1.0000001192092896, 0.99999994, 8388607.5, 2049.0, 65504.0, 65520.0, 6e-8, 1.0009765625),
]
COUNT = 96
"""The number of operands of each kernel, and of its threads."""
STEPS = (1, 7, 11, 13)
"""The steps of the edge values of each operand."""

PACKED = {"f64": ("<d", "<Q"), "f32": ("<f", "<I"), "f16": ("<e", "<H")}
"""The formats of ``struct`` for a type, and for its bits."""


def float_bits(ty: str, number: float) -> int:
    """Return the bits of the nearest number of a type, which is infinity beyond its range."""
    form, bits = PACKED[ty]
    try:
        data = struct.pack(form, number)
    except OverflowError:
        data = struct.pack(form, math.copysign(math.inf, number))
    return int(struct.unpack(bits, data)[0])


def edges(ty: str) -> list[int]:
    if ty.endswith("x2"):
        halves = edges(ty[:-2])
        return [one << 16 | halves[index * 5 % len(halves)] for index, one in enumerate(halves)]
    if ty == "bf16":
        return [bits >> 16 for bits in edges("f32")]
    if ty in PACKED:
        return [float_bits(ty, sign * edge) for edge in FLOAT_EDGES for sign in (1, -1)]
    ones = (1 << width(ty)) - 1
    return [edge & ones for edge in INTEGER_EDGES] + [-edge & ones for edge in INTEGER_EDGES[1:8]]


@cache
def patterns(ty: str, step: int) -> list[int]:
    """Return edge values of a type in an order that depends on the step, so that operands form many pairs."""
    every = edges(ty)
    return [every[(index * step + index // len(every) * (step - 1)) % len(every)] for index in range(COUNT)]


def operands(case: Computation) -> list[list[int]]:
    """Return the values of each source of a case."""
    return [patterns(ty, step) for ty, step in zip(case.sources, STEPS, strict=False)]


def kernel(number: int, case: Computation, count: int = COUNT) -> str:
    """Return the text of a kernel whose threads each compute one result.

    The parameters are arrays of words of 64 bits: ``count`` words for each source, and the results.
    """
    names = ", ".join("abce"[: len(case.sources)])
    text = case.text
    if " " not in text:
        text += " $"
    text = text.replace("#", names).replace("$", f"d, {names}")
    lines = [f".reg .b{width(case.target)} d; .reg .pred p, q; .reg .b64 in, out, at, u, v; .reg .b32 t, x, y, z, w;"]
    lines.append(".reg .b16 h;")
    for name, ty in zip("abce", case.sources, strict=False):
        lines.append(f".reg .b{width(ty)} {name};")
    lines.append("ld.param.u64 in, [pin]; ld.param.u64 out, [pout]; mov.u32 t, %tid.x; mul.wide.u32 at, t, 8;")
    lines.append("add.u64 in, in, at; add.u64 out, out, at; mov.u64 u, 0; st.global.u64 [out], u;")
    for index, (name, ty) in enumerate(zip("abce", case.sources, strict=False)):
        lines.append(f"ld.global.b{width(ty)} {name}, [in+{index * count * 8}];")
    lines.append(f"{text}; st.global.b{width(case.target)} [out], d; ret;")
    return f".visible .entry k{number}(.param .u64 pin, .param .u64 pout) {{ {' '.join(lines)} }}"
