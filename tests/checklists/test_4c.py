"""Checklist 4C: what CuPy's suites assert of the interface's arrays and views.

The name of a test carries the item's number. Items 32 to 40 are in `test_4c_creation.py`.
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
    1: "ufuncs are CuPy's; cuarray launches no kernels",
    2: "ufuncs are CuPy's; cuarray launches no kernels",
    3: "kernels are CuPy's",
    4: "kernels are CuPy's",
    5: "reductions are CuPy's",
    6: "reductions are CuPy's",
    7: "reductions are CuPy's",
    8: "reductions are CuPy's",
    20: "CuPy's current stream; an array of cuarray has its own (items 11 to 19, with streams)",
    21: "CuPy's current stream",
    22: "CuPy's current stream",
}

SHAPES: list[tuple[int, ...]] = [(), (1,), (7,), (2, 3), (3, 1, 4), (2, 3, 4, 5), (0, 3)]
KEYS: list[Any] = [..., slice(None, None, 2), slice(1, None), slice(None, None, -1), (..., slice(1, None)), (..., None)]
# As many as the rank, so that the 0-d array has its own.
SLICES = [(shape, key) for shape, key in itertools.product(SHAPES, KEYS) if shape or key in (..., (..., None))]


@pytest.mark.parametrize(("shape", "key"), SLICES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["?", "i1", "<u2", "<f4", "<c16"])
def test_4c_9_the_exported_pointer_is_the_arrays(
    driver_kind: str, shape: Any, key: Any, order: Any, dtype: str
) -> None:
    view = cuarray.device_array(shape, dtype, order=order)[key]
    assert view.__cuda_array_interface__["data"][0] == (view.ptr if view.size else 0)


@pytest.mark.parametrize(("shape", "key"), SLICES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_4c_10_it_is_the_base_plus_numpys_offset(driver_kind: str, shape: Any, key: Any, order: Any) -> None:
    array = cuarray.device_array(shape, "<i4", order=order)
    host = as_strided(np.zeros(200, "<i4"), shape, array.strides)
    offset = host[key].__array_interface__["data"][0] - host.__array_interface__["data"][0]
    assert array[key].ptr - array.ptr == offset


@pytest.fixture(params=["without stream", "on a stream"])
def exported(request: pytest.FixtureRequest, driver_kind: str) -> Any:
    """The interfaces of an array and of some of its views."""
    stream = cuarray.stream() if request.param == "on a stream" else None
    array = cuarray.to_device(np.zeros((3, 4), [("a", "<i4"), ("b", "<f4")]), stream=stream)
    views = [array, array["a"], array[::2], array.T, array[0, 0:0], array.reshape(-1), array["a"][1, ..., None]]
    return [view.__cuda_array_interface__ for view in views], stream


def test_4c_11_version(exported: Any) -> None:
    assert all(interface["version"] == 3 for interface in exported[0])


def test_4c_12_a_dict(exported: Any) -> None:
    assert all(type(interface) is dict for interface in exported[0])


def test_4c_13_shape(exported: Any) -> None:
    for interface in exported[0]:
        assert type(interface["shape"]) is tuple
        assert all(type(length) is int for length in interface["shape"])


def test_4c_14_typestr(exported: Any) -> None:
    assert [type(interface["typestr"]) for interface in exported[0]] == [str] * len(exported[0])


def test_4c_15_pointer(exported: Any) -> None:
    assert all(type(interface["data"]) is tuple and type(interface["data"][0]) is int for interface in exported[0])


def test_4c_16_flag(exported: Any) -> None:
    assert all(type(interface["data"][1]) is bool for interface in exported[0])


def test_4c_17_strides(exported: Any) -> None:
    for interface in exported[0]:
        strides = interface.get("strides")
        assert strides is None or (type(strides) is tuple and len(strides) == len(interface["shape"]))
        assert all(type(step) is int for step in strides or ())
    assert [interface["strides"] is None for interface in exported[0]] == [True, False, False, False, True, True, False]


def test_4c_18_descr(exported: Any) -> None:
    found = [interface["descr"] for interface in exported[0] if "descr" in interface]
    assert [("a", "<i4"), ("b", "<f4")] in found
    assert all(type(descr) is list and all(type(field) is tuple for field in descr) for descr in found)


def test_4c_19_stream(exported: Any) -> None:
    interfaces, stream = exported
    assert all(interface["stream"] == (None if stream is None else stream.handle) for interface in interfaces)
    assert {type(interface["stream"]) for interface in interfaces} == {type(None) if stream is None else int}


def test_4c_23_the_keys_of_a_contiguous_array(driver_kind: str) -> None:
    array = cuarray.to_device(np.arange(6, dtype="<f4").reshape(2, 3))
    assert array.__cuda_array_interface__ == {
        "shape": (2, 3), "typestr": "<f4", "data": (array.ptr, False), "strides": None, "stream": None, "version": 3
    }  # fmt: skip
    for stream in (cuarray.default_stream(), cuarray.legacy_default_stream(), cuarray.per_thread_default_stream()):
        assert array.bind(stream).__cuda_array_interface__["stream"] in (1, 2)


def test_4c_24_a_strided_view(driver_kind: str) -> None:
    array = cuarray.to_device(np.arange(24, dtype="<f4").reshape(4, 6))
    interface = array[1::2, ::3].__cuda_array_interface__
    assert interface["strides"] == (48, 12)
    assert interface["shape"] == (2, 2)
    assert interface["data"] == (array.ptr + 24, False)


def test_4c_25_nothing_backwards(driver_kind: str) -> None:
    interface = cuarray.device_array((0, 3))[::-1].__cuda_array_interface__
    assert interface["data"] == (0, False)
    assert interface["strides"] is None


@pytest.mark.parametrize("make", [cuarray.stream, cuarray.legacy_default_stream, cuarray.per_thread_default_stream])
def test_4c_26_versions_two_and_three(driver_kind: str, make: Any) -> None:
    stream = make()
    array = cuarray.to_device([1]).bind(stream)[:]
    cuarray.config.export_version = 2
    assert "stream" not in array.__cuda_array_interface__
    assert array.__cuda_array_interface__["version"] == 2
    cuarray.config.export_version = 3
    assert array.__cuda_array_interface__["stream"] == stream.handle
    assert array.__cuda_array_interface__["version"] == 3


STRIDES = ["absent", "None", "given"]
versions = pytest.mark.parametrize("version", [0, 1, 2, 3])
strides_entries = pytest.mark.parametrize("strides", STRIDES)


def from_other(array: cuarray.DeviceArray, version: int, strides: str) -> cuarray.DeviceArray:
    interface = {**array.__cuda_array_interface__, "version": version, "strides": array.strides}
    if strides != "given":
        assert array.is_c_contiguous()
        interface["strides"] = None
    if strides == "absent":
        del interface["strides"]
    return cuarray.as_cuda_array(Producer(interface, keeps=array))


@versions
@strides_entries
def test_4c_27_values(driver_kind: str, version: int, strides: str) -> None:
    host = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(from_other(cuarray.to_device(host), version, strides).copy_to_host(), host)


@versions
@strides_entries
def test_4c_28_no_copy(driver_kind: str, version: int, strides: str) -> None:
    original = cuarray.to_device(np.zeros((2, 3)))
    imported = from_other(original, version, strides)
    original[1] = 4
    assert imported.ptr == original.ptr
    assert imported.copy_to_host().tolist() == [[0, 0, 0], [4, 4, 4]]


@versions
def test_4c_29_fortran_order(driver_kind: str, version: int) -> None:
    host = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    imported = from_other(cuarray.to_device(host), version, "given")
    assert imported.is_f_contiguous()
    assert np.array_equal(imported.copy_to_host(), host)
    assert cuarray.device_array_like(imported).is_f_contiguous()


@versions
def test_4c_30_strides_and_the_bytes_they_span(driver_kind: str, version: int) -> None:
    base = SameLayout(np.arange(24.0).reshape(4, 6)[::2, 1::2])
    imported = from_other(base.array, version, "given")
    assert imported.strides == (96, 16)
    low, high = cuarray.interface(imported).byte_range
    assert high - low == base.bytes.nbytes
    assert imported.nbytes == 6 * 8


@versions
@pytest.mark.parametrize("strides", [None, (24, 8)])
def test_4c_31_nothing(driver_kind: str, version: int, strides: Any) -> None:
    array = cuarray.as_cuda_array(foreign(cuarray.device_array((0, 3)), version=version, strides=strides))
    assert (array.size, array.strides, array.nbytes) == (0, (24, 8), 0)
    assert array.__cuda_array_interface__["data"] == (0, False)
