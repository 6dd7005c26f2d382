"""Views of an array (reshape, ravel, transpose, squeeze, view, split, bind), compared with NumPy."""

from __future__ import annotations

from typing import Any

import driver_probe
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from producers import describe, foreign
from same_layout import SameLayout, assert_same_view, hosts

import cuarray

PROPERTY = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def shapes_of(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """A shape with ``size`` elements, in which one length may be -1."""
    shape = []
    rest = size
    for _ in range(draw(st.integers(0, 4))):
        divisors = [n for n in range(1, max(rest, 1) + 1) if rest % n == 0] if rest else [0, 1, 2, 3]
        shape.append(draw(st.sampled_from(divisors)))
        rest = rest // shape[-1] if shape[-1] else 0
    shape.append(rest if size or 0 in shape else 0)
    if draw(st.booleans()):
        at = draw(st.integers(0, len(shape) - 1))
        if all(length for axis, length in enumerate(shape) if axis != at):
            shape[at] = -1
    return tuple(shape)


@PROPERTY
@given(data=st.data())
def test_reshape_matches_numpy(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts())
    shape = data.draw(shapes_of(host.size))
    order: Any = data.draw(st.sampled_from(["C", "F", "A"]))
    base = SameLayout(host)
    expected = host.reshape(shape, order=order)
    reshaped = base.array.reshape(shape, order=order)
    if np.shares_memory(expected, host) or not host.size:
        assert_same_view(reshaped, expected, base)
        assert reshaped.owner is base.bytes
        assert base.array.reshape(*shape, order=order, copy=False).ptr == reshaped.ptr
    else:
        assert reshaped.strides == expected.strides
        assert reshaped.owner is not base.bytes
        with pytest.raises(ValueError, match="copy=False forbids"):
            base.array.reshape(shape, order=order, copy=False)
    assert np.array_equal(reshaped.copy_to_host(), expected)


@PROPERTY
@given(data=st.data())
def test_reshape_that_numpy_refuses_is_refused(data: st.DataObject) -> None:
    host = data.draw(hosts())
    shape = tuple(data.draw(st.lists(st.integers(-2, 6), max_size=4)))
    try:
        host.reshape(shape)
    except ValueError:
        array = cuarray.from_cuda_array_interface({**foreign_interface(host), "version": 3})
        with pytest.raises(ValueError, match=r"reshape|only one length|is not a length"):
            array.reshape(shape)
    else:
        assume(False)


def foreign_interface(host: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {**host.__array_interface__, "strides": host.strides}


@PROPERTY
@given(data=st.data())
def test_ravel_matches_numpy(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts())
    order: Any = data.draw(st.sampled_from(["C", "F", "A"]))
    base = SameLayout(host)
    raveled = base.array.ravel(order=order)
    expected = host.reshape(-1, order=order)
    assert raveled.shape == expected.shape
    assert raveled is not base.array
    assert (raveled.owner is base.bytes) == (np.shares_memory(expected, host) or not host.size)
    assert np.array_equal(raveled.copy_to_host(), host.ravel(order=order))


def test_reshape_accepts_ints_and_sequences(driver: str) -> None:
    array = cuarray.to_device(np.arange(6))
    for reshaped in (
        array.reshape(2, 3),
        array.reshape((2, 3)),
        array.reshape([2, -1]),
        array.reshape(np.array([2, 3])),
        array.reshape(np.int8(2), -1),
    ):
        assert reshaped.shape == (2, 3)
    assert array.reshape(6).shape == array.reshape(-1).shape == (6,)
    assert array[:1].reshape().shape == array[:1].reshape(()).shape == ()


@pytest.mark.parametrize("order", ["K", "c", "", "CF"])
def test_reshape_and_ravel_refuse_unknown_order(order: Any) -> None:
    array = cuarray.from_cuda_array_interface(describe())
    with pytest.raises(ValueError, match="order is"):
        array.reshape(2, order=order)
    with pytest.raises(ValueError, match="order is"):
        array.ravel(order=order)


def test_reshape_with_copy_true_copies(driver: str) -> None:
    stream = cuarray.stream()
    array = cuarray.to_device(np.arange(6), stream=stream)
    copied = array.reshape(2, 3, copy=True)
    array[:] = 0
    assert copied.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert copied.stream == stream


def test_copy_by_ravel_of_read_only_array_is_writable(driver: str) -> None:
    host = np.arange(12).reshape(3, 4)[:, 1:3]
    array = SameLayout(host).array
    frozen = cuarray.as_cuda_array(foreign(array, data=(array.ptr, True)))
    assert frozen.reshape(3, 1, 2).readonly
    copied = frozen.ravel()
    assert not copied.readonly
    copied[:] = 1
    assert np.array_equal(array.copy_to_host(), host)


@PROPERTY
@given(data=st.data())
def test_transpose_matches_numpy(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts())
    base = SameLayout(host)
    axes = data.draw(st.permutations(range(host.ndim)))
    axes = [axis - data.draw(st.sampled_from([0, host.ndim])) for axis in axes]
    assert_same_view(base.array.T, host.T, base)
    assert_same_view(base.array.transpose(), host.transpose(), base)
    assert_same_view(base.array.transpose(None), host.transpose(None), base)
    if axes:
        assert_same_view(base.array.transpose(*axes), host.transpose(*axes), base)
        assert_same_view(base.array.transpose(tuple(axes)), host.transpose(tuple(axes)), base)
    assert np.array_equal(base.array.T.copy_to_host(), host.T)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ((0, 0), r"axis 0 is repeated in \(0, 0\)"),
        ((1, -1), r"axis 1 is repeated in \(1, -1\)"),
        ((0, 2), r"axis 2 in \(0, 2\) is out of bounds"),
        ((0, -3), r"axis -3 in \(0, -3\)"),
        ((0,), r"axes \(0,\) do not match"),
        ((0, 1, 2), r"axes \(0, 1, 2\) do not match"),
    ],
)
def test_transpose_with_invalid_axes_is_refused(axes: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cuarray.from_cuda_array_interface(describe(shape=(2, 3))).transpose(axes)


@PROPERTY
@given(data=st.data())
def test_squeeze_matches_numpy(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.sampled_from([1, 1, 2, 0]), max_size=5))
    host = np.zeros(shape, "<f4")
    array = cuarray.from_cuda_array_interface({**foreign_interface(host), "version": 3})
    axis = data.draw(st.none() | st.integers(-5, 5) | st.lists(st.integers(-5, 5), max_size=3).map(tuple))
    assume(host.ndim or not isinstance(axis, int))  # only in squeeze does NumPy give a 0-d array the axes 0 and -1
    try:
        expected = host.squeeze(axis)
    except ValueError:  # the base class of NumPy's AxisError
        with pytest.raises(ValueError, match="axis"):
            array.squeeze(axis)
    else:
        squeezed = array.squeeze(axis)
        assert (squeezed.shape, squeezed.strides, squeezed.ptr) == (expected.shape, expected.strides, array.ptr)


TYPES = ["u1", "<i2", "<f4", "<f8", "<c16", "S3", "V6", "<M8[ns]", [("x", "<f4"), ("y", "<i2")]]


@PROPERTY
@given(data=st.data())
def test_view_matches_numpy(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts())
    dtype = np.dtype(data.draw(st.sampled_from(TYPES)))
    base = SameLayout(host)
    try:
        expected = host.view(dtype)
    except ValueError:
        with pytest.raises(ValueError, match="cannot view"):
            base.array.view(dtype)
    else:
        viewed = base.array.view(dtype)
        assert viewed.shape == expected.shape
        assert viewed.strides == expected.strides
        assert viewed.dtype == expected.dtype
        assert viewed.ptr == base.array.ptr
        assert viewed.copy_to_host().tobytes() == expected.tobytes()


def test_view_accepts_numpy_dtype_spellings() -> None:
    array = cuarray.from_cuda_array_interface(describe(shape=(4,), typestr="<f4"))
    assert array.view("int32").typestr == array.view(np.int32).typestr == array.view("<i4").typestr == "<i4"
    structured = array.view([("re", "<f4"), ("im", "<f4")])
    assert structured.shape == (2,)
    assert structured["im"].ptr == array.ptr + 4
    with pytest.raises(ValueError, match="sub-array"):
        array.view("(2,)f4")
    with pytest.raises((TypeError, ValueError)):
        array.view("no such type")
    with pytest.raises(ValueError, match="Python objects"):
        array.view(object)


def test_view_of_bit_field_is_refused() -> None:
    bits = cuarray.from_cuda_array_interface(describe(typestr="|t1", shape=(20,)))
    with pytest.raises(ValueError, match="share bytes"):
        bits.view("u1")
    with pytest.raises(ValueError, match="share bytes"):
        cuarray.from_cuda_array_interface(describe(typestr="|u1")).view("|t1")


@PROPERTY
@given(data=st.data())
def test_split_divides_first_axis(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts(min_dims=1))
    section = data.draw(st.integers(1, 7))
    base = SameLayout(host)
    parts = base.array.split(section)
    expected = [host[start : start + section] for start in range(0, len(host), section)]
    assert len(parts) == len(expected)
    for part, same in zip(parts, expected, strict=True):
        assert_same_view(part, same, base)
        assert np.array_equal(part.copy_to_host(), same)


@pytest.mark.parametrize("section", [0, -1, -(2**70)])
def test_split_with_invalid_section_is_refused(section: int) -> None:
    with pytest.raises(ValueError, match="section"):
        cuarray.from_cuda_array_interface(describe()).split(section)


def test_split_of_0d_array_is_refused() -> None:
    with pytest.raises(ValueError, match="without axes"):
        cuarray.from_cuda_array_interface(describe(shape=())).split(1)


@PROPERTY
@given(data=st.data())
def test_views_of_masked_array_keep_mask(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts(min_dims=1, max_dims=3, min_side=1))
    shape = tuple(data.draw(st.sampled_from([1, length])) for length in host.shape)
    valid = data.draw(hnp.arrays(bool, shape))
    array = SameLayout(host, mask=cuarray.to_device(valid)).array
    invalid = ~np.broadcast_to(valid, host.shape)
    masked = np.ma.array(host, mask=invalid)

    def same(view: Any, expected: Any) -> None:
        copied = view.copy_to_host()
        assert np.array_equal(np.ma.getmaskarray(copied), np.ma.getmaskarray(expected))
        assert np.array_equal(np.ma.getdata(copied), np.ma.getdata(expected))

    same(array.T, masked.T)
    same(array[None].squeeze(0), masked)
    same(array.ravel(), masked.ravel())
    same(array.reshape(-1, 1, order="F"), masked.reshape(-1, 1, order="F"))
    same(array.split(2)[0], masked[:2])
    same(array.bind(cuarray.stream()), masked)
    same(array.view(f"V{host.itemsize}"), np.ma.array(host.view(f"V{host.itemsize}"), mask=invalid))


def test_view_of_masked_array_with_other_item_size_is_refused(driver: str) -> None:
    array = SameLayout(np.arange(4.0), mask=cuarray.to_device([True, False, True, True])).array
    with pytest.raises(BufferError, match="whole elements"):
        array.view("<f4")


def test_field_of_masked_array_is_masked(driver: str) -> None:
    host = np.zeros(3, [("a", "<i4"), ("b", "<f4", (2,))])
    array = SameLayout(host, mask=cuarray.to_device([True, False, True])).array
    assert array["a"].copy_to_host().mask.tolist() == [False, True, False]
    assert array["b"].copy_to_host().mask.tolist() == [[False, False], [True, True], [False, False]]


class TestBind:
    def test_bind_sets_and_exports_home_stream(self, driver: str) -> None:
        array = cuarray.to_device([1, 2, 3])
        stream = cuarray.stream()
        bound = array.bind(stream)
        assert bound.stream is stream
        assert bound.__cuda_array_interface__["stream"] == stream.handle
        assert array.stream is None
        assert (bound.ptr, bound.owner) == (array.ptr, array.owner)
        assert bound[1:].stream is stream
        assert bound.T.stream is stream

    def test_work_in_bound_stream_waits_for_pending_work(self, driver: str) -> None:
        old, new = cuarray.stream(), cuarray.stream()
        array = cuarray.to_device([1, 2, 3], stream=old)
        fetched = cuarray.pinned_array(3, np.int64)
        with driver_probe.held(old.handle) as hold:
            array[:] = 9
            bound = array.bind(new)
            bound.copy_to_host(fetched, stream=new)
            assert not new.query()
            hold.release()
            new.synchronize()
        assert fetched.tolist() == [9, 9, 9]

    def test_bind_none_waits_and_removes_home_stream(self, driver: str) -> None:
        stream = cuarray.stream()
        array = cuarray.to_device([1, 2, 3], stream=stream)
        bound = array.bind(None)
        assert stream.query()
        assert bound.stream is None
        assert bound.__cuda_array_interface__["stream"] is None

    def test_bind_adds_stream_to_version_2_import(self, driver: str) -> None:
        array = cuarray.as_cuda_array(foreign(cuarray.to_device([1]), version=2))
        stream = cuarray.stream()
        assert array.bind(stream).__cuda_array_interface__["stream"] == stream.handle

    def test_bind_accepts_foreign_stream(self, foreign_stream: Any) -> None:
        bound = cuarray.to_device([1]).bind(foreign_stream)
        assert bound.stream is not None
        assert bound.stream.handle == foreign_stream.handle

    def test_bind_refuses_argument_that_is_no_stream(self, driver: str) -> None:
        with pytest.raises(TypeError, match="a cuarray stream, an object with __cuda_stream__, or a handle"):
            cuarray.to_device([1]).bind("x")  # type: ignore[arg-type]


def test_squeeze_of_0d_array_matches_numpy(driver: str) -> None:
    host, array = np.array(5), cuarray.to_device(np.array(5))
    for axis in (0, -1, (), 1, -2, (0,), (0, 0)):
        try:
            expected = host.squeeze(axis).shape
        except ValueError:
            with pytest.raises(ValueError, match="axis"):
                array.squeeze(axis)
        else:
            assert array.squeeze(axis).shape == expected == ()


def test_split_into_too_many_views_is_refused(driver: str) -> None:
    long = cuarray.from_cuda_array_interface(
        {"shape": (1 << 40,), "strides": (0,), "typestr": "<f4", "data": (4096, False), "version": 3}
    )
    with pytest.raises(ValueError, match="section 1 gives 1099511627776 views; at most 16777216 are made"):
        long.split(1)
    assert [part.shape for part in long.split(1 << 39)] == [(1 << 39,)] * 2
