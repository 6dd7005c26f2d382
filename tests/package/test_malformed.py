"""Wrong input: each row of the table is refused with `ValueError` itself, a message that names the key and shows the value, and
nothing kept. Every row goes through all three ways in. What passes must pass too: the second table holds the borderline
cases that are sound.
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
    """An int only by ``__index__``."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __index__(self) -> Any:
        if isinstance(self.value, Exception):
            # A new one each time: one that is kept keeps the frames that it was raised in.
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
    """``entries`` replace those of a sound interface; ``without`` are taken out of it."""

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
    # A required key is missing; a key is only a key when it is spelt so.
    *map(missing, ("shape", "typestr", "data", "version")),
    Row("shape", "missing", {"Shape": (2,)}, ("shape",)),
    Row("version", "missing", {}, ("shape", "typestr", "data", "version")),
    # shape: of a wrong type
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
    # typestr: of a wrong type
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
    # typestr: of a wrong value
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
    # data: of a wrong type or length
    wrong("data", None),
    wrong("data", 4096),
    wrong("data", [4096, False]),
    wrong("data", "4096"),
    wrong("data", memoryview(b"data"), "memory"),
    wrong("data", {4096: False}),
    wrong("data", ()),
    wrong("data", (4096,)),
    wrong("data", (4096, False, None)),
    # data: a pointer of a wrong type or value
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
    # data: a read-only flag of a wrong type
    wrong("data", (4096, 0), "0"),
    wrong("data", (4096, 1), "1"),
    wrong("data", (4096, None), "None"),
    wrong("data", (4096, "False"), "'False'"),
    wrong("data", (4096, np.False_), "False"),
    wrong("data", (4096, []), "[]"),
    wrong("data", (4096, Unprintable()), "Unprintable"),
    # strides: of a wrong type, length or value
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
    # version: of a wrong type or value
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
    # stream: of a wrong type or value
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
    # descr: of a wrong type, or another size than the type string says
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
    # mask: no CUDA array, or one that is no mask of this array
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


def test_the_table_is_long_enough() -> None:
    assert len(MALFORMED) >= 120
    assert {row.key for row in MALFORMED} == {
        "shape", "typestr", "data", "strides", "version", "stream", "descr", "mask",
    }  # fmt: skip


WAYS_IN: list[Callable[[dict[Any, Any]], object]] = [
    lambda interface: cuarray.as_cuda_array(Producer(interface)),
    lambda interface: cuarray.from_cuda_array_interface(interface),
    lambda interface: cuarray.interface(interface),
    lambda interface: cuarray.interface(Producer(interface)),
]
ways_in = pytest.mark.parametrize(
    "read",
    WAYS_IN,
    ids=["as_cuda_array", "from_cuda_array_interface", "interface of a dict", "interface of an object"],
)


@pytest.mark.parametrize("row", MALFORMED, ids=[f"{i}-{row.key}" for i, row in enumerate(MALFORMED)])
@ways_in
def test_a_wrong_entry_is_refused(read: Callable[[dict[Any, Any]], object], row: Row) -> None:
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
def test_a_lenient_reading_refuses_it_or_lists_the_key(row: Row) -> None:
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
def test_a_refusal_keeps_no_reference(row: Row) -> None:
    interface = row.interface()
    producer = Producer(interface)
    watched: list[object] = [interface, producer]
    for value in interface.values():
        for each in (value, *value) if isinstance(value, tuple | list) else (value,):
            # The interpreter shares small ints and short texts; their counts tell nothing.
            if not isinstance(each, int | str | bytes | float | None | type | type(...)):
                watched.append(each)
    for read in WAYS_IN:
        before = [sys.getrefcount(each) for each in watched]
        for _ in range(3):
            with pytest.raises(ValueError, match=row.key):
                read(interface)
        with pytest.raises(ValueError, match=row.key):
            cuarray.as_cuda_array(producer)
        # A shared constant may have lost references of earlier tests meanwhile; none may have gained one.
        after = [sys.getrefcount(each) for each in watched]
        assert all(now <= then for now, then in zip(after, before, strict=True))


ROUNDS = 20


def leaks(work: Callable[[], None]) -> bool:
    """Whether ROUNDS of ``work`` keep as many blocks, time after time. The interpreter's own caches fill up for a while, so
    the first times may tell nothing; what leaks leaks every time."""

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


def test_a_leak_would_be_seen() -> None:
    kept: list[object] = []
    assert leaks(lambda: kept.append(object()))


def test_refusals_leave_no_memory_behind() -> None:
    """If one row leaked one block in one of the ways in, each round would add a block."""
    interfaces = [row.interface() for row in MALFORMED]

    def refuse_all() -> None:
        for interface in interfaces:
            for read in WAYS_IN:
                try:
                    read(interface)
                except ValueError:
                    continue
                pytest.fail(f"{interface} was taken")

    assert not leaks(refuse_all)


# --- what is not an array at all -----------------------------------------------------------------------------------------


class NoAttribute:
    pass


class Slotted:
    __slots__ = ("__cuda_array_interface__",)


class Computed:
    """A property; ``answer`` is returned, or raised if it is an exception."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    @property
    def __cuda_array_interface__(self) -> object:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class ComputedElsewhere:
    """The same by ``__getattr__``."""

    def __init__(self, answer: BaseException) -> None:
        self.answer = answer

    def __getattr__(self, name: str) -> object:
        raise self.answer


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
def test_an_object_without_the_attribute_is_no_array(read: Callable[[Any], object], value: object) -> None:
    with pytest.raises(TypeError, match="__cuda_array_interface__") as raised:
        read(value)
    assert type(raised.value) is TypeError
    assert not cuarray.is_cuda_array(value)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (describe(), "of a dictionary, use cuarray.from_cuda_array_interface"),
        (np.zeros(2), "to copy data of the host to a device, use cuarray.to_device"),
        ([1.0, 2.0], "to copy data of the host to a device, use cuarray.to_device"),
    ],
)
def test_what_is_for_such_an_object_is_named(value: object, remedy: str) -> None:
    with pytest.raises(TypeError, match=rf"an object with that attribute is expected \({remedy}\)$"):
        cuarray.as_cuda_array(value)


@pytest.mark.parametrize("value", [*NOT_ARRAYS, Producer(describe())], ids=lambda value: type(value).__name__)
def test_from_cuda_array_interface_takes_dictionaries_only(value: object) -> None:
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


@pytest.mark.parametrize("answer", NOT_DICTS, ids=lambda answer: type(answer).__name__)
@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.interface])
def test_an_attribute_that_is_no_dict_is_refused_and_shown(read: Callable[[Any], object], answer: object) -> None:
    for producer in (Producer(answer), Computed(answer)):
        with pytest.raises(TypeError, match="a dict is expected") as raised:
            read(producer)
        assert type(answer).__name__ in str(raised.value)
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
def test_what_the_attribute_raises_is_chained(
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
def test_what_stops_a_program_passes_through(
    read: Callable[[Any], object], kind: type[Computed] | type[ComputedElsewhere], raised: BaseException
) -> None:
    with pytest.raises(type(raised)) as passed:
        read(kind(raised))
    assert passed.value is raised


@pytest.mark.parametrize("key", ["shape", "strides", "data", "version", "stream"])
@ways_in
def test_what_stops_a_program_passes_through_an_index(read: Callable[[dict[Any, Any]], object], key: str) -> None:
    stop = KeyboardInterrupt()
    number = Number(stop)
    values = {"shape": (number,), "strides": (number,), "data": (number, False), "version": number, "stream": number}
    with pytest.raises(KeyboardInterrupt) as passed:
        read(describe(**{key: values[key]}))
    assert passed.value is stop


# --- objects that change under the reader's hands ---------------------------------------------------------------------------


class AnotherEachTime:
    """Each read answers another dictionary, the second one wrong."""

    def __init__(self) -> None:
        self.reads = 0

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.reads += 1
        return describe(shape=(self.reads,)) if self.reads == 1 else {}


@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.interface])
def test_the_attribute_is_read_once(read: Callable[[Any], Any]) -> None:
    producer = AnotherEachTime()
    assert read(producer).shape == (1,)
    assert producer.reads == 1


@pytest.mark.parametrize(
    "take", [cuarray.to_device, lambda producer: cuarray.to_device([0.0]).copy_to_device(producer)]
)
def test_a_copy_reads_the_attribute_once(driver: str, take: Callable[[Any], object]) -> None:
    source = cuarray.to_device(np.float32([7]))
    reads = []

    class Counting:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            reads.append(1)
            return source.__cuda_array_interface__ if len(reads) == 1 else {}

    try:
        take(Counting())
    except ValueError as error:
        assert "one type" in str(error)  # noqa: PT017 -- float32 into float64: read, understood and refused
    assert len(reads) == 1


def test_an_index_that_changes_the_dictionary_does_no_harm() -> None:
    interface = describe()

    class Vandal:
        def __index__(self) -> int:
            interface.clear()
            interface.update({f"k{i}": i for i in range(1000)})
            return 3

    interface["version"] = Vandal()
    assert cuarray.from_cuda_array_interface(interface, sync=False).shape == (2,)


def test_a_repr_that_changes_the_dictionary_does_no_harm() -> None:
    interface = describe()

    class Vandal:
        def __repr__(self) -> str:
            interface.clear()
            gc.collect()
            return "<vandal>"

    interface["shape"] = Vandal()
    with pytest.raises(ValueError, match="<vandal>"):
        cuarray.interface(interface)


def test_a_mask_that_is_the_array_itself_ends() -> None:
    producer = Producer(describe())
    producer.__cuda_array_interface__["mask"] = producer
    for read in (cuarray.as_cuda_array, cuarray.interface):
        with pytest.raises(ValueError, match="mask itself"):
            read(producer)


def test_a_descr_that_holds_itself_ends() -> None:
    descr: list[Any] = []
    descr.append(("x", descr))
    with pytest.raises(ValueError, match="descr"):
        cuarray.interface(describe(typestr="|V4", descr=descr))


def test_a_deep_descr_ends() -> None:
    descr: Any = "<f4"
    for _ in range(100_000):
        descr = [("x", descr)]
    with pytest.raises(ValueError, match="descr"):
        cuarray.interface(describe(typestr="|V4", descr=descr))


def test_a_huge_shape_is_refused_quickly() -> None:
    with pytest.raises(ValueError, match="shape"):
        cuarray.interface(describe(shape=(1,) * 1_000_000))


# --- subclasses that lie about what they hold -------------------------------------------------------------------------------


class LyingDict(dict[str, Any]):
    """Every method that a reader could ask raises or lies; what it holds is sound."""

    def __getitem__(self, key: object) -> Any:
        raise RuntimeError("asked")

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
        raise RuntimeError("asked")

    def __len__(self) -> int:
        return 10**6


class LyingText(str):
    __slots__ = ()

    def encode(self, *args: Any) -> bytes:  # type: ignore[override]
        return b"<f8"

    def __str__(self) -> str:
        return "<f8"

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("asked")

    def __hash__(self) -> int:
        raise RuntimeError("asked")


class LyingInt(int):
    def __index__(self) -> int:
        return 99

    __int__ = __index__


class OtherKey:
    """Has the hash of another key, and raises when it is compared once ``armed``."""

    armed = False

    def __init__(self, like: str) -> None:
        self.hash = hash(like)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if self.armed:
            raise RuntimeError("asked")
        return False


@ways_in
def test_what_a_subclass_holds_is_read_and_not_what_it_says(read: Callable[[dict[Any, Any]], Any]) -> None:
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
@ways_in
def test_keys_that_raise_when_compared_are_other_keys(read: Callable[[dict[Any, Any]], Any], key: str) -> None:
    other = OtherKey(key)
    sound: dict[Any, Any] = {other: 1, **describe()}
    lacking = {name: value for name, value in sound.items() if name != "shape"}
    other.armed = True
    assert read(sound).shape == (2,)
    with pytest.raises(ValueError, match=r"'shape'\]: the key is missing"):
        read(lacking)


class Unspeakable(Exception):
    """Raises when it is printed."""

    def __str__(self) -> str:
        raise RuntimeError("asked")

    __repr__ = __str__


@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.interface])
def test_an_exception_that_cannot_be_printed_is_chained(read: Callable[[Any], object]) -> None:
    raised = Unspeakable()
    with pytest.raises(TypeError, match="Unspeakable") as chained:
        read(Computed(raised))
    assert chained.value.__cause__ is raised
    assert not cuarray.is_cuda_array(Computed(raised))


@pytest.mark.parametrize("raised", EXCEPTIONS, ids=lambda raised: type(raised).__name__)
@ways_in
def test_a_mask_whose_attribute_raises_is_refused(read: Callable[[dict[Any, Any]], Any], raised: Exception) -> None:
    with pytest.raises(ValueError, match=type(raised).__name__) as refused:
        read(describe(mask=Computed(raised)))
    assert "__cuda_array_interface__['mask']" in str(refused.value)


# --- what is sound, however odd --------------------------------------------------------------------------------------------

SOUND: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
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


@pytest.mark.parametrize(("interface", "expected"), [row[1:] for row in SOUND], ids=[row[0] for row in SOUND])
def test_what_is_sound_is_read(interface: dict[str, Any], expected: dict[str, Any]) -> None:
    for read in (cuarray.interface(interface), cuarray.interface(Producer(interface))):
        values = {name: getattr(read, name) for name in expected}
        assert {name: value() if callable(value) else value for name, value in values.items()} == expected
    for array in (
        cuarray.as_cuda_array(Producer(interface), sync=False),
        cuarray.from_cuda_array_interface(interface, sync=False),
    ):
        assert array.shape == cuarray.interface(interface).shape
    assert cuarray.is_cuda_array(Producer(interface))


def test_reading_keeps_no_memory() -> None:
    producers = [Producer(interface) for _, interface, _ in SOUND]

    def read_all() -> None:
        for producer in producers:
            cuarray.as_cuda_array(producer, sync=False)
            cuarray.interface(producer)

    assert not leaks(read_all)
