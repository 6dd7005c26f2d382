"""RMM DeviceBuffer (recorded). Source: rapidsai/rmm, python/rmm/rmm/pylibrmm/device_buffer.pyx, commit 3513f24d."""

from __future__ import annotations

from cuarray.check import NotClaimed
from square.recorded import NOT_CLAIMED, Recorded, memory_of, one_axis, pointer, write

__all__ = ["NAME", "NOT_CLAIMED", "VERSION", "make", "pointer", "write"]

NAME, VERSION = "RMM DeviceBuffer (recorded)", "3513f24d"


def make(shape: tuple[int, ...], typestr: str, **layout: object) -> Recorded:
    one_axis(shape)
    if typestr != "|u1":
        raise NotClaimed("a DeviceBuffer holds bytes")
    memory = memory_of(shape, typestr)
    pointer = memory.pointer if shape[0] else 0
    entries = {"data": (pointer, False), "shape": shape, "strides": None, "typestr": "|u1", "version": 0}
    return Recorded(memory, entries)
