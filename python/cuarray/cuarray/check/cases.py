"""The cases of the checks as plain data: layouts, types, and legal and illegal dictionaries.

The checks of the kit and :mod:`cuarray.testing` use this one list, so an array that a check exports or imports is an array that a
user's own tests can take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuarray.check import parts

__all__ = [
    "BROADCAST",
    "DEEP",
    "EMPTY",
    "FURTHER",
    "ILLEGAL",
    "LAYOUTS",
    "PLAIN",
    "REVERSED",
    "UNIT",
    "Layout",
    "layout_part",
]

#: A shape, and the strides in bytes; None means C-contiguous.
Layout = tuple[tuple[int, ...], tuple[int, ...]]

#: Layouts of 4-byte elements.
LAYOUTS: Mapping[str, Layout] = {
    "C-order": ((3, 4), (16, 4)),
    "F-order": ((3, 4), (4, 12)),
    "sliced": ((3, 4), (32, 8)),
    "transposed-3d": ((2, 3, 4), (4, 32, 8)),
    "one-element-axis": ((3, 1, 4), (16, 16, 4)),
    "zero-dim": ((), ()),
}
#: Layouts of more dimensions than those of :mod:`cuarray.testing`.
DEEP: Mapping[str, Layout] = {
    "C-order-4d": ((2, 3, 4, 5), (240, 80, 20, 4)),
    "sliced-5d": ((2, 3, 2, 3, 2), (576, 144, 72, 16, 8)),
}
#: Layouts whose axes of length one have strides without a meaning.
UNIT: Mapping[str, Layout] = {
    "unit-axis-reversed": ((1, 5), (-20, 4)),
    "unit-axis-far": ((3, 1, 4), (16, 1 << 20, 4)),
    "unit-axis-zero": ((5, 1), (4, 0)),
}
REVERSED: Mapping[str, Layout] = {"reversed-1d": ((5,), (-4,)), "reversed-2d": ((3, 4), (16, -4))}
BROADCAST: Mapping[str, Layout] = {"broadcast-1d": ((5,), (0,)), "broadcast-2d": ((3, 4), (0, 4))}
#: Layouts without elements, whose pointer is 0.
EMPTY: Mapping[str, tuple[tuple[int, ...], tuple[int, ...] | None]] = {
    "0": ((0,), None),
    "0x3": ((0, 3), None),
    "strided": ((0, 3), (48, 16)),
}

#: Types that most libraries have, and further ones.
PLAIN = {name[1:]: name for name in ("|i1", "|u1", "<i4", "<i8", "<f4", "<f8")}
FURTHER = {name[1:]: name for name in ("<i2", "<u2", "<u4", "<u8", "<f2", "<c8", "<c16", "|b1")}

#: Illegal dictionaries, by clause: entries that replace those of an array of shape ``(2, 3)`` and type ``<f4``, or the entry that
#: it is without.
ILLEGAL: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "I1": {f"without-{key}": {"without": key} for key in ("shape", "typestr", "data", "version")},
    "I2": {
        "text": {"shape": "23"},
        "negative": {"shape": (-2, 3)},
        "float": {"shape": (2.0, 3.0)},
        "float-in-the-last": {"shape": (2, 3.0)},
        "text-in-the-last": {"shape": (2, "3")},
        "overflow": {"shape": (1 << 62, 1 << 62)},
        "beyond-64-bits": {"shape": (1 << 80,)},
    },
    "I3": {
        "nonsense": {"typestr": "no type"},
        "empty": {"typestr": ""},
        "python-object": {"typestr": "|O8"},
        "int": {"typestr": 4},
    },
    "I4": {
        "int": {"data": 4096},
        "None": {"data": (None, False)},
        "text": {"data": ("pointer", False)},
        "null": {"data": (0, False)},
    },
    "I7": {
        "negative": {"version": -1},
        "float": {"version": 3.0},
        "text": {"version": "3"},
        "beyond-64-bits": {"version": 1 << 80},
    },
    "I8": {
        "too-few": {"strides": (4,)},
        "float": {"strides": (12.0, 4.0)},
        "float-in-the-last": {"strides": (12, 4.0)},
        "text-in-the-last": {"strides": (12, "4")},
        "beyond-64-bits": {"strides": (1 << 70, 4)},
    },
    "I11": {
        "zero": {"stream": 0},
        "negative": {"stream": -1},
        "text": {"stream": "1"},
        "float": {"stream": 1.0},
        # A conversion to 64 bits would give a stream.
        "beyond-64-bits": {"stream": (1 << 80) + 1},
    },
}


def layout_part(shape: tuple[int, ...], strides: tuple[int, ...]) -> str | None:
    """Return the part of a library that a layout of 4-byte elements belongs to; None for a plain C-contiguous one."""
    if not shape:
        return "zero-dim"
    strides = tuple(step for length, step in zip(shape, strides, strict=True) if length > 1)
    shape = tuple(length for length in shape if length > 1)
    if min(strides, default=0) < 0:
        return "negative-strides"
    if 0 in strides:
        return "broadcast"
    return None if strides == parts.contiguous(shape, 4) else "strides"
