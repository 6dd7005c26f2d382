"""Wrong exchange tables: each fault is found by its check. The table is cuarray's, with one function replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
import wrong_libraries
from wrong_libraries import WRAPPED

from cuarray.check.outcome import FAILED, UNCLAIMED

BASE = (
    WRAPPED
    + """
kept = []

def table(**replaced):
    '''Return a capsule with a copy of cuarray's table.'''
    whole = tensors.Table(cuarray.DeviceArray.__dlpack_c_exchange_api__).functions
    copy = type(whole).from_buffer_copy(whole)
    for name, value in replaced.items():
        if callable(value):
            kept.append(value)
            value = ctypes.cast(value, ctypes.c_void_p).value
        setattr(copy, name, value)
    kept.append(copy)
    name = b"dlpack_exchange_api"
    kept.append(name)
    return ctypes.pythonapi.PyCapsule_New(ctypes.addressof(copy), name, None)

class Array:
    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__

def make(*arguments, **layout):
    return Array(sound.make(*arguments, **layout))

@tensors._FROM_OBJECT
def export(obj, out):
    whole = tensors.Table(cuarray.DeviceArray.__dlpack_c_exchange_api__).functions
    return tensors._FROM_OBJECT(whole.from_object)(obj.array, out)
"""
)

FAULTS = {
    "no-export": (
        "Array.__dlpack_c_exchange_api__ = table(from_object=None)",
        "table-has-the-required-functions",
        "from_object",
    ),
    "version-2": (
        "v = tensors._Version(2, 0)\nArray.__dlpack_c_exchange_api__ = table(version=v)",
        "table-has-the-required-functions",
        "(2, 0)",
    ),
    "tensor-of-other-memory": (
        "other = []\n@tensors._FROM_OBJECT\ndef wrong(obj, out):\n"
        "    t = parts.tensor(parts.Memory(4096), (1024,)); out[0] = ctypes.addressof(t.managed); return 0\n"
        "Array.__dlpack_c_exchange_api__ = table(from_object=wrong)",
        "table-exports-the-arrays-memory",
        "and the array at",
    ),
    "deleter-is-never-called": (
        "@tensors._TO_OBJECT\ndef wrong(address, out):\n"
        "    m = tensors._ManagedVersioned.from_address(address)\n"
        "    array = cuarray.from_cuda_array_interface(dict(shape=(2, 3), typestr='<f4', data=(m.tensor.data, False), version=3))\n"
        "    ctypes.pythonapi.Py_IncRef(ctypes.py_object(array)); out[0] = array; return 0\n"
        "Array.__dlpack_c_exchange_api__ = table(from_object=export, to_object=wrong)",
        "table-imports-a-tensor-and-deletes-it-once",
        "called 0 times",
    ),
    "idle-work-stream": (
        "@tensors._WORK_STREAM\ndef wrong(kind, number, out):\n"
        "    kept.append(parts.stream()); out[0] = kept[-1].handle; return 0\n"
        "@tensors._FROM_OBJECT\ndef unordered(obj, out):\n"
        "    t = parts.tensor(parts.Memory(4), (1024,)); t.managed.tensor.data = obj.array.ptr\n"
        "    out[0] = ctypes.addressof(t.managed); return 0\n"
        "def pending(shape, typestr, data, *, stream=None):\n"
        "    array = make(shape, typestr, stream=cuarray.stream()); write(array, data); return array\n"
        "Array.__dlpack_c_exchange_api__ = table(from_object=unordered, work_stream=wrong)",
        "work-stream-covers-pending-work",
        "",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_fails_its_check(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_kind: str) -> None:
    code, name, message = FAULTS[fault]
    clause = "DLX2" if name.startswith("work") else "DLX1"
    (outcome,) = wrong_libraries.check(tmp_path, monkeypatch, f"{BASE}\n{code}", f"{clause}.{name}").outcomes
    assert outcome.status == FAILED, outcome
    assert message in outcome.message


def test_library_without_a_table_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_kind: str
) -> None:
    name = "DLX1.table-has-the-required-functions"
    (outcome,) = wrong_libraries.check(tmp_path, monkeypatch, BASE, name).outcomes
    assert (outcome.status, outcome.message) == (UNCLAIMED, "exchange-table: a Array has no __dlpack_c_exchange_api__")
