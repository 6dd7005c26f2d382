"""Tests of arrays and views, taken from CuPy's tests of the interface.

The names have the items of the project's checklist 4C. Items 32 to 40 are in `test_cupy_creation.py`.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from producers import Producer, foreign
from same_layout import SameLayout

import cuarray

NOT_APPLICABLE = {
    1: "tests CuPy's ufuncs; cuarray launches no kernels",
    2: "tests CuPy's ufuncs; cuarray launches no kernels",
    3: "tests CuPy's kernels",
    4: "tests CuPy's kernels",
    5: "tests CuPy's reductions",
    6: "tests CuPy's reductions",
    7: "tests CuPy's reductions",
    8: "tests CuPy's reductions",
    20: "tests CuPy's current stream; a cuarray array has its own home stream (items 11 to 19 are tested with streams)",
    21: "tests CuPy's current stream",
    22: "tests CuPy's current stream",
}

SHAPES: list[tuple[int, ...]] = [(), (1,), (7,), (2, 3), (3, 1, 4), (2, 3, 4, 5), (0, 3)]
KEYS: list[Any] = [..., slice(None, None, 2), slice(1, None), slice(None, None, -1), (..., slice(1, None)), (..., None)]
# A 0-d array accepts only some of the keys.
SLICES = [(shape, key) for shape, key in itertools.product(SHAPES, KEYS) if shape or key in (..., (..., None))]


@pytest.mark.parametrize(("shape", "key"), SLICES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["?", "i1", "<u2", "<f4", "<c16"])
def test_4c_9_exported_pointer_equals_ptr(driver_kind: str, shape: Any, key: Any, order: Any, dtype: str) -> None:
    view = cuarray.device_array(shape, dtype, order=order)[key]
    assert view.__cuda_array_interface__["data"][0] == (view.ptr if view.size else 0)


@pytest.mark.parametrize(("shape", "key"), SLICES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_4c_10_pointer_of_view_has_numpys_offset(driver_kind: str, shape: Any, key: Any, order: Any) -> None:
    array = cuarray.device_array(shape, "<i4", order=order)
    host = as_strided(np.zeros(200, "<i4"), shape, array.strides)
    offset = host[key].__array_interface__["data"][0] - host.__array_interface__["data"][0]
    assert array[key].ptr - array.ptr == offset


@pytest.fixture(params=["without stream", "on a stream"])
def exported(request: pytest.FixtureRequest, driver_kind: str) -> Any:
    """The exported interfaces of an array and of several views, and their home stream."""
    stream = cuarray.stream() if request.param == "on a stream" else None
    array = cuarray.to_device(np.zeros((3, 4), [("a", "<i4"), ("b", "<f4")]), stream=stream)
    views = [array, array["a"], array[::2], array.T, array[0, 0:0], array.reshape(-1), array["a"][1, ..., None]]
    return [view.__cuda_array_interface__ for view in views], stream


def test_4c_11_version_is_3(exported: Any) -> None:
    assert all(interface["version"] == 3 for interface in exported[0])


def test_4c_12_interface_is_a_dict(exported: Any) -> None:
    assert all(type(interface) is dict for interface in exported[0])


def test_4c_13_shape_is_a_tuple_of_ints(exported: Any) -> None:
    for interface in exported[0]:
        assert type(interface["shape"]) is tuple
        assert all(type(length) is int for length in interface["shape"])


def test_4c_14_typestr_is_a_str(exported: Any) -> None:
    assert [type(interface["typestr"]) for interface in exported[0]] == [str] * len(exported[0])


def test_4c_15_pointer_is_an_int(exported: Any) -> None:
    assert all(type(interface["data"]) is tuple and type(interface["data"][0]) is int for interface in exported[0])


def test_4c_16_read_only_flag_is_a_bool(exported: Any) -> None:
    assert all(type(interface["data"][1]) is bool for interface in exported[0])


def test_4c_17_strides_are_none_or_a_tuple_of_ints(exported: Any) -> None:
    for interface in exported[0]:
        strides = interface.get("strides")
        assert strides is None or (type(strides) is tuple and len(strides) == len(interface["shape"]))
        assert all(type(step) is int for step in strides or ())
    assert [interface["strides"] is None for interface in exported[0]] == [True, False, False, False, True, True, False]


def test_4c_18_descr_is_a_list_of_tuples(exported: Any) -> None:
    found = [interface["descr"] for interface in exported[0] if "descr" in interface]
    assert [("a", "<i4"), ("b", "<f4")] in found
    assert all(type(descr) is list and all(type(field) is tuple for field in descr) for descr in found)


def test_4c_19_stream_is_none_or_the_home_stream(exported: Any) -> None:
    interfaces, stream = exported
    assert all(interface["stream"] == (None if stream is None else stream.handle) for interface in interfaces)
    assert {type(interface["stream"]) for interface in interfaces} == {type(None) if stream is None else int}


def test_4c_23_contiguous_array_exports_exactly_these_keys(driver_kind: str) -> None:
    array = cuarray.to_device(np.arange(6, dtype="<f4").reshape(2, 3))
    assert array.__cuda_array_interface__ == {
        "shape": (2, 3), "typestr": "<f4", "data": (array.ptr, False), "strides": None, "stream": None, "version": 3
    }  # fmt: skip
    for stream in (cuarray.default_stream(), cuarray.legacy_default_stream(), cuarray.per_thread_default_stream()):
        assert array.bind(stream).__cuda_array_interface__["stream"] in (1, 2)


def test_4c_24_strided_view_exports_shape_strides_and_pointer(driver_kind: str) -> None:
    array = cuarray.to_device(np.arange(24, dtype="<f4").reshape(4, 6))
    interface = array[1::2, ::3].__cuda_array_interface__
    assert interface["strides"] == (48, 12)
    assert interface["shape"] == (2, 2)
    assert interface["data"] == (array.ptr + 24, False)


def test_4c_25_reversed_empty_array_exports_pointer_0_and_no_strides(driver_kind: str) -> None:
    interface = cuarray.device_array((0, 3))[::-1].__cuda_array_interface__
    assert interface["data"] == (0, False)
    assert interface["strides"] is None


@pytest.mark.parametrize("make", [cuarray.stream, cuarray.legacy_default_stream, cuarray.per_thread_default_stream])
def test_4c_26_stream_is_exported_in_version_3_only(driver_kind: str, make: Any) -> None:
    stream = make()
    array = cuarray.to_device([1]).bind(stream)[:]
    cuarray.config.export_version = 2
    assert "stream" not in array.__cuda_array_interface__
    assert array.__cuda_array_interface__["version"] == 2
    cuarray.config.export_version = 3
    assert array.__cuda_array_interface__["stream"] == stream.handle
    assert array.__cuda_array_interface__["version"] == 3


STRIDES = ["absent", "None", "explicit"]
versions = pytest.mark.parametrize("version", [0, 1, 2, 3])
strides_entries = pytest.mark.parametrize("strides", STRIDES)


def from_other(array: cuarray.DeviceArray, version: int, strides: str) -> cuarray.DeviceArray:
    interface = {**array.__cuda_array_interface__, "version": version, "strides": array.strides}
    if strides != "explicit":
        assert array.is_c_contiguous()
        interface["strides"] = None
    if strides == "absent":
        del interface["strides"]
    return cuarray.as_cuda_array(Producer(interface, keeps=array))


@versions
@strides_entries
def test_4c_27_import_of_any_version_has_correct_values(driver_kind: str, version: int, strides: str) -> None:
    host = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(from_other(cuarray.to_device(host), version, strides).copy_to_host(), host)


@versions
@strides_entries
def test_4c_28_import_does_not_copy(driver_kind: str, version: int, strides: str) -> None:
    original = cuarray.to_device(np.zeros((2, 3)))
    imported = from_other(original, version, strides)
    original[1] = 4
    assert imported.ptr == original.ptr
    assert imported.copy_to_host().tolist() == [[0, 0, 0], [4, 4, 4]]


@versions
def test_4c_29_import_keeps_fortran_order(driver_kind: str, version: int) -> None:
    host = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    imported = from_other(cuarray.to_device(host), version, "explicit")
    assert imported.is_f_contiguous()
    assert np.array_equal(imported.copy_to_host(), host)
    assert cuarray.device_array_like(imported).is_f_contiguous()


@versions
def test_4c_30_import_keeps_strides_and_byte_extent(driver_kind: str, version: int) -> None:
    base = SameLayout(np.arange(24.0).reshape(4, 6)[::2, 1::2])
    imported = from_other(base.array, version, "explicit")
    assert imported.strides == (96, 16)
    low, high = cuarray.interface(imported).byte_range
    assert high - low == base.bytes.nbytes
    assert imported.nbytes == 6 * 8


@versions
@pytest.mark.parametrize("strides", [None, (24, 8)])
def test_4c_31_import_of_empty_array_has_pointer_0(driver_kind: str, version: int, strides: Any) -> None:
    array = cuarray.as_cuda_array(foreign(cuarray.device_array((0, 3)), version=version, strides=strides))
    assert (array.size, array.strides, array.nbytes) == (0, (24, 8), 0)
    assert array.__cuda_array_interface__["data"] == (0, False)
