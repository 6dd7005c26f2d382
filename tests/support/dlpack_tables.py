"""DLPack's exchange table for tests: its function types, and types of other libraries that offer a table."""

from __future__ import annotations

import ctypes
from typing import Any

import dlpack_tensors as tensors

OBJECT, OUT = ctypes.py_object, ctypes.POINTER(ctypes.c_void_p)
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(tensors.Tensor), OUT, ctypes.c_void_p, SET_ERROR)
FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, OBJECT, OUT)
BORROW = ctypes.PYFUNCTYPE(ctypes.c_int, OBJECT, ctypes.POINTER(tensors.Tensor))
TO_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(OBJECT))
WORK_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, OUT)
DELETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Table(ctypes.Structure):
    _fields_ = (
        ("version", tensors.Version),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("work_stream", ctypes.c_void_p),
    )


def library(producer: tensors.Producer, **replaced: Any) -> Any:
    """A type whose table exports the tensor of ``producer``."""

    class Array:
        pass

    calls = []

    def export(obj, out):
        calls.append("tensor")
        producer.__dlpack__()
        out[0] = ctypes.addressof(producer.managed)
        return 0

    def stream(device_type, device_id, out):
        calls.append(("stream", device_type, device_id))
        out[0] = replaced.get("stream", 0)
        return 0

    functions = [FROM_OBJECT(replaced.get("export", export)), WORK_STREAM(stream)]
    address = [ctypes.cast(each, ctypes.c_void_p).value for each in functions]
    if replaced.get("lacks"):
        address[replaced["lacks"] - 1] = None
    table = Table(
        version=tensors.Version(*replaced.get("version", (1, 3))), from_object=address[0], work_stream=address[1]
    )
    if "previous" in replaced:
        table.previous = ctypes.addressof(replaced["previous"])
    Array.table, Array.functions, Array.calls = table, functions, calls
    Array.__dlpack_c_exchange_api__ = tensors.capsule_of(
        ctypes.addressof(table), replaced.get("capsule_name", b"dlpack_exchange_api")
    )
    Array.__dlpack__ = lambda self, **request: producer.__dlpack__(**request)
    return Array
