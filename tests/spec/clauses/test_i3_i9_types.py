"""Clauses I3 and I9: the element type, written as in the NumPy array interface, and the fields of a structured type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

# Each kind in the text with its sizes in bytes (characters for U). NumPy gives the item size.
SIZES = {
    "b": [1],
    "i": [1, 2, 4, 8],
    "u": [1, 2, 4, 8],
    "f": [2, 4, 8, 16],
    "c": [8, 16, 32],
    "m": [8],
    "M": [8],
    "S": [0, 1, 2, 100],
    "U": [0, 1, 2, 100],
    "V": [0, 1, 2, 100],
}
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
GRAMMAR = [f"{order}{kind}{size}" for order in "<>" for kind, sizes in SIZES.items() for size in sizes]
GRAMMAR += [f"|{kind}{size}" for kind in "bSV" for size in SIZES[kind]] + ["|i1", "|u1"]
GRAMMAR += [f"{order}{kind}8[{n}{unit}]" for order in "<>" for kind in "mM" for n in ("", 25) for unit in UNITS]

INVALID = {
    "": "byte order",
    "f4": "byte order",
    "=f4": "byte order",
    "float32": "byte order",
    "<": "kind",
    "<x4": "kind",
    "<F4": "kind",
    "<f": "size",
    "<f04": "size",
    "<f-4": "size",
    "<f3": "size",
    "<f1": "size",
    "<i16": "size",
    "|b2": "size",
    "<M4": "size",
    "|f4": "byte order",
    "<f4 ": "text after its size",
    "<f4[s]": "text after its size",
    "<M8[]": "unit",
    "<M8[0s]": "unit",
    "<M8[S]": "unit",
    "<M8[s": "unit",
    "<t0": "size",
    "|V2147483648": "size",
}


def test_i3_every_typestr_of_the_grammar_means_the_same_in_numpy() -> None:
    assert len(GRAMMAR) > 150
    for typestr in GRAMMAR:
        like = np.dtype(typestr)
        for read in (
            cuarray.interface(describe(typestr=typestr)),
            cuarray.from_cuda_array_interface(describe(typestr=typestr)),
        ):
            assert (read.typestr, read.dtype, read.strides) == (typestr, like, (like.itemsize,))


def test_i3_every_typestr_is_exported_unchanged() -> None:
    for typestr in [*GRAMMAR, "|t1", "|t8", "<t16", ">t16", "|t3"]:
        exported = cuarray.from_cuda_array_interface(describe(typestr=typestr)).__cuda_array_interface__
        assert exported["typestr"] == typestr


@pytest.mark.parametrize("bits", [1, 3, 8, 16, 17])
def test_i3_size_of_bit_field_is_in_bits(bits: int) -> None:
    read = cuarray.interface(describe(typestr=f"|t{bits}", shape=(100,)))
    first, last = read.byte_range
    assert last - first == -(-100 * bits // 8)
    if bits % 8:
        with pytest.raises(ValueError, match=r"\['strides'\]"):
            cuarray.interface(describe(typestr=f"|t{bits}", shape=(100,), strides=(8,)))


@pytest.mark.parametrize("typestr", ["|O", "|O8", "<O8"])
def test_i3_python_objects_are_refused_with_the_reason(typestr: str) -> None:
    with pytest.raises(
        ValueError, match=r"\['typestr'\]: \S+ holds pointers to Python objects, which mean nothing on a device"
    ):
        cuarray.interface(describe(typestr=typestr))


@pytest.mark.parametrize(("typestr", "fault"), INVALID.items())
def test_i3_invalid_typestr_is_refused_with_its_fault(typestr: str, fault: str) -> None:
    for read in (
        lambda: cuarray.interface(describe(typestr=typestr)),
        lambda: cuarray.as_cuda_array(Producer(describe(typestr=typestr))),
    ):
        with pytest.raises(ValueError, match=rf"\['typestr'\].*{fault}"):
            read()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("code", ["i2", "u8", "f4", "f8", "c8", "c16", "M8[ns]", "m8[s]", "U3"])
def test_i3_values_are_kept_in_both_byte_orders(driver: str, order: str, code: str) -> None:
    host = np.arange(5).astype("<i8").astype(code if code[0] != "U" else "U3").astype(order + code)
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(host)))
    assert array.typestr[0] == order
    assert array.copy_to_host().tolist() == host.tolist()


# --- I9 ---------------------------------------------------------------------------------------------------------------------

INNER = [("x", "<f8"), ("y", "|u1"), ("", "|V7")]
FIELDS: list[tuple[str, list[Any], list[tuple[str, int]]]] = [
    ("names", [("a", "<f4"), ("b", ">i2")], [("a", 0), ("b", 4)]),
    ("title", [(("Title", "a"), "<f4"), ("b", "<i2")], [("a", 0), ("Title", 0), ("b", 4)]),
    ("sub-array", [("a", "<f4", (2, 3)), ("b", "|u1", (4,))], [("a", 0), ("b", 24)]),
    ("sub-array, as a number", [("a", "<f4", 2), ("b", "|u1")], [("a", 0), ("b", 8)]),
    ("nested", [("a", "|u1"), ("b", INNER)], [("a", 0), ("b", 1)]),
    ("array of structures", [("b", INNER, (2,)), ("c", "|u1")], [("b", 0), ("c", 32)]),
    ("padding between", [("a", "|u1"), ("", "|V3"), ("b", "<f4")], [("a", 0), ("b", 4)]),
    ("padding first", [("", "|V8"), ("a", "|u1")], [("a", 8)]),
    ("padding last", [("a", "<i8"), ("b", "|b1"), ("", "|V7")], [("a", 0), ("b", 8)]),
    ("void, bytes and string fields", [("a", "|V3"), ("b", "|S2"), ("c", "<U1")], [("a", 0), ("b", 3), ("c", 5)]),
    ("without a name", [("", "<f4"), ("", "<i4")], [("f0", 0), ("f1", 4)]),
]
fields = pytest.mark.parametrize(("descr", "places"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS])


def itemsize(descr: list[Any]) -> int:
    return np.dtype(descr).itemsize


@fields
def test_i9_fields_are_read_at_their_offsets(descr: list[Any], places: list[tuple[str, int]]) -> None:
    dtype = cuarray.interface(describe(typestr=f"|V{itemsize(descr)}", descr=descr)).dtype
    assert dtype.itemsize == itemsize(descr)
    assert dtype.fields is not None
    assert {(name, field[1]) for name, field in dtype.fields.items()} == set(places)


@fields
def test_i9_fields_are_exported_unchanged(descr: list[Any], places: list[tuple[str, int]]) -> None:
    array = cuarray.from_cuda_array_interface(describe(typestr=f"|V{itemsize(descr)}", descr=descr))
    exported = array.__cuda_array_interface__
    assert exported["typestr"] == f"|V{itemsize(descr)}"
    again = cuarray.from_cuda_array_interface(exported)
    assert again.dtype == array.dtype
    assert again.__cuda_array_interface__["descr"] == exported["descr"]
    # An int as a shape is exported as a tuple; everything else is unchanged.
    assert exported["descr"] == [(*field[:2], (field[2],)) if field[2:] == (2,) else field for field in descr]


@fields
def test_i9_values_of_fields_round_trip(driver: str, descr: list[Any], places: list[tuple[str, int]]) -> None:
    dtype = cuarray.interface(describe(typestr=f"|V{itemsize(descr)}", descr=descr)).dtype
    host = np.frombuffer(np.random.default_rng(9).integers(1, 100, 3 * dtype.itemsize, "u1").tobytes(), dtype)
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(host)))
    back = array.copy_to_host()
    assert dtype.names is not None
    for name in dtype.names:
        assert (back[name] == host[name]).all()
        assert (array[name].copy_to_host() == host[name]).all()


@pytest.mark.parametrize("typestr", ["<f4", "|V4", "<V2", "|S3"])
def test_i9_one_unnamed_field_equals_the_plain_type(typestr: str) -> None:
    read = cuarray.interface(describe(typestr=typestr, descr=[("", typestr)]))
    assert read == cuarray.interface(describe(typestr=typestr))
    assert "descr" not in cuarray.from_cuda_array_interface(describe(typestr=typestr)).__cuda_array_interface__


@pytest.mark.parametrize(
    ("descr", "fault"),
    [
        ([("a", "<f4")], "adds up to 4 bytes"),
        ([("a", "<f8"), ("b", "|V4")], "adds up to 12 bytes"),
        ([], "adds up to 0 bytes"),
        ([("a", "<f4"), ("a", "<f4")], "two fields named 'a'"),
        ([(("b", "a"), "<f4"), ("b", "<f4")], "two fields named 'b'"),
        ([("f1", "<f4"), ("", "<f4")], "two fields named 'f1'"),  # NumPy names the second field so
        ([("a", "|O8")], "Python objects"),
        ([("a", "f8")], "byte order"),
        ([("a",)], "is expected"),
        ([("a", "<f4", (1,), 0)], "is expected"),
        ([["a", "<f8"]], "is expected"),
        ([("a", "<f8", "2")], "shape of a sub-array"),
        ([("a", "<f8", (-1,))], "shape of a sub-array"),
        ([(7, "<f8")], "a name"),
        ([(("t", "a", "b"), "<f8")], "title"),
        ("<f8", "a list of fields is expected"),
        ((("a", "<f8"),), "a list of fields is expected"),
    ],
    ids=repr,
)
def test_i9_invalid_descr_is_refused_with_its_fault(descr: Any, fault: str) -> None:
    with pytest.raises(ValueError, match=rf"\['descr'\].*{fault}"):
        cuarray.interface(describe(typestr="|V8", descr=descr))


def test_i9_descr_of_plain_type_is_ignored() -> None:
    assert cuarray.interface(describe(typestr="<f4", descr=[("a", "<f4")])).dtype == np.float32
