"""D14: the fields of a structure are lost, or come out in the wrong place.

Numba writes no ``descr`` at all, so its structures are ``|V16`` and nothing more; cuda.core and JAX do not read it. CuPy reads
it and drops the padding at the end, so that every element after the first is in the wrong place; it cannot take a sub-array, and
of the ``[("", "|V4")]`` that it writes itself it makes a type without bytes.

The text: ``descr`` describes the fields, as in the NumPy array interface: names, titles, sub-arrays, nesting, padding (I9).

cuarray: reads all of it, writes all of it, and never more or fewer bytes than the type string says. Where a producer left it out,
the user can say what is in the void (``dtype=``).
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
    """CuPy's rule: offsets by adding up, gaps left out, and the end where the last field ends."""
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
def test_all_fields_survive(driver: str, dtype: np.dtype[Any]) -> None:
    host = elements(dtype, (3, 2))
    array = cuarray.to_device(host)
    exported = array.__cuda_array_interface__
    assert (exported["typestr"], exported["descr"]) == (dtype.str, dtype.descr)
    again = cuarray.as_cuda_array(Producer(exported, keeps=array))
    assert again.dtype == dtype
    assert again.copy_to_host().tobytes() == host.tobytes()


def test_padding_at_the_end_counts(driver: str) -> None:
    host = np.array([(1, True), (2, False), (3, True)], ALIGNED)
    exported = cuarray.to_device(host).__cuda_array_interface__
    assert exported["descr"] == [("count", "<i8"), ("valid", "|b1"), ("", "|V7")]
    assert as_cupy_reads(exported["descr"]).itemsize == 9, "the second element would begin at byte 9"
    read = cuarray.interface(exported)
    assert (read.dtype.itemsize, read.strides) == (16, (16,))
    # Without the gap at its end the list describes something else, and is refused.
    with pytest.raises(ValueError, match=r"\['descr'\].*adds up to 9 bytes, but typestr '\|V16'"):
        cuarray.interface({**exported, "descr": exported["descr"][:-1]})


def test_a_sub_array_is_read(driver: str) -> None:
    exported = cuarray.to_device(elements(EVERYTHING, (2,))).__cuda_array_interface__
    with pytest.raises(ValueError, match="unpack"):
        as_cupy_reads(exported["descr"])
    assert cuarray.interface(exported).dtype["pos"].shape == (3,)


@pytest.mark.parametrize("typestr", ["|V4", "<V2"])
def test_a_lone_void_is_void(typestr: str) -> None:
    written = [("", typestr)]
    assert as_cupy_reads(written).itemsize == 0
    read = cuarray.from_cuda_array_interface(describe(typestr=typestr, descr=written))
    assert read.dtype == np.dtype(typestr)
    assert "descr" not in read.__cuda_array_interface__


def test_what_numba_leaves_out_the_user_can_say(numba: Any) -> None:
    dtype = np.dtype([("flag", "u1"), ("pos", "<f8", (3,)), ("code", "<u2"), ("value", "<c16")], align=True)
    host = np.ones(4, dtype)
    host["code"] = range(4)
    theirs = numba.to_device(host)
    exported = theirs.__cuda_array_interface__
    assert exported["typestr"] == dtype.str
    assert not exported.get("descr")
    void = cuarray.as_cuda_array(theirs)
    assert void.dtype == np.dtype(f"V{dtype.itemsize}")
    array = cuarray.as_cuda_array(theirs, dtype=dtype)
    assert (array.dtype, array.ptr) == (dtype, void.ptr)
    assert (array.copy_to_host() == host).all()
    assert array["code"].copy_to_host().tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="cannot be taken as"):
        cuarray.as_cuda_array(theirs, dtype=ALIGNED)


def test_cuda_core_reads_no_fields(driver: str, strided_memory_view: Callable[..., Any]) -> None:
    array = cuarray.to_device(elements(ALIGNED, (4,)))
    view = strided_memory_view(array, stream_ptr=-1)
    assert (view.dtype.names, view.dtype.itemsize, view.ptr) == (None, 16, array.ptr)


def test_structures_of_other_fields_are_not_copied_into_each_other(driver: str) -> None:
    swapped = np.dtype([("y", "<f4"), ("x", "<f4")])
    points = cuarray.to_device(np.zeros(2, [("x", "<f4"), ("y", "<f4")]))
    with pytest.raises(ValueError, match="one type"):
        points.copy_to_device(cuarray.to_device(np.ones(2, swapped)))
    with pytest.raises(ValueError, match="one type"):
        points.copy_to_device(np.ones(2, swapped))
    assert points.copy_to_host().tolist() == [(0, 0), (0, 0)]


def test_fields_that_overlap_are_refused_and_not_forgotten(driver: str) -> None:
    union = np.dtype({"names": ["whole", "low"], "formats": ["<i8", "<i4"], "offsets": [0, 0]})
    host = np.zeros(2, union)
    assert host.__array_interface__["descr"] == [("", "|V8")], "NumPy drops them without a word"
    with pytest.raises(ValueError, match=r"\['descr'\].*overlap"):
        cuarray.to_device(host)


def test_a_view_of_an_array_of_ours_keeps_its_fields(driver: str) -> None:
    array = cuarray.to_device(elements(ALIGNED, (6,)))
    for view in (array[::2], array.reshape(2, 3), array[::-1], cuarray.as_cuda_array(foreign(array))[1:]):
        assert view.dtype == ALIGNED
        assert view.__cuda_array_interface__["descr"] == ALIGNED.descr
