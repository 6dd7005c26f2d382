"""Clauses I1 to I11: import and export of the interface dictionary."""

from __future__ import annotations

import collections
import ctypes
import types
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray


def exported(array: cuarray.DeviceArray) -> dict[str, Any]:
    return array.__cuda_array_interface__


# --- I1: an attribute whose value is a dict ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, type("Sub", (dict,), {})])
def test_i1_dict_and_subclasses_are_read(kind: type) -> None:
    assert cuarray.as_cuda_array(Producer(kind(describe()))).shape == (2,)


@pytest.mark.parametrize("kind", [types.MappingProxyType, collections.UserDict, lambda d: list(d.items())])
def test_i1_other_mappings_are_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="a dict is expected"):
        cuarray.as_cuda_array(Producer(kind(describe())))


def test_i1_new_dict_is_exported_each_time(driver: str) -> None:
    array = cuarray.device_array((2, 3), "f4")
    first = exported(array)
    assert type(first) is dict
    assert {"shape", "typestr", "data", "version"} <= set(first)
    first.clear()
    assert exported(array)["shape"] == (2, 3), "a consumer that changes its dictionary must not affect the array"


# --- I2: shape --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 4), (1, 0, 2), (1,) * 32], ids=str)
def test_i2_shape_is_read_and_exported_as_tuple_of_ints(driver: str, shape: tuple[int, ...]) -> None:
    assert cuarray.interface(describe(shape=shape)).shape == shape
    written = exported(cuarray.device_array(shape, "u1"))["shape"]
    assert type(written) is tuple
    assert written == shape
    assert all(type(length) is int for length in written)


def test_i2_zero_dimensional_array_has_one_element(driver: str) -> None:
    array = cuarray.to_device(np.float64(2.5))
    assert (array.shape, array.size) == ((), 1)
    assert array.copy_to_host()[()] == 2.5


@pytest.mark.parametrize("shape", [2, [2], "2", None, (2.0,), ("2",), (True,), (-1,)], ids=repr)
def test_i2_invalid_shape_is_refused(shape: Any) -> None:
    with pytest.raises(ValueError, match=r"\['shape'\]"):
        cuarray.interface(describe(shape=shape))


# --- I3: typestr ------------------------------------------------------------------------------------------------------------

ORDERED = [f"{order}{kind}" for order in "<>" for kind in (
    "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16", "c32", "U1", "U7",
    "m8", "M8", *(f"{kind}8[{unit}]" for kind in "mM" for unit in ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "25s"]),
)]  # fmt: skip
UNORDERED = ["|b1", "|i1", "|u1", "|S1", "|S12", "|V1", "|V16", "|V0"]


@pytest.mark.parametrize("typestr", ORDERED + UNORDERED)
def test_i3_typestr_equals_numpys(typestr: str) -> None:
    read = cuarray.interface(describe(typestr=typestr, shape=(1,)))
    assert read.typestr == typestr
    assert read.dtype == np.dtype(typestr)
    assert read.nbytes == np.dtype(typestr).itemsize


@pytest.mark.parametrize("typestr", [t for t in ORDERED + UNORDERED if t not in ("|V0",)])
def test_i3_typestr_round_trips_through_device(driver: str, typestr: str) -> None:
    host = np.frombuffer(
        bytes(range(33, 33 + 2 * np.dtype(typestr).itemsize)) if "b1" not in typestr else b"\1\0", typestr
    )
    array = cuarray.to_device(host)
    assert np.dtype(exported(array)["typestr"]) == host.dtype
    assert type(exported(array)["typestr"]) is str
    assert array.copy_to_host().tobytes() == host.tobytes()


@pytest.mark.parametrize(("typestr", "nbytes"), [("|t1", 2), ("|t8", 10), ("<t16", 20), ("|t4", 5)])
def test_i3_bit_field_typestr_is_read(typestr: str, nbytes: int) -> None:
    read = cuarray.interface(describe(typestr=typestr, shape=(10,)))
    assert (read.typestr, read.nbytes) == (typestr, nbytes)


@pytest.mark.parametrize("typestr", ["|O", "|O8", "f4", "=f4", "<f3", "|f4", "float32", "", "<M8[x]", "<f4 "])
def test_i3_invalid_typestr_is_refused(typestr: str) -> None:
    with pytest.raises(ValueError, match=r"\['typestr'\]"):
        cuarray.interface(describe(typestr=typestr))


# --- I4: data ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [False, True])
def test_i4_data_is_read_and_exported_as_int_and_bool(read_only: bool) -> None:
    array = cuarray.as_cuda_array(Producer(describe(data=(4096, read_only))))
    assert (array.ptr, array.readonly) == (4096, read_only)
    written = exported(array)["data"]
    assert type(written) is tuple
    assert [type(each) for each in written] == [int, bool]
    assert written == (4096, read_only)


@pytest.mark.parametrize(
    "data", [None, 4096, [4096, False], (4096,), (4096, False, 0), (4096, 0), ("4096", False)], ids=repr
)
def test_i4_invalid_data_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"\['data'\]"):
        cuarray.interface(describe(data=data))


def test_i4_write_to_read_only_array_is_refused(driver: str) -> None:
    memory = cuarray.to_device([1, 2])
    array = cuarray.as_cuda_array(foreign(memory, data=(memory.ptr, True)))
    with pytest.raises(BufferError, match="read-only"):
        array.copy_to_device([3, 4])
    assert memory.copy_to_host().tolist() == [1, 2]


# --- I5: the pointer of a zero-size array -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3, 2)], ids=str)
def test_i5_zero_size_array_is_exported_with_pointer_0(driver: str, shape: tuple[int, ...]) -> None:
    assert exported(cuarray.device_array(shape, "f4"))["data"] == (0, False)
    imported = cuarray.as_cuda_array(Producer(describe(shape=shape, data=(4096, True), strides=(4,) * len(shape))))
    assert exported(imported)["data"] == (0, True)
    assert exported(imported)["strides"] is None


def test_i5_pointer_0_with_elements_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\['data'\].*null"):
        cuarray.interface(describe(data=(0, False)))


def test_i5_zero_size_array_can_be_copied(driver: str) -> None:
    array = cuarray.as_cuda_array(Producer(describe(shape=(0, 3), data=(0, False))))
    assert array.copy_to_host().shape == (0, 3)
    array.copy_to_device(np.empty((0, 3), "f4"))


# --- I6: the pointer is device-accessible -------------------------------------------------------------------------------------


def test_i6_device_memory_is_usable(driver: str) -> None:
    array = cuarray.to_device([1, 2, 3])
    assert cuarray.as_cuda_array(foreign(array)).copy_to_host().tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", [driver_probe.Pinned, driver_probe.Managed])
def test_i6_pinned_mapped_and_managed_memory_is_usable(driver: str, kind: Any) -> None:
    memory = kind(4)
    try:
        memory.bytes[:] = [1, 2, 3, 4]
        array = cuarray.from_cuda_array_interface(describe(shape=(4,), typestr="|u1", data=(memory.pointer, False)))
        assert array.copy_to_host().tolist() == [1, 2, 3, 4]
        array.copy_to_device(np.array([9, 8, 7, 6], np.uint8))
        driver_probe.synchronize(1)
        assert list(memory.bytes) == [9, 8, 7, 6]
        other = cuarray.to_device(array)
        assert other.copy_to_host().tolist() == [9, 8, 7, 6]
    finally:
        memory.free()


def test_i6_work_runs_in_the_context_of_the_pointer(driver: str) -> None:
    """The current context, or its absence, does not matter."""
    array = cuarray.to_device([1, 2, 3])
    producer = foreign(array, stream=1)
    other = ctypes.c_void_p()
    create = getattr(driver_probe.library(), "cuCtxCreate_v2")  # noqa: B009 -- the name of the export
    assert create(ctypes.byref(other), 0, 0) == 0
    try:
        assert driver_probe.current_context() == other.value
        assert cuarray.as_cuda_array(producer).copy_to_host().tolist() == [1, 2, 3]
        array.copy_to_device([4, 5, 6])
        assert driver_probe.current_context() == other.value
    finally:
        driver_probe.call("cuCtxDestroy_v2", other)
    assert array.copy_to_host().tolist() == [4, 5, 6]


# --- I7: version --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_i7_versions_0_to_3_are_read(version: int) -> None:
    assert cuarray.interface(describe(version=version)).version == version


@pytest.mark.parametrize("version", [4, -1, 100, None, "3", 3.0, True], ids=repr)
def test_i7_other_versions_are_refused(version: Any) -> None:
    with pytest.raises(ValueError, match=r"\['version'\]"):
        cuarray.interface(describe(version=version))


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_i7_import_of_any_version_is_exported_as_3(version: int) -> None:
    written = exported(cuarray.as_cuda_array(Producer(describe(version=version))))["version"]
    assert written == 3
    assert type(written) is int


# --- I8: strides --------------------------------------------------------------------------------------------------------------


def test_i8_absent_or_none_strides_are_c_contiguous() -> None:
    for entries in ({}, {"strides": None}):
        read = cuarray.interface(describe(shape=(2, 3, 4), **entries))
        assert read.strides == (48, 16, 4)
        assert read.is_c_contiguous()


@pytest.mark.parametrize("strides", [(4, 8), (-12, -4), (0, 4), (0, 0), (5, 9), (12, 4)], ids=str)
def test_i8_strides_are_bytes_of_any_sign(driver: str, strides: tuple[int, int]) -> None:
    host = np.frombuffer(np.arange(64, dtype=np.uint8).tobytes(), np.uint8)
    memory = cuarray.to_device(host)
    array = cuarray.as_cuda_array(
        foreign(memory, shape=(2, 3), typestr="<i4", strides=strides, data=(memory.ptr + 32, False))
    )
    assert array.strides == strides
    expected = np.ndarray((2, 3), "<i4", host, 32, strides)
    assert np.array_equal(array.copy_to_host(), expected)


@pytest.mark.parametrize(
    ("shape", "strides", "written"),
    [
        ((2, 3), (12, 4), None),
        ((2, 3), (4, 8), (4, 8)),
        ((3,), (8,), (8,)),
        ((3,), (-4,), (-4,)),
        ((5,), (0,), (0,)),
        ((4, 2, 3), (0, 12, 4), (0, 12, 4)),
        ((1, 3), (99, 4), None),
        ((1,), (0,), None),
        ((), (), None),
        ((0, 3), (1, 1), None),
    ],
    ids=str,
)
def test_i8_none_is_exported_exactly_for_c_contiguous_arrays(
    shape: tuple[int, ...], strides: tuple[int, ...], written: tuple[int, ...] | None
) -> None:
    array = cuarray.as_cuda_array(Producer(describe(shape=shape, strides=strides)))
    assert exported(array)["strides"] == written


# --- I9: descr ----------------------------------------------------------------------------------------------------------------

TYPES: dict[str, Any] = {
    "names": [("a", "<i4"), ("b", ">f8")],
    "titles": [(("The a", "a"), "<i4"), ("b", "|S3")],
    "sub-arrays": [("m", "<f4", (2, 3)), ("v", "<u2", (4,))],
    "nesting": [("p", [("x", "<f4"), ("q", [("y", "<f8", (2,))])]), ("n", "|i1")],
    "padding": np.dtype([("a", "|i1"), ("b", "<f8"), ("c", "|b1")], align=True),
    "nested padding": [("s", np.dtype([("a", "|i1"), ("b", "<i8"), ("c", "|i1")], align=True), (2,)), ("z", "|i1")],
}


@pytest.mark.parametrize("name", TYPES)
def test_i9_fields_are_read_and_exported(driver: str, name: str) -> None:
    dtype = np.dtype(TYPES[name])
    read = cuarray.interface(describe(typestr=dtype.str, descr=dtype.descr))
    assert read.dtype == dtype
    host = np.frombuffer(np.random.default_rng(3).bytes(2 * dtype.itemsize), dtype)
    array = cuarray.to_device(host)
    again = cuarray.as_cuda_array(foreign(array))
    assert again.dtype == dtype
    assert type(exported(array)["descr"]) is list
    back = again.copy_to_host()
    assert back.dtype == dtype
    assert back.tobytes() == host.tobytes()


def test_i9_descr_of_other_size_than_typestr_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\['descr'\]"):
        cuarray.interface(describe(typestr="|V8", descr=[("a", "<f4")]))


# --- I10: mask (for masks in operations, see the tests of X3) ------------------------------------------------------------------


def test_i10_array_without_mask_is_all_valid() -> None:
    for entries in ({}, {"mask": None}):
        assert cuarray.as_cuda_array(Producer(describe(**entries))).mask is None


@pytest.mark.parametrize("typestr", ["|b1", "|u1", "<i4", "<f8", "<c8"])
@pytest.mark.parametrize("shape", [(2, 3), (3,), (1, 3), (2, 1), ()], ids=str)
def test_i10_broadcast_mask_is_true_for_valid_elements(driver: str, typestr: str, shape: tuple[int, ...]) -> None:
    flags = (np.arange(int(np.prod(shape))) % 2).astype(typestr).reshape(shape)
    values, mask = cuarray.to_device(np.arange(6).reshape(2, 3)), cuarray.to_device(flags)
    array = cuarray.as_cuda_array(foreign(values, mask=foreign(mask)))
    back = array.copy_to_host()
    assert isinstance(back, np.ma.MaskedArray)
    assert np.array_equal(np.ma.getmaskarray(back), np.broadcast_to(~flags.astype(bool), (2, 3)))
    assert np.array_equal(back.data, np.arange(6).reshape(2, 3))


TRUTHS: list[tuple[str, list[Any]]] = [
    # Numbers whose low byte or real part is 0, the smallest numbers that are not 0, and values that are not numbers.
    ("<i4", [0, 1, -1, 256, -(2**31), 2**16]),
    (">i2", [0, 1, -1, 256, -(2**15), 2]),
    ("<u8", [0, 1, 2**63, 256, 2**32, 2**64 - 1]),
    ("<f4", [0.0, -0.0, 0.5, float("nan"), float("inf"), 1e-45]),
    ("<f2", [0.0, -0.0, 0.5, float("nan"), float("-inf"), 6e-8]),
    ("<c8", [0, -0.0, 1j, complex(0, float("nan")), 1, -1j]),
]


@pytest.mark.parametrize(("typestr", "elements"), TRUTHS, ids=[typestr for typestr, _ in TRUTHS])
def test_i10_mask_elements_are_valid_where_numpy_says_true(driver: str, typestr: str, elements: list[Any]) -> None:
    flags = np.array(elements, typestr)
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(np.arange(6)), mask=foreign(cuarray.to_device(flags))))
    assert np.ma.getmaskarray(array.copy_to_host()).tolist() == [not element for element in elements]
    assert np.ma.getmaskarray(array.copy_to_host()).tolist() == (~flags.astype(bool)).tolist()


@pytest.mark.parametrize("mask", [Producer(describe(typestr="|b1", shape=(3,))), True, np.ones(2, bool), Producer(3)])
def test_i10_invalid_mask_is_refused(mask: Any) -> None:
    with pytest.raises(ValueError, match=r"\['mask'\]"):
        cuarray.as_cuda_array(Producer(describe(mask=mask)))


# --- I11: stream --------------------------------------------------------------------------------------------------------------


def test_i11_absent_or_none_stream_is_none() -> None:
    for entries in ({}, {"stream": None}):
        assert cuarray.interface(describe(**entries)).stream is None


@pytest.mark.parametrize("stream", [1, 2, 7, 0x7F0012345678, 2**64 - 1])
def test_i11_int_is_read_and_exported_as_stream(stream: int) -> None:
    assert cuarray.interface(describe(stream=stream)).stream == stream
    written = exported(cuarray.as_cuda_array(Producer(describe(stream=stream)), sync=False))["stream"]
    assert written == stream
    assert type(written) is int


def test_i11_stream_0_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\['stream'\].*0 is disallowed"):
        cuarray.interface(describe(stream=0))


@pytest.mark.parametrize("stream", [-1, "1", 1.0, True, 2**64], ids=repr)
def test_i11_invalid_stream_is_refused(stream: Any) -> None:
    with pytest.raises(ValueError, match=r"\['stream'\]"):
        cuarray.interface(describe(stream=stream))


def test_i11_stream_0_is_never_exported(driver: str) -> None:
    streams = [
        (cuarray.default_stream(), 1),
        (cuarray.legacy_default_stream(), 1),
        (cuarray.per_thread_default_stream(), 2),
        (cuarray.external_stream(0), 1),
        (0, 1),
        (1, 1),
        (2, 2),
    ]
    for stream, expected in streams:
        assert exported(cuarray.device_array(3, "u1", stream=stream))["stream"] == expected
