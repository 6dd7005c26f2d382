"""`DeviceArray` and `TypedView` as arguments: the types of Rust code that does not know Python."""

from __future__ import annotations

import weakref
from typing import Any

import driver_probe
import numpy as np
import pytest
import typed_views
from driver_probe import ForeignStream, held
from producers import Producer, foreign

import cuarray

FILLS = {"array": typed_views.array_fill, "view": typed_views.typed_view_fill}


def producers(memory: cuarray.DeviceArray, stream: ForeignStream) -> dict[str, Any]:
    return {"foreign": foreign(memory, stream=stream.handle), "bound": memory.bind(stream)}


@pytest.mark.usefixtures("driver")
def test_elements_arrive_on_the_host() -> None:
    x = cuarray.to_device(np.arange(6, dtype="u1"))
    for array in (x, foreign(x), x[::-2], foreign(x[::-2]), x[:0]):
        expected = cuarray.as_cuda_array(array).copy_to_host().tolist()
        assert list(typed_views.array_to_host(array)) == expected
    matrix = cuarray.to_device(np.arange(6, dtype="f4").reshape(2, 3))
    assert typed_views.typed_view_to_host(matrix, cuarray.stream()) == ([2, 3], [0, 1, 2, 3, 4, 5])


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("take", [typed_views.array_to_host, lambda x: typed_views.typed_view_fill(x, 1, 1)])
def test_checks_are_those_of_a_view(take: Any) -> None:
    x = cuarray.to_device(np.zeros(4, np.uint8))
    for array, error, why in [
        (object(), TypeError, "not a CUDA array"),
        (cuarray.to_device(np.zeros(4, np.float64)), BufferError, "'\\|u1' is expected"),
        (cuarray.to_device(np.zeros((2, 2), np.uint8)), BufferError, "1-dimensional"),
        (foreign(x, mask=x), BufferError, "mask"),
        (foreign(x, shape=(-1,)), ValueError, "shape"),
    ]:
        with pytest.raises(error, match=why):
            take(array)


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_read_only_array_is_refused_by_the_guard(fill: Any) -> None:
    x = cuarray.to_device(np.zeros(4, np.uint8))
    with pytest.raises(BufferError, match="read-only"):
        fill(foreign(x, data=(x.ptr, True)), 1, cuarray.stream())


@pytest.mark.parametrize("kind", ["foreign", "bound"])
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_work_is_ordered_with_the_producers_stream(
    producer_stream: ForeignStream, consumer_stream: ForeignStream, kind: str, fill: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = producers(memory, producer_stream)[kind]
    with held(producer_stream.handle) as hold:
        driver_probe.fill(memory.ptr, 1, 4, producer_stream.handle)
        fill(producer, 2, consumer_stream)
        assert hold.is_held, "the host waits"
        assert not driver_probe.is_done(consumer_stream.handle)
        hold.release()
        driver_probe.synchronize(producer_stream.handle)
    assert driver_probe.is_done(consumer_stream.handle)
    assert memory.copy_to_host().tolist() == [2] * 4
    cuarray.reclaim()


@pytest.mark.cuarray_sim(allow=[])
@pytest.mark.parametrize("kind", ["foreign", "bound"])
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_ordered_work_has_no_findings(
    simulator: str, producer_stream: ForeignStream, consumer_stream: ForeignStream, kind: str, fill: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = producers(memory, producer_stream)[kind]
    driver_probe.fill(memory.ptr, 1, 4, producer_stream.handle)
    fill(producer, 2, consumer_stream)
    driver_probe.fill(memory.ptr, 3, 4, producer_stream.handle)
    driver_probe.synchronize(producer_stream.handle)
    cuarray.reclaim()


def test_array_keeps_the_object_until_work_is_done(simulator: str, consumer_stream: ForeignStream) -> None:
    # Without a stream in the interface no producer waits, so only the object keeps the memory.
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = Producer(memory.__cuda_array_interface__ | {"stream": None}, keeps=memory)
    known = weakref.ref(producer)
    with held(consumer_stream.handle) as hold:
        typed_views.array_fill(producer, 1, consumer_stream)
        del producer
        assert known() is not None
        hold.release()
    cuarray.reclaim()
    assert known() is None
    assert memory.copy_to_host().tolist() == [1] * 4


@pytest.mark.usefixtures("driver")
def test_returned_argument_is_an_array_over_the_same_memory(producer_stream: ForeignStream) -> None:
    memory = cuarray.to_device(np.arange(4, dtype="u1"))
    for producer in producers(memory, producer_stream).values():
        again, home = typed_views.array_again(producer)
        assert (again.ptr, home) == (memory.ptr, producer_stream.handle)
        assert again.__cuda_array_interface__["stream"] == producer_stream.handle
        assert again.copy_to_host().tolist() == [0, 1, 2, 3]
        del again
    cuarray.reclaim()


@pytest.mark.usefixtures("driver")
def test_array_as_both_arguments_is_refused() -> None:
    x = cuarray.to_device(np.zeros(8, np.uint8))
    stream = cuarray.stream()
    for one, two in [(x, x), (x, foreign(x)), (foreign(x), x[2:]), (x[::2], x[4:])]:
        with pytest.raises(BufferError, match="share memory"):
            typed_views.array_and_output(one, two, stream)
    assert typed_views.array_and_output(x[::2], x[1::2], stream) == (4, 4)
    cuarray.reclaim()


def test_waiting_argument_lets_a_python_host_function_run(simulator: str) -> None:
    ended = driver_probe.finished_python(
        """
import cuarray_sim
cuarray_sim.install()
import cuarray, driver_probe, typed_views
import numpy as np

stream = cuarray.stream()
x = cuarray.to_device(np.ones((1, 2), np.float32), stream=stream)
y = cuarray.to_device(np.ones(2, np.uint8), stream=stream)
with driver_probe.held(stream.handle) as hold:
    hold.release_soon()
    typed_views.typed_view_to_host(x, stream)
with driver_probe.held(stream.handle) as hold:
    hold.release_soon()
    typed_views.array_to_host(y)
print("done")
""",
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
