"""pylibraft device_ndarray (recorded). Source: rapidsai/raft, python/pylibraft/pylibraft/common/device_ndarray.py, commit c976de02."""

from __future__ import annotations

import numpy as np

from square.recorded import NOT_CLAIMED, Recorded, memory_of, pointer, write

__all__ = ["NAME", "NOT_CLAIMED", "VERSION", "make", "pointer", "write"]

NAME, VERSION = "pylibraft device_ndarray (recorded)", "c976de02"


def make(shape: tuple[int, ...], typestr: str, **layout: object) -> Recorded:
    memory = memory_of(shape, typestr)
    # A copy of NumPy's __array_interface__, with the data of the DeviceBuffer.
    entries = np.empty(shape, typestr).__array_interface__.copy()
    entries["data"] = (memory.pointer if memory.nbytes else 0, False)
    return Recorded(memory, entries)
