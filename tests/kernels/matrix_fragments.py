"""The elements of matrices in the registers of a warp, and their formats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matrix_layouts import BITS, LANES, Layout, size


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


MOST = {"f16": 8, "bf16": 8, "tf32": 8, "f64": 100, "e4m3": 4, "e5m2": 4}
ELEMENTS = {name: Element(name, bits, MOST.get(name, 0)) for name, bits in BITS.items()}


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
