"""The exports of the right library: the dictionary, and the tensor in its capsule."""

from __future__ import annotations

import ctypes
from typing import Any

from cuarray.check import handle_of, parts, tensors
from kit_mutants.facts import fact, happens

_kept: dict[int, Any] = {}
_python = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _python)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _python))
NAMES = (b"dltensor", b"dltensor_versioned", b"used_dltensor", b"tensor")


def dictionary_of(array: Any) -> Any:
    """Return the dictionary: the exported stream waits for all streams with pending work."""
    busy = array.busy()
    stream = None
    if busy:
        stream = handle_of(busy[0])
        for other in busy[1:] if happens("export.stream.waits-for-the-others") else ():
            parts.wait(stream, other)
    is_empty = 0 in array.shape
    address = array.pointer if not is_empty else fact("export.pointer.empty", 0)
    readonly = fact("export.read-only", array.readonly)
    entries = {
        "shape": fact("export.shape", array.shape),
        "typestr": fact("export.typestr", array.typestr),
        "data": fact("export.data", (fact("export.pointer", (address, array.base))[0], readonly)),
        "strides": fact("export.strides", (array.strides, array.shape, array.itemsize))[0],
        "version": fact("export.version", 3),
        "stream": fact("export.stream", stream),
    }
    return fact("export.entries", entries)


def tensor_of(array: Any, **request: Any) -> Any:
    """Return a capsule; a request that the library cannot grant is a `BufferError`."""
    request = fact("export.request", request)
    stream, version = request.get("stream"), fact("export.request.max_version", request.get("max_version"))
    if stream == 0 and happens("export.request.stream-zero-is-refused"):
        raise ValueError("the stream 0 is ambiguous")
    device = request.get("dl_device")
    if device is not None and tuple(device) != fact("export.request.own-device", array.device):
        fact("export.request.other-device", None)
        if happens("export.request.other-device-is-refused", tuple(device)):
            raise BufferError(f"the array is on {array.device}")
    is_versioned = fact("export.capsule.is-versioned", version is not None and tuple(version) >= (1, 0))
    flags = fact("export.tensor.read-only", tensors.READ_ONLY if array.readonly else 0)
    if array.readonly and not is_versioned and happens("export.request.read-only-without-flags-is-refused"):
        raise BufferError("an unversioned tensor has no flag for a read-only array")
    if fact("export.request.copy", bool(request.get("copy"))):
        array = _copied(array)
        flags |= fact("export.tensor.copied", tensors.IS_COPIED)
    elif not fact("export.tensor.shared", True):
        flags |= tensors.IS_COPIED
    if stream != -1 and happens("export.request.stream", stream if stream in (None, 1, 2) else "handle"):
        target = stream or 1
        for other in array.owned.streams:
            if handle_of(other) != handle_of(target):
                parts.wait(target, other)
    if stream == -1:
        fact("export.request.stream-minus-one", None)
    return _capsule(array, is_versioned, flags)


def _copied(array: Any) -> Any:
    from kit_mutants import library

    copied = library.make(array.shape, array.typestr)
    if 0 not in array.shape:
        elements = library.read(array) if happens("export.copy.elements") else bytes(copied.owned.keeps.nbytes)
        parts.write_bytes(copied.pointer, elements)
    return copied


def _capsule(array: Any, is_versioned: bool, flags: int) -> Any:
    shape = fact("export.tensor.shape", array.shape)
    counted = tuple(step // array.itemsize for step in array.strides)
    strides = fact("export.tensor.strides", (counted, array.shape, array.itemsize))[0]
    lengths = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(strides or ()), 1))(*(strides or ()))
    code, bits, lanes = fact(
        "export.tensor.type", (tensors.CODES[array.typestr[1]], 8 * parts.size_of(array.typestr), 1)
    )
    address = array.pointer if 0 not in array.shape else fact("export.tensor.data.empty", 0)
    kind = fact("export.tensor.kind", array.device[0])
    where = tensors._Device(kind, fact("export.tensor.number", array.device[1]))
    data = fact("export.tensor.data", (address, array.base))[0]
    ndim = fact("export.tensor.ndim", len(shape))
    tensor = tensors.Tensor(data, where, ndim, tensors._Type(code, bits, lanes))
    tensor.shape = ctypes.cast(lengths, ctypes.POINTER(ctypes.c_int64))
    if strides is not None:
        tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    tensor.byte_offset = fact("export.tensor.byte_offset", 0)
    deleter = ctypes.cast(_delete, ctypes.c_void_p).value
    if is_versioned:
        major, minor = fact("export.tensor.version", (1, 0))
        managed: Any = tensors._ManagedVersioned(tensors._Version(major, minor), None, deleter, flags, tensor)
    else:
        managed = tensors._Managed(tensor=tensor, deleter=deleter)
    at = ctypes.addressof(managed)
    _kept[at] = (managed, lengths, steps, array if happens("export.tensor.keeps-the-array") else None)
    name = fact("export.capsule.name", NAMES[is_versioned])
    end = ctypes.cast(_end, ctypes.c_void_p).value if happens("export.capsule.ends") else None
    return _new(at, name, end)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _end(capsule: int) -> None:
    """Delete the tensor of a capsule that no consumer has renamed."""
    for name in NAMES if not happens("export.capsule.end-respects-the-consumer") else NAMES[:2]:
        if _is_valid(capsule, name):
            _delete(_pointer(capsule, name))
    if not happens("export.capsule.end-respects-the-consumer") and _is_valid(capsule, b"used_dltensor_versioned"):
        _delete(_pointer(capsule, b"used_dltensor_versioned"))


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(at: int) -> None:
    """Release the tensor; a second call would be an error of the consumer."""
    if happens("export.deleter.releases"):
        _kept.pop(at, None)
