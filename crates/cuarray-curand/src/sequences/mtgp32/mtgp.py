"""Packs the parameters of MTGP32 with the exponent 11213: ``python mtgp.py curand_mtgp32dc_p_11213.h parameters.bin``.

The argument is the authors' table ``mtgp32dc_params_fast_11213``, which CUDA's headers have too. ``LICENSE`` beside this file is its licence.

The result has 36 bytes for each set: the pick-up position with its two shifts in 4 bytes, and the rows 1, 2, 4 and 8 of the recursion's table and
of the tempering table. The other rows are sums of these. The tempering table for floats follows from the one for integers.
"""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

SETS = 192
"""cuRAND's generators use so many of the 200 sets."""
EXPONENT, MASK = 11213, 0xFFF80000
ROWS = (1, 2, 4, 8)


def packed(text: str) -> bytes:
    """Return the packed sets of the table."""
    table = text[text.index("mtgp32dc_params_fast_11213[]") :]
    pieces = []
    for part in re.split(r"/\* No\.\d+[^*]*\*/", table)[1 : SETS + 1]:
        numbers = [int(each, 0) for each in re.findall(r"0x[0-9a-fA-F]+|\b\d+\b", part)]
        exponent, position, first, second = numbers[:4]
        recursion, tempering, mask = numbers[4:20], numbers[20:36], numbers[52]
        assert (exponent, mask) == (EXPONENT, MASK)
        for rows in (recursion, tempering):
            assert rows[0] == 0
            assert all(rows[index] == rows[index & -index] ^ rows[index & index - 1] for index in range(1, 16))
        words = [rows[index] for rows in (recursion, tempering) for index in ROWS]
        pieces.append(struct.pack("<HBB8I", position, first, second, *words))
    assert len(pieces) == SETS
    return b"".join(pieces)


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(packed(Path(sys.argv[1]).read_text(encoding="utf-8")))
