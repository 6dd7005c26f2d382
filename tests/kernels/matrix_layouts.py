"""The distribution of matrices over the lanes of a warp, as layouts of strides. The module needs only the standard library.

A layout maps the coordinates of a lane and of a value of that lane to the place of an element. The notation is that of the CuTe library, so
it is a second source beside the manual's formulas, which the driver implements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LANES = 32
Modes = Sequence[tuple[int, int]]
"""Pairs of extent and stride; the first varies fastest."""


def place(modes: Modes, index: int) -> int:
    """Return the place of a linear index."""
    at = 0
    for extent, stride in modes:
        at += index % extent * stride
        index //= extent
    return at


def size(modes: Modes) -> int:
    return math.prod(extent for extent, _ in modes)


@dataclass(frozen=True)
class Layout:
    """The places of values: ``lanes`` and ``values`` are modes, and elements are numbered by columns."""

    rows: int
    lanes: Modes
    values: Modes

    def coordinates(self, lane: int, value: int) -> tuple[int, int]:
        at = place(self.lanes, lane) + place(self.values, value)
        return at % self.rows, at // self.rows


def layout(rows: int, lane_stride: int, *values: tuple[int, int]) -> Layout:
    """Return a layout in which four lanes share a row."""
    return Layout(rows, ((4, lane_stride), (8, 1)), values or ((1, 0),))


# The multiplicands, by their shapes and the bits of an element. B is transposed: its rows are the columns of the product.
A = {
    ((16, 8), 16): layout(16, 32, (2, 16), (2, 8)),
    ((16, 16), 16): layout(16, 32, (2, 16), (2, 8), (2, 128)),
    ((16, 4), 32): layout(16, 16, (2, 8)),
    ((16, 8), 32): layout(16, 16, (2, 8), (2, 64)),
    ((8, 4), 64): layout(8, 8),
    ((16, 4), 64): layout(16, 16, (2, 8)),
    ((16, 8), 64): layout(16, 16, (2, 8), (2, 64)),
    ((16, 16), 64): layout(16, 16, (2, 8), (4, 64)),
    ((8, 16), 8): layout(8, 32, (4, 8)),
    ((16, 16), 8): layout(16, 64, (4, 16), (2, 8)),
    ((16, 32), 8): layout(16, 64, (4, 16), (2, 8), (2, 256)),
    ((8, 32), 4): layout(8, 64, (8, 8)),
    ((16, 32), 4): layout(16, 128, (8, 16), (2, 8)),
    ((16, 64), 4): layout(16, 128, (8, 16), (2, 8), (2, 512)),
    ((8, 128), 1): layout(8, 256, (32, 8)),
    ((16, 128), 1): layout(16, 512, (32, 16), (2, 8)),
    ((16, 256), 1): layout(16, 512, (32, 16), (2, 8), (2, 2048)),
}
B = {
    (8, 16): layout(8, 16, (2, 8)),
    (16, 16): layout(8, 16, (2, 8), (2, 64)),
    (4, 32): layout(8, 8),
    (8, 32): layout(8, 8, (2, 32)),
    (4, 64): layout(8, 8),
    (8, 64): layout(8, 8, (2, 32)),
    (16, 64): layout(8, 8, (4, 32)),
    (16, 8): layout(8, 32, (4, 8)),
    (32, 8): layout(8, 32, (4, 8), (2, 128)),
    (32, 4): layout(8, 64, (8, 8)),
    (64, 4): layout(8, 64, (8, 8), (2, 256)),
    (128, 1): layout(8, 256, (32, 8)),
    (256, 1): layout(8, 256, (32, 8), (2, 1024)),
    # Only with a sparse matrix A, whose stored half has the layout of a matrix with half the columns.
    (32, 16): layout(8, 16, (2, 8), (4, 64)),
    (16, 32): layout(8, 8, (4, 32)),
    (64, 8): layout(8, 32, (4, 8), (4, 128)),
    (128, 4): layout(8, 64, (8, 8), (4, 256)),
}
C = {8: layout(8, 16, (2, 8)), 16: layout(16, 32, (2, 16), (2, 8))}

# The eight lanes of one of four products of 8 by 8 by 4.
QUAD = ((4, 1), (2, 16))
QUAD_A = {"row": Layout(8, ((8, 1),), ((4, 8),)), "col": Layout(8, ((4, 8), (2, 4)), ((4, 1),))}
QUAD_B = {"col": QUAD_A["row"], "row": QUAD_A["col"]}
QUAD_C = {
    "f16": Layout(8, ((8, 1),), ((8, 8),)),
    "f32": Layout(8, ((2, 1), (2, 16), (2, 4)), ((2, 8), (2, 2), (2, 32))),
}

# The byte, among rows of 16 bytes, that a byte of a lane's registers holds: the modes of the lane, and of the byte.
ROWS: dict[str, tuple[Modes, Modes]] = {
    "": (((32, 4),), ((4, 1), (4, 128))),
    ".trans": (((4, 32), (8, 2)), ((2, 1), (2, 16), (4, 128))),
}

BITS = {
    **{"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "e4m3": 8, "e5m2": 8},
    **{"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1},
}
"""The bits of an element of a multiplicand."""
WIDTHS = {"f16": 16, "f32": 32, "f64": 64, "s32": 32}
"""The bits of an element of an accumulator."""
