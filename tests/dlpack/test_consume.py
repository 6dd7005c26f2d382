"""`from_dlpack`: what it asks a producer for, what it makes of the answer, and that it owes each deleter one call."""

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


def test_values_shape_and_strides_arrive(memory):
    producer = Producer(memory, shape=(3, 2), strides=(4, 1), byte_offset=8)
    array = cuarray.from_dlpack(producer)
    assert (array.shape, array.strides, array.ptr) == ((3, 2), (16, 4), memory.ptr + 8)
    assert array.copy_to_host().tolist() == [[2, 3], [6, 7], [10, 11]]
    assert tensors.name(producer.capsule) == b"used_dltensor_versioned"


def test_without_strides_the_order_is_that_of_c(memory):
    assert cuarray.from_dlpack(Producer(memory, shape=(3, 4), strides=None)).strides == (16, 4)


@pytest.mark.parametrize("legacy", [False, True])
def test_the_deleter_is_called_once_when_the_last_view_goes(memory, legacy):
    producer = Producer(memory, legacy=legacy)
    view = cuarray.from_dlpack(producer)[1:]
    gc.collect()
    assert producer.deleted == 0
    del view
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize("looked_at", [False, True])
def test_the_deleter_is_called_once_without_a_view_too(memory, looked_at):
    producer = Producer(memory)
    array = cuarray.from_dlpack(producer)
    owner = array.owner if looked_at else None
    del array
    gc.collect()
    assert producer.deleted == (not looked_at)
    del owner
    gc.collect()
    assert producer.deleted == 1


def test_the_owner_is_one_object(memory):
    array = cuarray.from_dlpack(Producer(memory))
    view = array[1:]
    assert array.owner is array.owner is view.owner is view.reshape(1, -1).owner
    assert repr(array.owner) == "<cuarray.DLPackTensor>"


def test_a_producer_without_a_deleter_is_fine(memory):
    producer = Producer(memory, null_deleter=True)
    assert cuarray.from_dlpack(producer).copy_to_host().tolist() == [0, 1]
    producer.array = None  # nobody will say when


@pytest.mark.parametrize(("stream", "asked", "entry"), [(None, None, 1), (-1, -1, None), (1, 1, 1), (2, 2, 2)])
def test_the_stream_that_is_asked_for_becomes_the_default(memory, stream, asked, entry):
    producer = Producer(memory)
    array = cuarray.from_dlpack(producer, stream=stream)
    assert producer.asked == [{"stream": asked, "max_version": (1, 3)}]
    assert array.__cuda_array_interface__["stream"] == entry


def test_a_stream_of_ones_own(memory):
    producer, stream = Producer(memory), cuarray.stream()
    array = cuarray.from_dlpack(producer, stream=stream)
    assert producer.asked[0]["stream"] == stream.handle
    assert array.stream == stream


def test_stream_0_is_refused_before_anybody_is_asked(memory):
    producer = Producer(memory)
    with pytest.raises(ValueError, match="stream is 0, which DLPack disallows"):
        cuarray.from_dlpack(producer, stream=0)
    assert producer.asked == []


def test_a_producer_of_before_version_1_is_asked_again(memory):
    producer = Producer(memory, legacy=True)
    cuarray.from_dlpack(producer, stream=2)
    assert producer.asked == [{"stream": 2, "max_version": (1, 3)}, {"stream": 2}]


def test_neither_of_two_reasons_is_lost(memory):
    class Refuses(Producer):
        def __dlpack__(self, **asked):
            self.asked.append(asked)
            raise TypeError(f"reason {len(self.asked)}")

    with pytest.raises(TypeError, match="reason 2") as raised:
        cuarray.from_dlpack(Refuses(memory))
    assert str(raised.value.__context__) == "reason 1"


def test_what_it_raised_first_does_not_stay_alive(memory):
    class Refused(TypeError):
        pass

    class Old(Producer):
        def __dlpack__(self, **asked):
            if "max_version" in asked:
                error = Refused("no")
                raised.append(weakref.ref(error))
                raise error
            return super().__dlpack__(**asked)

    raised = []
    for _ in range(3):  # the type is known from the second time on
        cuarray.from_dlpack(Old(memory, legacy=True))
        gc.collect()
    assert [reference() for reference in raised] == [None] * 3


def test_flags(memory):
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
    ],
)
def test_types(memory, dtype, typestr):
    assert cuarray.from_dlpack(Producer(memory, dtype=dtype)).typestr == typestr


def test_kinds_of_memory(driver):
    for kind, make in [(tensors.CUDA_MANAGED, cuarray.managed_array), (tensors.CUDA_HOST, cuarray.mapped_array)]:
        memory = make(2, "float32")
        memory.host_view()[:] = [3, 4]
        array = cuarray.from_dlpack(Producer(memory, device=(kind, 0)))
        assert array.copy_to_host().tolist() == [3, 4]


def test_host_memory_is_refused_or_copied_by_request(driver):
    host = np.arange(6, dtype="int16").reshape(2, 3)
    for copy in (None, False):
        with pytest.raises(BufferError, match="host memory"):
            cuarray.from_dlpack(host, copy=copy)
    copied = cuarray.from_dlpack(host, copy=True)
    assert copied.copy_to_host().tolist() == host.tolist()


def test_types_that_numpy_lacks_are_copied_from_the_host_too(driver):
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
        assert producer.deleted == 1  # what was copied is not kept


def test_what_is_copied_from_the_host_is_there_when_the_tensor_goes(driver):
    # Of page-locked memory the driver copies later than it is told to.
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
def test_bad_tensors_on_the_host_are_refused_and_deleted(driver, entries, error, message):
    producer = Producer(device=(tensors.CPU, 0), **entries)
    with pytest.raises(error, match=message):
        cuarray.from_dlpack(producer, copy=True)
    gc.collect()
    assert producer.deleted == 1


def test_a_tensor_that_is_not_on_the_host_as_was_said_is_refused(memory):
    class Hides(Producer):
        def __dlpack_device__(self):
            return (tensors.CPU, 0)

    producer = Hides(memory)
    with pytest.raises(BufferError, match="__dlpack_device__ said 1"):
        cuarray.from_dlpack(producer, copy=True)
    gc.collect()
    assert producer.deleted == 1


class MakesNoCopies(Producer):
    def __dlpack__(self, *, stream=None, max_version=None, copy=None):
        if copy:
            raise BufferError("no copies here")
        return super().__dlpack__(stream=stream, max_version=max_version)


@pytest.mark.parametrize("stream", [None, -1, 2, "own"])
@pytest.mark.parametrize("kind", [Producer, MakesNoCopies])
def test_a_copy_is_made_here_where_the_producer_makes_none(memory, kind, stream):
    producer = kind(memory, legacy=kind is Producer, shape=(2, 3), strides=(6, 2))
    stream = cuarray.stream() if stream == "own" else stream
    array = cuarray.from_dlpack(producer, copy=True, stream=stream)
    gc.collect()
    assert producer.deleted == 1
    memory[:] = 0
    assert array.ptr != memory.ptr
    assert array.copy_to_host().tolist() == [[0, 2, 4], [6, 8, 10]]


def test_copy_is_passed_on(memory):
    producer = Producer(memory)
    cuarray.from_dlpack(producer, copy=True)
    assert producer.asked == [{"stream": None, "max_version": (1, 3), "copy": True}]


BAD = {
    "host memory": ({"device": (tensors.CPU, 0)}, BufferError, "host memory"),
    "another maker's device": ({"device": (tensors.ROCM, 0)}, BufferError, "ROCm"),
    "an unknown device": ({"device": (99, 0)}, BufferError, "type 99"),
    "a negative device type": ({"device": (-1, 0)}, BufferError, "type -1"),
    "vectors": ({"dtype": (tensors.FLOAT, 32, 4)}, BufferError, "4 lanes"),
    "no lanes": ({"dtype": (tensors.FLOAT, 32, 0)}, BufferError, "0 lanes"),
    "float4": ({"dtype": (17, 4, 1)}, BufferError, "float4_e2m1fn"),
    "int4": ({"dtype": (tensors.INT, 4, 1)}, BufferError, "int .*4 bits"),
    "an opaque handle": ({"dtype": (3, 64, 1)}, BufferError, "opaque"),
    "an unknown type": ({"dtype": (200, 8, 1)}, BufferError, "code 200"),
    "no bits": ({"dtype": (tensors.FLOAT, 0, 1)}, BufferError, "0 bits"),
    "a negative rank": ({"ndim": -1}, ValueError, "-1 dimensions"),
    "the highest rank": ({"ndim": 2**31 - 1}, ValueError, "2147483647 dimensions"),
    "a rank above the limit": ({"ndim": 65}, ValueError, "65 dimensions"),
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


@pytest.mark.parametrize("case", BAD)
def test_bad_tensors_are_refused_and_deleted(driver, case):
    entries, error, message = BAD[case]
    producer = Producer(**entries)
    with pytest.raises(error, match=message):
        cuarray.from_dlpack(producer)
    gc.collect()
    # One that was never asked for is not ours to delete.
    assert producer.deleted == len(producer.asked)


def test_a_tensor_that_hides_where_it_is_is_refused_and_deleted(driver):
    class Hides(Producer):
        def __dlpack_device__(self):
            return (tensors.CUDA, 0)

    producer = Hides(device=(tensors.CPU, 0))
    with pytest.raises(BufferError, match="host memory"):
        cuarray.from_dlpack(producer)
    gc.collect()
    assert (len(producer.asked), producer.deleted) == (1, 1)


def test_elements_may_lie_between_the_places_of_their_type(memory):
    # As in a packed structure, which the interface can say too; who needs them aligned looks at the address.
    array = cuarray.from_dlpack(Producer(memory, byte_offset=1))
    assert array.ptr == memory.ptr + 1
    assert array.copy_to_host().tobytes() == memory.copy_to_host().tobytes()[1:9]


def test_an_array_without_elements_may_have_any_pointer(driver):
    for data in (0, 1, 2**64 - 1):
        assert cuarray.from_dlpack(Producer(shape=(0, 3), strides=(3, 1), data=data)).shape == (0, 3)


def test_a_capsule_is_taken_once(memory):
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


@pytest.mark.parametrize("answer", [None, 3, (), "dltensor", object()])
def test_what_is_no_capsule_is_refused(driver, answer):
    class Wrong:
        def __dlpack__(self, **_):
            return answer

    with pytest.raises(TypeError, match="PyCapsule is expected"):
        cuarray.from_dlpack(Wrong())


@pytest.mark.parametrize("called", [b"dltensor2", b"", b"arrow_schema", b"DLTENSOR"])
def test_a_capsule_of_something_else_is_refused(driver, called):
    producer = Producer(called=called)
    with pytest.raises(TypeError, match="none of DLPack's"):
        cuarray.from_dlpack(producer)
    assert producer.deleted == 0


@pytest.mark.parametrize("raised", [RuntimeError, BufferError, ValueError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("method", ["__dlpack__", "__dlpack_device__"])
def test_what_a_producer_raises_passes_through(driver, raised, method):
    class Raises(Producer):
        pass

    def fail(self, **_):
        raise raised("no")

    setattr(Raises, method, fail)
    with pytest.raises(raised, match="no"):
        # Asked for the stream alone, the device is that of the tensor.
        cuarray.from_dlpack(Raises(), copy=False if method == "__dlpack_device__" else None)


@pytest.mark.parametrize("answer", [None, 2, (2,), (2, 0, 0), ("cuda", 0), (2**40, 0)])
def test_a_device_that_is_none_is_refused(driver, answer):
    class Wrong(Producer):
        def __dlpack_device__(self):
            return answer

    with pytest.raises(ValueError, match="__dlpack_device__"):
        cuarray.from_dlpack(Wrong(), copy=False)


def test_what_is_no_tensor_is_refused(driver):
    for value in (None, 3, [1, 2], object()):
        with pytest.raises(TypeError, match="__dlpack__"):
            cuarray.from_dlpack(value)


def test_its_signature_can_be_asked_for():
    parameters = inspect.signature(cuarray.from_dlpack).parameters.values()
    assert [str(each) for each in parameters] == ["obj", "device=None", "stream=None", "copy=None"]
    assert [each.kind.name for each in parameters] == ["POSITIONAL_ONLY", "KEYWORD_ONLY", "KEYWORD_ONLY"]
    assert cuarray.from_dlpack.__doc__.startswith("A DeviceArray of any object with `__dlpack__`")


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
def test_other_arguments_are_refused(arguments, keywords, message):
    with pytest.raises(TypeError, match=message):
        cuarray.from_dlpack(*arguments, **keywords)
