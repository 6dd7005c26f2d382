"""Malformed input: every row of the first table raises `ValueError` with a message that shows the key and the value, and leaks
nothing. Each row is read through every entry point. The second table holds unusual but correct dictionaries, which are read.
"""

from __future__ import annotations

import collections
import enum
import fractions
import gc
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from producers import Producer, describe

import cuarray


class Text(str):
    __slots__ = ()


class Pair(NamedTuple):
    pointer: Any
    read_only: Any


class Number:
    """An object that converts to int only through ``__index__``."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __index__(self) -> Any:
        if isinstance(self.value, Exception):
            # A new exception each time: a stored one would keep the frames in which it was raised.
            raise type(self.value)(*self.value.args)
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value

    def __repr__(self) -> str:
        return f"Number({self.value!r})"


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Handle(enum.IntEnum):
    LEGACY = 1


class Row(NamedTuple):
    """``entries`` replace those of a correct interface; the keys ``without`` are removed from it."""

    key: str
    shown: str
    entries: dict[str, Any]
    without: tuple[str, ...] = ()

    def interface(self) -> dict[str, Any]:
        return {key: value for key, value in describe(**self.entries).items() if key not in self.without}


def missing(key: str) -> Row:
    return Row(key, "missing", {}, (key,))


def wrong(key: str, value: Any, shown: str | None = None, **others: Any) -> Row:
    return Row(key, repr(value) if shown is None else shown, {key: value, **others})


BIG = 2**63
MALFORMED: list[Row] = [
    # A required key is missing. Keys are case-sensitive.
    *map(missing, ("shape", "typestr", "data", "version")),
    Row("shape", "missing", {"Shape": (2,)}, ("shape",)),
    Row("version", "missing", {}, ("shape", "typestr", "data", "version")),
    # shape: wrong type
    wrong("shape", None),
    wrong("shape", 2),
    wrong("shape", 2.0),
    wrong("shape", "2"),
    wrong("shape", b"2"),
    wrong("shape", [2]),
    wrong("shape", []),
    wrong("shape", {2}),
    wrong("shape", {2: 2}),
    wrong("shape", range(2)),
    wrong("shape", np.array([2]), "array([2])"),
    wrong("shape", np.int64(2), "np.int64(2)"),
    wrong("shape", True),
    wrong("shape", Unprintable(), "Unprintable"),
    # shape: entries of a wrong type
    wrong("shape", (2.0,), "2.0"),
    wrong("shape", (np.float32(2),), "2.0"),
    wrong("shape", ("2",), "'2'"),
    wrong("shape", (b"2",), "b'2'"),
    wrong("shape", (None,), "None"),
    wrong("shape", (True,), "True"),
    wrong("shape", (2, False), "False"),
    wrong("shape", (np.True_,), "True"),
    wrong("shape", ((2,),), "(2,)"),
    wrong("shape", ([2],), "[2]"),
    wrong("shape", (2, ...), "Ellipsis"),
    wrong("shape", (fractions.Fraction(2),), "Fraction(2, 1)"),
    wrong("shape", (2 + 0j,), "(2+0j)"),
    wrong("shape", (np.array([2, 2]),), "array([2, 2])"),
    wrong("shape", (Number("2"),), "Number('2')"),
    wrong("shape", (Number(2.0),), "Number(2.0)"),
    wrong("shape", (Number(ValueError("no")),), "Number("),
    wrong("shape", (Unprintable(),), "Unprintable"),
    # shape: wrong numbers
    wrong("shape", (-1,), "-1"),
    wrong("shape", (2, -3), "-3"),
    wrong("shape", (0, -1), "-1"),
    wrong("shape", (-BIG,), str(-BIG)),
    wrong("shape", (2**64,), str(2**64)),
    wrong("shape", (-(2**64),), str(-(2**64))),
    wrong("shape", (10**100,), "1000000000"),
    # shape: too many bytes, or dimensions
    wrong("shape", (2**64 - 1,), str(2**64 - 1)),
    wrong("shape", (BIG,), str(BIG)),
    wrong("shape", (2**61,), str(2**61)),
    wrong("shape", (2**32, 2**32), str(2**32)),
    wrong("shape", (2**31, 2**31, 2), str(2**31)),
    wrong("shape", (2**16, 2**16, 2**16, 2**16), str(2**16)),
    wrong("shape", (2**40, 0, 2**40), str(2**40)),
    wrong("shape", (1,) * 65, "65"),
    wrong("shape", (1,) * 1000, "1000"),
    # typestr: wrong type
    wrong("typestr", None),
    wrong("typestr", 4),
    wrong("typestr", b"<f4"),
    wrong("typestr", ("<f4",)),
    wrong("typestr", ["<f4"]),
    wrong("typestr", np.dtype("f4"), "dtype('float32')"),
    wrong("typestr", np.float32, "numpy.float32"),
    wrong("typestr", float),
    wrong("typestr", bytearray(b"<f4")),
    wrong("typestr", Unprintable(), "Unprintable"),
    # typestr: wrong value
    wrong("typestr", ""),
    wrong("typestr", "<"),
    wrong("typestr", "f4"),
    wrong("typestr", "f"),
    wrong("typestr", "float32"),
    wrong("typestr", "=f4"),
    wrong("typestr", "@f4"),
    wrong("typestr", "!f4"),
    wrong("typestr", "<f"),
    wrong("typestr", "<f0"),
    wrong("typestr", "<f3"),
    wrong("typestr", "<f-4"),
    wrong("typestr", "<f+4"),
    wrong("typestr", "<f04"),
    wrong("typestr", "<f4 "),
    wrong("typestr", " <f4"),
    wrong("typestr", "<f4\n", "<f4"),
    wrong("typestr", "<f4\0", "<f4"),
    wrong("typestr", "<f4[s]"),
    wrong("typestr", "<f99999999999999999999"),
    wrong("typestr", "|f4"),
    wrong("typestr", "|i8"),
    wrong("typestr", "<i3"),
    wrong("typestr", "<x4"),
    wrong("typestr", "<b2"),
    wrong("typestr", "|b0"),
    wrong("typestr", "<c4"),
    wrong("typestr", "<M4[s]"),
    wrong("typestr", "<M8[xs]"),
    wrong("typestr", "<M8[]"),
    wrong("typestr", "<M8[0s]"),
    wrong("typestr", "<M8[s"),
    wrong("typestr", "<m8s]"),
    wrong("typestr", "|t0"),
    wrong("typestr", "|V2147483648"),
    wrong("typestr", "<U536870912"),
    wrong("typestr", "(2,)<f4"),
    wrong("typestr", "<f4,<f4"),
    wrong("typestr", "<\u0664f4", "<"),
    wrong("typestr", "<f\u0664", "<f"),
    wrong("typestr", "<f4\ud800", "<f4"),
    wrong("typestr", "\udc80", "text"),
    wrong("typestr", "|O", "|O"),
    wrong("typestr", "|O8", "|O8"),
    wrong("typestr", "<f4" * 10000, "<f4<f4"),
    # data: wrong type or length
    wrong("data", None),
    wrong("data", 4096),
    wrong("data", [4096, False]),
    wrong("data", "4096"),
    wrong("data", memoryview(b"data"), "memory"),
    wrong("data", {4096: False}),
    wrong("data", ()),
    wrong("data", (4096,)),
    wrong("data", (4096, False, None)),
    # data: pointer of a wrong type or value
    wrong("data", (None, False), "None"),
    wrong("data", (4096.0, False), "4096.0"),
    wrong("data", ("4096", False), "'4096'"),
    wrong("data", (b"4096", False), "b'4096'"),
    wrong("data", (True, False), "True"),
    wrong("data", ((4096,), False), "(4096,)"),
    wrong("data", (np.float64(4096), False), "4096.0"),
    wrong("data", (-1, False), "-1"),
    wrong("data", (-(2**63) - 1, False), str(-(2**63) - 1)),
    wrong("data", (2**64, False), str(2**64)),
    wrong("data", (10**40, False), "10000000000"),
    wrong("data", (0, False), "null"),
    wrong("data", (0, True), "null"),
    wrong("data", (0, False), "null", shape=()),
    # data: bytes beyond either end of the address space
    wrong("data", (2**64 - 1, False), "0xffffffffffffffff"),
    wrong("data", (2**64 - 4, False), "0xfffffffffffffffc"),
    wrong("data", (2**64 - 8, False), "0xfffffffffffffff8", strides=(8,)),
    wrong("data", (4, False), "0x4", strides=(-8,)),
    wrong("data", (2**62, False), hex(2**62), shape=(2,), strides=(-(2**62) - 8,)),
    # data: read-only flag of a wrong type
    wrong("data", (4096, 0), "0"),
    wrong("data", (4096, 1), "1"),
    wrong("data", (4096, None), "None"),
    wrong("data", (4096, "False"), "'False'"),
    wrong("data", (4096, np.False_), "False"),
    wrong("data", (4096, []), "[]"),
    wrong("data", (4096, Unprintable()), "Unprintable"),
    # strides: wrong type, length or value
    wrong("strides", 4),
    wrong("strides", [4]),
    wrong("strides", "4"),
    wrong("strides", False),
    wrong("strides", np.array([4]), "array([4])"),
    wrong("strides", ()),
    wrong("strides", (4, 4)),
    wrong("strides", (8, 4, 4), shape=(2, 2)),
    wrong("strides", (4,), shape=()),
    wrong("strides", (None,), "None"),
    wrong("strides", (4.0,), "4.0"),
    wrong("strides", ("4",), "'4'"),
    wrong("strides", (True,), "True"),
    wrong("strides", ((4,),), "(4,)"),
    wrong("strides", (Number(None),), "Number(None)"),
    wrong("strides", (2**63,), str(2**63)),
    wrong("strides", (2**64,), str(2**64)),
    wrong("strides", (-(2**63) - 1,), str(-(2**63) - 1)),
    wrong("strides", (2**63 - 1,), str(2**63 - 1)),
    wrong("strides", (-(2**63),), str(-(2**63)), shape=(3,)),
    wrong("strides", (2**62, -(2**62)), str(2**62), shape=(2, 3)),
    wrong("strides", (2,), typestr="|t1"),
    # version: wrong type or value
    wrong("version", None),
    wrong("version", 3.0),
    wrong("version", "3"),
    wrong("version", b"3"),
    wrong("version", (3,)),
    wrong("version", [3]),
    wrong("version", True),
    wrong("version", False),
    wrong("version", np.float64(3), "3.0"),
    wrong("version", fractions.Fraction(3), "Fraction(3, 1)"),
    wrong("version", Number("3"), "Number('3')"),
    wrong("version", 4),
    wrong("version", -1),
    wrong("version", 2**63),
    wrong("version", 2**64),
    wrong("version", -(2**70)),
    wrong("version", Unprintable(), "Unprintable"),
    # stream: wrong type or value
    wrong("stream", 0),
    wrong("stream", -1),
    wrong("stream", -2),
    wrong("stream", 2**64),
    wrong("stream", -(2**64)),
    wrong("stream", 1.0),
    wrong("stream", "1"),
    wrong("stream", b"1"),
    wrong("stream", True),
    wrong("stream", False),
    wrong("stream", (1,)),
    wrong("stream", [1]),
    wrong("stream", object(), "object"),
    wrong("stream", np.float32(1), "1.0"),
    wrong("stream", Number("1"), "Number('1')"),
    # descr: wrong type, or a size that differs from the typestr's
    wrong("descr", 4, typestr="|V8"),
    wrong("descr", "x", typestr="|V8"),
    wrong("descr", [4], typestr="|V8", shown="4"),
    wrong("descr", [("x",)], typestr="|V8", shown="('x',)"),
    wrong("descr", [("x", "<f4", (2,), 4)], typestr="|V8", shown="'x'"),
    wrong("descr", [(4, "<f8")], typestr="|V8", shown="4"),
    wrong("descr", [("x", 8)], typestr="|V8", shown="8"),
    wrong("descr", [("x", "<f3")], typestr="|V8", shown="<f3"),
    wrong("descr", [("x", "<f4")], typestr="|V8", shown="4 bytes"),
    wrong("descr", [("x", "<f8"), ("y", "<f8")], typestr="|V8", shown="16 bytes"),
    wrong("descr", [("x", "<f4"), ("x", "<f4")], typestr="|V8", shown="'x'"),
    wrong("descr", [("x", "|O")], typestr="|V8", shown="|O"),
    wrong("descr", [("x", [("y", "|O8")])], typestr="|V8", shown="|O8"),
    wrong("descr", [("x", "<f4", (-2,))], typestr="|V8", shown="-2"),
    wrong("descr", [("x", "<f4", "2")], typestr="|V8", shown="2"),
    wrong("descr", [("x", "<f4", (2**62, 2**62))], typestr="|V8", shown=str(2**62)),
    wrong("descr", [("", "|V0")] * 65_537, typestr="|V8", shown="65536"),
    # mask: not a CUDA array, or not a mask for this array
    wrong("mask", True, "bool"),
    wrong("mask", False, "bool"),
    wrong("mask", 1, "int"),
    wrong("mask", "mask", "str"),
    wrong("mask", [True, False], "list"),
    wrong("mask", np.ones(2, bool), "numpy.ndarray"),
    wrong("mask", describe(typestr="|b1"), "dict"),
    wrong("mask", Producer(17), "17"),
    wrong("mask", Producer({}), "missing"),
    wrong("mask", Producer(describe(typestr="|b1", shape=[2])), "[2]"),
    wrong("mask", Producer(describe(typestr="|b1", stream=0)), "0"),
    wrong("mask", Producer(describe(typestr="|b1", version=4)), "4"),
    wrong("mask", Producer(describe(typestr="|V1")), "|V1"),
    wrong("mask", Producer(describe(typestr="|b1", shape=(3,))), "(3,)"),
    wrong("mask", Producer(describe(typestr="|b1", shape=(0,))), "(0,)"),
    wrong("mask", Producer(describe(typestr="|b1", shape=(2, 1))), "(2, 1)"),
    wrong("mask", Producer(describe(typestr="|b1", shape=(1, 2))), "(1, 2)"),
    wrong("mask", Producer(describe(typestr="|t1", shape=(9,))), "16 bits", shape=(100,)),
    wrong("mask", Producer(describe(typestr="|b1", mask=Producer(describe(typestr="|b1")))), "mask itself"),
    wrong("mask", Producer(describe(typestr="|b1", mask=0)), "mask itself"),
]


def test_table_has_rows_for_every_key() -> None:
    assert len(MALFORMED) >= 120
    assert {row.key for row in MALFORMED} == {
        "shape", "typestr", "data", "strides", "version", "stream", "descr", "mask",
    }  # fmt: skip


READERS: list[Callable[[dict[Any, Any]], object]] = [
    lambda interface: cuarray.as_cuda_array(Producer(interface)),
    lambda interface: cuarray.from_cuda_array_interface(interface),
    lambda interface: cuarray.interface(interface),
    lambda interface: cuarray.interface(Producer(interface)),
]
each_reader = pytest.mark.parametrize(
    "read",
    READERS,
    ids=["as_cuda_array", "from_cuda_array_interface", "interface of a dict", "interface of an object"],
)


@pytest.mark.parametrize("row", MALFORMED, ids=[f"{i}-{row.key}" for i, row in enumerate(MALFORMED)])
@each_reader
def test_malformed_entry_raises_value_error_with_key_and_value(
    read: Callable[[dict[Any, Any]], object], row: Row
) -> None:
    interface = row.interface()
    before = dict(interface)
    with pytest.raises(ValueError, match=row.key) as raised:
        read(interface)
    assert type(raised.value) is ValueError
    message = str(raised.value)
    assert f"__cuda_array_interface__['{row.key}']" in message
    assert row.shown in message
    assert len(message) < 1000
    assert message.isprintable()
    assert list(interface.items()) == list(before.items()), "the producer's dictionary was changed"


@pytest.mark.parametrize("row", MALFORMED, ids=[f"{i}-{row.key}" for i, row in enumerate(MALFORMED)])
def test_lenient_reading_refuses_entry_or_lists_its_key(row: Row) -> None:
    try:
        read = cuarray.interface(row.interface(), strict=False)
    except ValueError as error:
        refusal = error
    else:
        assert any(note.startswith(f"'{row.key}': ") for note in read.deviations)
        taken = cuarray.as_cuda_array(Producer(row.interface()), sync=False, strict=False)
        assert (taken.ptr, taken.shape, taken.typestr) == (read.ptr, read.shape, read.typestr)
        return
    assert type(refusal) is ValueError
    assert "__cuda_array_interface__['" in str(refusal)
    assert len(str(refusal)) < 1000


@pytest.mark.parametrize("row", MALFORMED, ids=[f"{i}-{row.key}" for i, row in enumerate(MALFORMED)])
def test_refused_import_keeps_no_references(row: Row) -> None:
    interface = row.interface()
    producer = Producer(interface)
    watched: list[object] = [interface, producer]
    for value in interface.values():
        for each in (value, *value) if isinstance(value, tuple | list) else (value,):
            # The interpreter shares small ints and short strings, so their reference counts are not significant.
            if not isinstance(each, int | str | bytes | float | None | type | type(...)):
                watched.append(each)
    for read in READERS:
        before = [sys.getrefcount(each) for each in watched]
        for _ in range(3):
            with pytest.raises(ValueError, match=row.key):
                read(interface)
        with pytest.raises(ValueError, match=row.key):
            cuarray.as_cuda_array(producer)
        # References to a shared constant from earlier tests may be dropped meanwhile; none may be added.
        after = [sys.getrefcount(each) for each in watched]
        assert all(now <= then for now, then in zip(after, before, strict=True))


ROUNDS = 20


def leaks(work: Callable[[], None]) -> bool:
    """Whether each call of ``work`` keeps a memory block. The interpreter's own caches fill at first, so only growth in every
    round counts as a leak."""

    def blocks() -> int:
        for _ in range(ROUNDS):
            work()
        gc.collect()
        return sys.getallocatedblocks()

    before = blocks()
    for _ in range(12):
        after = blocks()
        if after - before < ROUNDS:
            return False
        before = after
    return True


def test_leak_detector_finds_a_leak() -> None:
    kept: list[object] = []
    assert leaks(lambda: kept.append(object()))


def test_refused_imports_leak_no_memory() -> None:
    """If one reader leaked one block for one row, each round would add a block."""
    interfaces = [row.interface() for row in MALFORMED]

    def refuse_all() -> None:
        for interface in interfaces:
            for read in READERS:
                try:
                    read(interface)
                except ValueError:
                    continue
                pytest.fail(f"{interface} was accepted")

    assert not leaks(refuse_all)


# --- objects without a dictionary ----------------------------------------------------------------------------------------


class NoAttribute:
    pass


class Slotted:
    __slots__ = ("__cuda_array_interface__",)


class Computed:
    """The attribute as a property; ``value`` is returned, or raised if it is an exception."""

    def __init__(self, value: object) -> None:
        self.value = value

    @property
    def __cuda_array_interface__(self) -> object:
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


class ComputedElsewhere:
    """The attribute through ``__getattr__``, which raises ``value``."""

    def __init__(self, value: BaseException) -> None:
        self.value = value

    def __getattr__(self, name: str) -> object:
        raise self.value


NOT_ARRAYS: list[object] = [
    None,
    1,
    1.5,
    "array",
    b"array",
    [1, 2],
    (1, 2),
    {1, 2},
    object(),
    np.zeros(2),
    np.float32(1),
    memoryview(b"array"),
    lambda: None,
    int,
    NoAttribute(),
    NoAttribute,
    Slotted(),
    Slotted,
    sys,
]


@pytest.mark.parametrize("value", NOT_ARRAYS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.interface])
def test_object_without_interface_attribute_raises_type_error(read: Callable[[Any], object], value: object) -> None:
    with pytest.raises(TypeError, match="__cuda_array_interface__") as raised:
        read(value)
    assert type(raised.value) is TypeError
    assert not cuarray.is_cuda_array(value)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (describe(), "for a dictionary, use cuarray.from_cuda_array_interface"),
        (np.zeros(2), "to copy host data to a device, use cuarray.to_device"),
        ([1.0, 2.0], "to copy host data to a device, use cuarray.to_device"),
    ],
)
def test_error_for_non_array_names_the_function_to_use(value: object, remedy: str) -> None:
    with pytest.raises(TypeError, match=rf"an object with that attribute is expected \({remedy}\)$"):
        cuarray.as_cuda_array(value)


@pytest.mark.parametrize("value", [*NOT_ARRAYS, Producer(describe())], ids=lambda value: type(value).__name__)
def test_from_cuda_array_interface_accepts_only_dicts(value: object) -> None:
    with pytest.raises(TypeError, match="a dict is expected"):
        cuarray.from_cuda_array_interface(value)  # type: ignore[arg-type]


NOT_DICTS: list[object] = [
    None,
    1,
    "shape",
    [("shape", (2,))],
    (("shape", (2,)),),
    object(),
    types.MappingProxyType(describe()),
    collections.UserDict(describe()),
    collections.ChainMap(describe()),
    Producer(describe()),
    dict,
    describe,
]


@pytest.mark.parametrize("value", NOT_DICTS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.interface])
def test_interface_attribute_that_is_not_a_dict_raises_type_error(read: Callable[[Any], object], value: object) -> None:
    for producer in (Producer(value), Computed(value)):
        with pytest.raises(TypeError, match="a dict is expected") as raised:
            read(producer)
        assert type(value).__name__ in str(raised.value)
        assert type(producer).__name__ in str(raised.value)
        assert not cuarray.is_cuda_array(producer)


EXCEPTIONS: list[Exception] = [
    AttributeError("gone"),
    RuntimeError("requires grad"),
    KeyError("float8"),
    TypeError("categorical"),
    ValueError("no buffer"),
    NotImplementedError("strings"),
    BufferError("busy"),
    OSError(5, "device"),
    StopIteration(),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"),
    cuarray.CudaError("of another driver"),
    Exception(),
]


@pytest.mark.parametrize("raised", EXCEPTIONS, ids=lambda raised: type(raised).__name__)
@pytest.mark.parametrize("kind", [Computed, ComputedElsewhere])
@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.interface])
def test_exception_of_interface_attribute_is_chained(
    read: Callable[[Any], object], kind: type[Computed] | type[ComputedElsewhere], raised: Exception
) -> None:
    producer = kind(raised)
    with pytest.raises(TypeError, match=type(raised).__name__) as chained:
        read(producer)
    assert type(chained.value) is TypeError
    assert chained.value.__cause__ is raised
    assert kind.__name__ in str(chained.value)
    assert not cuarray.is_cuda_array(producer)


@pytest.mark.parametrize(
    "raised", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("kind", [Computed, ComputedElsewhere])
@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.interface, cuarray.is_cuda_array])
def test_interrupt_in_interface_attribute_passes_through(
    read: Callable[[Any], object], kind: type[Computed] | type[ComputedElsewhere], raised: BaseException
) -> None:
    with pytest.raises(type(raised)) as passed:
        read(kind(raised))
    assert passed.value is raised


@pytest.mark.parametrize("key", ["shape", "strides", "data", "version", "stream"])
@each_reader
def test_interrupt_in_index_method_passes_through(read: Callable[[dict[Any, Any]], object], key: str) -> None:
    stop = KeyboardInterrupt()
    number = Number(stop)
    values = {"shape": (number,), "strides": (number,), "data": (number, False), "version": number, "stream": number}
    with pytest.raises(KeyboardInterrupt) as passed:
        read(describe(**{key: values[key]}))
    assert passed.value is stop


# --- objects that change while they are read --------------------------------------------------------------------------------


class AnotherEachTime:
    """Returns a new dictionary at each read; only the first is correct."""

    def __init__(self) -> None:
        self.reads = 0

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.reads += 1
        return describe(shape=(self.reads,)) if self.reads == 1 else {}


class OnceGood:
    """Returns the dictionary of an array at the first read, and an empty one at each other read."""

    def __init__(self, source: cuarray.DeviceArray) -> None:
        self.source, self.reads = source, 0

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.reads += 1
        return self.source.__cuda_array_interface__ if self.reads == 1 else {}


@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.interface])
def test_import_reads_the_attribute_once(read: Callable[[Any], Any]) -> None:
    producer = AnotherEachTime()
    assert read(producer).shape == (1,)
    assert producer.reads == 1


@pytest.mark.parametrize(
    "take", [cuarray.to_device, lambda producer: cuarray.to_device([0.0]).copy_to_device(producer)]
)
def test_copy_reads_the_attribute_once(driver: str, take: Callable[[Any], object]) -> None:
    producer = OnceGood(cuarray.to_device(np.float32([7])))
    try:
        take(producer)
    except ValueError as error:
        assert "one type" in str(error)  # noqa: PT017 -- float32 into float64 is read once and then refused
    assert producer.reads == 1


def test_index_method_that_changes_the_dictionary_is_safe() -> None:
    interface = describe()

    class Vandal:
        def __index__(self) -> int:
            interface.clear()
            interface.update({f"k{i}": i for i in range(1000)})
            return 3

    interface["version"] = Vandal()
    assert cuarray.from_cuda_array_interface(interface, sync=False).shape == (2,)


def test_exception_of_an_index_method_is_the_cause() -> None:
    class Raises:
        def __index__(self) -> int:
            raise ZeroDivisionError("lost")

    for key, value in {"shape": (Raises(),), "strides": (Raises(),), "data": (Raises(), False)}.items():
        with pytest.raises(ValueError, match=key) as raised:
            cuarray.from_cuda_array_interface(describe(**{key: value}), sync=False)
        assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_repr_that_changes_the_dictionary_is_safe() -> None:
    interface = describe()

    class Vandal:
        def __repr__(self) -> str:
            interface.clear()
            gc.collect()
            return "<vandal>"

    interface["shape"] = Vandal()
    with pytest.raises(ValueError, match="<vandal>"):
        cuarray.interface(interface)


def test_array_that_is_its_own_mask_is_refused() -> None:
    producer = Producer(describe())
    producer.__cuda_array_interface__["mask"] = producer
    for read in (cuarray.as_cuda_array, cuarray.interface):
        with pytest.raises(ValueError, match="mask itself"):
            read(producer)


def test_recursive_descr_is_refused() -> None:
    descr: list[Any] = []
    descr.append(("x", descr))
    with pytest.raises(ValueError, match="descr"):
        cuarray.interface(describe(typestr="|V4", descr=descr))


def test_deeply_nested_descr_is_refused() -> None:
    descr: Any = "<f4"
    for _ in range(100_000):
        descr = [("x", descr)]
    with pytest.raises(ValueError, match="descr"):
        cuarray.interface(describe(typestr="|V4", descr=descr))


def test_shape_with_a_million_axes_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        cuarray.interface(describe(shape=(1,) * 1_000_000))


# --- subclasses whose methods disagree with their content -------------------------------------------------------------------


class LyingDict(dict[str, Any]):
    """A dict with correct content whose overridden methods raise or return wrong results."""

    def __getitem__(self, key: object) -> Any:
        raise RuntimeError("called")

    get = keys = items = values = __iter__ = __getitem__  # type: ignore[assignment]

    def __len__(self) -> int:
        return 0

    def __contains__(self, key: object) -> bool:
        return False


class LyingTuple(tuple[Any, ...]):
    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return 10**9

    def __iter__(self) -> Any:
        raise RuntimeError("called")

    def __len__(self) -> int:
        return 10**6


class LyingText(str):
    __slots__ = ()

    def encode(self, *args: Any) -> bytes:  # type: ignore[override]
        return b"<f8"

    def __str__(self) -> str:
        return "<f8"

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("called")

    def __hash__(self) -> int:
        raise RuntimeError("called")


class LyingInt(int):
    def __index__(self) -> int:
        return 99

    __int__ = __index__


class OtherKey:
    """A key with the hash of another key; comparing it raises once it is ``armed``."""

    armed = False

    def __init__(self, like: str) -> None:
        self.hash = hash(like)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if self.armed:
            raise RuntimeError("called")
        return False


@each_reader
def test_content_of_subclasses_is_read_without_calling_their_methods(read: Callable[[dict[Any, Any]], Any]) -> None:
    found = read(
        LyingDict(
            describe(
                shape=LyingTuple((LyingInt(2),)),
                strides=LyingTuple((LyingInt(-4),)),
                typestr=LyingText("<f4"),
                data=LyingTuple((LyingInt(4096), True)),
            )
        )
    )
    assert (found.shape, found.strides, found.typestr, found.ptr) == ((2,), (-4,), "<f4", 4096)


@pytest.mark.parametrize("key", ["shape", "typestr", "data", "strides", "version", "stream", "descr", "mask"])
@each_reader
def test_key_that_raises_when_compared_is_not_a_match(read: Callable[[dict[Any, Any]], Any], key: str) -> None:
    other = OtherKey(key)
    sound: dict[Any, Any] = {other: 1, **describe()}
    lacking = {name: value for name, value in sound.items() if name != "shape"}
    other.armed = True
    assert read(sound).shape == (2,)
    with pytest.raises(ValueError, match=r"'shape'\]: the key is missing"):
        read(lacking)


class UnprintableError(Exception):
    """An exception that raises when it is printed."""

    def __str__(self) -> str:
        raise RuntimeError("called")

    __repr__ = __str__


@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.interface])
def test_unprintable_exception_of_interface_attribute_is_chained(read: Callable[[Any], object]) -> None:
    raised = UnprintableError()
    with pytest.raises(TypeError, match="UnprintableError") as chained:
        read(Computed(raised))
    assert chained.value.__cause__ is raised
    assert not cuarray.is_cuda_array(Computed(raised))


@pytest.mark.parametrize("raised", EXCEPTIONS, ids=lambda raised: type(raised).__name__)
@each_reader
def test_mask_whose_interface_attribute_raises_is_refused(
    read: Callable[[dict[Any, Any]], Any], raised: Exception
) -> None:
    with pytest.raises(ValueError, match=type(raised).__name__) as refused:
        read(describe(mask=Computed(raised)))
    assert "__cuda_array_interface__['mask']" in str(refused.value)


# --- unusual but correct ---------------------------------------------------------------------------------------------------

CORRECT: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("dict subclass", collections.OrderedDict(describe()), {"shape": (2,)}),
    ("default dict", collections.defaultdict(int, describe()), {"shape": (2,)}),
    ("computed keys", {Text(key): value for key, value in describe().items()}, {"shape": (2,)}),
    ("other keys", {**describe(), "more": 1, 7: 8, None: None}, {"shape": (2,)}),
    ("named tuple", describe(data=Pair(4096, True)), {"ptr": 4096, "readonly": True}),
    ("text subclass", describe(typestr=Text("<i2")), {"typestr": "<i2"}),
    ("NumPy integers", describe(shape=(np.int64(2),), strides=(np.int8(-4),)), {"shape": (2,), "strides": (-4,)}),
    ("NumPy pointer", describe(data=(np.uint64(2**63), False)), {"ptr": 2**63}),
    ("index", describe(shape=(Number(2),)), {"shape": (2,)}),
    ("int subclass", describe(stream=Handle.LEGACY), {"stream": 1}),
    ("NumPy version", describe(version=np.uint8(3)), {"version": 3}),
    ("0-d integer array", describe(shape=(np.array(2),)), {"shape": (2,)}),
    ("0-d", describe(shape=()), {"shape": (), "strides": ()}),
    ("no strides", describe(strides=None), {"strides": (4,)}),
    ("last address", describe(data=(2**64 - 9, False)), {"byte_range": (2**64 - 9, 2**64 - 1)}),
    ("first address", describe(data=(1, False), typestr="|u1"), {"byte_range": (1, 3)}),
    ("null, empty", describe(shape=(0,), data=(0, False)), {"nbytes": 0}),
    ("any pointer, empty", describe(shape=(3, 0), data=(2**64 - 1, True)), {"nbytes": 0}),
    ("any strides, empty", describe(shape=(0, 3), strides=(2**62, -1)), {"nbytes": 0}),
    ("null, no bytes", describe(typestr="|V0", data=(0, False)), {"nbytes": 0}),
    ("odd stride of one", describe(shape=(1, 2), strides=(-7, 4)), {"is_c_contiguous": True}),
    ("huge stride of one", describe(shape=(1,), strides=(2**63 - 1,)), {"is_c_contiguous": True}),
    ("64 dimensions", describe(shape=(1,) * 64), {"shape": (1,) * 64}),
    ("last handle", describe(stream=2**64 - 1), {"stream": 2**64 - 1}),
    ("stream None", describe(stream=None), {"stream": None}),
    ("mask None", describe(mask=None), {"shape": (2,)}),
    ("descr None", describe(descr=None), {"typestr": "<f4"}),
    ("descr of a plain type", describe(descr=[("", "<f4")]), {"typestr": "<f4"}),
    ("version 2 with stream 0", describe(version=2, stream=0), {"stream": None}),
    ("version 0 with a mask", describe(version=0, mask=object()), {"version": 0}),
]


@pytest.mark.parametrize(("interface", "expected"), [row[1:] for row in CORRECT], ids=[row[0] for row in CORRECT])
def test_unusual_but_correct_interface_is_read(interface: dict[str, Any], expected: dict[str, Any]) -> None:
    for read in (cuarray.interface(interface), cuarray.interface(Producer(interface))):
        values = {name: getattr(read, name) for name in expected}
        assert {name: value() if callable(value) else value for name, value in values.items()} == expected
    for array in (
        cuarray.as_cuda_array(Producer(interface), sync=False),
        cuarray.from_cuda_array_interface(interface, sync=False),
    ):
        assert array.shape == cuarray.interface(interface).shape
    assert cuarray.is_cuda_array(Producer(interface))


def test_imports_leak_no_memory() -> None:
    producers = [Producer(interface) for _, interface, _ in CORRECT]

    def read_all() -> None:
        for producer in producers:
            cuarray.as_cuda_array(producer, sync=False)
            cuarray.interface(producer)

    assert not leaks(read_all)
