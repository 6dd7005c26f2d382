"""The distribution of matrices over the lanes of a warp, as layouts of strides, and the formats of their elements.

A layout maps the coordinates of a lane and of a value of that lane to the place of an element. The notation is that of the CuTe library, so
it is a second source beside the manual's formulas, which the driver implements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    return int(np.prod([extent for extent, _ in modes]))


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


@dataclass(frozen=True)
class Element:
    """A format of elements, with small values that are exact in it."""

    name: str
    bits: int
    most: int

    def draw(self, numbers: np.random.Generator, shape: tuple[int, int], exact: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return random values, and their bits."""
        if self.name in "s8 u8 s4 u4 b1":
            low = -(1 << (self.bits - 1)) if self.name[0] == "s" else 0
            values = numbers.integers(low, low + (1 << self.bits), shape)
            return values, values & ((1 << self.bits) - 1)
        if self.name in ("e4m3", "e5m2"):
            bits = numbers.integers(0, 256, shape)
            table = {code: value for code in range(256) if (value := narrow(self.name, code)) is not None}
            # The sums must fit into `f16` too.
            most = self.most if exact else 16
            table = {code: value for code, value in table.items() if abs(value) <= most and not (exact and value % 1)}
            codes = np.array(list(table))
            bits = codes[numbers.integers(0, len(codes), shape)]
            return np.vectorize(table.get, otypes=[np.float64])(bits), bits
        values = numbers.integers(-self.most, self.most + 1, shape).astype(np.float64)
        if not exact:
            values = numbers.standard_normal(shape) * 2.0 ** numbers.integers(-4, 5, shape)
        return stored(self.name, values)


def narrow(name: str, code: int) -> float | None:
    """Return the value of an element of 8 bits, or None for NaN and infinity."""
    fraction, bias = (3, 7) if name == "e4m3" else (2, 15)
    exponent, rest = (code & 0x7F) >> fraction, code & (1 << fraction) - 1
    if code & 0x7F == 0x7F or (name == "e5m2" and exponent == 31):
        return None
    magnitude = (
        rest * 2.0 ** (1 - bias - fraction)
        if exponent == 0
        else (1 + rest / (1 << fraction)) * 2.0 ** (exponent - bias)
    )
    return -magnitude if code & 0x80 else magnitude


def stored(name: str, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values as a format holds them, and their bits."""
    if name == "f16":
        halves = values.astype(np.float16)
        return halves.astype(np.float64), halves.view(np.uint16).astype(np.int64)
    if name == "f64":
        return values, values.astype(np.float64).view(np.uint64)
    cut = {"f32": 0, "tf32": 13, "bf16": 16}[name]
    words = values.astype(np.float32).view(np.uint32) & np.uint32((1 << 32) - (1 << cut))
    bits = words >> 16 if name == "bf16" else words
    return words.view(np.float32).astype(np.float64), bits.astype(np.int64)


ELEMENTS = {
    name: Element(name, bits, most)
    for name, bits, most in [
        ("f16", 16, 8),
        ("bf16", 16, 8),
        ("tf32", 32, 8),
        ("f64", 64, 100),
        ("e4m3", 8, 4),
        ("e5m2", 8, 4),
        ("s8", 8, 0),
        ("u8", 8, 0),
        ("s4", 4, 0),
        ("u4", 4, 0),
        ("b1", 1, 0),
    ]
}


def fragments(bits: np.ndarray, of: Layout, width: int) -> np.ndarray:
    """Return the registers of a matrix: a row of 32 lanes for each register."""
    each = max(32 // width, 1)
    words = np.zeros((size(of.values) // each, LANES), np.uint64)
    for lane in range(LANES):
        for value in range(size(of.values)):
            word = int(bits[of.coordinates(lane, value)]) << value % each * width
            words[value // each, lane] |= np.uint64(word)
    return words


def matrix(words: np.ndarray, of: Layout, width: int, shape: tuple[int, int]) -> np.ndarray:
    """Return the bits of a matrix from its registers."""
    each = max(32 // width, 1)
    bits = np.zeros(shape, np.uint64)
    for lane in range(LANES):
        for value in range(size(of.values)):
            word = int(words[value // each, lane]) >> value % each * width
            bits[of.coordinates(lane, value)] = word & (1 << width) - 1
    return bits


def metadata(rows: list[int], bits: int, units: int, selector: int, numbers: np.random.Generator) -> np.ndarray:
    """Return the words of the lanes with the metadata of 16 rows: units of 16 or 32 bits.

    Two units are reordered as CUTLASS does it for whole matrices: rows are interwoven, and blocks of two rows and two units are
    transposed. Lanes that the selector does not name have random words.
    """
    words = numbers.integers(0, 1 << 32, LANES)
    parts: dict[tuple[int, int], int] = {}
    for row, unit in np.ndindex(16, units):
        value = rows[row] >> bits * unit & (1 << bits) - 1
        if units == 1:
            lane = row % 8 * 4 + (selector if bits == 16 else 2 * selector + row // 8)
            parts[lane, row // 8 if bits == 16 else 0] = value
            continue
        whole = row + 16 * selector
        to = whole % 8 * (4 if bits == 16 else 2) + whole // 8
        at = unit
        if to % 2 != at:
            to, at = (to + 1, at - 1) if at else (to - 1, at + 1)
        lane = to if bits == 16 else 2 * to + at
        parts[lane, at if bits == 16 else 0] = value
    for (lane, part), value in parts.items():
        words[lane] = int(words[lane]) & ~((1 << bits) - 1 << bits * part) | value << bits * part
    return words.astype(np.uint64)
