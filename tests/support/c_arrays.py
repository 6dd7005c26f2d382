"""Hand-made structures of ``cuarray.h``, as of another library; each counts the calls of its release."""

from __future__ import annotations

import ctypes
from typing import Any

from dlpack_tensors import capsule_of, name

READ_ONLY, HAS_STREAM, HAS_EVENT = 1, 2, 4
UNKNOWN, DEVICE, HOST, MANAGED = 0, 1, 2, 3
UNTAKEN, TAKEN = b"cuda_array_c_interface", b"used_cuda_array_c_interface"

RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Field(ctypes.Structure):
    pass


Field._fields_ = (
    ("name", ctypes.c_char_p),
    ("title", ctypes.c_char_p),
    ("fields", ctypes.POINTER(Field)),
    ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("nfields", ctypes.c_int32),
    ("ndim", ctypes.c_int32),
    ("typestr", ctypes.c_char * 24),
    ("type_name", ctypes.c_char * 24),
)


class Array(ctypes.Structure):
    pass


Array._fields_ = (
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("release", ctypes.c_void_p),
    ("owner", ctypes.c_void_p),
    ("flags", ctypes.c_uint64),
    ("data", ctypes.c_uint64),
    ("stream", ctypes.c_uint64),
    ("event", ctypes.c_uint64),
    ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("strides", ctypes.POINTER(ctypes.c_int64)),
    ("fields", ctypes.POINTER(Field)),
    ("mask", ctypes.POINTER(Array)),
    ("ndim", ctypes.c_int32),
    ("nfields", ctypes.c_int32),
    ("device", ctypes.c_int32),
    ("memory", ctypes.c_int32),
    ("typestr", ctypes.c_char * 24),
    ("type_name", ctypes.c_char * 24),
)


def numbers(*values: int) -> Any:
    """A pointer to 64-bit integers, which it keeps alive."""
    return ctypes.cast((ctypes.c_int64 * max(len(values), 1))(*values), ctypes.POINTER(ctypes.c_int64))


def of_capsule(capsule: Any) -> Array:
    """The structure in a capsule."""
    return Array.from_address(ctypes.pythonapi.PyCapsule_GetPointer(ctypes.py_object(capsule), name(capsule)))


def taken(capsule: Any) -> Array:
    """The structure of a capsule, marked as taken; the caller must release it."""
    array = of_capsule(capsule)
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), ctypes.c_char_p(TAKEN))
    return array


def release(array: Array) -> None:
    """Calls the release without the GIL."""
    RELEASE(array.release)(ctypes.addressof(array))


def of(array: Any, **entries: Any) -> Array:
    """The structure of a one-dimensional array of two floats, with some fields replaced."""
    described = {
        "major": 1,
        "data": array.ptr if array is not None else 0x7F0000000000,
        "shape": numbers(2),
        "ndim": 1,
        "device": -1,
        "typestr": b"<f4",
    }
    return Array(**{**described, **entries})


# Producers whose structures have been exported. They are kept alive, because a release must not free its own function.
_HANDED_OUT: list[Any] = []


class _Producer:
    def __init__(
        self, array: Any = None, *, capsule_name: bytes = UNTAKEN, null_release: bool = False, **entries: Any
    ) -> None:
        self.array = array  # kept alive
        self.released = 0
        self.capsule_name = capsule_name
        self.capsule: Any = None
        self._release = RELEASE(self._count)
        self.structure = of(array, **entries)
        if not null_release:
            self.structure.release = ctypes.cast(self._release, ctypes.c_void_p).value

    def _count(self, address: int) -> None:
        assert address == ctypes.addressof(self.structure)
        self.released += 1
        self.array = None

    def capsule_of(self) -> Any:
        _HANDED_OUT.append(self)
        self.capsule = capsule_of(ctypes.addressof(self.structure), self.capsule_name)
        return self.capsule


class Producer(_Producer):
    """An object with ``__cuda_array_c_interface__``; ``entries`` replace fields of its structure."""

    @property
    def __cuda_array_c_interface__(self) -> Any:
        return self.capsule_of()
