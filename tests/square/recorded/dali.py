"""DALI TensorGPU (recorded). Source: NVIDIA/DALI, dali/python/backend_impl.cc and dali/util/pybind.h, copies that export writable arrays."""

from __future__ import annotations

from cuarray.check import NotClaimed
from square.recorded import NOT_CLAIMED, Recorded, memory_of, pointer, write

__all__ = ["KNOWN", "NAME", "NOT_CLAIMED", "VERSION", "make", "pointer", "write"]

NAME, VERSION = "DALI TensorGPU (recorded)", "a copy that exports writable arrays"
KNOWN = dict.fromkeys(
    ("I3.pair-*", "I8.pair-*", "L2.pair-*"), "D5: the type string is a code of PEP 3118, which not all consumers read"
)

#: FormatStrFromType, which writes codes of PEP 3118.
FORMATS = {
    **{"|i1": "=b", "|u1": "=B", "<i2": "=h", "<u2": "=H", "<i4": "=i", "<u4": "=I", "<i8": "=q", "<u8": "=Q"},
    **{"<f4": "=f", "<f2": "=e", "<f8": "=d", "|b1": "=?"},
}


def make(shape: tuple[int, ...], typestr: str, **layout: object) -> Recorded:
    if typestr not in FORMATS or 0 in shape:
        raise NotClaimed("not in FormatStrFromType, or empty")
    memory = memory_of(shape, typestr)
    entries = {
        "typestr": FORMATS[typestr],
        "shape": shape,
        "data": (memory.pointer, False),
        "version": 2,
        "strides": None,
    }
    return Recorded(memory, entries)
