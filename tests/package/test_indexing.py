"""``a[key]``: every key of NumPy's basic indexing gives the view or the element that NumPy gives."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from producers import Producer, describe
from same_layout import SameLayout, assert_same_view, hosts

import cuarray

PROPERTY = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@PROPERTY
@given(data=st.data())
def test_basic_indexing_matches_numpy(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts(max_dims=5))
    key = data.draw(hnp.basic_indices(host.shape, max_dims=8, allow_newaxis=True, allow_ellipsis=True))
    base = SameLayout(host)
    expected, selected = host[key], base.array[key]
    if isinstance(expected, np.ndarray):
        assert_same_view(selected, expected, base)
        assert np.array_equal(selected.copy_to_host(), expected)
    else:
        assert type(selected) is type(expected)
        assert selected == expected


@PROPERTY
@given(data=st.data())
def test_slices_with_arbitrary_bounds_and_steps_match_numpy(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts(min_dims=1))
    end = st.none() | st.integers(-8, 8) | st.sampled_from([2**62, -(2**62), 2**80, -(2**80)])
    steps = (st.integers(-6, 6) | st.sampled_from([2**62, -(2**62), 2**80, -(2**80)])).filter(bool)
    count = data.draw(st.integers(0, host.ndim))
    key = tuple(data.draw(st.builds(slice, end, end, st.none() | steps)) for _ in range(count))
    base = SameLayout(host)
    expected = host[key]
    view = base.array[key]
    # The stride of an axis of length 1 is not significant; NumPy's overflows for steps as long as the address space.
    real = [axis for axis, length in enumerate(expected.shape) if length > 1]
    assert view.shape == expected.shape
    assert [view.strides[axis] for axis in real] == [expected.strides[axis] for axis in real]
    assert np.array_equal(view.copy_to_host(), expected)


@PROPERTY
@given(data=st.data())
def test_views_of_views_match_numpy_and_keep_one_owner(driver: str, data: st.DataObject) -> None:
    base = SameLayout(data.draw(hosts(min_dims=2)))
    host, array = base.host, base.array
    for _ in range(3):
        key = data.draw(hnp.basic_indices(host.shape, allow_newaxis=True, allow_ellipsis=True))
        if not isinstance(host[key], np.ndarray):
            break
        host, array = host[key], array[key]
    assert_same_view(array, host, base)
    assert array.owner is base.bytes
    assert np.array_equal(array.copy_to_host(), host)


def test_index_accepts_numpy_integers_and_index_objects(driver: str) -> None:
    array = cuarray.to_device(np.arange(12).reshape(3, 4))

    class Two:
        def __index__(self) -> int:
            return 2

    for two in (2, np.int8(2), np.uint64(2), np.array(2), Two(), -1, np.int16(-1)):
        assert array[two].ptr - array.ptr == 64
        assert array[two, 1] == 9


@pytest.mark.parametrize(
    "key",
    [[0, 1], [True, False, True], True, False, np.bool_(True), np.array([0, 1]), np.array([[True] * 4] * 3),
     (slice(None), [1, 2]), (0, np.array([1])), np.array(True)],
    ids=repr,
)  # fmt: skip
def test_advanced_indexing_is_refused_because_it_needs_a_kernel(key: Any) -> None:
    array = cuarray.from_cuda_array_interface(describe(shape=(3, 4)))
    with pytest.raises(TypeError, match="needs a kernel"):
        array[key]


def test_device_array_as_index_is_refused() -> None:
    array = cuarray.from_cuda_array_interface(describe(shape=(3, 4)))
    with pytest.raises(TypeError, match="needs a kernel"):
        array[cuarray.from_cuda_array_interface(describe(typestr="<i4"))]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (3, "index 3 is out of bounds for axis 0 with size 3"),
        (-4, "index -4 is out of bounds for axis 0 with size 3"),
        ((0, 4), "index 4 is out of bounds for axis 1 with size 4"),
        ((slice(None), -5), "index -5 is out of bounds for axis 1 with size 4"),
        ((0, 0, 0), "too many indices"),
        ((..., 0, 0, 0), "too many indices"),
        ((..., ...), "single ellipsis"),
        (2**70, "index-sized"),
        (1.0, "a float is not an index"),
        ("x", "no field"),
        (object(), "not an index"),
        (np.float32(1), "not an index"),
        ((None,) * 63, "at most 64"),
    ],
)
def test_invalid_index_raises_index_error(key: Any, message: str) -> None:
    array = cuarray.from_cuda_array_interface(describe(shape=(3, 4)))
    with pytest.raises(IndexError, match=message):
        array[key]


def test_integer_index_into_empty_axis_is_out_of_bounds() -> None:
    array = cuarray.from_cuda_array_interface(describe(shape=(0, 4), data=(0, False)))
    with pytest.raises(IndexError):
        array[0]
    assert array[:, 3].shape == (0,)


def test_slice_step_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="step"):
        cuarray.from_cuda_array_interface(describe(shape=(3,)))[::0]


def test_exception_of_index_method_passes_through() -> None:
    class Broken:
        def __index__(self) -> int:
            raise ZeroDivisionError("of its own")

    with pytest.raises(ZeroDivisionError, match="of its own"):
        cuarray.from_cuda_array_interface(describe(shape=(3,)))[Broken()]


def test_indexing_0d_array_gives_scalar_or_view(driver: str) -> None:
    array = cuarray.to_device(np.float64(2.5))
    assert array[()] == 2.5
    assert isinstance(array[()], np.float64)
    assert array[...].shape == ()
    assert array[None].shape == (1,)
    with pytest.raises(IndexError, match="too many"):
        array[0]


def test_element_of_structured_array_is_numpy_void(driver: str) -> None:
    host = np.array([(1, 2.5), (3, 4.5)], [("a", "i1"), ("b", "f8")])
    element = cuarray.to_device(host)[1]
    assert isinstance(element, np.void)
    assert element == host[1]


STRUCTURED = np.dtype(
    {"names": ["a", "b", "c"], "formats": ["i1", ("<f4", (2, 3)), [("x", "<i2"), ("y", "<i8")]], "offsets": [0, 4, 32]}
)


@pytest.mark.parametrize("field", ["a", "b", "c"])
def test_indexing_by_field_name_gives_view(driver: str, field: str) -> None:
    host = np.zeros((3, 2), STRUCTURED)
    host["a"] = np.arange(6).reshape(3, 2)
    host["b"] = np.arange(36).reshape(3, 2, 2, 3)
    host["c"]["y"] = 7
    base = SameLayout(host)
    assert_same_view(base.array[field], host[field], base)
    assert np.array_equal(base.array[field].copy_to_host(), host[field])
    assert np.array_equal(base.array[1:]["c"]["y"].copy_to_host(), host[1:]["c"]["y"])


def test_unknown_field_name_is_refused() -> None:
    array = cuarray.from_cuda_array_interface(describe(typestr="|V4", descr=[("a", "<i4")]))
    with pytest.raises(ValueError, match=r"no field \"b\".*'a'"):
        array["b"]
    # Padding is not a field.
    padded = cuarray.from_cuda_array_interface(describe(typestr="|V4", descr=[("a", "<i2"), ("", "|V2")]))
    with pytest.raises(ValueError, match="no field"):
        padded[""]


def test_views_inherit_read_only_flag_owner_and_stream() -> None:
    owner = Producer(describe())
    array = cuarray.from_cuda_array_interface(
        describe(shape=(3, 4), data=(0x7F0000000000, True), stream=1), owner=owner, sync=False
    )
    view = array[1:, ::2]
    assert view.readonly
    assert view.owner is owner
    assert view.__cuda_array_interface__["stream"] == 1
    assert view.__cuda_array_interface__["data"] == (0x7F0000000010, True)


def test_chained_views_keep_only_the_owner_alive(driver: str) -> None:
    array = cuarray.to_device(np.arange(1000))
    owner = array.owner
    views = [array]
    for _ in range(100):
        views.append(views[-1][1:])
    assert all(view.owner is owner for view in views)
    dead = weakref.ref(views[50])
    last = views[-1]
    del array, views
    gc.collect()
    assert dead() is None
    assert last[0] == 100


def test_bit_array_is_sliced_only_at_its_first_byte() -> None:
    array = cuarray.from_cuda_array_interface(describe(typestr="|t1", shape=(20,)))
    assert array[:12].shape == (12,)
    assert cuarray.interface(array[:12]).byte_range == (array.ptr, array.ptr + 2)
    with pytest.raises(BufferError, match="share bytes"):
        array[8:]


@PROPERTY
@given(data=st.data())
def test_mask_is_indexed_with_its_array(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts(min_dims=1, max_dims=3, min_side=1))
    mask_shape = tuple(data.draw(st.sampled_from([1, length])) for length in host.shape)
    mask_shape = mask_shape[data.draw(st.integers(0, host.ndim)) :]
    valid = data.draw(hnp.arrays(bool, mask_shape))
    array = SameLayout(host, mask=cuarray.to_device(valid)).array
    key = data.draw(hnp.basic_indices(host.shape, allow_newaxis=True, allow_ellipsis=True))
    expected_valid = np.broadcast_to(valid, host.shape)[key]
    selected = array[key]
    if isinstance(selected, cuarray.DeviceArray):
        copied = selected.copy_to_host()
        assert np.array_equal(np.ma.getmaskarray(copied), ~expected_valid)
        assert np.array_equal(np.ma.getdata(copied), host[key])
    else:
        assert (selected is np.ma.masked) == (not expected_valid)


def test_iterating_gives_first_axis_views_or_scalars(driver: str) -> None:
    host = np.arange(24).reshape(2, 3, 4)
    array = cuarray.to_device(host)
    rows = list(array)
    assert [row.ptr - array.ptr for row in rows] == [0, 96]
    assert all(np.array_equal(row.copy_to_host(), expected) for row, expected in zip(rows, host, strict=True))
    assert list(array[0, 0]) == list(host[0, 0])
    assert list(array[:0]) == []
    with pytest.raises(TypeError, match="0-d"):
        iter(cuarray.to_device(1.0))


def test_iteration_creates_views_lazily() -> None:
    many = iter(cuarray.from_cuda_array_interface(describe(shape=(2**40, 4))))
    assert [next(many).ptr for _ in range(3)] == [0x7F0000000000, 0x7F0000000010, 0x7F0000000020]
