"""Import of the C structure: the resulting array, the waits, and exactly one call of each release."""

from __future__ import annotations

import ctypes
import gc

import c_arrays as c
import driver_probe
import numpy as np
import pytest
from dlpack_tensors import Producer as Tensor
from dlpack_tensors import capsule_of, name

import cuarray


@pytest.fixture
def memory(driver):
    return cuarray.to_device(np.arange(12, dtype="float32"))


def test_import_reads_values_shape_and_strides(memory):
    producer = c.Producer(memory, data=memory.ptr + 8, shape=c.numbers(3, 2), strides=c.numbers(16, -4), ndim=2)
    array = cuarray.as_cuda_array(producer)
    assert (array.shape, array.strides, array.ptr) == ((3, 2), (16, -4), memory.ptr + 8)
    assert array.copy_to_host().tolist() == [[2, 1], [6, 5], [10, 9]]
    assert name(producer.capsule) == c.TAKEN


def test_release_is_called_once_with_the_last_view(memory):
    producer = c.Producer(memory)
    view = cuarray.as_cuda_array(producer)[1:]
    gc.collect()
    assert producer.released == 0
    del view
    gc.collect()
    assert producer.released == 1


def test_release_is_called_once_with_the_owner_object(memory):
    producer = c.Producer(memory)
    array = cuarray.as_cuda_array(producer)
    owner = array.owner
    assert owner is array.owner is array[1:].owner
    del array
    gc.collect()
    assert producer.released == 0
    del owner
    assert producer.released == 1
    unseen = c.Producer(memory)
    cuarray.as_cuda_array(unseen)
    assert unseen.released == 1


def test_structure_without_release_is_imported(memory):
    producer = c.Producer(memory, null_release=True)
    assert cuarray.as_cuda_array(producer).copy_to_host().tolist() == [0, 1]
    producer.array = None  # without a release, the test frees the memory itself


def test_import_reads_flags_type_names_and_fields(memory):
    assert cuarray.as_cuda_array(c.Producer(memory, flags=c.READ_ONLY)).readonly
    bfloat16 = c.Producer(memory, typestr=b"<V2", type_name=b"bfloat16")
    assert cuarray.as_cuda_array(bfloat16).typestr == "bfloat16"
    inner = (c.Field * 1)(c.Field(name=b"z", typestr=b"<i2", shape=c.numbers(2), ndim=1))
    fields = (c.Field * 3)(
        c.Field(name=b"x", title=b"An x", typestr=b"<f4"),
        c.Field(name=b"y", typestr=b"|V4", fields=inner, nfields=1),
        c.Field(name=b"", typestr=b"|V4"),
    )
    array = cuarray.as_cuda_array(c.Producer(memory, typestr=b"|V12", fields=fields, nfields=3))
    descr = [(("An x", "x"), "<f4"), ("y", [("z", "<i2", (2,))]), ("", "|V4")]
    assert array.__cuda_array_interface__["descr"] == descr


def test_import_reads_mask(memory):
    valid = cuarray.to_device(np.array([True, False]))
    mask = c.of(valid, typestr=b"|b1")
    producer = c.Producer(memory, mask=ctypes.pointer(mask))
    array = cuarray.as_cuda_array(producer)
    assert array.mask.copy_to_host().tolist() == [True, False]
    assert cuarray.as_cuda_array(c.Producer(memory, mask=ctypes.pointer(mask)), mask="ignore").mask is None
    with pytest.raises(BufferError, match="mask"):
        cuarray.as_cuda_array(c.Producer(memory, mask=ctypes.pointer(mask)), mask="error")


@pytest.mark.parametrize("handle", [1, 2, "own"])
def test_import_waits_for_exported_stream(memory, handle):
    stream = cuarray.stream()
    number = stream.handle if handle == "own" else handle
    array = cuarray.as_cuda_array(c.Producer(memory, flags=c.HAS_STREAM, stream=number))
    assert array.__cuda_array_interface__["stream"] == number
    with driver_probe.held(number) as held:
        unordered = cuarray.as_cuda_array(c.Producer(memory, flags=c.HAS_STREAM, stream=number), sync=False)
        assert not driver_probe.is_done(number)
        held.release()
    cuarray.as_cuda_array(c.Producer(memory, flags=c.HAS_STREAM, stream=number))
    assert driver_probe.is_done(number)
    assert unordered.stream is not None


def test_import_waits_for_event_instead_of_stream(memory):
    stream, event = cuarray.stream(), cuarray.event()
    event.record(stream)
    with driver_probe.held(stream.handle) as held:
        flags = c.HAS_STREAM | c.HAS_EVENT
        array = cuarray.as_cuda_array(c.Producer(memory, flags=flags, stream=stream.handle, event=event.handle))
        assert not driver_probe.is_done(stream.handle)
        held.release()
    assert array.__cuda_array_interface__["stream"] == stream.handle


def test_import_waits_for_event_without_stream(memory):
    stream, event = cuarray.stream(), cuarray.event()
    memory.setitem(slice(None), 7, stream=stream)
    event.record(stream)
    array = cuarray.as_cuda_array(c.Producer(memory, flags=c.HAS_EVENT, event=event.handle))
    assert event.query()
    assert array.stream is None


def test_borrow_waits_for_event_and_producer_stream_for_borrow(memory):
    producer_stream, own_stream, event = cuarray.stream(), cuarray.stream(), cuarray.event()
    event.record(producer_stream)
    producer = c.Producer(memory, flags=c.HAS_STREAM | c.HAS_EVENT, stream=producer_stream.handle, event=event.handle)
    with driver_probe.held(producer_stream.handle) as later:
        with cuarray.borrow(producer, stream=own_stream) as array:
            array[:] = 7
        own_stream.synchronize()  # does not hang: the event was recorded before the hold
        later.release()
    assert memory.copy_to_host(stream=producer_stream).tolist() == [7, 7, *range(2, 12)]


@pytest.mark.parametrize("way", ["exit", "drop"])
@pytest.mark.parametrize("flags", [0, c.HAS_EVENT], ids=["nothing", "event"])
def test_borrow_of_structure_without_stream_is_done_before_release(memory, flags, way):
    own_stream, event = cuarray.stream(), cuarray.event()
    event.record(own_stream)
    producer = c.Producer(memory, flags=flags, event=event.handle if flags else 0)
    borrow = cuarray.borrow(producer, stream=own_stream)
    array = borrow.__enter__()
    array[:] = 7
    assert not own_stream.query()
    if way == "exit":
        borrow.__exit__()
        assert own_stream.query()
    del array, borrow
    gc.collect()
    assert producer.released == 1
    assert own_stream.query()


def test_structure_is_accepted_as_copy_source(memory):
    assert cuarray.to_device(c.Producer(memory)).copy_to_host().tolist() == [0, 1]
    stream, event = cuarray.stream(), cuarray.event()
    memory.setitem(slice(None), 5, stream=stream)
    event.record(stream)
    copy = cuarray.to_device(c.Producer(memory, flags=c.HAS_EVENT, event=event.handle))
    assert copy.copy_to_host().tolist() == [5, 5]
    assert cuarray.is_cuda_array(c.Producer(memory))


@pytest.mark.parametrize("way", ["to_device", "copy_to_device", "assignment", "slice"])
def test_source_of_copy_in_stream_is_released_after_the_copy(memory, way):
    stream, producer = cuarray.stream(), c.Producer(memory)
    target = cuarray.device_array(2, dtype="f4", stream=stream)
    for _ in range(20):  # The simulated driver runs one operation at each query, and drops query.
        target.setitem(slice(None), 0, stream=stream)
    if way == "to_device":
        target = cuarray.to_device(producer, stream=stream)
    elif way == "copy_to_device":
        target.copy_to_device(producer, stream=stream)
    elif way == "assignment":
        target[:] = producer
    else:
        target[1:] = cuarray.as_cuda_array(producer)[:1]
    gc.collect()
    assert not stream.query()
    assert producer.released == 0
    stream.synchronize()
    cuarray.reclaim()
    assert producer.released == 1
    assert target[1:].copy_to_host().tolist() == [0 if way == "slice" else 1]


def test_import_options_apply_to_structures(memory):
    assert cuarray.as_cuda_array(c.Producer(memory, typestr=b"<V2"), dtype="bfloat16").typestr == "bfloat16"
    with pytest.raises(ValueError, match="expected to lie in one allocation"):
        cuarray.as_cuda_array(c.Producer(memory, shape=c.numbers(13)), bounds=True)


@pytest.mark.parametrize(
    ("entries", "error", "message"),
    [
        ({"major": 99}, BufferError, r"version 99\.0"),
        ({"flags": 8}, BufferError, "flags 0x8"),
        ({"ndim": -1}, ValueError, "-1 dimensions"),
        ({"ndim": 2**31 - 1}, ValueError, "2147483647 dimensions"),
        ({"shape": None}, ValueError, "null"),
        ({"shape": c.numbers(-1)}, ValueError, "length -1"),
        ({"shape": c.numbers(2**62)}, ValueError, "too big"),
        ({"strides": c.numbers(2**62), "shape": c.numbers(9)}, ValueError, "reach further"),
        ({"data": 0}, ValueError, "data"),
        ({"flags": c.HAS_STREAM}, ValueError, "stream"),
        ({"stream": 1}, ValueError, "stream"),
        ({"event": 1}, ValueError, "event"),
        ({"typestr": b"float32"}, ValueError, "typestr"),
        ({"typestr": b"<" * 24}, ValueError, "not a text"),
        ({"device": -2}, ValueError, "not a device"),
    ],
)
def test_invalid_structure_is_refused_and_released(memory, entries, error, message):
    producer = c.Producer(memory, **entries)
    with pytest.raises(error, match=message):
        cuarray.as_cuda_array(producer)
    gc.collect()
    assert producer.released == 1


class Raises:
    @property
    def __cuda_array_c_interface__(self):
        raise RuntimeError("not today")


def object_with_attribute(value):
    return type("Answers", (), {"__cuda_array_c_interface__": value})()


def test_attribute_that_is_not_an_untaken_capsule_is_refused(memory):
    with pytest.raises(TypeError, match="is a int; a PyCapsule"):
        cuarray.as_cuda_array(object_with_attribute(7))
    with pytest.raises(TypeError, match="of another name"):
        cuarray.as_cuda_array(object_with_attribute(capsule_of(4096, b"dltensor")))
    with pytest.raises(TypeError, match="raised RuntimeError"):
        cuarray.as_cuda_array(Raises())
    producer = c.Producer(memory)
    twice = object_with_attribute(producer.capsule_of())
    cuarray.as_cuda_array(twice)
    with pytest.raises(ValueError, match="taken already"):
        cuarray.as_cuda_array(twice)
    gc.collect()
    assert producer.released == 1


class AllProtocols(c.Producer):
    """An array of other sizes in the structure (2), the dictionary (3) and the tensor (4)."""

    def __init__(self, memory):
        super().__init__(memory)
        self.__cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (memory.ptr, False), "version": 3}
        self.tensor = Tensor(memory, shape=(4,))

    def _count(self, address):
        super()._count(address)
        self.tensor.array = None

    def __dlpack__(self, **request):
        return self.tensor.__dlpack__(**request)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize(("protocol", "size"), [(None, 2), ("any", 2), ("c", 2), ("dict", 3), ("dlpack", 4)])
def test_protocol_argument_and_setting_select_the_protocol(memory, protocol, size):
    assert cuarray.as_cuda_array(AllProtocols(memory), protocol=protocol).size == size
    if protocol is not None:
        cuarray.config.protocol = protocol
        assert cuarray.config.protocol == protocol
        assert cuarray.as_cuda_array(AllProtocols(memory)).size == size
        # The argument of the call takes precedence over the setting.
        assert cuarray.as_cuda_array(AllProtocols(memory), protocol="dict").size == 3


def test_options_of_the_dictionary_select_the_dictionary(memory):
    assert cuarray.as_cuda_array(AllProtocols(memory), strict=False).size == 3
    assert cuarray.as_cuda_array(AllProtocols(memory), mask_format="bits").size == 3


def test_unknown_or_unavailable_protocol_is_refused(memory):
    with pytest.raises(ValueError, match='protocol is "csv"'):
        cuarray.as_cuda_array(memory, protocol="csv")
    with pytest.raises(ValueError, match='protocol is "csv"'):
        cuarray.config.protocol = "csv"
    with pytest.raises(TypeError, match="no __cuda_array_c_interface__"):
        cuarray.as_cuda_array(Tensor(memory), protocol="c")
    with pytest.raises(TypeError, match="protocol"):
        cuarray.from_cuda_array_interface({}, protocol="c")
    with pytest.raises(BufferError, match="cannot be ordered after the borrower's"):
        cuarray.borrow(AllProtocols(memory), cuarray.stream(), protocol="dlpack").__enter__()
    with pytest.raises(
        BufferError, match=r"dlpack_tensors\.Producer offers DLPack alone, so the producer's later work"
    ):
        cuarray.borrow(Tensor(memory), cuarray.stream()).__enter__()


def test_dlpack_is_used_if_no_other_protocol_is_offered(memory):
    tensor = Tensor(memory)
    array = cuarray.as_cuda_array(tensor)
    assert array.copy_to_host().tolist() == [0, 1]
    assert array.__cuda_array_interface__["stream"] == 1
    assert tensor.requests == [{"stream": None, "max_version": (1, 3)}]
    cuarray.config.sync = False
    unordered = Tensor(memory)
    assert cuarray.as_cuda_array(unordered).__cuda_array_interface__["stream"] is None
    assert unordered.requests == [{"stream": -1, "max_version": (1, 3)}]


def test_dlpack_tensor_is_accepted_as_copy_source(memory):
    tensor = Tensor(memory, shape=(2, 3), strides=(6, 2))
    copy = cuarray.to_device(tensor)
    assert copy.copy_to_host().tolist() == [[0, 2, 4], [6, 8, 10]]
    gc.collect()
    assert tensor.deleted == 1
    array = cuarray.device_array_like(Tensor(memory, shape=(2, 3), strides=(6, 2)))
    assert (array.shape, array.typestr) == ((2, 3), "<f4")
    array.copy_to_device(Tensor(memory, shape=(2, 3), strides=(3, 1)))
    array[1] = Tensor(memory, shape=(3,), byte_offset=36)
    assert array.copy_to_host().tolist() == [[0, 1, 2], [9, 10, 11]]


def test_copy_of_dlpack_tensor_waits_for_its_work(memory):
    stream = cuarray.stream()
    memory.setitem(slice(None), 5, stream=stream)

    class Ordered(Tensor):
        def __dlpack__(self, **request):
            self.array.__dlpack__(**request)  # makes the requested stream wait
            return super().__dlpack__(**request)

    assert cuarray.to_device(Ordered(memory)).copy_to_host().tolist() == [5, 5]


@pytest.mark.parametrize(("protocol", "size"), [("any", 3), ("c", 2), ("dict", 3), ("dlpack", 4)])
def test_protocol_setting_applies_to_copy_sources(memory, protocol, size):
    cuarray.config.protocol = protocol
    assert cuarray.to_device(AllProtocols(memory)).size == size
    read = {"any": [Tensor, c.Producer], "c": [c.Producer], "dict": [], "dlpack": [Tensor]}[protocol]
    for kind in (Tensor, c.Producer):
        if kind in read:
            assert cuarray.to_device(kind(memory)).size == 2
        else:
            with pytest.raises(ValueError, match="Python objects"):
                cuarray.to_device(kind(memory))


def test_numpy_array_is_not_imported_through_dlpack(memory):
    with pytest.raises(TypeError, match="raised AttributeError"):
        cuarray.as_cuda_array(np.zeros(3))


def test_raising_interface_attribute_is_not_bypassed_by_dlpack(memory):
    class Refuses(Tensor):
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("requires grad")

    tensor = Refuses(memory)
    with pytest.raises(TypeError, match="raised RuntimeError"):
        cuarray.as_cuda_array(tensor)
    assert tensor.requests == []


def test_attribute_error_within_interface_attribute_is_the_cause(memory):
    class Looks(c.Producer):
        @property
        def __cuda_array_c_interface__(self):
            return self.elsewhere

    with pytest.raises(TypeError, match="no __cuda_array_c_interface__") as raised:
        cuarray.as_cuda_array(Looks(memory), protocol="c")
    assert "elsewhere" in str(raised.value.__cause__)


def test_protocol_lookup_survives_reuse_of_type_addresses(memory):
    for round_ in range(64):
        made = type("Made", (c.Producer,), {}) if round_ % 2 else type("Made", (Tensor,), {})
        assert cuarray.as_cuda_array(made(memory)).size == 2
        del made
        gc.collect()
