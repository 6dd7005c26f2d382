"""Copies between host and device, and within a device, for every pair of layouts: the result equals NumPy's.

The tests also check the bytes between the elements of a destination, which must not change.
"""

from __future__ import annotations

import itertools
from array import array as typed_array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import driver_probe
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from producers import Producer, foreign

import cuarray

SHAPE = (3, 4, 5)


class ArrayOf:
    """An object that NumPy converts to an array through ``__array__``."""

    def __init__(self, host: np.ndarray[Any, Any]) -> None:
        self.host = host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.host.astype(dtype or self.host.dtype)


def values(shape: tuple[int, ...], dtype: Any = "<i4", start: int = 1) -> np.ndarray[Any, Any]:
    return np.arange(start, start + int(np.prod(shape)), dtype=dtype).reshape(shape)


# Each function makes an array of a shape and type in the named layout, within larger memory.
LAYOUTS: dict[str, Callable[[tuple[int, ...], Any], np.ndarray[Any, Any]]] = {
    "C": lambda shape, dtype: np.zeros(shape, dtype),
    "F": lambda shape, dtype: np.zeros(shape, dtype, "F"),
    "sliced": lambda shape, dtype: np.zeros([2 * n + 1 for n in shape], dtype)[tuple(slice(1, None, 2) for _ in shape)],
    "inner": lambda shape, dtype: np.zeros([n + 2 for n in shape], dtype)[tuple(slice(1, n + 1) for n in shape)],
    "reversed": lambda shape, dtype: np.zeros(shape, dtype)[tuple(slice(None, None, -1) for _ in shape)],
    "last reversed": lambda shape, dtype: np.zeros(shape, dtype)[..., ::-1],
    "transposed": lambda shape, dtype: np.zeros(shape[::-1], dtype).transpose(),
    "rolled": lambda shape, dtype: np.moveaxis(np.zeros((*shape[1:], shape[0]), dtype), -1, 0),
    "unaligned": lambda shape, dtype: np.zeros(shape, [("gap", "u1"), ("x", dtype), ("more", "V2")])["x"],
}
BROADCAST: Callable[[tuple[int, ...], Any], np.ndarray[Any, Any]] = lambda shape, dtype: np.broadcast_to(  # noqa: E731
    np.zeros((shape[0], *[1] * (len(shape) - 1)), dtype), shape
)


class LaidOut:
    """A device array of a layout, and all of its memory, so that tests can read its gaps."""

    def __init__(self, like: np.ndarray[Any, Any], stream: Any = None) -> None:
        read = cuarray.interface({**like.__array_interface__, "version": 3})
        low, high = read.byte_range
        self.bytes = cuarray.to_device(np.full(high - low, 0xA5, np.uint8), stream=stream)
        self.array = cuarray.as_cuda_array(
            Producer(
                {
                    **like.__array_interface__,
                    "strides": like.strides,
                    "data": (self.bytes.ptr + read.ptr - low, False),
                    "version": 3,
                    "stream": None if self.bytes.stream is None else self.bytes.stream.handle,
                },
                keeps=self.bytes,
            ),
            sync=False,
        )
        self.offset, self.like = read.ptr - low, like

    def host(self) -> np.ndarray[Any, Any]:
        """The elements, read by one plain copy of all bytes."""
        fetched = self.bytes.copy_to_host()
        return np.ndarray(self.like.shape, self.like.dtype, fetched, self.offset, self.like.strides)

    def put(self, elements: np.ndarray[Any, Any]) -> None:
        """Sets the elements by one plain copy of all bytes."""
        fetched = self.bytes.copy_to_host()
        # Elements of a broadcast array share one place, and have one value.
        view = np.ndarray(self.like.shape, self.like.dtype, fetched, self.offset, self.like.strides)
        for index in np.ndindex(self.like.shape):
            view[index] = elements[index]
        self.bytes.copy_to_device(fetched)

    def assert_gaps_untouched(self) -> None:
        fetched = self.bytes.copy_to_host()
        written = np.zeros(fetched.shape, bool)
        itemsize = self.like.itemsize
        as_bytes = np.ndarray((*self.like.shape, itemsize), bool, written.data, self.offset, (*self.like.strides, 1))
        as_bytes[...] = True
        assert (fetched[~written] == 0xA5).all(), "bytes between the elements were overwritten"


def same_layout_on_device(host: np.ndarray[Any, Any]) -> LaidOut:
    whole = LaidOut(host)
    whole.put(host)
    return whole


def source(layout: str) -> np.ndarray[Any, Any]:
    if layout == "broadcast":
        return np.broadcast_to(values((SHAPE[0], 1, 1)), SHAPE)
    host = LAYOUTS[layout](SHAPE, "<i4")
    host[...] = values(SHAPE)
    return host


SOURCES = [*LAYOUTS, "broadcast"]
PAIRS = list(itertools.product(LAYOUTS, SOURCES))


@pytest.fixture(params=["without stream", "in a stream", "in a foreign stream", "in the array's stream"])
def streams(request: pytest.FixtureRequest, driver: str) -> Iterator[tuple[Any, Any]]:
    """The home stream of the arrays, and the stream that is passed as `stream=`."""
    if request.param == "without stream":
        yield None, None
    elif request.param == "in a stream":
        yield None, cuarray.stream()
    elif request.param == "in the array's stream":
        yield cuarray.stream(), None
    else:
        stream = driver_probe.ForeignStream()
        yield None, stream
        stream.destroy()


def finish(stream: Any) -> None:
    if stream is not None:
        cuarray.external_stream(stream).synchronize()


@pytest.mark.parametrize(("to", "of"), PAIRS)
def test_host_to_device_copy_of_every_layout_pair_matches_numpy(streams: Any, to: str, of: str) -> None:
    home, given_stream = streams
    host, device = source(of), LaidOut(LAYOUTS[to](SHAPE, "<i4"), home)
    device.array.copy_to_device(host, stream=given_stream)
    finish(given_stream)
    assert np.array_equal(device.host(), host)
    device.assert_gaps_untouched()


@pytest.mark.parametrize(("to", "of"), PAIRS)
def test_device_to_host_copy_of_every_layout_pair_matches_numpy(streams: Any, to: str, of: str) -> None:
    _, given_stream = streams
    host = source(of)
    device, target = same_layout_on_device(host), LAYOUTS[to](SHAPE, "<i4")
    gaps = target.base.copy() if isinstance(target.base, np.ndarray) else None
    assert device.array.copy_to_host(target, stream=given_stream) is target
    finish(given_stream)
    assert np.array_equal(target, host)
    if gaps is not None and isinstance(target.base, np.ndarray):
        target[...] = 0
        assert np.array_equal(target.base, gaps), "host memory between the elements was overwritten"


@pytest.mark.parametrize("of", SOURCES)
def test_copy_to_new_host_array_keeps_values_and_order(driver: str, of: str) -> None:
    host = source(of)
    back = same_layout_on_device(host).array.copy_to_host()
    assert np.array_equal(back, host)
    assert back.flags.owndata or back.base is not None
    assert back.flags.writeable
    assert back.flags.f_contiguous if host.flags.f_contiguous else back.flags.c_contiguous


@pytest.mark.parametrize(("to", "of"), PAIRS)
def test_device_to_device_copy_of_every_layout_pair_matches_numpy(streams: Any, to: str, of: str) -> None:
    home, given_stream = streams
    host = source(of)
    device, target = same_layout_on_device(host), LaidOut(LAYOUTS[to](SHAPE, "<i4"), home)
    target.array.copy_to_device(device.array, stream=given_stream)
    finish(given_stream)
    assert np.array_equal(target.host(), host)
    target.assert_gaps_untouched()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (1, 1, 1), (1, 5), (5, 1), (1, 3, 1, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["u1", "<f8", "V3", "<c16"])
def test_copies_of_empty_and_single_element_shapes_keep_values(
    streams: Any, shape: tuple[int, ...], dtype: str
) -> None:
    home, given_stream = streams
    host = np.frombuffer(np.random.default_rng(2).bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype)
    host = host.reshape(shape)
    array = cuarray.device_array(shape, dtype, stream=home)
    array.copy_to_device(host, stream=given_stream)
    other = cuarray.device_array(shape, dtype, order="F")
    finish(given_stream)
    other.copy_to_device(array, stream=given_stream)
    finish(given_stream)
    target = np.zeros(shape, dtype)
    other.copy_to_host(target, stream=given_stream)
    finish(given_stream)
    assert target.tobytes() == host.tobytes()


@pytest.mark.parametrize("strides", [(999, 4), (-3, 4), (0, 4), (2**40, 4), (-(2**40), -4)], ids=str)
def test_stride_of_axis_of_length_one_is_ignored(driver: str, strides: tuple[int, int]) -> None:
    memory = cuarray.to_device(np.arange(10, dtype="<i4"))
    row = cuarray.as_cuda_array(foreign(memory, shape=(1, 3), strides=strides, data=(memory.ptr + 16, False)))
    expected = [[4, 5, 6]] if strides[1] > 0 else [[4, 3, 2]]
    assert row.copy_to_host().tolist() == expected
    row.copy_to_device(np.int32([[-1, -2, -3]]))
    assert row.copy_to_host().tolist() == [[-1, -2, -3]]
    assert memory.copy_to_host()[[0, 1, 7, 8, 9]].tolist() == [0, 1, 7, 8, 9]


def test_copy_of_array_onto_itself_keeps_values(driver: str) -> None:
    array = cuarray.to_device(np.arange(6))
    array.copy_to_device(array)
    assert array.copy_to_host().tolist() == list(range(6))


def test_many_small_boxes_are_copied_through_staging(driver: str) -> None:
    """No driver copy of one box of bytes covers the elements, so they are copied through a staging buffer, in both directions."""
    host = values((10, 10, 4, 5), "<i2")[::-1, ::2, ::-1, ::3]
    device = same_layout_on_device(host)
    assert np.array_equal(device.array.copy_to_host(), host)
    device.array.copy_to_device(-host)
    assert np.array_equal(device.host(), -host)
    device.assert_gaps_untouched()


def test_large_strided_view_is_copied_both_ways(driver: str) -> None:
    host = values((512, 600), "<i4")
    device = cuarray.to_device(host)
    corner = cuarray.as_cuda_array(foreign(device, shape=(256, 300), strides=(4800, 8), data=(device.ptr + 4, False)))
    assert np.array_equal(corner.copy_to_host(), host[::2, 1::2])
    corner.copy_to_device(np.zeros((256, 300), "<i4"))
    host[::2, 1::2] = 0
    assert np.array_equal(device.copy_to_host(), host)


# --- other sources: numbers, buffers and foreign arrays ---------------------------------------------------------------------


@pytest.mark.parametrize("given_values", [[1, 2, 3], (1, 2, 3), range(1, 4), [1.0, 2.0, 3.0]], ids=repr)
def test_python_numbers_are_converted_to_array_dtype(driver: str, given_values: Any) -> None:
    for dtype in ("<f4", ">i2", "<u8", "<c8"):
        array = cuarray.device_array(3, dtype)
        array.copy_to_device(given_values)
        assert array.copy_to_host().tolist() == [1, 2, 3]


def test_scalar_is_copied_to_0d_array(driver: str) -> None:
    array = cuarray.device_array((), "<f4")
    array.copy_to_device(2.5)
    assert array.copy_to_host()[()] == 2.5


@pytest.mark.parametrize(
    "of", [memoryview, lambda host: typed_array("d", host), ArrayOf], ids=["buffer", "array.array", "__array__"]
)
def test_typed_source_of_other_dtype_is_refused(driver: str, of: Callable[[Any], Any]) -> None:
    host = np.array([1.5, 2.5, 3.5])
    with pytest.raises(ValueError, match="must be of one type"):
        cuarray.device_array(3, "<i4").copy_to_device(of(host))
    target = cuarray.device_array(3, "<f8")
    target.copy_to_device(of(host))
    assert target.copy_to_host().tolist() == [1.5, 2.5, 3.5]


def test_bytes_object_is_copied_as_one_string(driver: str) -> None:
    target = cuarray.device_array((), "S5")
    target.copy_to_device(b"abc")
    assert target.copy_to_host() == b"abc"


def test_copies_between_different_dtypes_are_refused(driver: str) -> None:
    array = cuarray.device_array(3, "<i4")
    for other in (np.zeros(3, "<f4"), np.zeros(3, ">i4"), np.zeros(3, "<u4"), np.zeros(3, "<i8")):
        with pytest.raises(ValueError, match="one type"):
            array.copy_to_device(other)
        with pytest.raises(ValueError, match="one type"):
            array.copy_to_device(cuarray.to_device(other))
        with pytest.raises(ValueError, match="one type"):
            array.copy_to_host(other)


@pytest.mark.parametrize("shape", [(), (2,), (4,), (1, 3), (3, 1), (0,)], ids=str)
def test_copies_between_different_shapes_are_refused(driver: str, shape: tuple[int, ...]) -> None:
    array = cuarray.to_device(np.zeros(3, "<i4"))
    for copy in (
        lambda: array.copy_to_device(np.zeros(shape, "<i4")),
        lambda: array.copy_to_device(cuarray.device_array(shape, "<i4")),
        lambda: array.copy_to_host(np.zeros(shape, "<i4")),
    ):
        with pytest.raises(ValueError, match="shape"):
            copy()
    assert array.copy_to_host().tolist() == [0, 0, 0]


@pytest.mark.parametrize("source_of", ["host", "device"])
def test_copy_to_broadcast_array_is_refused(driver: str, source_of: str) -> None:
    memory = cuarray.to_device(np.int32([5]))
    target = cuarray.as_cuda_array(foreign(memory, shape=(3,), strides=(0,)))
    given_values: Any = np.int32([1, 2, 3])
    with pytest.raises(ValueError, match="broadcast"):
        target.copy_to_device(given_values if source_of == "host" else cuarray.to_device(given_values))
    assert memory.copy_to_host().tolist() == [5]


def test_copy_to_read_only_host_array_is_refused(driver: str) -> None:
    target = np.zeros(3, "<i4")
    target.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        cuarray.to_device(np.int32([1, 2, 3])).copy_to_host(target)
    assert target.tolist() == [0, 0, 0]


def test_copy_to_host_ignores_interface_of_ndarray_subclass(driver: str) -> None:
    """The copy writes to the array itself, even if a subclass reports the memory of another array."""
    other = np.zeros(3, "<i4")

    class Lying(np.ndarray):
        __array_struct__ = property(lambda self: other.__array_struct__)
        __array_interface__ = property(lambda self: other.__array_interface__)

    target = np.zeros(3, "<i4").view(Lying)
    assert cuarray.to_device(np.int32([1, 2, 3])).copy_to_host(target) is target
    assert (target.tolist(), other.tolist()) == ([1, 2, 3], [0, 0, 0])


@pytest.mark.parametrize(
    "dtype",
    [*"?bhilefdgFDG", ">i4", ">f8", ">c16", "S3", "U2", ">U2", "V5", "<M8[s]", ">m8[ms]", [("x", "<i2"), ("y", ">f4")]],
)
@pytest.mark.parametrize("writeable", [True, False])
def test_host_arrays_of_every_dtype_round_trip(driver: str, dtype: Any, writeable: bool) -> None:
    raw = np.random.default_rng(3).integers(0, 2, 4 * 3 * np.dtype(dtype).itemsize, np.uint8)
    host = raw.view(dtype).reshape(4, 3)[::2, ::-1]
    host.flags.writeable = writeable
    array = cuarray.to_device(host)
    assert (array.dtype, array.shape) == (host.dtype, host.shape)
    assert array.copy_to_host().tobytes() == host.tobytes()
    array[...] = array
    if writeable:
        before = host.copy()
        host[...] = np.zeros((), dtype)
        array.copy_to_host(host)
        assert host.tobytes() == before.tobytes()
    else:
        with pytest.raises(ValueError, match="read-only"):
            array.copy_to_host(host)


@pytest.mark.parametrize("target", [[0, 0, 0], (0, 0, 0), bytearray(12), "abc", 1.0], ids=repr)
def test_host_destination_must_be_numpy_array(driver: str, target: Any) -> None:
    with pytest.raises(TypeError, match="numpy"):
        cuarray.to_device(np.int32([1, 2, 3])).copy_to_host(target)


def test_memmap_is_accepted_as_host_destination(driver: str, tmp_path: Path) -> None:
    array = cuarray.to_device(np.arange(6).reshape(2, 3))
    target = np.memmap(tmp_path / "target", int, "w+", shape=(2, 3))
    assert array.copy_to_host(target) is target
    target.flush()
    assert np.fromfile(tmp_path / "target", int).tolist() == list(range(6))
    with pytest.raises(ValueError, match="read-only"):
        array.copy_to_host(np.memmap(tmp_path / "target", int, "r", shape=(2, 3)))


def test_foreign_array_is_accepted_as_source(driver: str) -> None:
    memory = cuarray.to_device(np.arange(3))
    target = cuarray.device_array(3, int)
    target.copy_to_device(foreign(memory))
    assert target.copy_to_host().tolist() == [0, 1, 2]


def test_invalid_foreign_source_raises_the_error_of_import(driver: str) -> None:
    target = cuarray.to_device(np.arange(3))
    with pytest.raises(ValueError, match=r"\['shape'\]"):
        target.copy_to_device(foreign(target, shape=[3]))
    with pytest.raises(TypeError, match="a dict is expected"):
        target.copy_to_device(Producer(17))

    class Raises:
        @property
        def __cuda_array_interface__(self) -> object:
            raise RuntimeError("requires grad")

    for take in (target.copy_to_device, cuarray.to_device):
        with pytest.raises(TypeError, match="RuntimeError") as raised:
            take(Raises())
        assert isinstance(raised.value.__cause__, RuntimeError)
    assert target.copy_to_host().tolist() == [0, 1, 2]


# --- number of driver copies ------------------------------------------------------------------------------------------------


def driver_copies() -> int:
    import cuarray_sim

    return sum(count for name, count in cuarray_sim.statistics()["calls"].items() if name.startswith("cuMemcpy"))


View = Callable[[Any], Any]
UNMATCHED: dict[str, tuple[tuple[int, ...], View, View, int]] = {
    # shape of the base arrays, view of the destination, view of the source, driver copies
    "reversed": ((5000,), lambda a: a, lambda a: a[::-1], 2),
    "both reversed": ((5000,), lambda a: a[::-1], lambda a: a[::-1], 1),
    "transposed": ((60, 60), lambda a: a, lambda a: a.T, 2),
    "transposed, with gaps on both sides": ((60, 60), lambda a: a[::2, 1:31], lambda a: a.T[10:40, ::2], 2),
    "axes in reverse order": ((20, 20, 20), lambda a: a, lambda a: a.T, 2),
    "some axes transposed and reversed": (
        (9, 9, 9, 9),
        lambda a: a[::-1],
        lambda a: a.transpose(2, 0, 3, 1)[:, ::-1],
        2,
    ),
    "strides that are not multiples of each other": ((40, 33), lambda a: a[:39:2, ::3], lambda a: a[1::2, 2::3], 1),
    "one column to all columns": ((64, 64), lambda a: a, lambda a: a[:, :1], 7),
    "one row to all rows": ((64, 64), lambda a: a, lambda a: a[5:6], 7),
}


@pytest.mark.parametrize("case", UNMATCHED)
def test_unmatched_layouts_take_few_driver_copies_within_device(simulator: str, driver: str, case: str) -> None:
    shape, to, of, most = UNMATCHED[case]
    host = values(shape)
    expected = np.zeros(shape, "<i4")
    target, source = cuarray.to_device(expected), cuarray.to_device(host)
    picked = of(source)
    wanted = to(expected)
    if picked.shape != wanted.shape:
        picked = cuarray.as_cuda_array(
            foreign(
                picked,
                shape=wanted.shape,
                strides=tuple(0 if n == 1 else step for n, step in zip(picked.shape, picked.strides, strict=True)),
            )
        )
    wanted[...] = of(host)
    before = driver_copies()
    to(target).copy_to_device(picked)
    assert driver_copies() - before <= most
    assert np.array_equal(target.copy_to_host(), expected)


@pytest.mark.parametrize("case", UNMATCHED)
def test_unmatched_layouts_take_one_driver_copy_from_and_to_host(simulator: str, driver: str, case: str) -> None:
    shape, to, of, _ = UNMATCHED[case]
    host, expected = values(shape), np.zeros(shape, "<i4")
    target = cuarray.to_device(expected)
    wanted = to(expected)
    given_values = np.broadcast_to(of(host), wanted.shape)
    wanted[...] = given_values
    before = driver_copies()
    to(target).copy_to_device(given_values)
    assert driver_copies() - before == 1
    assert np.array_equal(target.copy_to_host(), expected)
    fetched = np.zeros_like(given_values)
    before = driver_copies()
    to(target).copy_to_host(fetched)
    assert driver_copies() - before == 1
    assert np.array_equal(fetched, wanted)


# --- overlapping views ------------------------------------------------------------------------------------------------------


@st.composite
def overlapping(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]:
    """The shape of an array, and two selections from it of one shape."""
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    to, of = [], []
    for length in shape:
        count = draw(st.integers(1, length))
        for slices in (to, of):
            step = draw(st.integers(1, max(1, (length - 1) // max(1, count - 1))))
            start = draw(st.integers(0, length - 1 - step * (count - 1)))
            forward = slice(start, start + step * (count - 1) + 1, step)
            last = start + step * (count - 1)
            stop = start - 1 if start else None
            slices.append(draw(st.sampled_from([forward, slice(last, stop, -step)])))
    return shape, tuple(to), tuple(of)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=overlapping(), in_stream=st.booleans())
def test_copy_between_overlapping_views_matches_numpy(driver: str, case: Any, in_stream: bool) -> None:
    shape, to, of = case
    host = values(shape)
    array = cuarray.to_device(host)
    stream = cuarray.stream() if in_stream else None
    array[to].copy_to_device(array[of], stream=stream)
    finish(stream)
    host[to] = host[of].copy()
    assert np.array_equal(array.copy_to_host(), host)


# --- arbitrary layouts ------------------------------------------------------------------------------------------------------


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...], itemsize: int, overlapping: bool) -> tuple[int, ...]:
    """Byte strides in a random order of axes, with gaps and signs; elements share bytes only if ``overlapping``."""
    if overlapping and draw(st.booleans()):
        return tuple(draw(st.integers(-3 * itemsize, 3 * itemsize)) for _ in shape)
    strides, step = [0] * len(shape), itemsize
    for axis in draw(st.permutations(range(len(shape)))):
        stride = step + draw(st.sampled_from([0, 0, 0, itemsize, 1, 7]))
        strides[axis] = stride * draw(st.sampled_from([1, 1, -1]))
        step = stride * max(shape[axis], 1)
    return tuple(strides)


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], int, tuple[int, ...], tuple[int, ...]]:
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 4, 5]), max_size=5)))
    itemsize = draw(st.sampled_from([1, 2, 3, 4, 8, 16]))
    return shape, itemsize, draw(layouts(shape, itemsize, False)), draw(layouts(shape, itemsize, True))


def laid_out(shape: tuple[int, ...], itemsize: int, strides: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """A host array of exactly this layout, filled with random bytes."""
    ends = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)] if 0 not in shape else []
    low, high = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
    raw = np.random.default_rng(seed).integers(0, 256, high - low + itemsize, np.uint8)
    return np.ndarray(shape, f"V{itemsize}", raw, -low, strides)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_copies_between_arbitrary_layouts_match_numpy(driver: str, case: Any) -> None:
    shape, itemsize, to, of = case
    host = laid_out(shape, itemsize, of, 1)
    expected = np.ascontiguousarray(host).tobytes()

    device = LaidOut(laid_out(shape, itemsize, to, 2))
    device.array.copy_to_device(host)
    assert np.ascontiguousarray(device.host()).tobytes() == expected
    device.assert_gaps_untouched()

    overlapping = LaidOut(host)
    if host.size:
        overlapping.bytes.copy_to_device(host.base)
    assert overlapping.array.copy_to_host().tobytes("C") == expected

    target = laid_out(shape, itemsize, to, 3)
    overlapping.array.copy_to_host(target)
    assert np.ascontiguousarray(target).tobytes() == expected

    other = LaidOut(laid_out(shape, itemsize, to, 4))
    other.array.copy_to_device(overlapping.array)
    assert np.ascontiguousarray(other.host()).tobytes() == expected
    other.assert_gaps_untouched()


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_to_device_of_arbitrary_layout_is_contiguous_and_keeps_values(driver: str, case: Any) -> None:
    shape, itemsize, _, of = case
    host = laid_out(shape, itemsize, of, 5)
    array = cuarray.to_device(host)
    assert array.is_c_contiguous() or array.is_f_contiguous()
    assert array.copy_to_host().tobytes("C") == np.ascontiguousarray(host).tobytes()


@pytest.mark.parametrize("dtype", [">m8", ">M8", "<m8", ">m8[s]", "|S0", "<U0", ">U2", "|V0"])
def test_copy_to_host_keeps_types_that_numpy_empty_changes(driver, dtype):
    """`numpy.empty` makes `<m8` of `>m8` and `|S1` of `|S0`."""
    dtype = np.dtype(dtype)
    host = np.frombuffer(bytes(range(2 * dtype.itemsize)), "u1").view(dtype) if dtype.itemsize else np.ndarray(2, dtype)
    array = cuarray.to_device(host)
    for copied in (array.copy_to_host(), np.asarray(array), array[::-1].copy_to_host()[::-1]):
        assert copied.dtype == dtype
        assert copied.tobytes() == host.tobytes()
