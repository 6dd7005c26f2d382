"""D10: bfloat16 has several spellings, and no library reads those of others.

The type string has no letter for bfloat16 and the 8-bit floats. PyTorch and CuPy write bfloat16 as ``<V2``, Warp as ``<u2``; JAX
and Numba do not export it. NumPy reads ``<V2`` as plain void. ml_dtypes writes most 8-bit floats as ``<V1`` and one as ``<f1``,
which NumPy itself cannot read.

The text: ``typestr`` is that of the NumPy array interface (I3), which does not define them.

cuarray: does not guess. Void stays void until the user names the type (``dtype="bfloat16"``), for every spelling. The array then
keeps the type through views and copies, and exports the most common spelling, without a ``descr``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

# 1, 2 and -0.5 in bfloat16: the upper halves of float32.
VALUES = [1.0, 2.0, -0.5]
BITS = (np.array(VALUES, "<f4").view("<u4") >> 16).astype("<u2")

# The entries of each library beside shape and data.
PRODUCERS: dict[str, dict[str, Any]] = {
    "PyTorch": {"typestr": "<V2", "version": 2},
    "CuPy": {"typestr": "<V2", "descr": [("", "<V2")], "version": 3, "strides": None, "stream": 1},
    "Warp": {"typestr": "<u2", "version": 2},
    "ml_dtypes": {"typestr": "<V2", "descr": [("", "<V2")]},
    "void": {"typestr": "|V2"},
}
producers = pytest.mark.parametrize("entries", PRODUCERS.values(), ids=PRODUCERS)


@producers
def test_every_spelling_is_read_with_dtype_given(driver: str, entries: dict[str, Any]) -> None:
    memory = cuarray.to_device(BITS)
    array = cuarray.as_cuda_array(foreign(memory, **entries), dtype="bfloat16")
    assert (array.typestr, array.ptr) == ("bfloat16", memory.ptr), "the import does not copy"
    assert array.view("<u2").copy_to_host().tolist() == BITS.tolist()
    exported = array.__cuda_array_interface__
    assert exported["typestr"] == "<V2"
    assert "descr" not in exported, "CuPy reads a descr of one void as a type of size 0"


@producers
def test_values_agree_with_ml_dtypes(driver: str, entries: dict[str, Any]) -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(BITS), **entries), dtype="bfloat16")
    host = array.copy_to_host()
    assert host.dtype == ml_dtypes.bfloat16
    assert host.astype("f4").tolist() == VALUES


@producers
def test_type_stays_as_written_without_dtype(entries: dict[str, Any]) -> None:
    read = cuarray.interface(describe(**entries))
    assert read.typestr == entries["typestr"]
    assert read.dtype == np.dtype(entries["typestr"])


def test_dtype_of_incompatible_size_kind_or_byte_order_is_refused() -> None:
    for typestr in ("<f2", "<i2", "|V4", ">V2", ">u2"):
        with pytest.raises(BufferError, match="cannot be taken as 'bfloat16'"):
            cuarray.interface(describe(typestr=typestr), dtype="bfloat16")


def test_copy_of_void_into_bfloat16_array_is_accepted(driver: str) -> None:
    target = cuarray.device_array(3, "bfloat16")
    target.copy_to_device(foreign(cuarray.to_device(BITS), **PRODUCERS["PyTorch"]))
    assert target.view("<u2").copy_to_host().tolist() == BITS.tolist()
    with pytest.raises(ValueError, match="one type"):
        target.copy_to_device(np.zeros(3, "<f2"))


def test_8_bit_float_that_numpy_cannot_read_is_read_with_dtype_given() -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    written = np.zeros(2, ml_dtypes.float8_e5m2).__array_interface__
    assert written["typestr"] == "<f1"
    with pytest.raises(TypeError):
        np.dtype(written["typestr"])
    dictionary = describe(typestr=written["typestr"], descr=written["descr"])
    with pytest.raises(ValueError, match="8-bit floats are written as '<V1'"):
        cuarray.interface(dictionary)
    assert cuarray.interface(dictionary, dtype="float8_e5m2").dtype == ml_dtypes.float8_e5m2
    exported = cuarray.from_cuda_array_interface(dictionary, dtype="float8_e5m2").__cuda_array_interface__
    assert np.dtype(exported["typestr"]) == np.dtype("V1"), "NumPy reads the exported typestr"


def test_bfloat16_array_through_numba_is_void_and_read_back_with_dtype(numba: Any) -> None:
    array = cuarray.device_array(3, "bfloat16")
    array.view("<u2").copy_to_device(BITS)
    numba_array = numba.as_cuda_array(array)
    assert numba_array.dtype == np.dtype("V2")
    back = cuarray.as_cuda_array(numba_array, dtype="bfloat16")
    assert (back.typestr, back.ptr) == ("bfloat16", array.ptr)


def test_cuda_core_reads_bfloat16_array_as_void(strided_memory_view: Callable[..., Any]) -> None:
    array = cuarray.to_device(BITS.view("V2"))
    view = strided_memory_view(cuarray.as_cuda_array(array, dtype="bfloat16"), stream_ptr=-1)
    assert (view.ptr, view.dtype.itemsize) == (array.ptr, 2)


def test_mpi4py_reads_bytes_of_bfloat16_array(driver: str, mpi_buffer: Callable[[object], Any]) -> None:
    assert mpi_buffer(cuarray.device_array(3, "bfloat16")).nbytes == 6


def test_typestr_bfloat16_is_refused_and_leniently_read() -> None:
    named = Producer(describe(typestr="bfloat16"))
    with pytest.raises(ValueError, match=r"\['typestr'\]"):
        cuarray.interface(named)
    assert cuarray.interface(named, strict=False).typestr == "bfloat16"
