"""``a[key] = value``: the result equals NumPy's, no other byte changes, and few driver calls are made."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from producers import Producer, describe, foreign
from same_layout import SameLayout, hosts

import cuarray
import cuarray_sim

PROPERTY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def broadcastable(draw: st.DrawFn, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array that broadcasts to a shape: axes of length 1, missing axes or stride 0, in any order and direction."""
    lengths = [length if length == 1 else draw(st.sampled_from([length, length, 1])) for length in shape]
    missing = draw(st.integers(0, len(shape)))
    lengths = lengths[missing:] if draw(st.booleans()) else [*[1] * draw(st.integers(0, 2)), *lengths]
    order = draw(st.permutations(range(len(lengths))))
    array_key = np.zeros([lengths[axis] for axis in order], dtype).transpose(np.argsort(order))
    array_key[...] = (np.arange(100, 100 + array_key.size) % 251).reshape(array_key.shape).astype(dtype)
    value = array_key[(..., *(slice(None, None, draw(st.sampled_from([1, -1]))) for _ in lengths))]
    if draw(st.booleans()) and len(lengths) <= len(shape):
        value = np.broadcast_to(value, shape)
    return value


def any_key(data: st.DataObject, host: np.ndarray[Any, Any]) -> Any:
    return data.draw(hnp.basic_indices(host.shape, max_dims=6, allow_newaxis=True, allow_ellipsis=True))


def array_key(key: Any) -> Any:
    """The key with an ellipsis, so that it selects an array even for one element; NumPy assigns no 1-d array to a scalar."""
    key = key if isinstance(key, tuple) else (key,)
    return key if ... in key else (*key, ...)


@PROPERTY
@given(data=st.data())
def test_assigning_host_array_matches_numpy(driver: str, data: st.DataObject) -> None:
    base = SameLayout(data.draw(hosts()))
    key = any_key(data, base.host)
    expected, before = base.host.copy(), base.bytes.copy_to_host()
    value = data.draw(broadcastable(np.shape(base.host[key]), base.host.dtype))
    expected[array_key(key)] = value
    base.array[key] = value
    base.assert_is(expected, before)


@PROPERTY
@given(data=st.data())
def test_assigning_device_array_matches_numpy(driver: str, data: st.DataObject) -> None:
    stream = data.draw(st.sampled_from([None, cuarray.stream()]))
    base = SameLayout(data.draw(hosts()), stream=stream)
    key = any_key(data, base.host)
    expected, before = base.host.copy(), base.bytes.copy_to_host()
    value = SameLayout(data.draw(broadcastable(np.shape(base.host[key]), base.host.dtype)))
    expected[array_key(key)] = value.host
    base.array[key] = value.array
    base.assert_is(expected, before)


@PROPERTY
@given(data=st.data())
def test_assigning_scalar_matches_numpy(driver: str, data: st.DataObject) -> None:
    stream = data.draw(st.sampled_from([None, cuarray.stream()]))
    base = SameLayout(data.draw(hosts()), stream=stream)
    key = any_key(data, base.host)
    expected, before = base.host.copy(), base.bytes.copy_to_host()
    value = data.draw(st.sampled_from([0, 7, 200, b"ab" if base.host.dtype.kind == "S" else 3]))
    expected[key] = value
    base.array[key] = value
    base.assert_is(expected, before)


@PROPERTY
@given(data=st.data())
def test_assigning_overlapping_slice_of_same_array_matches_numpy(driver: str, data: st.DataObject) -> None:
    stream = data.draw(st.sampled_from([None, cuarray.stream()]))
    base = SameLayout(data.draw(hosts(min_dims=1, max_dims=3, min_side=1)), stream=stream)
    length = data.draw(st.integers(1, base.host.shape[0]))
    starts = st.integers(0, base.host.shape[0] - length)
    direction = st.sampled_from([1, -1])

    def part() -> Any:
        start, step = data.draw(starts), data.draw(direction)
        return (
            slice(start, start + length) if step == 1 else slice(start + length - 1, start - 1 if start else None, -1)
        )

    to, of = part(), part()
    expected, before = base.host.copy(), base.bytes.copy_to_host()
    expected[to] = expected[of].copy()
    base.array[to] = base.array[of]
    base.assert_is(expected, before)


@pytest.mark.parametrize("dtype", ["u1", "<u2", "<f4", "<f8", "<c16", "S3", "V20", "V100", "<M8[s]"])
@pytest.mark.parametrize("stream", [False, True], ids=["without stream", "in a stream"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (300, 500), (40, 50, 60)])
def test_fill_writes_elements_of_every_size(driver: str, dtype: str, stream: bool, shape: tuple[int, ...]) -> None:
    host = np.zeros(shape, dtype)
    base = SameLayout(host, stream=cuarray.stream() if stream else None)
    value = np.frombuffer(bytes(range(1, 1 + host.itemsize)), dtype)[0]
    for key in (..., (slice(None, None, 2),) * host.ndim, (slice(1, None, -1),) * host.ndim):
        host[key] = value
        base.array[key] = value
        assert base.fetched().tobytes() == host.tobytes()


@pytest.mark.parametrize("dtype", ["<f4", "<f8"])
@pytest.mark.parametrize("value_shape", [(600,), (500, 1), (1, 1), (1, 1, 500, 600)])
@pytest.mark.parametrize("on_device", [False, True])
def test_large_value_is_broadcast_on_assignment(
    driver: str, dtype: str, value_shape: tuple[int, ...], on_device: bool
) -> None:
    array = cuarray.to_device(np.zeros((500, 600), dtype))
    value = np.arange(np.prod(value_shape), dtype=dtype).reshape(value_shape) + dtype.count("8")
    array[...] = cuarray.to_device(value) if on_device else value
    expected = np.zeros((500, 600), dtype)
    expected[...] = value
    assert np.array_equal(array.copy_to_host(), expected)


def test_large_transposed_and_reversed_arrays_are_assigned(driver: str) -> None:
    host = np.arange(300 * 400, dtype="<f4").reshape(300, 400)
    array, source = cuarray.to_device(np.zeros((400, 300), "<f4")), cuarray.to_device(host)
    for stream in (None, cuarray.stream()):
        array.setitem(..., source.T[::-1], stream)
        if stream is not None:
            stream.synchronize()
        assert np.array_equal(array.copy_to_host(), host.T[::-1])
        array[...] = 0
    array.T[...] = host[:, ::-1]
    assert np.array_equal(array.copy_to_host(), host[:, ::-1].T)


def test_assigning_to_array_with_overlapping_elements_sets_each_element(driver: str) -> None:
    """A sliding window: the elements share memory, and are written one after the other as on the host."""
    memory = cuarray.to_device(np.arange(10, dtype="<i4"))
    windows = cuarray.as_cuda_array(foreign(memory, shape=(8, 3), strides=(4, 4)))
    windows[...] = 5
    assert memory.copy_to_host().tolist() == [5] * 10
    windows[...] = np.arange(8)[:, None] * 0 + 7
    assert memory.copy_to_host().tolist() == [7] * 10


class TestConversion:
    def test_host_values_are_converted_to_array_dtype(self, driver: str) -> None:
        array = cuarray.to_device(np.zeros(4, "<i4"))
        array[0] = 1.9
        array[1] = True
        array[2:] = np.array([2.5, -3.5])
        assert array.copy_to_host().tolist() == [1, 1, 2, -3]
        array[:] = [4, 5, 6, 7]
        array[0] = np.array([[9]])
        assert array.copy_to_host().tolist() == [9, 5, 6, 7]

    def test_structures_strings_and_datetimes_are_assigned(self, driver: str) -> None:
        records = cuarray.to_device(np.zeros(2, [("a", "<i2"), ("b", "<f8")]))
        records[0] = (3, 2.5)
        records["b"] = 1.0
        assert records.copy_to_host().tolist() == [(3, 1.0), (0, 1.0)]
        words = cuarray.to_device(np.array(["", ""], "<U4"))
        words[1] = "grün"
        assert words[1] == "grün"
        times = cuarray.to_device(np.zeros(2, "<M8[D]"))
        times[0] = "2026-11-21"
        assert times[0] == np.datetime64("2026-11-21")

    @pytest.mark.parametrize(("value", "error"), [("x", ValueError), (300, OverflowError), (object(), TypeError)])
    def test_unconvertible_value_raises_numpy_error_and_writes_nothing(
        self, driver: str, value: Any, error: type[Exception]
    ) -> None:
        array = cuarray.to_device(np.zeros(3, "u1"))
        with pytest.raises(error):
            array[0] = value
        assert array.copy_to_host().tolist() == [0, 0, 0]

    def test_device_array_of_other_dtype_is_refused(self, driver: str) -> None:
        array = cuarray.to_device(np.zeros(3, "<f4"))
        with pytest.raises(ValueError, match=r"'<f8' to '<f4'.*needs a kernel"):
            array[:] = cuarray.to_device(np.ones(3))
        array[:] = cuarray.to_device(np.ones(3)).copy_to_host()
        assert array.copy_to_host().tolist() == [1, 1, 1]

    def test_structure_with_other_fields_is_refused(self, driver: str) -> None:
        array = cuarray.to_device(np.zeros(3, [("a", "<i4")]))
        with pytest.raises(ValueError, match="needs a kernel"):
            array[:] = cuarray.to_device(np.zeros(3, [("b", "<f4")]))


class TestRefusals:
    @pytest.mark.parametrize("value", [1, np.ones(3), "device"])
    def test_read_only_array_is_not_assigned(self, driver: str, value: Any) -> None:
        array = cuarray.to_device(np.zeros(3))
        frozen = cuarray.as_cuda_array(foreign(array, data=(array.ptr, True)))
        with pytest.raises(BufferError, match="read-only"):
            frozen[:] = cuarray.to_device(np.ones(3)) if isinstance(value, str) else value
        with pytest.raises(BufferError, match="read-only"):
            frozen[::2][0] = 1.0
        assert array.copy_to_host().tolist() == [0, 0, 0]

    @pytest.mark.parametrize(
        ("key", "shape"), [(..., (4,)), (..., (2, 1)), (0, (3, 1)), (..., (2, 3, 4)), ((0, 0), (2,)), (..., (0,))]
    )
    @pytest.mark.parametrize("on_device", [False, True])
    def test_value_that_does_not_broadcast_is_refused(
        self, driver: str, key: Any, shape: tuple[int, ...], on_device: bool
    ) -> None:
        array, value = cuarray.to_device(np.zeros((3, 3))), np.ones(shape)
        with pytest.raises(ValueError, match="cannot broadcast"):
            array[key] = cuarray.to_device(value) if on_device else value
        assert not array.copy_to_host().any()

    def test_assigning_to_broadcast_array_is_refused(self, driver: str) -> None:
        memory = cuarray.to_device(np.zeros(1))
        wide = cuarray.as_cuda_array(foreign(memory, shape=(4,), strides=(0,)))
        with pytest.raises(ValueError, match="broadcast"):
            wide[:] = np.arange(4.0)

    def test_invalid_key_raises_and_writes_nothing(self, driver: str) -> None:
        array = cuarray.to_device(np.zeros(3))
        for key, error in ((3, IndexError), ([0, 1], TypeError), ("x", IndexError)):
            with pytest.raises(error):
                array[key] = 1.0
        assert not array.copy_to_host().any()

    def test_assigning_to_or_from_masked_array_is_refused(self, driver: str) -> None:
        array, valid = cuarray.to_device(np.zeros(3)), cuarray.to_device([True, False, True])
        masked = cuarray.as_cuda_array(foreign(array, mask=valid))
        with pytest.raises(BufferError, match="mask"):
            masked[0] = 1.0
        for value in (masked, np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])):
            with pytest.raises(BufferError, match="mask"):
                array[:] = value
        masked.data[0] = 1.0
        assert array[0] == 1.0

    def test_value_whose_interface_attribute_raises_is_refused(self, driver: str) -> None:
        class Raises:
            @property
            def __cuda_array_interface__(self) -> Any:
                raise RuntimeError("of its own")

        with pytest.raises(TypeError, match="RuntimeError"):
            cuarray.to_device(np.zeros(3))[:] = Raises()

    def test_assigning_to_empty_array_needs_no_driver(self) -> None:
        array = cuarray.from_cuda_array_interface(describe(shape=(0, 3), data=(0, False)))
        array[...] = 1
        array[...] = np.ones(3)
        array[...] = Producer(describe(shape=(0, 3), data=(0, False)))
        with pytest.raises(ValueError, match="cannot broadcast"):
            array[...] = np.ones(4)


class TestStreams:
    """Work behind a held stream has not run, so a call that returns meanwhile did not wait."""

    @pytest.mark.parametrize("dtype", ["u1", "<i4", "<f8", "<c16"])
    def test_fill_returns_before_it_has_run(self, driver: str, dtype: str) -> None:
        stream = cuarray.stream()
        array = cuarray.to_device(np.zeros(5, dtype), stream=stream)
        with driver_probe.held(stream.handle) as hold:
            array[1:3] = 2
            array[4] = 3
            assert not stream.query()
            hold.release()
        assert array.copy_to_host().tolist() == [0, 2, 2, 0, 3]

    def test_device_to_device_assignment_returns_before_it_has_run(self, driver: str) -> None:
        stream = cuarray.stream()
        array = cuarray.to_device(np.zeros((4, 3)), stream=stream)
        row = cuarray.to_device(np.arange(3.0))
        with driver_probe.held(stream.handle) as hold:
            array[:] = row
            array[1:] = array[:-1]
            assert not stream.query()
            hold.release()
        assert (array.copy_to_host() == np.arange(3)).all()

    def test_setitem_in_given_stream_is_ordered_with_home_stream(self, driver: str) -> None:
        home, given_stream = cuarray.stream(), cuarray.stream()
        array = cuarray.to_device(np.zeros(3, "<i4"), stream=home)
        with driver_probe.held(home.handle) as hold:
            array[:] = 1
            array.setitem(slice(1, None), 2, stream=given_stream)
            array[2] = 3
            assert not given_stream.query()
            hold.release()
        assert array.copy_to_host().tolist() == [1, 2, 3]

    def test_assignment_waits_for_home_stream_of_source_and_blocks_its_next_write(self, driver: str) -> None:
        source_stream, target_stream = cuarray.stream(), cuarray.stream()
        source = cuarray.to_device(np.zeros(3, "<i4"), stream=source_stream)
        array = cuarray.to_device(np.zeros(3, "<i4"), stream=target_stream)
        with driver_probe.held(source_stream.handle) as hold:
            source[:] = 5
            array[:] = source
            source[:] = 6  # after the copy has read
            assert not target_stream.query()
            hold.release()
        assert array.copy_to_host().tolist() == [5, 5, 5]
        assert source.copy_to_host().tolist() == [6, 6, 6]

    def test_pinned_source_may_be_overwritten_after_assignment(self, driver: str) -> None:
        array = cuarray.to_device(np.zeros(1000), stream=cuarray.stream())
        source = cuarray.pinned_array(1000)
        source[:] = 4
        array[:] = source
        source[:] = 5
        assert (array.copy_to_host() == 4).all()

    def test_fill_without_stream_is_complete_on_return(self, driver: str) -> None:
        array = cuarray.to_device(np.zeros(3, "<i4"))
        array[:] = 7
        assert driver_probe.is_done(1)

    def test_setitem_runs_in_foreign_stream(self, foreign_stream: Any) -> None:
        array = cuarray.to_device(np.zeros(3))
        array.setitem(..., 1.5, stream=foreign_stream)
        driver_probe.synchronize(foreign_stream.handle)
        assert array.copy_to_host().tolist() == [1.5, 1.5, 1.5]


class TestDriverCalls:
    """The number of copies and fills that an assignment takes, as counted by the simulated driver."""

    @staticmethod
    def transfers(work: Callable[[], None]) -> int:
        def count() -> int:
            calls = cuarray_sim.statistics()["calls"]
            return sum(number for name, number in calls.items() if name.startswith(("cuMemcpy", "cuMemset")))

        before = count()
        work()
        return count() - before

    @pytest.mark.parametrize(
        ("dtype", "key", "value", "most"),
        [
            ("<f4", ..., 1.5, 1),
            ("<f4", (slice(None), slice(10, 20)), 1.5, 1),  # rows
            ("<f4", (slice(None), slice(None, None, 2)), 1.5, 1),  # a pitch
            ("<f8", ..., 0.0, 1),  # all bytes the same
            ("<f8", ..., 1.5, 2 + 10 + 10),  # two words, doubled
            ("<f4", ..., np.arange(1000.0), 1 + 10),  # a row
            ("<f4", ..., np.arange(1000.0)[:, None], 1 + 10),  # a column
            ("<f4", slice(None, None, -1), np.arange(10**6).reshape(1000, 1000), 1),
            ("<f4", ..., np.arange(10**6).reshape(1000, 1000).T[:, ::-1], 1),
            ("<f8", (3, 4), 1.5, 2),
        ],
        ids=range(10),
    )
    def test_host_value_takes_few_transfers(self, simulator: str, dtype: str, key: Any, value: Any, most: int) -> None:
        array = cuarray.to_device(np.zeros((1000, 1000), dtype), stream=cuarray.stream())
        assert self.transfers(lambda: array.__setitem__(key, value)) <= most
        expected = np.zeros((1000, 1000), dtype)
        expected[key] = value
        assert np.array_equal(array.copy_to_host(), expected)

    @pytest.mark.parametrize(
        ("of", "most"),
        [
            (lambda a: a, 1),
            (lambda a: a[::-1, ::-1], 2),  # through the host, there and back
            (lambda a: a.T, 2),
            (lambda a: a[:1], 1 + 10),
            (lambda a: a[:, :1], 1 + 10),
            (lambda a: a[:1, :1], 1 + 10 + 10),
            (lambda a: a[::-1, :1], 2 + 10),  # the column through the host
        ],
    )
    def test_device_value_takes_few_transfers(self, simulator: str, of: Callable[[Any], Any], most: int) -> None:
        host = np.arange(10**6, dtype="<i4").reshape(1000, 1000)
        source, array = cuarray.to_device(host), cuarray.to_device(np.zeros_like(host))
        assert self.transfers(lambda: array.__setitem__(..., of(source))) <= most
        assert np.array_equal(array.copy_to_host(), np.broadcast_to(of(host), host.shape))

    @pytest.mark.parametrize("with_stream", [False, True])
    def test_overlapping_assignment_frees_its_one_temporary(self, simulator: str, with_stream: bool) -> None:
        array = cuarray.to_device(np.arange(1000), stream=cuarray.stream() if with_stream else None)

        def shift() -> None:
            array[1:] = array[:-1]

        gc.collect()
        before = cuarray_sim.statistics()["allocations"]
        assert self.transfers(shift) == 2
        assert array.copy_to_host()[:3].tolist() == [0, 0, 1]
        assert cuarray_sim.statistics()["allocations"] == before
