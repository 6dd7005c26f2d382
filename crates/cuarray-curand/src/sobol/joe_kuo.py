"""Packs the direction numbers of S. Joe and F. Y. Kuo: ``python joe_kuo.py new-joe-kuo-6.21201 directions.bin``.

The argument is the file of https://web.maths.unsw.edu.au/~fkuo/sobol/ with 21,201 dimensions; the first 20,000 are packed, as many as cuRAND has.
``LICENSE`` beside this file is its licence.

The result is a string of bits, from the lowest bit of each byte on. Each dimension from the second on has the degree of its polynomial in
5 bits, the inner coefficients, and the initial numbers without their lowest bit, which is always 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

DIMENSIONS = 20_000


def packed(text: str) -> bytes:
    """Return the packed numbers of the file's lines ``d s a m_1 ... m_s``."""
    bits = 0
    end = 0
    pieces = bytearray()

    def put(value: int, size: int) -> None:
        nonlocal bits, end
        assert 0 <= value < 1 << size or size == value == 0
        bits |= value << end
        end += size
        while end >= 8:
            pieces.append(bits & 0xFF)
            bits >>= 8
            end -= 8

    for line in text.splitlines()[1:DIMENSIONS]:
        _, degree, inner, *numbers = (int(word) for word in line.split())
        put(degree, 5)
        put(inner, degree - 1)
        for index, number in enumerate(numbers):
            assert number % 2 == 1
            put(number >> 1, index)
    put(0, -end % 8)
    return bytes(pieces)


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(packed(Path(sys.argv[1]).read_text()))
