"""Conversion of element types between NumPy and the interface, compared with NumPy; and types that have only a name."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy_types import dtypes, elements, structured
from producers import Producer, describe, foreign

import cuarray

relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
needs_ml_dtypes = pytest.mark.skipif(
    importlib.util.find_spec("ml_dtypes") is None, reason="ml_dtypes is not installed; `make install` installs it"
)

NAMES = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]
names = pytest.mark.parametrize("name", NAMES)

POINT = np.dtype([("x", "<f4"), ("y", "<f4")])


def size_of(name: str) -> int:
    return 2 if name == "bfloat16" else 1


def carried(name: str, **entries: Any) -> dict[str, Any]:
    """The interface that PyTorch, CuPy and ml_dtypes export for such an array."""
    return describe(typestr=f"<V{size_of(name)}", **entries)


# --- NumPy's types ----------------------------------------------------------------------------------------------------


@relaxed
@given(dtypes)
@example(np.dtype([("f", "u1")], align=True))
@example(np.dtype([("a", "i8"), ("b", "?")], align=True))
@example(np.dtype([(("title", "name"), "<f4", (2, 3))]))
@example(np.dtype({"names": ["a"], "formats": ["u1"], "offsets": [5], "itemsize": 9}))
@example(np.dtype([("void", "V3"), ("next", "V0"), ("last", "S0")]))
@example(np.dtype([("f1", "u1"), ("f0", "V2")]))
def test_dtype_round_trips(driver: str, dtype: np.dtype[Any]) -> None:
    array = cuarray.device_array((2, 3), dtype)
    assert array.dtype == dtype
    assert array.itemsize == dtype.itemsize
    assert cuarray.interface(array).dtype == dtype


@relaxed
@given(dtypes, st.lists(st.integers(0, 3), max_size=3).map(tuple))
def test_elements_of_every_dtype_round_trip(driver: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    host = elements(dtype, shape)
    array = cuarray.to_device(host)
    back = array.copy_to_host()
    assert (back.dtype, back.shape) == (host.dtype, shape)
    assert back.tobytes() == host.tobytes()
    target = np.zeros(shape, host.dtype)
    array.copy_to_host(target)
    assert target.tobytes() == host.tobytes()


@relaxed
@given(dtypes)
def test_exported_typestr_and_descr_equal_numpys(driver: str, dtype: np.dtype[Any]) -> None:
    exported = cuarray.device_array(2, dtype).__cuda_array_interface__
    assert exported["typestr"] == dtype.str
    if dtype.names is None:
        assert "descr" not in exported
    else:
        assert exported["descr"] == dtype.descr
        assert np.lib.format.descr_to_dtype(exported["descr"]) == dtype


@pytest.mark.parametrize("typestr", ["|i1", "<i1", ">i1", "|u1", "<u1", "|b1", ">b1"])
def test_imported_typestr_is_exported_unchanged(typestr: str) -> None:
    array = cuarray.from_cuda_array_interface(describe(typestr=typestr))
    assert array.__cuda_array_interface__["typestr"] == typestr
    assert array.dtype == np.dtype(typestr)


@relaxed
@given(dtypes)
def test_typestr_and_descr_of_numpy_are_read(dtype: np.dtype[Any]) -> None:
    array = np.zeros(2, dtype)
    written = array.__array_interface__
    dictionary = describe(typestr=written["typestr"], descr=written["descr"])
    for read in (cuarray.interface(dictionary), cuarray.from_cuda_array_interface(dictionary)):
        assert read.dtype == array.dtype
        assert np.dtype(read.typestr) == np.dtype(written["typestr"])


@relaxed
@given(structured)
def test_structured_dtype_survives_repeated_export_and_import(driver: str, dtype: np.dtype[Any]) -> None:
    first = cuarray.to_device(elements(dtype, (3,)))
    second = cuarray.as_cuda_array(foreign(first))
    third = cuarray.from_cuda_array_interface(second.__cuda_array_interface__, owner=second)
    assert third.dtype == dtype
    assert third.copy_to_host().tobytes() == first.copy_to_host().tobytes()


@relaxed
@given(dtypes)
def test_dtype_argument_accepts_void_and_equal_types(dtype: np.dtype[Any]) -> None:
    as_bytes = cuarray.interface(describe(typestr=f"|V{dtype.itemsize}"), dtype=dtype)
    assert as_bytes.dtype == dtype
    itself = describe(typestr=dtype.str, descr=dtype.descr)
    assert cuarray.interface(itself, dtype=dtype) == cuarray.interface(itself)


def test_nested_subarrays_are_flattened_to_more_axes(driver: str) -> None:
    nested = np.dtype([("a", ("<f4", (2,)), (3,)), ("b", "u1")])
    flat = np.dtype([("a", "<f4", (3, 2)), ("b", "u1")])
    host = elements(nested, (4,))
    array = cuarray.to_device(host)
    assert array.dtype == flat
    assert np.array_equal(array.copy_to_host()["a"], host["a"], equal_nan=True)
    # NumPy writes a tuple as the type of the field here.
    assert cuarray.interface(describe(typestr=nested.str, descr=nested.descr)).dtype == flat


def test_unnamed_fields_get_numpys_default_names() -> None:
    descr = [("", "<f4"), ("", "|V4"), ("", "<i4"), ("", [("x", "<i2")])]
    read = cuarray.interface(describe(typestr="|V14", descr=descr)).dtype
    assert read.names == ("f0", "f2", "f3")
    assert [read.fields[name][1] for name in read.names] == [0, 8, 12]
    assert set(read.names) < set(np.dtype(descr).names)


@pytest.mark.parametrize("dtype", ["<f4", "|V4", "<M8[ns]", "|S3"])
def test_descr_of_one_unnamed_field_equals_plain_type(driver: str, dtype: str) -> None:
    plain = describe(typestr=dtype, descr=[("", dtype)])
    assert cuarray.interface(plain).dtype == np.dtype(dtype)
    assert cuarray.interface(plain) == cuarray.interface(describe(typestr=dtype))
    assert "descr" not in cuarray.from_cuda_array_interface(plain).__cuda_array_interface__


def test_record_and_fieldless_dtypes_are_read_as_plain_types(driver: str) -> None:
    record = np.dtype((np.record, [("a", "<f4")]))
    assert cuarray.device_array(2, record).dtype == np.dtype([("a", "<f4")])
    nothing = np.dtype({"names": [], "formats": [], "itemsize": 8})
    assert cuarray.device_array(2, nothing).dtype == np.dtype("V8")
    views = np.dtype((np.int32, {"low": ("<i2", 0), "high": ("<i2", 2)}))
    assert cuarray.device_array(2, views).dtype == np.int32


# --- types without an interface --------------------------------------------------------------------------------------------

OVERLAP = {"names": ["whole", "part"], "formats": ["<i8", "<i4"], "offsets": [0, 4]}
OUT_OF_ORDER = {"names": ["second", "first"], "formats": ["<i4", "<i4"], "offsets": [4, 0]}


@pytest.mark.parametrize("spec", [OVERLAP, OUT_OF_ORDER, [("inner", OVERLAP)]], ids=["overlap", "order", "nested"])
def test_overlapping_or_unordered_fields_are_refused(driver: str, spec: Any) -> None:
    dtype = np.dtype(spec)
    with pytest.raises(ValueError, match="overlapping or out-of-order"):
        _ = dtype.descr
    # NumPy's own interface of such an array drops the fields without a warning.
    if isinstance(spec, dict):
        assert np.zeros(2, dtype).__array_interface__["descr"] == [("", "|V8")]
    for take in (
        lambda: cuarray.to_device(np.zeros(2, dtype)),
        lambda: cuarray.device_array(2, dtype),
        lambda: cuarray.interface(describe(typestr="|V8"), dtype=dtype),
    ):
        with pytest.raises(ValueError, match=r"\['descr'\].*(overlap|out of order)"):
            take()


@pytest.mark.parametrize("dtype", ["O", [("a", "<f4"), ("b", "O")], [("a", [("b", "O", (2,))])]], ids=str)
def test_python_objects_are_refused_with_the_reason(driver: str, dtype: Any) -> None:
    for take in (
        lambda: cuarray.to_device(np.zeros(2, dtype)),
        lambda: cuarray.device_array(2, dtype),
        lambda: cuarray.interface(describe(typestr=np.dtype(dtype).str, descr=np.dtype(dtype).descr)),
        lambda: cuarray.interface(describe(typestr=f"|V{np.dtype(dtype).itemsize}"), dtype=dtype),
    ):
        with pytest.raises(ValueError, match="Python objects, which mean nothing on a device"):
            take()


def test_dtypes_without_type_string_are_refused(driver: str) -> None:
    empty_name = np.dtype({"names": ["", "b"], "formats": ["<f4", "<f4"]})
    with pytest.raises(ValueError, match="without a name"):
        cuarray.device_array(2, empty_name)
    with pytest.raises(ValueError, match="the title 7 of field 'a' is a int; a str is expected"):
        cuarray.device_array(2, np.dtype({"names": ["a"], "formats": ["<f4"], "titles": [7]}))
    with pytest.raises(ValueError, match="sub-array"):
        cuarray.device_array(2, ("<f4", (3,)))
    if hasattr(np.dtypes, "StringDType"):
        with pytest.raises(ValueError, match="no type string"):
            cuarray.device_array(2, np.dtypes.StringDType())


def test_dtype_with_too_many_or_too_deep_fields_is_refused() -> None:
    dtype = np.dtype([("a", "u1"), ("b", "u1")])
    for _ in range(20):
        dtype = np.dtype([("a", dtype), ("b", dtype)])
    with pytest.raises(ValueError, match=r"\['descr'\]"):
        cuarray.interface(describe(typestr=dtype.str), dtype=dtype)
    deep = np.dtype("u1")
    for _ in range(40):
        deep = np.dtype([("a", deep)])
    with pytest.raises(ValueError, match="levels deep"):
        cuarray.interface(describe(typestr=deep.str), dtype=deep)


def test_bit_field_has_typestr_and_no_dtype(driver: str) -> None:
    bits = cuarray.device_array(100, "|t1")
    assert (bits.typestr, bits.__cuda_array_interface__["typestr"]) == ("|t1", "|t1")
    with pytest.raises(BufferError, match=r"NumPy has no type for the typestr '\|t1'"):
        _ = bits.dtype


# --- copies between types ----------------------------------------------------------------------------------------------------


def test_copy_between_different_fields_is_refused(driver: str) -> None:
    swapped = np.dtype([("y", "<f4"), ("x", "<f4")])
    array = cuarray.to_device(elements(POINT, (3,)))
    before = array.copy_to_host().tobytes()
    for other in (np.zeros(3, swapped), np.zeros(3, "<f8")):
        for copy in (array.copy_to_device, array.copy_to_host):
            with pytest.raises(ValueError, match="one type"):
                copy(other)
        with pytest.raises(ValueError, match="one type"):
            array.copy_to_device(cuarray.to_device(other))
    assert array.copy_to_host().tobytes() == before


def test_void_is_copied_to_and_from_structures_of_its_size(driver: str) -> None:
    host = elements(POINT, (3,))
    array = cuarray.device_array(3, POINT)
    array.copy_to_device(cuarray.as_cuda_array(foreign(cuarray.to_device(host.view("V8")))))
    assert array.copy_to_host().tobytes() == host.tobytes()
    target = np.zeros(3, "V8")
    array.copy_to_host(target)
    assert target.tobytes() == host.tobytes()


# --- named types ---------------------------------------------------------------------------------------------------------


@names
def test_named_type_is_accepted_as_dtype(driver: str, name: str) -> None:
    array = cuarray.device_array((2, 3), name)
    assert (array.typestr, array.itemsize, array.nbytes) == (name, size_of(name), 6 * size_of(name))
    assert f"typestr='{name}'" in repr(array)
    assert name in repr(cuarray.interface(array))
    assert cuarray.interface(array).typestr == name
    exported = array.__cuda_array_interface__
    assert exported["typestr"] == f"<V{size_of(name)}"
    assert "descr" not in exported
    for same in (
        cuarray.device_array_like(array),
        cuarray.as_cuda_array(array),
        cuarray.as_cuda_array(array, dtype=name),
        cuarray.to_device(array),
        array[1],
        array.T,
        cuarray.managed_array(3, name),
    ):
        assert same.typestr == name


@names
def test_void_is_read_as_named_type_only_with_dtype_argument(name: str) -> None:
    dictionary = carried(name)
    as_void = cuarray.interface(dictionary)
    assert (as_void.typestr, as_void.dtype) == (dictionary["typestr"], np.dtype(f"V{size_of(name)}"))
    for written in (dictionary["typestr"], f"|V{size_of(name)}", f"<u{size_of(name)}" if size_of(name) > 1 else "|u1"):
        named = {**dictionary, "typestr": written}
        for read in (
            cuarray.interface(named, dtype=name),
            cuarray.as_cuda_array(Producer(named), dtype=name),
            cuarray.from_cuda_array_interface(named, dtype=name),
        ):
            assert read.typestr == name
            assert (read.shape, read.strides, read.ptr) == (as_void.shape, as_void.strides, as_void.ptr)
    assert cuarray.interface(named, dtype=name) != cuarray.interface(named)


def test_dtype_argument_that_does_not_fit_is_refused() -> None:
    for dictionary, dtype in [
        (describe(typestr="<f4"), "bfloat16"),
        (describe(typestr="<f2"), "bfloat16"),
        (describe(typestr="<i2"), "bfloat16"),
        (describe(typestr=">V2"), "bfloat16"),
        (describe(typestr="|V1"), "bfloat16"),
        (describe(typestr="<V2"), "float8_e5m2"),
        (describe(typestr="<f4"), "<i4"),
        (describe(typestr="<f4"), ">f4"),
        (describe(typestr="<f4"), "V4"),
        (describe(typestr="|V8", descr=POINT.descr), "<f8"),
        (describe(typestr="|V8", descr=POINT.descr), [("x", "<f4"), ("z", "<f4")]),
    ]:
        for read in (cuarray.interface, cuarray.from_cuda_array_interface):
            with pytest.raises(BufferError, match="cannot be taken as"):
                read(dictionary, dtype=dtype)
    with pytest.raises(TypeError):
        cuarray.interface(describe(), dtype="float17")
    assert cuarray.interface(describe(), dtype=np.float32) == cuarray.interface(describe())
    assert cuarray.interface(describe(), dtype=None) == cuarray.interface(describe())


def test_dtype_argument_applies_to_device_array_objects(driver: str) -> None:
    void = cuarray.to_device(np.arange(3, dtype="<u2").view("V2"))
    named = cuarray.as_cuda_array(void, dtype="bfloat16")
    assert (named.typestr, named.ptr, named.owner) == ("bfloat16", void.ptr, void.owner)
    assert void.typestr == "|V2"
    assert cuarray.as_cuda_array(named, dtype="bfloat16") is named
    assert cuarray.as_cuda_array(void, dtype="V2") is void
    for read in (cuarray.as_cuda_array, cuarray.interface):
        with pytest.raises(BufferError, match="the elements are 'bfloat16', and cannot be taken as '<f2'"):
            read(named, dtype="<f2")
    # A view may change the type regardless of the name.
    assert named.view("<u2").copy_to_host().tolist() == [0, 1, 2]
    assert named.view("<u2").view("bfloat16").typestr == "bfloat16"


def test_dtype_argument_keeps_mask(driver: str) -> None:
    memory, valid = cuarray.to_device(np.zeros(2, "V2")), cuarray.to_device(np.array([True, False]))
    named = cuarray.as_cuda_array(foreign(memory, mask=foreign(valid)), dtype="bfloat16")
    assert named.mask.copy_to_host().tolist() == [True, False]
    without = cuarray.as_cuda_array(named, mask="ignore")
    assert (without.typestr, without.mask) == ("bfloat16", None)


def test_one_byte_float_needs_dtype_argument() -> None:
    for typestr in ("<f1", "|f1"):
        dictionary = describe(typestr=typestr)
        with pytest.raises(ValueError, match=r"\['typestr'\].*'<V1'"):
            cuarray.interface(dictionary)
        read = cuarray.interface(dictionary, strict=False)
        assert (read.typestr, len(read.deviations)) == ("|V1", 1)
        for strict in (True, False):
            for name in ("float8_e5m2", "float8_e4m3fn"):
                named = cuarray.interface(dictionary, dtype=name, strict=strict)
                assert (named.typestr, named.deviations) == (name, ())
        with pytest.raises(ValueError, match=r"\['typestr'\]"):
            cuarray.interface(dictionary, dtype="|u1")


@names
def test_type_name_as_typestr_is_accepted_as_deviation(name: str) -> None:
    with pytest.raises(ValueError, match=r"\['typestr'\]"):
        cuarray.interface(describe(typestr=name))
    read = cuarray.interface(describe(typestr=name), strict=False)
    assert (read.typestr, len(read.deviations)) == (name, 1)


# --- with ml_dtypes ------------------------------------------------------------------------------------------------------------


@needs_ml_dtypes
@names
def test_ml_dtypes_arrays_round_trip(driver: str, name: str) -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name))
    host = np.arange(256 ** size_of(name), dtype=f"<u{size_of(name)}").view(dtype).reshape(16, -1)
    array = cuarray.to_device(host)
    assert (array.typestr, array.dtype) == (name, dtype)
    for back in (array.copy_to_host(), array.T.copy_to_host().T, array[::-1, ::2].copy_to_host()[::-1]):
        assert back.dtype == dtype
    assert array.copy_to_host().tobytes() == host.tobytes()
    assert array[::-1, ::2].copy_to_host().tobytes() == host[::-1, ::2].tobytes()
    for named in (dtype, dtype.type, name):
        assert cuarray.device_array(2, named).typestr == name
        assert cuarray.interface(carried(name), dtype=named).dtype == dtype
    as_numpy_writes = describe(typestr=dtype.str, descr=dtype.descr)
    assert cuarray.interface(as_numpy_writes, dtype=name).dtype == dtype


@pytest.mark.parametrize(
    ("name", "itemsize"),
    [
        ("float4_e2m1fn_x2", 1),
        ("float4_e2m1fn_x4", 2),
        ("float6_e2m3fn_x4", 3),
        ("float6_e3m2fn_x4", 3),
        ("complex32", 4),
    ],
)
def test_elements_of_small_values_are_void_with_a_name(driver: str, name: str, itemsize: int) -> None:
    host = np.arange(6 * itemsize, dtype="u1").view(f"V{itemsize}").reshape(2, 3)
    array = cuarray.device_array((2, 3), name)
    array.copy_to_device(host)
    assert (array.typestr, array.itemsize) == (name, itemsize)
    assert array.__cuda_array_interface__["typestr"] == f"<V{itemsize}"
    assert array[::-1, ::2].copy_to_host().tobytes() == host[::-1, ::2].tobytes()
    assert cuarray.interface(describe(typestr=f"|V{itemsize}"), dtype=name).typestr == name
    with pytest.raises(BufferError, match=name):
        cuarray.interface(describe(typestr="<f8"), dtype=name)


@needs_ml_dtypes
@names
def test_python_numbers_are_converted_to_named_types(driver: str, name: str) -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    array = cuarray.device_array(3, name)
    array.copy_to_device([1.0, 2.0, 4.0])
    assert array.copy_to_host().astype("f4").tolist() == [1, 2, 4]
    array[1:] = 0.5
    assert array.copy_to_host().astype("f4").tolist() == [1, 0.5, 0.5]
    managed = cuarray.managed_array(2, name)
    managed.copy_to_device([1.0, 8.0])
    pinned = cuarray.pinned_array(2, name)
    assert pinned.dtype == np.dtype(getattr(ml_dtypes, name))


@needs_ml_dtypes
@relaxed
@given(st.lists(st.sampled_from([*NAMES, "<f4", "?", "V2"]), min_size=1, max_size=5), st.booleans())
def test_named_types_in_structures_round_trip(driver: str, parts: list[str], align: bool) -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    formats = [np.dtype(getattr(ml_dtypes, part, part)) for part in parts]
    inner = np.dtype([(f"x{i}", format_) for i, format_ in enumerate(formats)], align=align)
    dtype = np.dtype([("a", inner, (2,)), ("b", formats[0], (3,)), ("c", "u1")], align=align)
    host = elements(dtype, (4,))
    array = cuarray.to_device(host)
    assert array.dtype == dtype
    assert array.copy_to_host().tobytes() == host.tobytes()
    written = array.__cuda_array_interface__
    assert np.lib.format.descr_to_dtype(written["descr"]).itemsize == dtype.itemsize, "NumPy must read the whole item"
    without_names = cuarray.interface(written).dtype
    assert (without_names == dtype) == (not set(parts) & set(NAMES)), "the interface does not hold the names"
    assert cuarray.interface(describe(typestr=written["typestr"]), dtype=dtype).dtype == dtype


@needs_ml_dtypes
@pytest.mark.parametrize("name", ["int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "bcomplex32"])
def test_unsupported_ml_dtypes_are_refused(driver: str, name: str) -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    with pytest.raises(ValueError, match=name):
        cuarray.to_device(np.zeros(2, getattr(ml_dtypes, name)))
    with pytest.raises(ValueError, match="swapped"):
        cuarray.to_device(np.zeros(2, np.dtype(ml_dtypes.bfloat16).newbyteorder(">")))


WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None  # importing it raises ImportError
import cuarray, numpy as np
array = cuarray.device_array(2, "bfloat16")
array.copy_to_device(np.array([0x3f80, 0x4000], "<u2").view("V2"))
print(array.typestr, array.dtype, array.copy_to_host().view("<u2").tolist())
print(cuarray.interface({**array.__cuda_array_interface__}, dtype="bfloat16").dtype)
for convert in (lambda: array.copy_to_device([1.0, 2.0]), lambda: array.__setitem__(0, 1.0)):
    try:
        convert()
    except BufferError as error:
        print(error)
"""


def test_named_type_is_void_in_numpy_without_ml_dtypes(driver: str, run_python: Callable[..., str]) -> None:
    lines = run_python(WITHOUT).splitlines()
    assert lines[:2] == ["bfloat16 |V2 [16256, 16384]", "|V2"]
    assert len(lines) == 4
    assert all("install ml_dtypes" in line for line in lines[2:])


def test_ml_dtypes_is_imported_only_when_needed(driver: str, run_python: Callable[..., str]) -> None:
    program = """
import sys, cuarray, numpy as np
array = cuarray.as_cuda_array(cuarray.device_array(2, "bfloat16"), dtype="bfloat16")
repr(array), array.typestr, array.__cuda_array_interface__, cuarray.to_device(np.zeros(3, "V2")).dtype
print("ml_dtypes" in sys.modules)
"""
    assert run_python(program).split() == ["False"]
