"""pylibcudf, the columns of cuDF.

A column borrows the memory of an array and exports it again. pylibcudf's own memory is RMM's, whose wheel contains a CUDA runtime that cannot
allocate on the simulated driver. So the adapter makes columns over memory of the kit, and copies by the driver.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import pylibcudf

from cuarray.check import NotClaimed, parts
from cuarray.check.driver import is_simulated


def _version() -> str:
    for package in ("pylibcudf-cu13", "pylibcudf-cu12", "pylibcudf"):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "of an unknown version"


NAME, VERSION = "pylibcudf", _version()
NOTE = "columns borrow memory, and the adapter makes them over memory of the kit"
NOT_CLAIMED = {
    "strides": "only C-contiguous arrays are supported, as the documentation says",
    "negative-strides": "only C-contiguous arrays are supported, as the documentation says",
    "broadcast": "only C-contiguous arrays are supported, as the documentation says",
    "zero-dim": "an array has one axis or two, as the documentation says",
    "masks": "an array with a mask is refused, as the documentation says",
    "structures": "a column has numbers",
    "read-only": "a column has no read-only flag",
    "devices": "columns are made on the current device",
    "streams": "streams are those of RMM, which need its CUDA runtime",
    "dlpack": "a column has no __dlpack__",
}
KNOWN = {
    "I3.type-is-imported.f2": "columns have no such type",
    "I3.type-is-imported.c*": "columns have no complex types",
    "S2.*": "D16: the stream is not read; docs/explanation/real-libraries.md",
    "S3.pair-*": "D18: no stream of the producer's work is exported, so nothing can wait for it",
}


def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0) -> Any:
    if len(shape) != 1:
        raise NotClaimed("the adapter makes columns of one axis")
    memory = parts.Memory(shape[0] * parts.size_of(typestr))
    entries: dict[str, Any] = {"data": (0, False)} if shape[0] == 0 else {}
    try:
        return import_(parts.foreign(memory, shape, typestr, **entries)).data()
    except ValueError as error:  # Unsupported dtype
        raise NotClaimed(str(error)) from error


def write(array, data, *, stream=None) -> None:
    parts.write_bytes(_span(array), bytes(data))


def read(array, *, stream=None) -> bytes:
    entries = _span(array).__cuda_array_interface__
    return parts.gather(entries, entries["shape"], None, parts.size_of(entries["typestr"]))


def import_(obj, *, stream=None) -> Any:
    if is_simulated() and len(obj.__cuda_array_interface__["shape"]) > 1:
        raise NotClaimed("a column of lists allocates its offsets, which fails on the simulated driver")
    return pylibcudf.Column.from_cuda_array_interface(obj)


def pointer(array) -> int:
    return int(_span(array).ptr)


def _span(array: Any) -> Any:
    """Return the memory of a column; the adapter's own arrays are such memory."""
    while isinstance(array, pylibcudf.Column):
        # The elements of a column of lists are its last child.
        array = array.children()[-1] if array.num_children() else array.data()
    return array
