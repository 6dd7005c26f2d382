"""`device_array`, `to_device`, and the attributes and lifetime of a `DeviceArray`."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

DTYPES = [
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">i4", ">f8", ">c8",
    "M8[ns]", "m8[25s]", "M8[D]", "S5", "U3", ">U3", "V7",
]  # fmt: skip
SHAPES = [(), (1,), (5,), (2, 3), (2, 1, 3), (0,), (3, 0), (0, 4, 2), (2,) * 8]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attributes_equal_those_of_numpy_array(driver: str, shape: tuple[int, ...], dtype: str) -> None:
    array, like = cuarray.device_array(shape, np.dtype(dtype)), np.empty(shape, dtype)
    assert array.shape == like.shape
    # Strides of an empty NumPy array differ between NumPy releases.
    assert array.strides == like.strides or not like.size
    assert (array.ndim, array.size, array.itemsize, array.nbytes) == (like.ndim, like.size, like.itemsize, like.nbytes)
    assert array.dtype == like.dtype
    assert isinstance(array.dtype, np.dtype)
    assert np.dtype(array.typestr) == like.dtype
    assert array.is_c_contiguous() == like.flags.c_contiguous
    assert array.is_f_contiguous() == like.flags.f_contiguous
    assert not array.readonly
    assert array.stream is None
    assert all(type(each) is int for each in (*array.shape, *array.strides, array.ndim, array.size, array.nbytes))


def test_default_dtype_is_float64(driver: str) -> None:
    assert cuarray.device_array(3).dtype == np.float64


@pytest.mark.parametrize(
    "dtype", [np.float32, np.dtype("f4"), "float32", "<f4", "f4", "f", np.float32(1).dtype], ids=repr
)
def test_dtype_argument_accepts_numpy_spellings(driver: str, dtype: Any) -> None:
    assert cuarray.device_array(3, dtype).typestr == "<f4"


def test_unknown_or_object_dtype_is_refused(driver: str) -> None:
    with pytest.raises(TypeError):
        cuarray.device_array(3, "no such type")
    with pytest.raises(ValueError, match="Python objects"):
        cuarray.device_array(3, object)


@pytest.mark.parametrize(
    "shape",
    [3, (3,), [3], np.int64(3), (np.int8(3),), np.array([3]), pytest.param(iter((3,)), id="iter((3,))")],
    ids=repr,
)
def test_shape_argument_accepts_int_and_iterables(driver: str, shape: Any) -> None:
    assert cuarray.device_array(shape, "f4").shape == (3,)


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        (-1, ValueError),
        ((2, -3), ValueError),
        ((2**62, 4), ValueError),
        (2**64, ValueError),
        (True, TypeError),
        (2.0, TypeError),
        ((2.0,), TypeError),
        (np.float32(2), TypeError),
        ("2", TypeError),
        (("2",), TypeError),
        (None, TypeError),
        ((None,), TypeError),
        ((1,) * 65, ValueError),
        # Iterables of ints that are not shapes.
        ("", TypeError),
        (b"\2\3", TypeError),
        (bytearray(2), TypeError),
        ({2: 3}, TypeError),
        ({2, 3}, TypeError),
        (frozenset({2}), TypeError),
        # An endless iterator.
        (itertools.repeat(1), ValueError),
    ],
    ids=repr,
)
def test_invalid_shape_is_refused(driver: str, shape: Any, error: type[Exception]) -> None:
    with pytest.raises(
        error, match=r"shape.*(int|lengths|representable|exceeds|dimensions|at least 0|out of range|bytes)"
    ) as raised:
        cuarray.device_array(shape, "f4")
    assert type(raised.value) is error


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_order_argument_determines_contiguity(driver: str, shape: tuple[int, ...], order: Any) -> None:
    array, like = cuarray.device_array(shape, "f4", order=order), np.empty(shape, "f4", order)
    assert array.strides == like.strides or not like.size
    assert array.is_f_contiguous() if order == "F" else array.is_c_contiguous()


@pytest.mark.parametrize("order", ["", "c", "A", "K", "CF"])
def test_invalid_order_is_refused(driver: str, order: Any) -> None:
    with pytest.raises(ValueError, match="order"):
        cuarray.device_array(3, "f4", order=order)


@pytest.mark.parametrize(
    ("shape", "strides", "nbytes"),
    [
        ((3,), (4,), 12),
        ((3,), (12,), 28),
        ((3,), (-4,), 12),
        ((3,), (0,), 4),
        ((3,), (5,), 14),
        ((2, 3), (4, 8), 24),
        ((2, 3), (-12, -4), 24),
        ((2, 3), (0, 4), 12),
        ((1, 3), (999, 4), 12),
        ((0, 3), (-1, 7), 0),
        ((), (), 4),
    ],
    ids=repr,
)
def test_allocation_covers_exactly_the_strided_extent(
    driver: str, shape: tuple[int, ...], strides: tuple[int, ...], nbytes: int
) -> None:
    array = cuarray.device_array(shape, "f4", strides=strides)
    assert array.strides == strides
    assert array.owner.nbytes == nbytes
    assert array.owner.kind == "device"
    first, last = cuarray.interface(array).byte_range
    assert last - first == nbytes
    if nbytes:
        assert first == array.owner.ptr


@pytest.mark.parametrize("strides", [4, (4, 4), (4.0,), (2**63,), (2**62,), "4"], ids=repr)
def test_invalid_strides_are_refused(driver: str, strides: Any) -> None:
    holds_ints = not any(
        isinstance(step, float | str) for step in (strides if isinstance(strides, tuple) else [strides])
    )
    with pytest.raises(ValueError if holds_ints else TypeError, match="strides"):
        cuarray.device_array((5,) if strides != 4 else (5, 5), "f4", strides=strides)


def test_allocation_beyond_device_memory_raises_cuda_error(driver: str) -> None:
    with pytest.raises(cuarray.CudaError, match="CUDA_ERROR_OUT_OF_MEMORY") as raised:
        cuarray.device_array(2**60, "u1")
    assert raised.value.code == 2


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_to_device_and_back_keeps_every_byte(driver: str, shape: tuple[int, ...], dtype: str) -> None:
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 128, count, np.uint8)
    host = raw.view(dtype).reshape(shape) if count else np.empty(shape, dtype)
    back = cuarray.to_device(host).copy_to_host()
    assert (back.shape, back.dtype) == (host.shape, host.dtype)
    assert back.flags.c_contiguous
    assert back.tobytes() == host.tobytes()
    assert back.flags.writeable


@pytest.mark.parametrize(
    "value",
    [1, 1.5, True, 2j, [1, 2], [[1.0], [2.0]], (1, 2), range(3), b"bytes", "text", np.float32(3), [], np.int64(1)],
    ids=repr,
)
def test_to_device_accepts_what_numpy_asarray_accepts(driver: str, value: Any) -> None:
    like, array = np.asarray(value), cuarray.to_device(value)
    assert (array.shape, array.dtype) == (like.shape, like.dtype)
    assert array.copy_to_host().tobytes() == like.tobytes()


@pytest.mark.parametrize("value", [object(), None, [object()], {"a": 1}], ids=lambda value: type(value).__name__)
def test_to_device_refuses_python_objects(driver: str, value: Any) -> None:
    with pytest.raises(ValueError, match="Python objects"):
        cuarray.to_device(value)


def test_to_device_keeps_fortran_order_and_packs_other_layouts(driver: str) -> None:
    host = np.arange(24, dtype="i4").reshape(4, 6)
    for source, expected in [
        (host, (24, 4)),
        (np.asfortranarray(host), (4, 16)),
        (host.T, (4, 24)),
        (host[::2, ::3], (8, 4)),
        (host[::-1], (24, 4)),
        (np.broadcast_to(np.int32(1), (3, 2)), (8, 4)),
    ]:
        array = cuarray.to_device(source)
        assert array.strides == expected
        assert np.array_equal(array.copy_to_host(), source)


def test_to_device_of_device_array_copies(driver: str) -> None:
    first = cuarray.to_device(np.arange(4))
    second, third = cuarray.to_device(first), cuarray.to_device(foreign(first))
    assert len({first.ptr, second.ptr, third.ptr}) == 3
    first.copy_to_device(np.zeros(4, int))
    assert second.copy_to_host().tolist() == third.copy_to_host().tolist() == [0, 1, 2, 3]


def test_to_device_of_read_only_array_is_writable(driver: str) -> None:
    host = np.arange(3)
    host.flags.writeable = False
    array = cuarray.to_device(host)
    assert not array.readonly
    array.copy_to_device([7, 8, 9])
    assert array.copy_to_host().tolist() == [7, 8, 9]


STRUCTURED: dict[str, Any] = {
    "packed": [("a", "u1"), ("b", "<f8")],
    "aligned": np.dtype([("a", "u1"), ("b", "<f8"), ("c", "?")], align=True),
    "nested": [("p", [("x", "<f4"), ("y", ">f4")]), ("n", "<i2")],
    "sub-array": [("m", "<f4", (2, 3)), ("s", "S3")],
    "titles": [(("The x", "x"), "<f4"), (("The y", "y"), "<f4")],
    "gaps": np.dtype({"names": ["a", "b"], "formats": ["i2", "i4"], "offsets": [3, 9], "itemsize": 20}),
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_structured_array_round_trips(driver: str, name: str) -> None:
    dtype = np.dtype(STRUCTURED[name])
    host = np.frombuffer(np.random.default_rng(1).bytes(3 * dtype.itemsize), dtype)
    array = cuarray.to_device(host)
    assert array.dtype == dtype
    back = array.copy_to_host()
    assert back.dtype == dtype
    for field in dtype.names or ():
        assert back[field].tobytes() == host[field].tobytes()
    assert cuarray.as_cuda_array(foreign(array)).dtype == dtype


@pytest.mark.parametrize("shape", [(1,), (3,), (3, 2), (0, 2)])
def test_len_is_length_of_first_axis(driver: str, shape: tuple[int, ...]) -> None:
    assert len(cuarray.device_array(shape, "f4")) == shape[0]


def test_len_of_0d_array_raises_type_error(driver: str) -> None:
    with pytest.raises(TypeError, match="0-d"):
        len(cuarray.device_array((), "f4"))


def test_repr_shows_attributes_that_are_not_default(driver: str) -> None:
    array = cuarray.to_device(np.float32([1, 2]))
    assert repr(array) == f"DeviceArray(shape=(2,), typestr='<f4', ptr={array.ptr:#x})"
    odd = cuarray.from_cuda_array_interface(
        describe(shape=(2, 2), strides=(4, 8), data=(4096, True), stream=2), sync=False
    )
    assert repr(odd) == (
        "DeviceArray(shape=(2, 2), typestr='<f4', strides=(4, 8), readonly=True, stream=0x2, ptr=0x1000)"
    )
    assert repr(cuarray.from_cuda_array_interface(describe(shape=()))).startswith("DeviceArray(shape=()")


@pytest.mark.parametrize(
    "name",
    [
        "shape",
        "strides",
        "dtype",
        "typestr",
        "ptr",
        "readonly",
        "stream",
        "owner",
        "device",
        "__cuda_array_interface__",
    ],
)
def test_attributes_are_read_only(name: str) -> None:
    array = cuarray.from_cuda_array_interface(describe())
    with pytest.raises(AttributeError):
        setattr(array, name, None)


@pytest.mark.parametrize("kind", ["DeviceArray", "Stream", "Event", "Memory", "Interface", "Config", "AutoSynchronize"])
def test_classes_have_public_module_and_no_constructor(kind: str) -> None:
    cls = getattr(cuarray, kind)
    assert (cls.__module__, cls.__name__) == ("cuarray", kind)
    with pytest.raises(TypeError):
        cls()


def test_numpy_conversion_copies_to_host(driver: str) -> None:
    array = cuarray.to_device(np.arange(3))
    assert np.asarray(array).tolist() == [0, 1, 2]
    assert np.asarray(array, dtype="f4").dtype == np.float32
    assert np.array(array, copy=True).tolist() == [0, 1, 2]


def test_numpy_conversion_without_copy_is_refused(driver: str) -> None:
    with pytest.raises(ValueError, match="without a copy"):
        cuarray.to_device([1]).__array__(copy=False)


def test_imported_array_shares_memory_with_its_producer(driver: str) -> None:
    owner = cuarray.to_device(np.arange(4))
    producer = foreign(owner)
    for array in (
        cuarray.as_cuda_array(producer),
        cuarray.from_cuda_array_interface(producer.__cuda_array_interface__, owner=producer),
    ):
        assert array.ptr == owner.ptr
        array.copy_to_device([9, 8, 7, 6])
        assert owner.copy_to_host().tolist() == [9, 8, 7, 6]
        owner.copy_to_device(np.arange(4))
        assert array.copy_to_host().tolist() == [0, 1, 2, 3]


def test_import_of_device_array_returns_it_unchanged(driver: str) -> None:
    array = cuarray.to_device([1])
    assert cuarray.as_cuda_array(array) is array
    assert cuarray.is_cuda_array(array)


def test_imported_export_equals_original(driver: str) -> None:
    for array in (
        cuarray.device_array((2, 3), "i2"),
        cuarray.device_array((2, 3), "i2", order="F"),
        cuarray.device_array((2, 3), "i2", strides=(-6, 2)),
        cuarray.device_array((5,), "i2", strides=(0,)),
        cuarray.device_array((), "c16"),
        cuarray.device_array((1, 3), "f4", strides=(999, 4)),
    ):
        imported = cuarray.as_cuda_array(foreign(array))
        assert (imported.shape, imported.typestr, imported.ptr) == (array.shape, array.typestr, array.ptr)
        if not array.is_c_contiguous():
            assert imported.strides == array.strides
        assert imported.__cuda_array_interface__ == array.__cuda_array_interface__


def test_read_only_array_refuses_writes_and_exports_flag(driver: str) -> None:
    memory = cuarray.to_device(np.arange(3))
    array = cuarray.as_cuda_array(foreign(memory, data=(memory.ptr, True)))
    assert array.readonly
    for source in ([1, 2, 3], np.arange(3), memory, foreign(memory)):
        with pytest.raises(BufferError, match="read-only"):
            array.copy_to_device(source)
    imported = cuarray.as_cuda_array(Producer(array.__cuda_array_interface__, keeps=array))
    assert imported.readonly
    assert cuarray.interface(imported).readonly
    assert array.copy_to_host().tolist() == [0, 1, 2]


# --- lifetime -------------------------------------------------------------------------------------------------------------


def test_memory_is_freed_with_last_array(simulator: str) -> None:
    import cuarray_sim

    def alive() -> set[int]:
        return {each["address"] for each in cuarray_sim.statistics()["allocations"] if each["kind"] == "device"}

    array = cuarray.device_array(1000, "u1")
    pointer = array.ptr
    view = cuarray.as_cuda_array(foreign(array))
    further = cuarray.as_cuda_array(Producer(view.__cuda_array_interface__, keeps=view))
    assert pointer in alive()
    del array
    assert pointer in alive()
    del view
    gc.collect()
    assert pointer in alive()
    del further
    assert pointer not in alive()


def test_owner_is_released_once_with_last_array(driver: str) -> None:
    released: list[int] = []

    class Owner:
        pass

    for keep in range(1, 5):
        owner = Owner()
        weakref.finalize(owner, released.append, keep)
        arrays = [cuarray.from_cuda_array_interface(describe(), owner=owner) for _ in range(keep)]
        assert all(array.owner is owner for array in arrays)
        del owner
        while arrays:
            assert keep not in released
            arrays.pop()
        assert released.count(keep) == 1


def test_imported_array_keeps_object_alive_and_dictionary_keeps_nothing() -> None:
    producer = Producer(describe())
    reference = weakref.ref(producer)
    array = cuarray.as_cuda_array(producer)
    unowned = cuarray.from_cuda_array_interface(producer.__cuda_array_interface__)
    read = cuarray.interface(producer)
    assert array.owner is producer
    assert unowned.owner is None
    del producer
    assert reference() is not None
    del array
    assert reference() is None
    assert (unowned.shape, read.shape) == ((2,), (2,))


def test_reference_cycle_through_owner_is_collected() -> None:
    producer = Producer(describe())
    producer.keeps = cuarray.as_cuda_array(producer)
    reference, array = weakref.ref(producer), weakref.ref(producer.keeps)
    gc.collect()
    assert reference() is not None
    del producer
    gc.collect()
    assert reference() is None
    assert array() is None


def test_reference_cycle_through_stream_is_collected(driver: str) -> None:
    class Provider:
        array: object = None

        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, 2)

    provider = Provider()
    provider.array = cuarray.device_array(3, "u1", stream=provider)
    reference = weakref.ref(provider)
    del provider
    gc.collect()
    assert reference() is None


def test_objects_support_weak_references(driver: str) -> None:
    stream, event, array = cuarray.stream(), cuarray.event(), cuarray.device_array(1, "u1")
    memory = array.owner
    references = [weakref.ref(each) for each in (stream, event, array, memory)]
    assert all(reference() is not None for reference in references)
    del stream, event, array, memory
    assert [reference() for reference in references] == [None] * 4


# --- interface() ------------------------------------------------------------------------------------------------------------


def test_interface_attributes_equal_those_of_numpy_views() -> None:
    host = np.zeros((4, 6, 2), "<i4")
    for view in (
        host,
        host.T,
        host[::2],
        host[:, ::-1],
        host[1:, 2:4, :1],
        np.broadcast_to(host[:1], (4, 6, 2)),
        host[:0],
    ):
        read = cuarray.interface({**view.__array_interface__, "version": 3})
        assert (read.shape, read.strides, read.dtype) == (view.shape, view.strides, view.dtype)
        assert (read.is_c_contiguous(), read.is_f_contiguous()) == (view.flags.c_contiguous, view.flags.f_contiguous)
        assert read.nbytes == view.nbytes
        low, high = np.lib.array_utils.byte_bounds(view) if view.size else (read.ptr, read.ptr)
        assert read.byte_range == (low, high)
        assert read.readonly == (not view.flags.writeable)


def test_interface_supports_equality_and_repr() -> None:
    first, same = cuarray.interface(describe()), cuarray.interface(Producer(describe()))
    assert first == same
    for entries in itertools.chain(
        [{"shape": (3,)}, {"typestr": "<i4"}, {"data": (4096, False)}, {"data": (0x7F0000000000, True)}],
        [{"strides": (8,)}, {"version": 2}, {"stream": 1}],
    ):
        assert first != cuarray.interface(describe(**entries))
    assert first != describe()
    for shown in ("version 3", "'<f4'", "(2,)", "0x7f0000000000", "writable", "None"):
        assert shown in repr(first)
