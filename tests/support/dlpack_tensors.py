"""Hand-made DLPack tensors of another library; each counts the calls of its deleter."""

from __future__ import annotations

import ctypes
from typing import Any

CPU, CUDA, CUDA_HOST, ROCM, CUDA_MANAGED = 1, 2, 3, 10, 13
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
READ_ONLY, IS_COPIED = 1, 2


class Version(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32))


class Device(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("version", Version),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_python.PyCapsule_GetName.restype = ctypes.c_char_p
_python.PyCapsule_GetName.argtypes = (ctypes.py_object,)
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def name(capsule: Any) -> bytes:
    """The current name of a capsule."""
    return _python.PyCapsule_GetName(capsule)


def content(capsule: Any) -> ManagedVersioned | Managed:
    """The managed tensor in a capsule."""
    capsule_name = name(capsule)
    structure = ManagedVersioned if b"versioned" in capsule_name else Managed
    return structure.from_address(_python.PyCapsule_GetPointer(capsule, capsule_name))


def capsule_of(address: int, capsule_name: bytes) -> Any:
    """A capsule without a destructor; its name is kept alive."""
    _NAMES.append(capsule_name)
    return _python.PyCapsule_New(address, capsule_name, None)


_NAMES: list[bytes] = []


# Producers whose tensors have been exported. They are kept alive, because a deleter must not free its own function.
_HANDED_OUT: list[Producer] = []


class Producer:
    """An object with ``__dlpack__``; ``entries`` replace fields of its tensor."""

    def __init__(
        self, array: Any = None, *, legacy: bool = False, capsule_name: bytes | None = None, **entries: Any
    ) -> None:
        self.array = array  # kept alive
        self.requests: list[dict[str, Any]] = []
        self.deleted = 0
        self.legacy = legacy
        shape = entries.pop("shape", (2,))
        strides = entries.pop("strides", (1,) * len(shape))
        self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape) if shape is not None else None
        self._strides = (ctypes.c_int64 * max(len(strides), 1))(*strides) if strides is not None else None
        tensor = Tensor(
            data=entries.pop("data", array.ptr if array is not None else 0x7F0000000000),
            device=(device := Device(*entries.pop("device", (CUDA, 0)))),
            ndim=entries.pop("ndim", len(shape) if shape is not None else 0),
            dtype=DataType(*entries.pop("dtype", (FLOAT, 32, 1))),
            shape=ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64))
            if not entries.pop("null_shape", False)
            else None,
            strides=ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64)) if self._strides is not None else None,
            byte_offset=entries.pop("byte_offset", 0),
        )
        self.device = device
        self._deleter = DELETER(self._delete)
        deleter = None if entries.pop("null_deleter", False) else ctypes.cast(self._deleter, ctypes.c_void_p).value
        if legacy:
            self.managed: Any = Managed(tensor=tensor, deleter=deleter)
        else:
            self.managed = ManagedVersioned(
                version=Version(*entries.pop("version", (1, 0))),
                flags=entries.pop("flags", 0),
                tensor=tensor,
                deleter=deleter,
            )
        assert not entries, entries
        self.capsule_name = (
            capsule_name if capsule_name is not None else (b"dltensor" if legacy else b"dltensor_versioned")
        )
        self.capsule: Any = None

    def _delete(self, address: int) -> None:
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1
        self.array = None

    def __dlpack__(self, **request: Any) -> Any:
        self.requests.append(request)
        _HANDED_OUT.append(self)
        if self.legacy and "max_version" in request:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.capsule = capsule_of(ctypes.addressof(self.managed), self.capsule_name)
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        device = self.managed.tensor.device
        return (device.device_type, device.device_id)
