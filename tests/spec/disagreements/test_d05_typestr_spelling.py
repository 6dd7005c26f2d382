"""D5: a type string has a byte order, a kind and a size in bytes.

DALI writes codes of the buffer protocol (``=f``, ``=q``, ``=?``), Warp's buffers of JAX a single letter (``f``), and a callback of
cuML a name (``float32``). Most consumers pass the string to NumPy, which accepts them. mpi4py, pylibcudf and others parse the
string themselves and refuse them.

The text: ``typestr`` is that of the NumPy array interface (I3).

cuarray: refuses these spellings, and the error shows the expected one. With ``strict=False`` it reads each spelling that has only
one possible meaning, and lists it as a deviation. Exports never contain one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

# The spelling, its meaning, and the library that writes it.
SPELLINGS = [
    ("=f", "<f4", "DALI"),
    ("=d", "<f8", "DALI"),
    ("=e", "<f2", "DALI"),
    ("=q", "<i8", "DALI"),
    ("=i", "<i4", "DALI"),
    ("=h", "<i2", "DALI"),
    ("=b", "|i1", "DALI"),
    ("=Q", "<u8", "DALI"),
    ("=I", "<u4", "DALI"),
    ("=H", "<u2", "DALI"),
    ("=B", "|u1", "DALI"),
    ("=?", "|b1", "DALI"),
    ("f", "<f4", "Warp"),
    ("d", "<f8", "Warp"),
    ("i", "<i4", "Warp"),
    ("B", "|u1", "Warp"),
    ("F", "<c8", "Warp"),
    ("D", "<c16", "Warp"),
    ("float32", "<f4", "cuML"),
    ("float64", "<f8", "cuML"),
]
spellings = pytest.mark.parametrize(
    ("written", "meant"), [row[:2] for row in SPELLINGS], ids=[row[0] for row in SPELLINGS]
)


@spellings
@pytest.mark.parametrize("read", [cuarray.interface, cuarray.as_cuda_array])
def test_strict_read_refuses_the_spelling(read: Callable[[Any], object], written: str, meant: str) -> None:
    with pytest.raises(ValueError, match=r"__cuda_array_interface__\['typestr'\]") as raised:
        read(Producer(describe(typestr=written)))
    assert repr(written) in str(raised.value)


@spellings
def test_lenient_read_gives_the_type_and_lists_the_deviation(written: str, meant: str) -> None:
    read = cuarray.interface(describe(typestr=written), strict=False)
    assert read.typestr == meant
    assert read.dtype == np.dtype(written)
    [note] = read.deviations
    assert written in note
    assert meant in note


@spellings
def test_lenient_import_has_right_elements_and_exports_standard_spelling(driver: str, written: str, meant: str) -> None:
    host = np.arange(5).astype(meant)
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(host), typestr=written), strict=False)
    assert array.copy_to_host().tobytes() == host.tobytes()
    assert array.__cuda_array_interface__["typestr"] == meant


@pytest.mark.parametrize("written", ["=g", "float16x", "=", "", "float", "int", "x", "=f4,=i4", "O", "=O"])
def test_lenient_read_refuses_ambiguous_spelling(written: str) -> None:
    with pytest.raises(ValueError, match="typestr"):
        cuarray.interface(describe(typestr=written), strict=False)


def test_mpi4py_reads_the_exported_spelling(driver: str, mpi_buffer: Callable[[object], Any]) -> None:
    """mpi4py cannot read the spelling of DALI."""
    memory = cuarray.to_device(np.arange(5, dtype="f4"))
    producer = foreign(memory, typestr="=f")
    with pytest.raises(ValueError, match="invalid literal"):
        mpi_buffer(producer)
    buffer = mpi_buffer(cuarray.as_cuda_array(producer, strict=False))
    assert (buffer.address, buffer.nbytes) == (memory.ptr, 20)
