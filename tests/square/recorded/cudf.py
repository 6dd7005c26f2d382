"""cuDF Column (recorded). Source: rapidsai/cudf, python/cudf/cudf/core/column/column.py, a copy with version 1."""

from __future__ import annotations

from cuarray.check import NotClaimed
from square.recorded import NOT_CLAIMED, Recorded, memory_of, one_axis, pointer, write

__all__ = ["NAME", "NOT_CLAIMED", "VERSION", "make", "pointer", "write"]

NAME, VERSION = "cuDF Column (recorded)", "version 1 of the dictionary"


def make(shape: tuple[int, ...], typestr: str, **layout: object) -> Recorded:
    one_axis(shape, nonempty=True)
    if typestr in ("<f2", "<c8", "<c16"):
        raise NotClaimed("columns have no such type")
    memory = memory_of(shape, typestr)
    entries = {
        "shape": shape,
        "strides": (memory.nbytes // shape[0],),
        "typestr": typestr,
        "data": (memory.pointer, False),
        "version": 1,
    }
    return Recorded(memory, entries)
