"""Clauses L1 to L5: lifetimes of arrays, owners and streams."""

from __future__ import annotations

import gc
import sys
import weakref

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream, held
from producers import Producer, describe

import cuarray


def test_l1_exported_dictionary_keeps_nothing_alive(driver: str) -> None:
    array = cuarray.to_device([1, 2, 3])
    count, reference = sys.getrefcount(array), weakref.ref(array)
    interface = array.__cuda_array_interface__
    assert sys.getrefcount(array) == count
    del array
    assert reference() is None
    assert interface["shape"] == (3,)


def test_l1_interface_and_is_cuda_array_keep_nothing_alive() -> None:
    producer = Producer(describe())
    reference = weakref.ref(producer)
    read, is_array = cuarray.interface(producer), cuarray.is_cuda_array(producer)
    del producer
    assert reference() is None
    assert (read.shape, is_array) == ((2,), True)


def test_l2_import_keeps_object_alive(driver: str) -> None:
    memory = cuarray.to_device(np.arange(4))
    producer = Producer(memory.__cuda_array_interface__, keeps=memory)
    reference = weakref.ref(producer)
    array = cuarray.as_cuda_array(producer)
    del memory, producer
    gc.collect()
    assert array.owner is reference() is not None
    assert array.copy_to_host().tolist() == [0, 1, 2, 3]
    del array
    assert reference() is None


def test_l2_repeated_imports_and_views_keep_memory_alive(driver: str) -> None:
    memory = cuarray.to_device(np.arange(4))
    reference = weakref.ref(memory.owner)
    array = cuarray.as_cuda_array(Producer(memory.__cuda_array_interface__, keeps=memory))
    array = cuarray.as_cuda_array(Producer(array.__cuda_array_interface__, keeps=array))
    view = array[1:][::-1]
    del memory, array
    gc.collect()
    assert reference() is not None
    assert view.copy_to_host().tolist() == [3, 2, 1]
    del view
    gc.collect()
    assert reference() is None


def test_l3_from_cuda_array_interface_without_owner_keeps_nothing_alive() -> None:
    producer = Producer(describe())
    reference = weakref.ref(producer)
    array = cuarray.from_cuda_array_interface(producer.__cuda_array_interface__)
    del producer
    assert reference() is None
    assert array.owner is None


def test_l3_from_cuda_array_interface_keeps_given_owner_alive() -> None:
    owner = Producer(describe())
    reference = weakref.ref(owner)
    array = cuarray.from_cuda_array_interface(describe(), owner=owner)
    del owner
    assert array.owner is reference() is not None
    del array
    assert reference() is None


@pytest.mark.parametrize("how", ["own", "provider"])
def test_l4_exported_stream_lives_as_long_as_the_array(driver: str, how: str) -> None:
    if how == "own":
        given: cuarray.Stream | ForeignStream = cuarray.stream()
    else:
        given = ForeignStream()
    handle, reference = given.handle, weakref.ref(given)
    array = cuarray.device_array(4, "u1", stream=given)
    if how == "own":
        del given
        gc.collect()
    assert array.__cuda_array_interface__["stream"] == handle
    with held(handle) as hold:
        assert not driver_probe.is_done(handle)
        hold.release()
    del hold
    assert driver_probe.is_done(handle)
    if how == "provider":
        del given
        assert reference() is not None
        kept = reference()
        del array
        assert kept is not None
        kept.destroy()  # type: ignore[union-attr]
        del kept
    else:
        del array
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize(
    "make", [cuarray.stream, cuarray.default_stream, cuarray.legacy_default_stream, cuarray.per_thread_default_stream]
)
def test_l5_arrays_keep_library_streams_alive(driver: str, make: object) -> None:
    stream = make()  # type: ignore[operator]
    reference = weakref.ref(stream)
    first, second = cuarray.device_array(4, stream=stream), cuarray.to_device([1, 2], stream=stream)
    view = second[:1]
    del stream, first, second
    gc.collect()
    assert view.stream is reference()
    assert view.copy_to_host().tolist() == [1]
    del view
    assert reference() is None


def test_l5_external_stream_is_not_kept_alive(driver: str) -> None:
    stream = ForeignStream()
    array = cuarray.device_array(4, "u1", stream=cuarray.external_stream(stream.handle))
    array.copy_to_device(np.zeros(4, np.uint8))
    reference = weakref.ref(stream)
    stream.destroy()
    del stream
    assert reference() is None
    del array  # cuarray's own resources are released without the stream
