"""`__dlpack_c_exchange_api__`: the table that DeviceArray offers, and use of other libraries' tables."""

from __future__ import annotations

import ctypes
import gc
import weakref

import dlpack_tensors as tensors
import driver_probe
import numpy as np
import pytest
from dlpack_tables import (
    ALLOCATE,
    BORROW,
    DELETE,
    FROM_OBJECT,
    OBJECT,
    SET_ERROR,
    TO_OBJECT,
    WORK_STREAM,
    Table,
    library,
)
from type_lifetime import types_end

import cuarray


@pytest.fixture
def table(driver):
    capsule = cuarray.DeviceArray.__dlpack_c_exchange_api__
    assert tensors.name(capsule) == b"dlpack_exchange_api"
    return Table.from_address(ctypes.pythonapi.PyCapsule_GetPointer(ctypes.py_object(capsule), b"dlpack_exchange_api"))


def test_table_has_version_1_3_and_every_function(table):
    assert (table.version.major, table.version.minor, table.previous) == (1, 3, None)
    assert all((table.allocate, table.from_object, table.to_object, table.borrow, table.work_stream))


def test_array_round_trips_through_table(table):
    array = cuarray.to_device(np.arange(3, dtype="int16"))
    memory = weakref.ref(array.owner)
    out = ctypes.c_void_p()
    assert FROM_OBJECT(table.from_object)(array, ctypes.byref(out)) == 0
    managed = tensors.ManagedVersioned.from_address(out.value)
    assert (managed.tensor.data, managed.tensor.ndim, managed.flags) == (array.ptr, 1, 0)
    pointer = array.ptr
    del array
    back = OBJECT()
    assert TO_OBJECT(table.to_object)(out, ctypes.byref(back)) == 0
    array, back.value = back.value, None
    # The table has given `back` a reference, which the test must drop.
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
    assert array.ptr == pointer
    assert array.copy_to_host().tolist() == [0, 1, 2]
    del array
    gc.collect()
    assert memory() is None


def test_borrowed_tensor_describes_array_and_keeps_nothing_alive(table):
    array = cuarray.to_device(np.arange(12, dtype="int16").reshape(3, 4))[:, ::2]
    memory, borrowed = weakref.ref(array.owner), tensors.Tensor()
    for _ in range(3):
        assert BORROW(table.borrow)(array, ctypes.byref(borrowed)) == 0
        assert (borrowed.data, borrowed.ndim, borrowed.byte_offset) == (array.ptr, 2, 0)
        assert (borrowed.shape[:2], borrowed.strides[:2]) == ([3, 2], [4, 2])
        assert (borrowed.device.device_type, borrowed.device.device_id) == (tensors.CUDA, 0)
        assert (borrowed.dtype.code, borrowed.dtype.bits, borrowed.dtype.lanes) == (tensors.INT, 16, 1)
    del array
    gc.collect()
    assert memory() is None


def test_work_stream_waits_for_home_stream_of_borrowed_array(table):
    home = cuarray.stream()
    array, borrowed = cuarray.device_array(2, "int8", stream=home), tensors.Tensor()
    with driver_probe.held(home.handle) as held:
        assert BORROW(table.borrow)(array, ctypes.byref(borrowed)) == 0
        assert not driver_probe.is_done(1)
        held.release()
    driver_probe.synchronize(1)


def test_work_stream_waits_for_recorded_work_on_each_call(table):
    array, borrowed, stream = cuarray.device_array(2, "int8"), tensors.Tensor(), cuarray.stream()
    assert BORROW(table.borrow)(array, ctypes.byref(borrowed)) == 0
    out = ctypes.c_void_p()
    for take in (
        lambda: BORROW(table.borrow)(array, ctypes.byref(borrowed)),
        lambda: FROM_OBJECT(table.from_object)(array, ctypes.byref(out)),
    ):
        with driver_probe.held(stream.handle) as held:
            array.record_stream(stream)
            assert take() == 0
            assert not driver_probe.is_done(1)
            held.release()
        driver_probe.synchronize(1)
    DELETE(tensors.ManagedVersioned.from_address(out.value).deleter)(out)


def test_borrowing_masked_or_ended_array_sets_python_exception(table):
    masked = cuarray.to_device(np.ma.MaskedArray([1, 2], mask=[True, False]))
    borrowed = tensors.Tensor()
    with pytest.raises(BufferError, match="mask"):
        BORROW(table.borrow)(masked, ctypes.byref(borrowed))
    with pytest.raises(TypeError):
        BORROW(table.borrow)([1, 2], ctypes.byref(borrowed))
    with cuarray.borrow(cuarray.device_array(3), stream=cuarray.stream()) as array:
        assert BORROW(table.borrow)(array, ctypes.byref(borrowed)) == 0
    for take, out in ((BORROW(table.borrow), borrowed), (FROM_OBJECT(table.from_object), ctypes.c_void_p())):
        with pytest.raises(BufferError, match="borrow has ended"):
            take(array, ctypes.byref(out))


def test_failing_table_function_sets_python_exception(table):
    masked = cuarray.to_device(np.ma.MaskedArray([1, 2], mask=[True, False]))
    with pytest.raises(BufferError, match="mask"):
        FROM_OBJECT(table.from_object)(masked, ctypes.byref(ctypes.c_void_p()))
    with pytest.raises(TypeError):
        FROM_OBJECT(table.from_object)([1, 2], ctypes.byref(ctypes.c_void_p()))
    with pytest.raises(ValueError, match="null"):
        TO_OBJECT(table.to_object)(None, ctypes.byref(OBJECT()))


def test_work_stream_waits_for_home_stream_of_exported_array(table):
    stream, home = ctypes.c_void_p(), cuarray.stream()
    assert WORK_STREAM(table.work_stream)(tensors.CUDA, 0, ctypes.byref(stream)) == 0
    assert stream.value == 1
    array = cuarray.device_array(2, "int8", stream=home)
    out = ctypes.c_void_p()
    with driver_probe.held(home.handle) as held:
        assert FROM_OBJECT(table.from_object)(array, ctypes.byref(out)) == 0
        assert not driver_probe.is_done(stream.value)
        held.release()
    driver_probe.synchronize(stream.value)
    DELETE(tensors.ManagedVersioned.from_address(out.value).deleter)(out)


@pytest.mark.parametrize("kind", [tensors.CUDA, tensors.CUDA_HOST, tensors.CUDA_MANAGED])
def test_allocate_makes_tensor_like_prototype(table, kind):
    producer = tensors.Producer(shape=(2, 3), data=0, device=(kind, 0), dtype=(tensors.BFLOAT, 16, 1))
    out, errors = ctypes.c_void_p(), []
    made = ALLOCATE(table.allocate)(
        ctypes.byref(producer.managed.tensor), ctypes.byref(out), None, SET_ERROR(lambda *each: errors.append(each))
    )
    assert (made, errors) == (0, [])
    tensor = tensors.ManagedVersioned.from_address(out.value).tensor
    assert (tensor.device.device_type, tensor.dtype.code, tensor.shape[1], tensor.strides[0]) == (
        kind,
        tensors.BFLOAT,
        3,
        3,
    )
    DELETE(tensors.ManagedVersioned.from_address(out.value).deleter)(out)


@pytest.mark.parametrize(
    ("entries", "kind", "message"),
    [
        ({"device": (tensors.CPU, 0)}, b"BufferError", b"host memory"),
        ({"device": (tensors.CUDA, 99)}, b"ValueError", b"device is 99"),
        ({"dtype": (tensors.FLOAT, 32, 2)}, b"BufferError", b"lanes"),
        ({"ndim": -3}, b"ValueError", b"-3 dimensions"),
        ({"shape": (2**62, 4)}, b"ValueError", b"too big"),
    ],
)
def test_failing_allocation_reports_error_through_callback(table, entries, kind, message):
    producer, errors = tensors.Producer(**entries), []
    set_error = SET_ERROR(lambda context, *each: errors.append((context, *each)))
    made = ALLOCATE(table.allocate)(
        ctypes.byref(producer.managed.tensor), ctypes.byref(ctypes.c_void_p()), 77, set_error
    )
    assert made == -1
    assert errors[0][:2] == (77, kind)
    assert message in errors[0][2]


def test_allocation_without_prototype_fails_with_and_without_callback(table):
    allocate, errors, out = ALLOCATE(table.allocate), [], ctypes.c_void_p()
    assert allocate(None, ctypes.byref(out), None, SET_ERROR(lambda *each: errors.append(each))) == -1
    assert errors == [(None, b"ValueError", b"the prototype is null; a tensor is expected")]
    assert allocate(None, ctypes.byref(out), None, ctypes.cast(None, SET_ERROR)) == -1
    assert out.value is None


@pytest.mark.parametrize(("stream", "entry"), [(0, 1), (1, 1), (2, 2)])
def test_import_uses_table_of_other_library(driver, stream, entry):
    memory = cuarray.to_device(np.array([5, 7], "float32"))
    producer = tensors.Producer(memory)
    kind = library(producer, stream=stream)
    for _ in range(2):
        array = cuarray.from_dlpack(kind())
        assert array.__cuda_array_interface__["stream"] == entry
        assert array.copy_to_host().tolist() == [5, 7]
    assert kind.calls == ["tensor", ("stream", tensors.CUDA, 0)] * 2
    assert all(request == {} for request in producer.requests)
    del array
    assert producer.deleted == 2


def test_import_with_stream_calls_dlpack_method_instead_of_table(driver):
    producer = tensors.Producer(cuarray.to_device(np.array([5, 7], "float32")))
    kind = library(producer)
    cuarray.from_dlpack(kind(), stream=2)
    assert kind.calls == []
    assert producer.requests == [{"stream": 2, "max_version": (1, 3)}]


def test_import_uses_older_table_if_newer_is_unknown(driver):
    producer = tensors.Producer(cuarray.to_device(np.array([5, 7], "float32")))
    older = library(producer)
    newer = library(producer, version=(2, 0), previous=older.table)
    cuarray.from_dlpack(newer())
    assert (older.calls, newer.calls) == (["tensor", ("stream", tensors.CUDA, 0)], [])


@pytest.mark.parametrize("replaced", [{"version": (2, 0)}, {"capsule_name": b"something_else"}])
def test_import_calls_dlpack_method_without_table_of_known_version(driver, replaced):
    producer = tensors.Producer(cuarray.to_device(np.array([5, 7], "float32")))
    kind = library(producer, **replaced)
    cuarray.from_dlpack(kind())
    assert kind.calls == []
    assert producer.requests == [{"stream": None, "max_version": (1, 3)}]


def test_import_ignores_cyclic_chain_of_tables(driver):
    producer = tensors.Producer(cuarray.to_device(np.array([5, 7], "float32")))
    kind = library(producer, version=(2, 0))
    kind.table.previous = ctypes.addressof(kind.table)
    cuarray.from_dlpack(kind())
    assert (kind.calls, len(producer.requests)) == ([], 1)


def test_table_function_that_fails_without_exception_is_reported(driver):
    kind = library(tensors.Producer(), export=lambda obj, out: -1)
    with pytest.raises(BufferError, match="failed and set no exception"):
        cuarray.from_dlpack(kind())
    producer = tensors.Producer()
    failing = WORK_STREAM(lambda *_: -1)
    kind = library(producer)
    kind.table.work_stream = ctypes.cast(failing, ctypes.c_void_p).value
    with pytest.raises(BufferError, match="failed and set no exception"):
        cuarray.from_dlpack(kind())
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize("lacks", [1, 2])
def test_table_with_null_functions_is_refused(driver, lacks):
    kind = library(tensors.Producer(), lacks=lacks)
    with pytest.raises(BufferError, match="lacks a function"):
        cuarray.from_dlpack(kind())


def test_table_that_gives_null_tensor_is_refused(driver):
    kind = library(tensors.Producer(), export=lambda obj, out: 0)
    with pytest.raises(BufferError, match="null tensor"):
        cuarray.from_dlpack(kind())


@types_end
def test_cached_table_is_not_used_for_new_type_at_same_address(driver):
    """An allocator may give out other memory first, so many types end before many begin."""
    producer = tensors.Producer(cuarray.to_device(np.array([5, 7], "float32")))
    ended = [library(producer, capsule_name=b"something_else") for _ in range(200)]
    for kind in ended:
        cuarray.from_dlpack(kind())
    addresses = {id(kind) for kind in ended}
    del kind
    ended.clear()
    gc.collect()
    begun = [library(producer) for _ in range(400)]
    assert not addresses.isdisjoint(id(kind) for kind in begun)
    for kind in begun:
        cuarray.from_dlpack(kind())
        assert kind.calls != []


def test_type_that_gains_a_table_after_it_was_refused_is_imported(driver):
    class Later:
        pass

    for _ in range(2):
        with pytest.raises(TypeError, match="no __dlpack__"):
            cuarray.from_dlpack(Later())
    kind = library(tensors.Producer(cuarray.to_device(np.array([5, 7], "float32"))))
    Later.__dlpack_c_exchange_api__ = kind.__dlpack_c_exchange_api__
    assert cuarray.from_dlpack(Later()).copy_to_host().tolist() == [5, 7]


@types_end
def test_cached_types_are_not_kept_alive(driver):
    producer = tensors.Producer(cuarray.to_device(np.array([5, 7], "float32")))
    kind = library(producer)
    cuarray.from_dlpack(kind())
    gone = weakref.ref(kind)
    del kind
    gc.collect()
    assert gone() is None
