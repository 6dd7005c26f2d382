"""Checklist 4B: attributes, copies, views and assignment of arrays (items 1 to 55), from numba-cuda's test suites.

Items 56 to 82 are in `test_numba_memory.py` and `test_numba_ipc.py`. The reasons for items without a test are all in this file.

Each test's name has the item's number. If numba refuses something that copies can do, the test shows that cuarray does it.
"""

from __future__ import annotations

import itertools
from typing import Any

import driver_probe
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from same_layout import SameLayout

import cuarray

NOT_APPLICABLE = {
    29: "tests the layout letters of a compiler's types; the flags behind them are item 28",
    33: "tests numba's kernels; fields as views are tested in package/test_indexing.py",
    34: "compares two implementations within numba; the flags are compared with NumPy's in item 28",
    35: "tests arguments of numba's kernels",
    36: "tests arguments of numba's kernels",
    62: "needs a kernel launch: cuarray launches none; managed memory itself is item 61",
    63: "tests host callbacks in a stream, which cuarray does not offer",
    64: "needs asyncio over a stream's callbacks (item 63)",
    72: "cuarray loads the driver on every system that has one, and leaves the refusal of IPC to the driver",
    76: "needs numba's compiler: overloads are signatures of its kernels",
    78: "needs a kernel launch: In, InOut and Out wrap a kernel's arguments",
    79: "needs a kernel launch: tuples of arrays are a kernel's arguments",
    81: "needs numba's compiler: it captures the globals of a kernel",
    82: "needs CuPy and a kernel; bfloat16 is disagreement D10, datetimes are items 34 and 36 of 4C",
}


def test_4b_1_shape_strides_size_ndim_and_dtype(driver_kind: str) -> None:
    array = cuarray.to_device(np.zeros((2, 3), "<i4"))
    assert (array.shape, array.strides, array.size, array.ndim) == ((2, 3), (12, 4), 6, 2)
    assert array.dtype == np.dtype("<i4")
    assert all(type(number) is int for number in (*array.shape, *array.strides, array.size))
    zero_dimensional = cuarray.to_device(np.float32(1))
    assert (zero_dimensional.ndim, zero_dimensional.shape, zero_dimensional.size) == (0, (), 1)


def test_4b_2_read_only_host_array_is_copied_to_device(driver_kind: str) -> None:
    host = np.arange(5)
    host.flags.writeable = False
    array = cuarray.to_device(host)
    array[:] = host
    assert array.copy_to_host().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.complex128, "M8[us]", "S5", [("a", "i4"), ("b", "f8")]])
def test_4b_3_dtype_is_kept(driver_kind: str, dtype: Any) -> None:
    host = np.zeros(3, dtype)
    array = cuarray.to_device(host)
    assert array.dtype == host.dtype == array[1:].dtype == array.copy_to_host().dtype


def test_4b_4_device_array_like_makes_no_copy(driver_kind: str, copies: Any) -> None:
    """`device_array_like` corresponds to numba's `to_device(copy=False)`."""
    host, counted = np.zeros((2, 3), "<i2"), copies()
    array = cuarray.device_array_like(host)
    assert (array.shape, array.typestr) == ((2, 3), "<i2")
    assert counted.count == 0
    assert cuarray.to_device(host).shape == (2, 3)
    assert counted.count == 1, "the counter must see the copy of to_device"


@pytest.mark.parametrize("shape", [(), 0, 5, (2, 3), (1, 0, 2), (2,) * 6])
def test_4b_5_shape_is_kept(driver_kind: str, shape: Any) -> None:
    assert cuarray.device_array(shape).shape == np.empty(shape).shape


@pytest.mark.parametrize(
    "shape", [1.5, np.float32(2), np.array(2.0), np.array([2.0]), [2.0], (2, 3.0)], ids=["scalar", "NumPy", "0-d", "1-d", "list", "tuple"]
)  # fmt: skip
def test_4b_6_float_shape_raises_type_error(driver_kind: str, shape: Any) -> None:
    with pytest.raises(TypeError, match="an int or a tuple of ints is expected"):
        cuarray.device_array(shape)


@pytest.mark.parametrize("shape", [np.array([2, 3]), [2, 3], np.array([2, 3], np.uint8), (np.int64(2), 3)])
def test_4b_7_shape_may_be_array_or_list_of_ints(driver_kind: str, shape: Any) -> None:
    array = cuarray.device_array(shape)
    assert array.shape == (2, 3)
    assert all(type(length) is int for length in array.shape)


def test_4b_8_host_array_round_trips(driver_kind: str) -> None:
    host = np.random.default_rng(1).random(1000)
    assert np.array_equal(cuarray.to_device(host).copy_to_host(), host)


def test_4b_9_creation_and_bound_streams_become_home_streams(driver_kind: str) -> None:
    stream = cuarray.stream()
    assert cuarray.device_array(3, stream=stream).stream is stream
    assert cuarray.to_device([1], stream=stream).stream is stream
    assert cuarray.device_array(3).bind(stream).stream is stream


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3)])
def test_4b_10_len_is_length_of_first_axis(driver_kind: str, shape: tuple[int, ...]) -> None:
    array = cuarray.device_array(shape)
    assert len(array) == len(array[::-1]) == shape[0]
    with pytest.raises(TypeError, match="0-d"):
        len(cuarray.device_array(()))


@pytest.mark.parametrize("length", [100, 101])
def test_4b_11_split_parts_concatenate_to_original(driver_kind: str, length: int) -> None:
    host = np.arange(length)
    parts = cuarray.to_device(host).split(10)
    assert [part.size for part in parts] == [10] * 10 + [1] * (length - 100)
    assert np.array_equal(np.concatenate([part.copy_to_host() for part in parts]), host)


def test_4b_12_copy_to_host_fills_and_returns_given_array(driver_kind: str) -> None:
    array, host = cuarray.to_device(np.arange(4)), np.zeros(4, int)
    assert array.copy_to_host(host) is host
    assert host.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_4b_13_every_transpose_of_three_axes(driver_kind: str, axes: tuple[int, ...]) -> None:
    host = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(cuarray.to_device(host).transpose(axes).copy_to_host(), host.transpose(axes))


@pytest.mark.parametrize("ndim", range(5))
def test_4b_14_identity_transpose_changes_nothing(driver_kind: str, ndim: int) -> None:
    host = np.arange(2**ndim).reshape((2,) * ndim)
    array = cuarray.to_device(host)
    same = array.transpose(tuple(range(ndim)))
    assert same.__cuda_array_interface__ == array.__cuda_array_interface__
    assert np.array_equal(same.copy_to_host(), host)


@pytest.mark.parametrize("axes", [(0, 0), (0, 2), (1, 3), (-3, 0)])
def test_4b_15_error_of_transpose_shows_invalid_axes(driver_kind: str, axes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=str(axes).replace("(", r"\(").replace(")", r"\)")):
        cuarray.device_array((2, 3)).transpose(axes)


def test_4b_16_view_as_larger_type(driver_kind: str) -> None:
    host = np.arange(12, dtype="<i2").reshape(3, 4)
    assert np.array_equal(cuarray.to_device(host).view("<i4").copy_to_host(), host.view("<i4"))


def test_4b_17_view_as_type_of_same_size_for_any_layout(driver_kind: str) -> None:
    host = np.arange(12, dtype="<i4").reshape(3, 4)
    assert np.array_equal(cuarray.to_device(host)[::2, ::-1].view("<f4").copy_to_host(), host[::2, ::-1].view("<f4"))


def test_4b_18_view_as_type_of_other_size_needs_contiguous_last_axis(driver_kind: str) -> None:
    with pytest.raises(ValueError, match="last axis must be contiguous"):
        cuarray.to_device(np.arange(12, dtype="<i4"))[::2].view("<i2")


def test_4b_19_view_as_type_whose_size_does_not_divide_is_refused(driver_kind: str) -> None:
    with pytest.raises(ValueError, match="must divide"):
        cuarray.to_device(np.arange(3, dtype="<i4")).view("<i8")


def test_4b_20_transpose_of_two_axes(driver_kind: str) -> None:
    host = np.arange(20).reshape(5, 4)
    array = cuarray.to_device(host)
    for transposed in (array.T, array.transpose(), array.transpose(1, 0)):
        assert np.array_equal(transposed.copy_to_host(), host.T)


def test_4b_21_copy_to_device_fills_strided_slice(driver_kind: str) -> None:
    array = cuarray.to_device(np.zeros((4, 4)))
    array[::2, 1].copy_to_device(np.array([1.0, 2.0]))
    expected = np.zeros((4, 4))
    expected[::2, 1] = [1, 2]
    assert np.array_equal(array.copy_to_host(), expected)


ORDERS: Any = list(itertools.product("CF", "CF"))


@pytest.mark.parametrize(("of", "to"), ORDERS)
@pytest.mark.parametrize("shape", [(7,), (2, 3, 4)])
def test_4b_22_host_copies_between_orders(driver_kind: str, of: Any, to: Any, shape: tuple[int, ...]) -> None:
    host = np.asarray(np.arange(np.prod(shape)).reshape(shape), order=of)
    array = cuarray.device_array(shape, host.dtype, order=to)
    array.copy_to_device(host)
    assert np.array_equal(array.copy_to_host(), host)
    assert np.array_equal(array.copy_to_host(np.zeros(shape, host.dtype, of)), host)


@pytest.mark.parametrize(("of", "to"), ORDERS)
def test_4b_23_device_copies_between_orders(driver_kind: str, of: Any, to: Any) -> None:
    host = np.asarray(np.arange(24).reshape(2, 3, 4), order=of)
    array = cuarray.device_array((2, 3, 4), host.dtype, order=to)
    array.copy_to_device(cuarray.to_device(host))
    assert np.array_equal(array.copy_to_host(), host)


@pytest.mark.parametrize("shape", [(1, 3, 4), (2, 1, 4), (2, 3, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_4b_24_broadcast_host_array_is_copied_to_device(driver_kind: str, shape: tuple[int, ...], order: Any) -> None:
    host = np.broadcast_to(np.arange(np.prod(shape)).reshape(shape), (2, 3, 4))
    assert np.array_equal(cuarray.to_device(host).copy_to_host(), host)
    array = cuarray.device_array((2, 3, 4), host.dtype, order=order)
    array.copy_to_device(host)
    assert np.array_equal(array.copy_to_host(), host)


def test_4b_25_strided_host_array_is_copied_to_device(driver_kind: str) -> None:
    host = np.arange(20)[::3]
    array = cuarray.device_array(host.shape, host.dtype)
    array.copy_to_device(host)
    assert np.array_equal(array.copy_to_host(), host)


def test_4b_26_strided_device_array_is_copied_to_device(driver_kind: str) -> None:
    source = cuarray.to_device(np.arange(20))[::3]
    array = cuarray.device_array(source.shape, source.dtype)
    array.copy_to_device(source)
    assert np.array_equal(array.copy_to_host(), np.arange(20)[::3])


def test_4b_27_stride_of_axis_of_length_one_does_not_affect_contiguity(driver_kind: str) -> None:
    host = as_strided(np.arange(4.0), (1, 4), (999 * 8, 8))
    array = SameLayout(host).array
    assert array.is_c_contiguous()
    assert array.is_f_contiguous()
    assert np.array_equal(array.copy_to_host(), host)


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (1, 1), (2, 3), (0, 3), (), (5,)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_4b_28_contiguity_flags_equal_numpys(driver_kind: str, shape: tuple[int, ...], order: Any) -> None:
    host, array = np.zeros(shape, order=order), cuarray.device_array(shape, order=order)
    assert (array.is_c_contiguous(), array.is_f_contiguous()) == (host.flags.c_contiguous, host.flags.f_contiguous)


@pytest.mark.parametrize("dtype", [np.int16, np.float32])
def test_4b_30_asarray_keeps_the_dtype(driver_kind: str, dtype: Any) -> None:
    back = np.asarray(cuarray.to_device(np.arange(3, dtype=dtype)))
    assert type(back) is np.ndarray
    assert (back.dtype, back.tolist()) == (dtype, [0, 1, 2])


def test_4b_31_empty_arrays_are_copied_and_assigned(driver_kind: str) -> None:
    empty = cuarray.device_array((0, 3), order="F")
    empty.copy_to_device(np.zeros((0, 3)))
    empty.copy_to_device(cuarray.device_array((3, 0)).T)
    empty[...] = cuarray.device_array((2, 3))[2:]
    assert empty.copy_to_host().shape == (0, 3)


def test_4b_32_numpy_array_protocol_copies_to_host(driver_kind: str) -> None:
    array = cuarray.to_device(np.arange(3))
    assert np.array(array).tolist() == [0, 1, 2]
    assert np.array(array, dtype="f4").dtype == np.float32
    assert np.array(array, dtype="f4").tolist() == [0, 1, 2]
    copied = np.array(array, copy=True)
    copied[0] = 9
    assert copied.tolist() == [9, 1, 2]
    assert array.copy_to_host().tolist() == [0, 1, 2], "a change of the host copy must not reach the device"
    with pytest.raises(ValueError, match="without a copy"):
        np.array(array, copy=False)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5), (1, 3, 1), (3, 1, 2, 1)])
def test_4b_37_contiguity_of_slices_equals_numpys(driver_kind: str, shape: tuple[int, ...]) -> None:
    for order in ("C", "F"):
        host, array = np.zeros(shape, order=order), cuarray.device_array(shape, order=order)  # type: ignore[call-overload]
        for key in (..., slice(1), (slice(None), slice(0, 2)), (..., slice(None, None, 2)), (..., 0)):
            assert array[key].is_c_contiguous() == host[key].flags.c_contiguous
            assert array[key].is_f_contiguous() == host[key].flags.f_contiguous


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_4b_38_ravel_of_contiguous_array_matches_numpy(driver_kind: str, layout: Any, order: Any) -> None:
    host = np.asarray(np.arange(24).reshape(2, 3, 4), order=layout)
    array = cuarray.to_device(host)
    raveled = array.ravel(order=order)
    assert raveled is not array
    assert np.array_equal(raveled.copy_to_host(), host.ravel(order=order))


def test_4b_39_strided_slice_exports_pointer_of_its_first_element(driver_kind: str) -> None:
    array = cuarray.to_device(np.arange(24).reshape(4, 6))
    assert array[::2, ::2].__cuda_array_interface__["data"] == array.__cuda_array_interface__["data"]
    assert array[1::2].__cuda_array_interface__["data"][0] == array.ptr + 48


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ndim", [1, 2])
def test_4b_40_ravel_of_strided_slice_matches_numpy(driver_kind: str, ndim: int, order: Any) -> None:
    """Numba refuses this. Cuarray makes a view or a copy, and `copy=False` refuses the copy."""
    host = np.arange(16).reshape((16,) if ndim == 1 else (4, 4))[::2]
    array = cuarray.to_device(np.arange(16).reshape((16,) if ndim == 1 else (4, 4)))[::2]
    assert np.array_equal(array.ravel(order=order).copy_to_host(), host.ravel(order=order))
    if ndim == 2:
        with pytest.raises(ValueError, match="copy=False"):
            array.reshape(-1, order=order, copy=False)


@pytest.mark.parametrize("order", ["C", "F"])
def test_4b_41_reshape_matches_numpy(driver_kind: str, order: Any) -> None:
    host = np.asarray(np.arange(24).reshape(4, 6), order=order)
    array = cuarray.to_device(host)
    for shape in ((2, 12), (24,), (2, 2, -1), (1, 24, 1)):
        assert np.array_equal(array.reshape(shape, order=order).copy_to_host(), host.reshape(shape, order=order))


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_4b_42_elements_are_indexed_with_bounds_checks(driver_kind: str, shape: tuple[int, ...]) -> None:
    host = np.arange(np.prod(shape)).reshape(shape)
    array = cuarray.to_device(host)
    for place in itertools.product(*(range(-length, length) for length in shape)):
        assert array[place] == host[place]
    for axis, outside in itertools.product(range(len(shape)), (0, 1)):
        place = [0] * len(shape)
        place[axis] = shape[axis] if outside else -shape[axis] - 1
        with pytest.raises(IndexError, match="out of bounds"):
            array[tuple(place)]


@pytest.mark.parametrize("shape", [(10,), (4, 5), (3, 4, 5)])
def test_4b_43_strided_slices_match_numpy(driver_kind: str, shape: tuple[int, ...]) -> None:
    host = np.arange(np.prod(shape)).reshape(shape)
    array = cuarray.to_device(host)
    for start, step in itertools.product(range(max(shape)), (1, 2, 3, -1, -2)):
        key = (slice(start, None, step),) * len(shape)
        assert np.array_equal(array[key].copy_to_host(), host[key])


@pytest.mark.parametrize("shape", [(10,), (4, 5), (3, 4, 5)])
def test_4b_44_prefix_slices_match_numpy(driver_kind: str, shape: tuple[int, ...]) -> None:
    host = np.arange(np.prod(shape)).reshape(shape)
    array = cuarray.to_device(host)
    for stop in range(1, shape[0] + 1):
        part, expected = array[:stop], host[:stop]
        assert (part.shape, part.strides) == (expected.shape, expected.strides)
        assert np.array_equal(part.copy_to_host(), expected)


def test_4b_45_integer_indices_of_leading_axes_match_numpy(driver_kind: str) -> None:
    host = np.arange(60).reshape(3, 4, 5)
    array = cuarray.to_device(host)
    for first, second in itertools.product(range(3), range(4)):
        for key in ((first,), (first, second)):
            part, expected = array[key], host[key]
            assert (part.shape, part.strides) == (expected.shape, expected.strides)
            assert np.array_equal(part.copy_to_host(), expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_4b_46_mixed_integers_slices_and_ellipsis_match_numpy(driver_kind: str, order: Any) -> None:
    host = np.asarray(np.arange(60).reshape(3, 4, 5), order=order)
    array = cuarray.to_device(host)
    entries = (1, slice(None), slice(1, 3), ...)
    for key in itertools.product(entries, repeat=3):
        if sum(entry is ... for entry in key) < 2:
            part, expected = array[key], host[key]
            if isinstance(expected, np.ndarray):
                assert (part.shape, part.strides) == (expected.shape, expected.strides)
                part = part.copy_to_host()
            assert np.array_equal(part, expected)


@pytest.mark.parametrize("shape", [(7,), (4, 5)])
def test_4b_47_negative_slice_bounds_match_numpy(driver_kind: str, shape: tuple[int, ...]) -> None:
    host = np.arange(np.prod(shape)).reshape(shape)
    array = cuarray.to_device(host)
    ends = [list(itertools.product(range(-length - 1, 0), repeat=2)) for length in shape]
    for axes in itertools.product(*ends):
        key = tuple(slice(start, stop) for start, stop in axes)
        part = array[key]
        assert (part.shape, part.strides) == (host[key].shape, host[key].strides)
        if part.size:
            assert np.array_equal(part.copy_to_host(), host[key])


def test_4b_48_empty_slices_match_numpy_and_have_pointer_0(driver_kind: str) -> None:
    host = np.arange(12).reshape(3, 4)
    array = cuarray.to_device(host)
    for key in (
        slice(0, 0),
        slice(2, 1),
        slice(3, None),
        slice(100, 200),
        slice(-100, -50),
        (slice(None), slice(4, 9)),
    ):
        part, expected = array[key], host[key]
        assert (part.shape, part.strides) == (expected.shape, expected.strides)
        assert part.copy_to_host().shape == expected.shape
        assert part.__cuda_array_interface__["data"][0] == 0
        for again in (..., slice(0, 0), slice(0, 5), slice(None, None, -1)):
            empty, of_empty = part[again], expected[again]
            assert (empty.shape, empty.strides) == (of_empty.shape, of_empty.strides)
            assert empty.copy_to_host().shape == of_empty.shape


def test_4b_49_scalar_row_and_column_are_assigned(driver_kind: str) -> None:
    host = np.zeros((3, 4))
    array = cuarray.to_device(host)
    for key, value in ((..., 1.5), (1, 2.5), ((slice(None), 2), 3.5), (..., np.arange(4.0)), (..., [[7.0], [8], [9]])):
        host[key] = value
        array[key] = value
        assert np.array_equal(array.copy_to_host(), host)


@pytest.mark.parametrize("on_device", [False, True])
def test_4b_50_arrays_are_assigned_to_subarrays(driver_kind: str, on_device: bool) -> None:
    host = np.zeros((4, 5, 6))
    array = cuarray.to_device(host)
    for key in ((2, 1), (slice(None), 3, 0), (slice(1, 3), slice(2, 4)), (..., slice(1, 3)), ...):
        value = np.random.default_rng(0).random(host[key].shape)
        host[key] = value
        array[key] = cuarray.to_device(value) if on_device else value
        assert np.array_equal(array.copy_to_host(), host)


def test_4b_51_arrays_are_assigned_to_strided_slices(driver_kind: str) -> None:
    host = np.zeros(20)
    array = cuarray.to_device(host)
    for key in (slice(None, None, 3), slice(1, None, 4), slice(None, None, -2)):
        value = np.random.default_rng(0).random(host[key].shape)
        host[key] = value
        array[key] = value
        assert np.array_equal(array.copy_to_host(), host)


def test_4b_52_value_of_wrong_shape_is_refused(driver_kind: str) -> None:
    array = cuarray.to_device(np.zeros(5))
    with pytest.raises(ValueError, match=r"shape \(2, 5\) to \(5,\)"):
        array[:] = np.zeros((2, 5))
    with pytest.raises(ValueError, match=r"shape \(4,\) to \(5,\)"):
        array[:] = np.zeros(4)


def test_4b_53_assignment_without_stream_waits(driver_kind: str) -> None:
    """Earlier work and the assignment are done when it returns, so a reader need not wait."""
    array, source = cuarray.to_device(np.zeros(5)), cuarray.to_device(np.ones(5))
    large = cuarray.to_device(np.zeros(100_000))
    for target, value in ((array, 1), (array, source), (array, np.ones(5)), (large, 3.25), (large, np.ones(1))):
        with driver_probe.held(1) as hold:
            hold.release_soon()
            target[:] = value
            assert not hold.is_held, "the assignment did not wait"
        assert driver_probe.is_done(1)


def test_4b_53_assignment_of_array_without_stream_waits_once(driver_kind: str, waits: Any) -> None:
    array, source = cuarray.to_device(np.zeros(5)), cuarray.to_device(np.ones(5))
    counted = waits()
    array[:] = source
    assert counted.count == 1


@pytest.mark.parametrize(
    "make", [cuarray.stream, cuarray.default_stream, cuarray.legacy_default_stream, cuarray.per_thread_default_stream]
)
def test_4b_54_assignment_in_home_stream_does_not_wait(driver_kind: str, make: Any) -> None:
    stream = make()
    array, source = cuarray.to_device(np.zeros(5)).bind(stream), cuarray.to_device(np.ones(5))
    with driver_probe.held(stream.handle) as hold:
        array[:2] = source[:2]
        array[2] = 2.0
        assert not stream.query()
        hold.release()
    assert array.copy_to_host().tolist() == [1, 1, 2, 0, 0]


def test_4b_55_assignment_in_given_stream_does_not_wait(driver_kind: str) -> None:
    stream, array = cuarray.stream(), cuarray.to_device(np.zeros(5))
    with driver_probe.held(stream.handle) as hold:
        array.setitem(slice(2, 4), 2.0, stream=stream)
        assert not stream.query()
        hold.release()
    stream.synchronize()
    assert array.copy_to_host().tolist() == [0, 0, 2, 2, 0]
