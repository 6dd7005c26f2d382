"""D14: the fields of a structure are lost or misplaced.

Numba writes no ``descr``, so its structures are plain ``|V16``; cuda.core and JAX do not read it. CuPy reads it without the padding
at the end, so every element after the first is misplaced. CuPy also refuses sub-arrays, and reads its own ``[("", "|V4")]`` as a
type of size 0.

The text: ``descr`` describes the fields, as in the NumPy array interface: names, titles, sub-arrays, nesting, padding (I9).

cuarray: reads and writes every part of ``descr``, which always adds up to the size of the type string. If a producer omits
``descr``, the user can state the fields of the void type (``dtype=``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy_types import elements
from producers import Producer, describe, foreign

import cuarray

ALIGNED = np.dtype([("count", "<i8"), ("valid", "?")], align=True)
EVERYTHING = np.dtype(
    [
        ("flag", "u1"),
        (("Position", "pos"), "<f8", (3,)),
        ("inner", np.dtype([("code", ">u2"), ("value", "<c16")], align=True), (2, 2)),
        ("name", "S5"),
        ("when", "<M8[ns]"),
        ("last", "?"),
    ],
    align=True,
)
DTYPES = [ALIGNED, EVERYTHING]


def as_cupy_reads(descr: list[Any]) -> np.dtype[Any]:
    """Return the type by CuPy's rule: the item ends at the end of the last field, without padding."""
    names, formats, offsets, end = [], [], [], 0
    for name, typestr in descr:
        if name:
            names.append(name)
            formats.append(typestr)
            offsets.append(end)
            itemsize = end + np.dtype(typestr).itemsize
        end += np.dtype(typestr).itemsize
    if not names:
        return np.dtype([])
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize})


@pytest.mark.parametrize("dtype", DTYPES, ids=["aligned", "everything"])
def test_all_fields_are_exported_and_imported(driver: str, dtype: np.dtype[Any]) -> None:
    host = elements(dtype, (3, 2))
    array = cuarray.to_device(host)
    exported = array.__cuda_array_interface__
    assert (exported["typestr"], exported["descr"]) == (dtype.str, dtype.descr)
    again = cuarray.as_cuda_array(Producer(exported, keeps=array))
    assert again.dtype == dtype
    assert again.copy_to_host().tobytes() == host.tobytes()


def test_trailing_padding_is_exported_and_required(driver: str) -> None:
    host = np.array([(1, True), (2, False), (3, True)], ALIGNED)
    exported = cuarray.to_device(host).__cuda_array_interface__
    assert exported["descr"] == [("count", "<i8"), ("valid", "|b1"), ("", "|V7")]
    assert as_cupy_reads(exported["descr"]).itemsize == 9, "CuPy reads the second element at byte 9"
    read = cuarray.interface(exported)
    assert (read.dtype.itemsize, read.strides) == (16, (16,))
    # Without the padding, descr and typestr have different sizes.
    with pytest.raises(ValueError, match=r"\['descr'\].*adds up to 9 bytes, but typestr '\|V16'"):
        cuarray.interface({**exported, "descr": exported["descr"][:-1]})


def test_sub_array_field_is_read(driver: str) -> None:
    exported = cuarray.to_device(elements(EVERYTHING, (2,))).__cuda_array_interface__
    with pytest.raises(ValueError, match="unpack"):
        as_cupy_reads(exported["descr"])
    assert cuarray.interface(exported).dtype["pos"].shape == (3,)


@pytest.mark.parametrize("typestr", ["|V4", "<V2"])
def test_descr_of_one_void_is_read_as_void(typestr: str) -> None:
    written = [("", typestr)]
    assert as_cupy_reads(written).itemsize == 0
    read = cuarray.from_cuda_array_interface(describe(typestr=typestr, descr=written))
    assert read.dtype == np.dtype(typestr)
    assert "descr" not in read.__cuda_array_interface__


def test_fields_of_numba_array_are_given_by_dtype(numba: Any) -> None:
    dtype = np.dtype([("flag", "u1"), ("pos", "<f8", (3,)), ("code", "<u2"), ("value", "<c16")], align=True)
    host = np.ones(4, dtype)
    host["code"] = range(4)
    numba_array = numba.to_device(host)
    exported = numba_array.__cuda_array_interface__
    assert exported["typestr"] == dtype.str
    assert not exported.get("descr")
    void = cuarray.as_cuda_array(numba_array)
    assert void.dtype == np.dtype(f"V{dtype.itemsize}")
    array = cuarray.as_cuda_array(numba_array, dtype=dtype)
    assert (array.dtype, array.ptr) == (dtype, void.ptr)
    assert (array.copy_to_host() == host).all()
    assert array["code"].copy_to_host().tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="cannot be taken as"):
        cuarray.as_cuda_array(numba_array, dtype=ALIGNED)


def test_cuda_core_reads_structure_without_fields(driver: str, strided_memory_view: Callable[..., Any]) -> None:
    array = cuarray.to_device(elements(ALIGNED, (4,)))
    view = strided_memory_view(array, stream_ptr=-1)
    assert (view.dtype.names, view.dtype.itemsize, view.ptr) == (None, 16, array.ptr)


def test_copy_between_structures_of_different_fields_is_refused(driver: str) -> None:
    swapped = np.dtype([("y", "<f4"), ("x", "<f4")])
    points = cuarray.to_device(np.zeros(2, [("x", "<f4"), ("y", "<f4")]))
    with pytest.raises(ValueError, match="one type"):
        points.copy_to_device(cuarray.to_device(np.ones(2, swapped)))
    with pytest.raises(ValueError, match="one type"):
        points.copy_to_device(np.ones(2, swapped))
    assert points.copy_to_host().tolist() == [(0, 0), (0, 0)]


def test_overlapping_fields_are_refused(driver: str) -> None:
    union = np.dtype({"names": ["whole", "low"], "formats": ["<i8", "<i4"], "offsets": [0, 0]})
    host = np.zeros(2, union)
    assert host.__array_interface__["descr"] == [("", "|V8")], "NumPy silently drops the fields"
    with pytest.raises(ValueError, match=r"\['descr'\].*overlap"):
        cuarray.to_device(host)


def test_views_keep_fields(driver: str) -> None:
    array = cuarray.to_device(elements(ALIGNED, (6,)))
    for view in (array[::2], array.reshape(2, 3), array[::-1], cuarray.as_cuda_array(foreign(array))[1:]):
        assert view.dtype == ALIGNED
        assert view.__cuda_array_interface__["descr"] == ALIGNED.descr
