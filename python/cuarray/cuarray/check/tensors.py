"""DLPack in C layouts: tensors that the kit reads from capsules, and those that it exports itself."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from cuarray.check import parts
from cuarray.check.adapter import NotClaimed, handle_of

__all__ = [
    "BFLOAT",
    "CODES",
    "CPU",
    "CUDA",
    "IS_COPIED",
    "READ_ONLY",
    "Capsule",
    "NoTensor",
    "TensorArray",
    "Table",
    "exchange_table",
]

CPU, CUDA, CUDA_HOST, ROCM, CUDA_MANAGED = 1, 2, 3, 10, 13
READ_ONLY, IS_COPIED = 1, 2
BFLOAT = 4
#: The codes of types, by the kinds of the dictionary's type strings.
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class _Version(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32))


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("version", _Version),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_python.PyCapsule_GetName.restype = ctypes.c_char_p
_python.PyCapsule_GetName.argtypes = (ctypes.py_object,)
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_python.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)

# Capsules do not own their names, and a tensor's function must outlive its last call.
_kept: list[Any] = []


class NoTensor(Exception):
    """``__dlpack__`` returned something else than a capsule with a tensor."""


class Capsule:
    """A capsule of another library: reads its tensor, and consumes it.

    :raises NoTensor: it is no capsule, or its name says that it holds no tensor.
    """

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule
        if type(capsule).__name__ != "PyCapsule":
            raise NoTensor(f"__dlpack__() returns {capsule!r}, no capsule")
        self.name = (_python.PyCapsule_GetName(capsule) or b"").decode()
        if self.name not in ("dltensor", "dltensor_versioned"):
            raise NoTensor(f"the capsule's name is {self.name!r}; 'dltensor' and 'dltensor_versioned' hold a tensor")
        kind = _ManagedVersioned if "versioned" in self.name else _Managed
        self._address = _python.PyCapsule_GetPointer(capsule, self.name.encode())
        self.managed = kind.from_address(self._address)
        self.tensor: Tensor = self.managed.tensor

    @property
    def is_versioned(self) -> bool:
        """Whether the tensor has a version and flags."""
        return isinstance(self.managed, _ManagedVersioned)

    @property
    def flags(self) -> int:
        """The flags of a versioned tensor."""
        return int(self.managed.flags) if isinstance(self.managed, _ManagedVersioned) else 0

    @property
    def version(self) -> tuple[int, int]:
        """The version; (0, 0) for a tensor without one."""
        if not isinstance(self.managed, _ManagedVersioned):
            return (0, 0)
        return (int(self.managed.version.major), int(self.managed.version.minor))

    @property
    def pointer(self) -> int:
        """The address of the first element."""
        return (self.tensor.data or 0) + int(self.tensor.byte_offset)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.tensor.shape[axis] for axis in range(self.tensor.ndim))

    @property
    def device(self) -> tuple[int, int]:
        """The kind of memory and the number of the device."""
        return (int(self.tensor.device.kind), int(self.tensor.device.number))

    @property
    def dtype(self) -> tuple[int, int, int]:
        """The code of the type, its bits and its lanes."""
        found = self.tensor.dtype
        return (int(found.code), int(found.bits), int(found.lanes))

    @property
    def strides(self) -> tuple[int, ...] | None:
        """The strides in elements; None for a null pointer."""
        return tuple(self.tensor.strides[axis] for axis in range(self.tensor.ndim)) if self.tensor.strides else None

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self.tensor.dtype.bits) * int(self.tensor.dtype.lanes) // 8

    def read(self, on: Any) -> bytes:
        """Return the elements in C order, copied in a stream that waits for no other work."""
        strides = self.strides
        in_bytes = None if strides is None else tuple(step * self.itemsize for step in strides)
        return parts.gather(self.pointer, self.shape, in_bytes, self.itemsize, on)

    def consume(self) -> None:
        """Rename the capsule, as a consumer does."""
        name = f"used_{self.name}".encode()
        _kept.append(name)
        _python.PyCapsule_SetName(self.capsule, name)

    def delete(self) -> None:
        """Call the deleter."""
        if self.managed.deleter:
            _DELETER(self.managed.deleter)(self._address)


class TensorArray:
    """An array of no library with ``__dlpack__``: it orders the requested stream after ``pending``, as the text says."""

    def __init__(
        self,
        owner: parts.Memory,
        shape: Sequence[int],
        typestr: str = "<f4",
        *,
        strides: Sequence[int] | None = None,
        null_strides: bool = False,
        offset: int = 0,
        first: int = 0,
        pointer: int | None = None,
        dtype: tuple[int, int, int] | None = None,
        no_deleter: bool = False,
        pending: Any = None,
        legacy: bool = False,
        flags: int = 0,
        version: tuple[int, int] = (1, 0),
        device: tuple[int, int] | None = None,
    ) -> None:
        """Describe memory. ``first`` is added to the pointer, and ``offset`` is a byte offset; ``dtype`` is a code, bits and lanes."""
        size = parts.size_of(typestr)
        steps = strides if strides is not None else [step // size for step in parts.contiguous(shape, size)]
        self.owner, self.pending, self.legacy = owner, pending, legacy
        self.requests: list[dict[str, Any]] = []
        #: The number of calls of the deleter.
        self.deleted = 0
        self.capsule: Any = None
        self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self._strides = (ctypes.c_int64 * max(len(shape), 1))(*steps)
        self._deleter = _DELETER(self._delete)
        data = owner.pointer + first if pointer is None else pointer
        where = _Device(*(owner.dlpack_device if device is None else device))
        tensor = Tensor(data, where, len(shape), _Type(*(dtype or (CODES[typestr[1]], size * 8, 1))))
        tensor.shape = ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64))
        if not null_strides:
            tensor.strides = ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64))
        tensor.byte_offset = offset
        deleter = None if no_deleter else ctypes.cast(self._deleter, ctypes.c_void_p).value
        self._unversioned = _Managed(tensor=tensor, deleter=deleter)
        self.managed: Any = self._unversioned
        if not legacy:
            self.managed = _ManagedVersioned(_Version(*version), None, deleter, flags, tensor)
        self._has_news = flags != 0 or version != (1, 0)
        _kept.append(self)

    def _delete(self, _address: int) -> None:
        self.deleted += 1

    def __dlpack__(self, **request: Any) -> Any:
        self.requests.append(request)
        if self.legacy and "max_version" in request:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        stream = request.get("stream")
        if self.pending is not None and stream != -1:
            # None is the legacy default stream.
            parts.wait(1 if stream is None else stream, handle_of(self.pending))
        if not self.legacy and (request.get("max_version") or (0, 0)) < (1, 0):
            if self._has_news:
                raise NotClaimed("the library does not ask for version 1.0, so it gets neither a version nor flags")
            self.managed, self.legacy = self._unversioned, True
        name = b"dltensor" if self.legacy else b"dltensor_versioned"
        self.capsule = _python.PyCapsule_New(ctypes.addressof(self.managed), name, None)
        _kept.append(name)
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        device = self.managed.tensor.device
        return (device.kind, device.number)

    @property
    def capsule_name(self) -> str:
        """The capsule's name now: a consumer has renamed it."""
        return (_python.PyCapsule_GetName(self.capsule) or b"").decode()


_OUT = ctypes.POINTER(ctypes.c_void_p)
_FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, _OUT)
_BORROW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
_TO_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
_WORK_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, _OUT)


class _Functions(ctypes.Structure):
    _fields_ = (
        ("version", _Version),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("work_stream", ctypes.c_void_p),
    )


class Table:
    """The exchange table of a type."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule
        self.functions = _Functions.from_address(_python.PyCapsule_GetPointer(capsule, b"dlpack_exchange_api"))
        self.version = (int(self.functions.version.major), int(self.functions.version.minor))

    def missing(self) -> list[str]:
        """Return the names of the required functions that are null."""
        return [name for name in ("from_object", "to_object", "work_stream") if not getattr(self.functions, name)]

    def export(self, array: Any) -> Capsule:
        """Return an array's tensor, which the caller has to delete."""
        out = ctypes.c_void_p()
        if _FROM_OBJECT(self.functions.from_object)(array, ctypes.byref(out)) != 0:
            raise RuntimeError("managed_tensor_from_py_object_no_sync failed without an exception")
        name = b"dltensor_versioned"
        _kept.append(name)
        return Capsule(_python.PyCapsule_New(out.value, name, None))

    def borrow(self, array: Any) -> Tensor:
        """Return an array's tensor, which the array owns."""
        tensor = Tensor()
        if _BORROW(self.functions.borrow)(array, ctypes.byref(tensor)) != 0:
            raise RuntimeError("dltensor_from_py_object_no_sync failed without an exception")
        return tensor

    def import_(self, tensor: TensorArray) -> Any:
        """Return the library's array over a tensor of the kit."""
        out = ctypes.py_object()
        if _TO_OBJECT(self.functions.to_object)(ctypes.addressof(tensor.managed), ctypes.byref(out)) != 0:
            raise RuntimeError("managed_tensor_to_py_object_no_sync failed without an exception")
        array = out.value
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
        return array

    def work_stream(self, device: int = 0) -> int:
        """Return the stream in which the library enqueues work now."""
        out = ctypes.c_void_p()
        if _WORK_STREAM(self.functions.work_stream)(CUDA, device, ctypes.byref(out)) != 0:
            raise RuntimeError("current_work_stream failed without an exception")
        return out.value or 0


def exchange_table(array: Any) -> Table | None:
    """Return the exchange table of an array's type, if it has one."""
    capsule = getattr(type(array), "__dlpack_c_exchange_api__", None)
    return None if capsule is None else Table(capsule)
