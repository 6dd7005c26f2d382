"""`from_dlpack`: requests to the producer, the resulting array, and exactly one call of each deleter."""

from __future__ import annotations

import gc
import inspect
import weakref

import dlpack_tensors as tensors
import numpy as np
import pytest
from dlpack_tensors import Producer

import cuarray


@pytest.fixture
def memory(driver):
    return cuarray.to_device(np.arange(12, dtype="float32"))


def test_import_reads_values_shape_and_strides(memory):
    producer = Producer(memory, shape=(3, 2), strides=(4, 1), byte_offset=8)
    array = cuarray.from_dlpack(producer)
    assert (array.shape, array.strides, array.ptr) == ((3, 2), (16, 4), memory.ptr + 8)
    assert array.copy_to_host().tolist() == [[2, 3], [6, 7], [10, 11]]
    assert tensors.name(producer.capsule) == b"used_dltensor_versioned"


def test_tensor_without_strides_is_c_contiguous(memory):
    assert cuarray.from_dlpack(Producer(memory, shape=(3, 4), strides=None)).strides == (16, 4)


@pytest.mark.parametrize("legacy", [False, True])
def test_deleter_is_called_once_with_the_last_view(memory, legacy):
    producer = Producer(memory, legacy=legacy)
    view = cuarray.from_dlpack(producer)[1:]
    gc.collect()
    assert producer.deleted == 0
    del view
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize("with_owner_object", [False, True])
def test_deleter_is_called_once_with_array_and_owner_object(memory, with_owner_object):
    producer = Producer(memory)
    array = cuarray.from_dlpack(producer)
    owner = array.owner if with_owner_object else None
    del array
    gc.collect()
    assert producer.deleted == (not with_owner_object)
    del owner
    gc.collect()
    assert producer.deleted == 1


def test_views_share_one_owner_object(memory):
    array = cuarray.from_dlpack(Producer(memory))
    view = array[1:]
    assert array.owner is array.owner is view.owner is view.reshape(1, -1).owner
    assert repr(array.owner) == "<cuarray.DLPackTensor>"


def test_tensor_without_deleter_is_imported(memory):
    producer = Producer(memory, null_deleter=True)
    assert cuarray.from_dlpack(producer).copy_to_host().tolist() == [0, 1]
    producer.array = None  # without a deleter, the test frees the memory itself


@pytest.mark.parametrize(("stream", "requested", "entry"), [(None, None, 1), (-1, -1, None), (1, 1, 1), (2, 2, 2)])
def test_requested_stream_becomes_home_stream(memory, stream, requested, entry):
    producer = Producer(memory)
    array = cuarray.from_dlpack(producer, stream=stream)
    assert producer.requests == [{"stream": requested, "max_version": (1, 3)}]
    assert array.__cuda_array_interface__["stream"] == entry


def test_stream_object_is_requested_by_handle(memory):
    producer, stream = Producer(memory), cuarray.stream()
    array = cuarray.from_dlpack(producer, stream=stream)
    assert producer.requests[0]["stream"] == stream.handle
    assert array.stream == stream


def test_stream_0_is_refused_before_calling_the_producer(memory):
    producer = Producer(memory)
    with pytest.raises(ValueError, match="stream is 0, which DLPack disallows"):
        cuarray.from_dlpack(producer, stream=0)
    assert producer.requests == []


def test_producer_before_version_1_is_called_again_without_max_version(memory):
    producer = Producer(memory, legacy=True)
    cuarray.from_dlpack(producer, stream=2)
    assert producer.requests == [{"stream": 2, "max_version": (1, 3)}, {"stream": 2}]


def test_error_of_second_call_has_first_error_as_context(memory):
    class Refuses(Producer):
        def __dlpack__(self, **request):
            self.requests.append(request)
            raise TypeError(f"reason {len(self.requests)}")

    with pytest.raises(TypeError, match="reason 2") as raised:
        cuarray.from_dlpack(Refuses(memory))
    assert str(raised.value.__context__) == "reason 1"


def test_error_of_first_call_is_not_kept_alive(memory):
    class Refused(TypeError):
        pass

    class Old(Producer):
        def __dlpack__(self, **request):
            if "max_version" in request:
                error = Refused("no")
                raised.append(weakref.ref(error))
                raise error
            return super().__dlpack__(**request)

    raised = []
    for _ in range(3):  # the type is cached after the first import
        cuarray.from_dlpack(Old(memory, legacy=True))
        gc.collect()
    assert [reference() for reference in raised] == [None] * 3


def test_flags_read_only_and_is_copied_are_read(memory):
    array = cuarray.from_dlpack(Producer(memory, flags=tensors.READ_ONLY))
    assert array.readonly
    with pytest.raises(BufferError, match="read-only"):
        array[0] = 1
    copied = cuarray.from_dlpack(Producer(memory, flags=tensors.IS_COPIED))
    assert copied.owner.is_copy
    assert not array.owner.is_copy
    assert not copied.readonly


@pytest.mark.parametrize(
    ("dtype", "typestr"),
    [
        ((tensors.INT, 64, 1), "<i8"),
        ((tensors.UINT, 8, 1), "|u1"),
        ((tensors.FLOAT, 16, 1), "<f2"),
        ((tensors.BFLOAT, 16, 1), "bfloat16"),
        ((tensors.COMPLEX, 128, 1), "<c16"),
        ((tensors.BOOL, 8, 1), "|b1"),
        ((10, 8, 1), "float8_e4m3fn"),
        ((12, 8, 1), "float8_e5m2"),
        ((14, 8, 1), "float8_e8m0fnu"),
        ((15, 6, 4), "float6_e2m3fn_x4"),
        ((16, 6, 4), "float6_e3m2fn_x4"),
        ((17, 4, 2), "float4_e2m1fn_x2"),
        ((17, 4, 4), "float4_e2m1fn_x4"),
        ((tensors.COMPLEX, 32, 1), "complex32"),
    ],
)
def test_dlpack_types_are_converted_to_typestrs(memory, dtype, typestr):
    assert cuarray.from_dlpack(Producer(memory, dtype=dtype)).typestr == typestr


def test_managed_and_host_memory_of_cuda_is_imported(driver):
    for kind, make in [(tensors.CUDA_MANAGED, cuarray.managed_array), (tensors.CUDA_HOST, cuarray.mapped_array)]:
        memory = make(2, "float32")
        memory.host_view()[:] = [3, 4]
        array = cuarray.from_dlpack(Producer(memory, device=(kind, 0)))
        assert array.copy_to_host().tolist() == [3, 4]


def test_host_memory_is_refused_unless_copy_is_true(driver):
    host = np.arange(6, dtype="int16").reshape(2, 3)
    for copy in (None, False):
        with pytest.raises(BufferError, match="host memory"):
            cuarray.from_dlpack(host, copy=copy)
    copied = cuarray.from_dlpack(host, copy=True)
    assert copied.copy_to_host().tolist() == host.tolist()


def test_host_tensor_of_type_unknown_to_numpy_is_copied(driver):
    host = np.arange(4, dtype="uint16")
    for dtype, typestr, values in [
        ((tensors.BFLOAT, 16, 1), "bfloat16", host),
        ((12, 8, 1), "float8_e5m2", host.view("u1")),
    ]:
        producer = Producer(data=host.ctypes.data, device=(tensors.CPU, 0), dtype=dtype, shape=(2, 2), strides=(1, 2))
        array = cuarray.from_dlpack(producer, copy=True)
        assert (array.typestr, array.strides) == (typestr, (array.itemsize, 2 * array.itemsize))
        assert array.view(values.dtype).copy_to_host().ravel("F").tolist() == values[:4].tolist()
        gc.collect()
        assert producer.deleted == 1  # the copy does not keep the tensor alive


def test_copy_from_pinned_host_tensor_is_complete_before_its_deleter(driver):
    # The driver reads page-locked memory when the copy runs, which may be after the call.
    pinned = cuarray.pinned_array(4, "float32")
    pinned[:] = [1, 2, 3, 4]
    stream = cuarray.stream()
    producer = Producer(data=pinned.ctypes.data, device=(tensors.CPU, 0), shape=(4,))
    array = cuarray.from_dlpack(producer, copy=True, stream=stream)
    gc.collect()
    assert producer.deleted == 1
    pinned[:] = 0
    assert array.stream == stream
    assert array.copy_to_host().tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("entries", "error", "message"),
    [
        ({"dtype": (17, 4, 1)}, BufferError, "float4_e2m1fn"),
        ({"shape": (-1,)}, ValueError, "length -1"),
        ({"data": 0}, ValueError, "null pointer"),
        ({"version": (2, 0)}, BufferError, r"version 2\.0"),
        ({"dtype": (tensors.FLOAT, 32, 2)}, BufferError, "lanes"),
    ],
)
def test_invalid_host_tensor_is_refused_and_deleted(driver, entries, error, message):
    producer = Producer(device=(tensors.CPU, 0), **entries)
    with pytest.raises(error, match=message):
        cuarray.from_dlpack(producer, copy=True)
    gc.collect()
    assert producer.deleted == 1


def test_tensor_not_on_the_reported_host_device_is_refused(memory):
    class Hides(Producer):
        def __dlpack_device__(self):
            return (tensors.CPU, 0)

    producer = Hides(memory)
    with pytest.raises(BufferError, match="__dlpack_device__ said 1"):
        cuarray.from_dlpack(producer, copy=True)
    gc.collect()
    assert producer.deleted == 1


class Placed(Producer):
    """A producer that reports its device before the export."""

    def __dlpack_device__(self):
        return (self.device.device_type, self.device.device_id)


class IgnoresCopy(Producer):
    def __dlpack__(self, *, stream=None, max_version=None, copy=None):
        return super().__dlpack__(stream=stream, max_version=max_version)


@pytest.mark.parametrize("stream", [None, -1, 2, "own"])
@pytest.mark.parametrize("kind", [Producer, IgnoresCopy])
def test_copy_true_copies_tensors_of_producers_that_ignore_it(memory, kind, stream):
    producer = kind(memory, legacy=kind is Producer, shape=(2, 3), strides=(6, 2))
    stream = cuarray.stream() if stream == "own" else stream
    array = cuarray.from_dlpack(producer, copy=True, stream=stream)
    gc.collect()
    assert producer.deleted == 1
    memory[:] = 0
    assert array.ptr != memory.ptr
    assert array.copy_to_host().tolist() == [[0, 2, 4], [6, 8, 10]]


def test_copy_false_is_passed_to_the_producer_and_refuses_a_marked_copy(memory):
    producer = Producer(memory)
    cuarray.from_dlpack(producer, copy=False)
    assert producer.requests == [{"stream": None, "max_version": (1, 3), "copy": False}]
    copying = Producer(memory, flags=tensors.IS_COPIED)
    with pytest.raises(BufferError, match=r"copy is False, and the DLPack tensor of a .+ is marked as a copy"):
        cuarray.from_dlpack(copying, copy=False)
    gc.collect()
    assert copying.deleted == 1


@pytest.mark.parametrize("kind", [Producer, Placed])
@pytest.mark.parametrize("arguments", [{}, {"copy": False}, {"stream": -1}, {"stream": 2}])
def test_page_locked_memory_is_imported_although_the_tensor_names_the_cpu(driver, kind, arguments):
    # As PyTorch's page-locked tensors do.
    pinned = cuarray.mapped_array(4, "float32")
    pinned.host_view()[:] = [1, 2, 3, 4]
    producer = kind(data=pinned.ptr + 4, device=(tensors.CPU, 0), shape=(3,))
    array = cuarray.from_dlpack(producer, **arguments)
    assert array.__dlpack_device__() == (tensors.CUDA_HOST, 0)
    assert array.copy_to_host().tolist() == [2, 3, 4]


@pytest.mark.parametrize("device", [(tensors.CUDA, 0), (tensors.CUDA_MANAGED, 0), (tensors.CUDA_HOST, 0)])
@pytest.mark.parametrize("legacy", [False, True])
def test_tensor_without_elements_keeps_its_device(driver, device, legacy):
    array = cuarray.from_dlpack(Producer(data=0, device=device, shape=(0, 3), strides=None, legacy=legacy))
    for each in (array, array[:, 1:], array.reshape(3, 0), cuarray.from_dlpack(array)):
        assert each.__dlpack_device__() == device
        assert each.is_managed == (device[0] == tensors.CUDA_MANAGED)


def test_capsule_is_refused_by_name(memory):
    with pytest.raises(TypeError, match="a PyCapsule was passed; the array that made it is expected"):
        cuarray.from_dlpack(memory.__dlpack__())


INVALID = {
    "host memory": ({"device": (tensors.CPU, 0)}, BufferError, "host memory"),
    "a device of another vendor": ({"device": (tensors.ROCM, 0)}, BufferError, "ROCm"),
    "an unknown device": ({"device": (99, 0)}, BufferError, "type 99"),
    "a negative device type": ({"device": (-1, 0)}, BufferError, "type -1"),
    "vectors": ({"dtype": (tensors.FLOAT, 32, 4)}, BufferError, "4 lanes"),
    "no lanes": ({"dtype": (tensors.FLOAT, 32, 0)}, BufferError, "0 lanes"),
    "float4": ({"dtype": (17, 4, 1)}, BufferError, "float4_e2m1fn"),
    "three lanes of float4": ({"dtype": (17, 4, 3)}, BufferError, "4 bits and 3 lanes"),
    "padded float4": ({"dtype": (17, 4, 2), "flags": 4}, BufferError, "padded to a byte each"),
    "int4": ({"dtype": (tensors.INT, 4, 1)}, BufferError, "int .*4 bits"),
    "an opaque handle": ({"dtype": (3, 64, 1)}, BufferError, "opaque"),
    "an unknown type": ({"dtype": (200, 8, 1)}, BufferError, "code 200"),
    "no bits": ({"dtype": (tensors.FLOAT, 0, 1)}, BufferError, "0 bits"),
    "a negative ndim": ({"ndim": -1}, ValueError, "-1 dimensions"),
    "the largest ndim": ({"ndim": 2**31 - 1}, ValueError, "2147483647 dimensions"),
    "an ndim above the limit": ({"ndim": 65}, ValueError, "65 dimensions"),
    "a negative length": ({"shape": (-2,)}, ValueError, "length -2"),
    "no shape": ({"null_shape": True}, ValueError, "null"),
    "lengths that overflow": ({"shape": (2**62, 2**62)}, ValueError, "too big"),
    "strides that overflow": ({"strides": (2**62,)}, ValueError, "do not fit"),
    "strides that overflow downwards": ({"strides": (-(2**63),)}, ValueError, "do not fit"),
    "an extent that overflows": ({"shape": (2**40,), "strides": (2**30,)}, ValueError, "strides"),
    "a null pointer": ({"data": 0}, ValueError, "null pointer"),
    "a null pointer with an offset": ({"data": 0, "byte_offset": 64}, ValueError, "null pointer"),
    "an offset that overflows": ({"byte_offset": 2**64 - 1}, ValueError, "byte_offset"),
    "an end that overflows": ({"data": 2**64 - 4}, ValueError, "address space"),
    "version 99": ({"version": (99, 0)}, BufferError, r"version 99\.0"),
    "version 0": ({"version": (0, 8)}, BufferError, r"version 0\.8"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_tensor_is_refused_and_deleted(driver, case):
    entries, error, message = INVALID[case]
    producer = Producer(**entries)
    with pytest.raises(error, match=message):
        cuarray.from_dlpack(producer)
    gc.collect()
    # A tensor that was never requested must not be deleted.
    assert producer.deleted == len(producer.requests)


def test_host_tensor_with_reported_cuda_device_is_refused_and_deleted(driver):
    class Hides(Producer):
        def __dlpack_device__(self):
            return (tensors.CUDA, 0)

    producer = Hides(device=(tensors.CPU, 0))
    with pytest.raises(BufferError, match="host memory"):
        cuarray.from_dlpack(producer)
    gc.collect()
    assert (len(producer.requests), producer.deleted) == (1, 1)


def test_unaligned_tensor_is_imported(memory):
    # Fields of packed structures are unaligned in the dictionary interface as well.
    array = cuarray.from_dlpack(Producer(memory, byte_offset=1))
    assert array.ptr == memory.ptr + 1
    assert array.copy_to_host().tobytes() == memory.copy_to_host().tobytes()[1:9]


def test_empty_tensor_may_have_any_pointer(driver):
    for data in (0, 1, 2**64 - 1):
        assert cuarray.from_dlpack(Producer(shape=(0, 3), strides=(3, 1), data=data)).shape == (0, 3)


def test_capsule_is_consumed_only_once(memory):
    producer = Producer(memory)
    capsule = producer.__dlpack__()

    class Same:
        def __dlpack__(self, **_):
            return capsule

        def __dlpack_device__(self):
            return (tensors.CUDA, 0)

    first = cuarray.from_dlpack(Same())
    with pytest.raises(ValueError, match="taken already"):
        cuarray.from_dlpack(Same())
    del first
    assert producer.deleted == 1


@pytest.mark.parametrize("result", [None, 3, (), "dltensor", object()])
def test_dlpack_result_that_is_not_a_capsule_is_refused(driver, result):
    class Wrong:
        def __dlpack__(self, **_):
            return result

    with pytest.raises(TypeError, match="PyCapsule is expected"):
        cuarray.from_dlpack(Wrong())


@pytest.mark.parametrize("capsule_name", [b"dltensor2", b"", b"arrow_schema", b"DLTENSOR"])
def test_capsule_with_other_name_is_refused(driver, capsule_name):
    producer = Producer(capsule_name=capsule_name)
    with pytest.raises(TypeError, match="of another protocol"):
        cuarray.from_dlpack(producer)
    assert producer.deleted == 0


@pytest.mark.parametrize("raised", [RuntimeError, BufferError, ValueError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("method", ["__dlpack__", "__dlpack_device__"])
def test_exception_of_producer_passes_through(driver, raised, method):
    class Raises(Producer):
        pass

    def fail(self, **_):
        raise raised("no")

    setattr(Raises, method, fail)
    with pytest.raises(raised, match="no"):
        # Without copy=False, the device is read from the tensor.
        cuarray.from_dlpack(Raises(), copy=False if method == "__dlpack_device__" else None)


@pytest.mark.parametrize("result", [None, 2, (2,), (2, 0, 0), ("cuda", 0), (2**40, 0)])
def test_invalid_dlpack_device_result_is_refused(driver, result):
    class Wrong(Producer):
        def __dlpack_device__(self):
            return result

    with pytest.raises(ValueError, match="__dlpack_device__"):
        cuarray.from_dlpack(Wrong(), copy=False)


def test_object_without_dlpack_method_is_refused(driver):
    for value in (None, 3, [1, 2], object()):
        with pytest.raises(TypeError, match="__dlpack__"):
            cuarray.from_dlpack(value)


def test_signature_is_available_to_inspect():
    parameters = inspect.signature(cuarray.from_dlpack).parameters.values()
    assert [str(each) for each in parameters] == ["obj", "device=None", "stream=None", "copy=None"]
    assert [each.kind.name for each in parameters] == ["POSITIONAL_ONLY", *["KEYWORD_ONLY"] * 3]
    assert cuarray.from_dlpack.__doc__.startswith("Imports any object with `__dlpack__`")


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((), {}, "missing 1 required positional argument: 'obj'"),
        ((), {"stream": 1}, "missing 1 required positional argument: 'obj'"),
        ((1, 2), {}, "at most 1 positional argument, but 2 were given"),
        ((1,), {"obj": 1}, "unexpected keyword argument 'obj'"),
        ((1,), {"stram": 1}, "unexpected keyword argument 'stram'"),
        ((1,), {"copy": "no"}, "argument 'copy' is 'no', a str; a bool is expected"),
    ],
)
def test_invalid_arguments_raise_type_error_that_names_them(arguments, keywords, message):
    with pytest.raises(TypeError, match=message):
        cuarray.from_dlpack(*arguments, **keywords)
