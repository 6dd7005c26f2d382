"""D23: who keeps what alive.

The page of version 2 has the consumer keep a reference to the object; that of version 3 leaves it to the user. Libraries differ
accordingly: JAX, RMM's copies and a bare ``from_cuda_array_interface`` keep nothing, the others do.

The text of version 3: reading the attribute keeps nothing alive (L1); a consumer that makes an array from an *object* holds it (L2);
one that makes it from a *dictionary* holds the owner that it is given, if any (L3).

cuarray: exactly so. An array, and each view of it, keeps the object that it came from for as long as it lives and no longer. Of an
array that bounces to and fro each stage keeps the one before, as the clause has it; views and copies of ours add none.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, foreign

import cuarray


@pytest.fixture
def theirs(driver: str) -> list[Producer]:
    """The only reference to another library's array; ``pop()`` takes it."""
    return [foreign(cuarray.to_device(np.arange(6).reshape(2, 3)))]


def test_the_object_lives_as_long_as_the_array(theirs: list[Producer]) -> None:
    alive = weakref.ref(theirs[0])
    array = cuarray.as_cuda_array(theirs.pop())
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
def test_views_keep_it_too(theirs: list[Producer], view: Callable[[cuarray.DeviceArray], cuarray.DeviceArray]) -> None:
    alive = weakref.ref(theirs[0])
    array = cuarray.as_cuda_array(theirs.pop())
    expected = view(array).copy_to_host()
    array = view(array)
    gc.collect()
    assert alive() is not None
    assert np.array_equal(array.copy_to_host(), expected)
    del array
    gc.collect()
    assert alive() is None


def test_a_dictionary_keeps_nothing_but_the_owner_that_is_given(theirs: list[Producer]) -> None:
    alive = weakref.ref(theirs[0])
    owned = cuarray.from_cuda_array_interface(theirs[0].__cuda_array_interface__, theirs[0])
    bare = cuarray.from_cuda_array_interface(theirs[0].__cuda_array_interface__)
    assert bare.owner is None
    theirs.clear()
    gc.collect()
    assert alive() is owned.owner is not None
    del owned
    assert alive() is None
    assert bare.shape == (2, 3)


def test_reading_the_attribute_keeps_nothing(driver: str) -> None:
    array = cuarray.to_device(np.arange(4))
    alive = weakref.ref(array)
    exported = array.__cuda_array_interface__
    described = cuarray.interface(array)
    del array
    gc.collect()
    assert alive() is None
    assert exported["data"][0] == described.ptr


def test_views_of_views_add_nothing_to_the_chain(theirs: list[Producer]) -> None:
    producer = theirs.pop()
    array = cuarray.as_cuda_array(producer)
    for _ in range(100):
        array = cuarray.as_cuda_array(array[:].T.T.bind(None).view("<u8").view("<i8"))
        assert array.owner is producer


def test_what_bounces_is_let_go_as_a_whole(driver: str, numba: Any) -> None:
    """Ours to numba and back, a hundred times: each keeps what it came from; letting go of the last lets go of all."""
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


def test_a_cycle_through_the_owner_is_collected(driver: str) -> None:
    producer = foreign(cuarray.to_device(np.arange(4)))
    producer.array = cuarray.as_cuda_array(producer)  # type: ignore[attr-defined]
    alive = weakref.ref(producer)
    del producer
    gc.collect()
    assert alive() is None


def test_the_last_reference_may_go_in_another_thread(theirs: list[Producer]) -> None:
    alive = weakref.ref(theirs[0])
    arrays = [cuarray.as_cuda_array(theirs.pop())]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert alive() is None
