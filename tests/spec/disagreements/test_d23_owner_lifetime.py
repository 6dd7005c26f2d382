"""D23: libraries differ in which owners they keep alive.

The text of version 2 requires that the consumer keeps a reference to the object; version 3 leaves it to the user. JAX, RMM's copies
and ``from_cuda_array_interface`` without an owner keep nothing, other libraries keep the object.

The text of version 3: reading the attribute keeps nothing alive (L1). A consumer that makes an array from an *object* holds it (L2).
A consumer that makes an array from a *dictionary* holds the given owner, if any (L3).

cuarray: follows version 3. An array and each of its views hold the object that the array came from, for as long as they live. If an
array of cuarray returns from another library, the import holds the first owner, so that repeated exchanges build no chain of owners.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, foreign

import cuarray


@pytest.fixture
def producers(driver: str) -> list[Producer]:
    """Return a list with the only reference to another library's array, for ``pop()``."""
    return [foreign(cuarray.to_device(np.arange(6).reshape(2, 3)))]


def test_array_keeps_its_object_alive(producers: list[Producer]) -> None:
    alive = weakref.ref(producers[0])
    array = cuarray.as_cuda_array(producers.pop())
    gc.collect()
    assert alive() is array.owner is not None
    assert array.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    del array
    assert alive() is None


VIEWS: list[Callable[[cuarray.DeviceArray], cuarray.DeviceArray]] = [
    lambda a: a[1:],
    lambda a: a.T,
    lambda a: a.reshape(-1)[::2],
    lambda a: a.view("<u8"),
    lambda a: next(iter(a)),
    lambda a: a.ravel(),
]


@pytest.mark.parametrize("view", VIEWS)
def test_views_keep_the_object_alive(
    producers: list[Producer], view: Callable[[cuarray.DeviceArray], cuarray.DeviceArray]
) -> None:
    alive = weakref.ref(producers[0])
    array = cuarray.as_cuda_array(producers.pop())
    expected = view(array).copy_to_host()
    array = view(array)
    gc.collect()
    assert alive() is not None
    assert np.array_equal(array.copy_to_host(), expected)
    del array
    gc.collect()
    assert alive() is None


def test_array_from_dictionary_keeps_only_the_given_owner_alive(producers: list[Producer]) -> None:
    alive = weakref.ref(producers[0])
    owned = cuarray.from_cuda_array_interface(producers[0].__cuda_array_interface__, producers[0])
    bare = cuarray.from_cuda_array_interface(producers[0].__cuda_array_interface__)
    assert bare.owner is None
    producers.clear()
    gc.collect()
    assert alive() is owned.owner is not None
    del owned
    assert alive() is None
    assert bare.shape == (2, 3)


def test_reading_the_attribute_keeps_nothing_alive(driver: str) -> None:
    array = cuarray.to_device(np.arange(4))
    alive = weakref.ref(array)
    exported = array.__cuda_array_interface__
    described = cuarray.interface(array)
    del array
    gc.collect()
    assert alive() is None
    assert exported["data"][0] == described.ptr


def test_views_of_views_hold_the_first_owner(producers: list[Producer]) -> None:
    producer = producers.pop()
    array = cuarray.as_cuda_array(producer)
    for _ in range(100):
        array = cuarray.as_cuda_array(array[:].T.T.bind(None).view("<u8").view("<i8"))
        assert array.owner is producer


def test_array_through_numba_a_hundred_times_is_freed_with_the_last_reference(driver: str, numba: Any) -> None:
    array = cuarray.to_device(np.arange(4))
    memory = array.owner
    assert cuarray.as_cuda_array(array) is array
    alive = weakref.ref(array)
    for _ in range(100):
        array = cuarray.as_cuda_array(numba.as_cuda_array(array))
    assert array.copy_to_host().tolist() == [0, 1, 2, 3]
    assert array.ptr == memory.ptr
    del array
    gc.collect()
    assert alive() is None


def test_reference_cycle_through_the_owner_is_collected(driver: str) -> None:
    producer = foreign(cuarray.to_device(np.arange(4)))
    producer.array = cuarray.as_cuda_array(producer)  # type: ignore[attr-defined]
    alive = weakref.ref(producer)
    del producer
    gc.collect()
    assert alive() is None


def test_last_reference_can_be_dropped_in_another_thread(producers: list[Producer]) -> None:
    alive = weakref.ref(producers[0])
    arrays = [cuarray.as_cuda_array(producers.pop())]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert alive() is None


def depth(array: Any) -> int:
    """Return the length of an array's chain of owners."""
    links = 0
    while array is not None:
        if isinstance(array, cuarray.DeviceArray):
            array = array.owner
        else:
            data = getattr(array, "gpu_data", None)
            array = getattr(data, "owner", None)
            if array is data:
                array = None
        links += 1
    return links


def test_thousand_exchanges_with_numba_build_no_chain_of_owners(driver: str, numba: Any) -> None:
    host = np.arange(6, dtype=np.float32)
    array = cuarray.to_device(host)
    first = depth(array)
    for _ in range(1000):
        array = cuarray.as_cuda_array(numba.as_cuda_array(array))
    assert depth(array) == first
    assert depth(numba.as_cuda_array(array)) == first + 1
    assert np.array_equal(array.copy_to_host(), host)


def test_slice_returned_by_numba_is_a_view_of_the_array(driver: str, numba: Any) -> None:
    array = cuarray.to_device(np.arange(12.0).reshape(3, 4))
    part = cuarray.as_cuda_array(numba.as_cuda_array(array)[1:, ::2])
    assert part.owner is array.owner
    assert part.copy_to_host().tolist() == [[4, 6], [8, 10]]
    # It shares the list of pending work.
    stream = cuarray.stream()
    driver_probe.fill(part.ptr, 0, 8, stream.handle)
    part.record_stream(stream)
    assert array.__cuda_array_interface__["stream"] is not None
    assert array.copy_to_host()[1, 0] == 0


def test_array_returned_by_numba_keeps_the_memory(driver: str, numba: Any) -> None:
    array = cuarray.to_device(np.arange(4))
    back = cuarray.as_cuda_array(numba.as_cuda_array(array))
    del array
    gc.collect()
    assert back.copy_to_host().tolist() == [0, 1, 2, 3]


def test_read_only_array_returned_by_numba_is_read_only(driver: str, numba: Any) -> None:
    memory = cuarray.to_device(np.arange(4))
    locked = cuarray.as_cuda_array(foreign(memory, data=(memory.ptr, True)))
    assert cuarray.as_cuda_array(numba.as_cuda_array(locked)).readonly


def test_ended_borrow_is_an_error_for_array_returned_by_numba(driver: str, numba: Any) -> None:
    array = cuarray.to_device(np.arange(4))
    with cuarray.borrow(array, cuarray.stream()) as lent:
        back = cuarray.as_cuda_array(numba.as_cuda_array(lent))
        assert back.stream == lent.stream
    with pytest.raises(BufferError, match="borrow has ended"):
        back.copy_to_host()


def test_numba_array_with_its_own_stream_or_memory_is_kept_as_owner(driver: str, numba: Any) -> None:
    array = cuarray.to_device(np.arange(4))
    bound = numba.as_cuda_array(array).bind(numba.stream())
    assert cuarray.as_cuda_array(bound).owner is bound, "the numba array keeps its stream"
    numba_array = numba.to_device(np.arange(4))
    assert cuarray.as_cuda_array(numba_array).owner is numba_array, "the numba array keeps its memory"

    class Subclass(type(numba_array)):  # type: ignore[misc]
        pass

    other = numba.as_cuda_array(array)
    other.__class__ = Subclass
    assert cuarray.as_cuda_array(other).owner is other, "a subclass may keep other resources"
