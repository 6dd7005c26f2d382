"""Stream memory operations: waits for and writes of words (docs/reference/simulator.md, *Stream memory operations*)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

from ...driver import Driver
from ...gates import SOON, Call, Order, finish, held, polling, stream_of, word
from ...question import Facts, question, series
from ..graphs.structures import Graph, end_capture

GEQ, EQ, AND, NOR = range(4)
CONDITIONS = {"geq": GEQ, "eq": EQ, "and": AND, "nor": NOR}
FLUSH = 1 << 30
CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1
WAIT_32, WRITE_32, FLUSH_REMOTE_WRITES, WAIT_64, WRITE_64, BARRIER, ATOMIC_REDUCTION = 1, 2, 3, 4, 5, 6, 8
CU_MEM_ATTACH_GLOBAL = 1


@question("memory_operation.support")
def support(driver: Driver, facts: Facts) -> None:
    """The attributes of the device that state support."""
    names = {
        "mem_ops_v1": 92,
        "64_bit_v1": 93,
        "wait_value_nor_v1": 94,
        "64_bit": 122,
        "wait_value_nor": 123,
        "flush_remote_writes": 98,
    }
    for name, number in names.items():
        facts[name] = driver.got("cuDeviceGetAttribute", number, 0)


def signed(bits: int, value: int) -> int:
    return value & ((1 << bits) - 1)


PAIRS = (
    (0, 0),
    (1, 0),
    (0, 1),
    (5, 5),
    (6, 5),
    (4, 5),
    (-1, 0),
    (0, -1),
    (-1, -1),
    (0x7FFFFFFF, -0x80000000),
    (-0x80000000, 0x7FFFFFFF),
    (0b1010, 0b0101),
    (0b1010, 0b0010),
)
"""A word and the value of a wait."""


def conditions() -> Iterable[str]:
    return [f"{bits}_bits.{name}" for bits in (32, 64) for name in CONDITIONS]


NEVER = {"and": 0, "nor": -1}
"""Values for which a condition never holds."""


@series("memory_operation.condition", conditions, seconds=15)
def condition(driver: Driver, facts: Facts, step: str) -> None:
    """Whether a wait ends at once, for pairs of a word and a value. GEQ compares the signed difference with 0 (manual)."""
    bits, name = int(step[:2]), step.split(".")[1]
    stream, place = stream_of(driver, "non_blocking"), driver.pinned(8)
    cell: Any = (ctypes.c_uint32 if bits == 32 else ctypes.c_uint64).from_address(place)
    for have, want in PAIRS:
        if NEVER.get(name) == want:
            continue
        cell.value = signed(bits, have)
        event = driver.event()
        code = driver.code(f"cuStreamWaitValue{bits}_v2", stream, place, signed(bits, want), CONDITIONS[name])
        driver.do("cuEventRecord", event, stream)
        waiting = Call(driver, lambda event=event: driver.code("cuEventSynchronize", event))
        facts[f"{have}_{want}"] = waiting.returned(0.1) if code == "CUDA_SUCCESS" else code
        cell.value = signed(bits, {"and": -1, "nor": 0}.get(name, want))
        if not waiting.returned(2):
            facts["a_wait_does_not_end"] = f"{have}_{want}"
            return
    finish(driver)


def placed(driver: Driver) -> dict[str, int]:
    """Words in each kind of memory, which are zero."""
    buffer = ctypes.create_string_buffer(3 * 4096)
    KEPT.append(buffer)
    registered = (ctypes.addressof(buffer) + 4095) & ~4095
    driver.do("cuMemHostRegister_v2", registered, 4096, 2)
    found = {
        "device": driver.allocate(4096),
        "pinned": driver.pinned(4096),
        "pinned_not_mapped": driver.pinned(4096, 0),
        "registered": registered,
        "managed": driver.made("cuMemAllocManaged", 4096, CU_MEM_ATTACH_GLOBAL, kind=ctypes.c_uint64),
        "pageable": (ctypes.addressof(buffer) + 4096 + 4095) & ~4095,
        "null": 0,
    }
    driver.do("cuMemsetD8_v2", found["device"], 0, 4096)
    finish(driver)
    return found


KEPT: list[Any] = []
KINDS = ("device", "pinned", "pinned_not_mapped", "registered", "managed", "pageable", "null")
CALLS: dict[str, Callable[[Driver, int, int], str]] = {
    "wait_32": lambda d, s, a: d.code("cuStreamWaitValue32_v2", s, a, 0, GEQ),
    "wait_64": lambda d, s, a: d.code("cuStreamWaitValue64_v2", s, a, 0, GEQ),
    "write_32": lambda d, s, a: d.code("cuStreamWriteValue32_v2", s, a, 1, 0),
    "write_64": lambda d, s, a: d.code("cuStreamWriteValue64_v2", s, a, 1, 0),
    "wait_32_flush": lambda d, s, a: d.code("cuStreamWaitValue32_v2", s, a, 0, GEQ | FLUSH),
    "wait_32_flag_4": lambda d, s, a: d.code("cuStreamWaitValue32_v2", s, a, 0, 4),
    "wait_32_flag_8": lambda d, s, a: d.code("cuStreamWaitValue32_v2", s, a, 0, 8),
    "write_32_no_barrier": lambda d, s, a: d.code(
        "cuStreamWriteValue32_v2", s, a, 1, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER
    ),
    "write_32_no_barrier_first_version": lambda d, s, a: d.code(
        "cuStreamWriteValue32", s, a, 1, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER
    ),
    "write_32_flag_2": lambda d, s, a: d.code("cuStreamWriteValue32_v2", s, a, 1, 2),
    "wait_32_first_version": lambda d, s, a: d.code("cuStreamWaitValue32", s, a, 0, GEQ),
    "write_32_first_version": lambda d, s, a: d.code("cuStreamWriteValue32", s, a, 1, 0),
}


@series("memory_operation.memory", lambda: [f"{call}.{kind}" for call in CALLS for kind in KINDS], seconds=8)
def memory(driver: Driver, facts: Facts, step: str) -> None:
    """The result for each kind of memory, and of the synchronization."""
    call, kind = step.split(".")
    stream = driver.stream()
    facts[""] = CALLS[call](driver, stream, placed(driver)[kind])
    waiting = Call(driver, lambda: driver.code("cuStreamSynchronize", stream))
    facts["synchronize"] = waiting.result if waiting.returned(3) else "it does not return"


@series(
    "memory_operation.alignment",
    lambda: [f"{call}.{offset}" for call in list(CALLS)[:4] for offset in (1, 2, 4, 6)],
    seconds=8,
)
def alignment(driver: Driver, facts: Facts, step: str) -> None:
    call, offset = step.split(".")
    stream = driver.stream()
    facts[""] = CALLS[call](driver, stream, placed(driver)["device"] + int(offset))
    waiting = Call(driver, lambda: driver.code("cuStreamSynchronize", stream))
    facts["synchronize"] = waiting.result if waiting.returned(3) else "it does not return"


@question("memory_operation.stream_that_waits")
def waiting_stream(driver: Driver, facts: Facts) -> None:
    """A stream that waits for a word, and another stream, a kernel, a copy or the host that writes it."""
    functions = polling(driver)
    for writer in ("stream", "kernel", "copy", "fill", "host"):
        waiting, writing, order = driver.stream(), driver.stream(), Order(driver)
        place, source = driver.pinned(64), driver.pinned(64)
        word(place).value, word(source).value = 0, 1
        driver.do("cuStreamWaitValue32_v2", waiting, place, 1, GEQ)
        order.note("behind", waiting)
        facts[f"{writer}.waits_before"] = not order.has("behind", 0.15)
        if writer == "stream":
            driver.do("cuStreamWriteValue32_v2", writing, place, 1, 0)
        elif writer == "kernel":
            driver.launch(functions["store"], place, 1, stream=writing)
        elif writer == "copy":
            driver.do("cuMemcpyHtoDAsync_v2", place, source, 4, writing)
        elif writer == "fill":
            driver.do("cuMemsetD32Async", place, 1, 1, writing)
        else:
            word(place).value = 1
        call = Call(driver, lambda waiting=waiting: driver.code("cuStreamSynchronize", waiting))
        facts[f"{writer}.synchronization_returns"] = call.returned(1)
        facts[f"{writer}.runs_after"] = order.has("behind")
        word(place).value = 1
        call.returned(2)
    finish(driver)


@question("memory_operation.wait_for_a_later_write_in_the_legacy_stream")
def legacy_write(driver: Driver, facts: Facts) -> None:
    """A blocking stream waits; the write is enqueued in the legacy stream, which waits for the blocking stream: nothing ends it."""
    waiting, place, order = driver.stream(0), driver.pinned(64), Order(driver)
    word(place).value = 0
    driver.do("cuStreamWaitValue32_v2", waiting, place, 1, GEQ)
    driver.do("cuStreamWriteValue32_v2", 0, place, 1, 0)
    order.note("behind", waiting)
    facts["runs"] = order.has("behind")
    word(place).value = 1
    finish(driver)
    facts["runs_after_the_host_wrote"] = order.has("behind")


class Wait(ctypes.Structure):
    """CUstreamMemOpWaitValueParams, and that of a write, which has the same layout."""

    _fields_ = [
        ("operation", ctypes.c_uint),
        ("address", ctypes.c_uint64),
        ("value", ctypes.c_uint64),
        ("flags", ctypes.c_uint),
        ("alias", ctypes.c_uint64),
        ("rest", ctypes.c_uint64),
    ]


class Reduction(ctypes.Structure):
    """CUstreamMemOpAtomicReductionParams"""

    _fields_ = [
        ("operation", ctypes.c_uint),
        ("flags", ctypes.c_uint),
        ("reduction", ctypes.c_uint),
        ("data_type", ctypes.c_uint),
        ("address", ctypes.c_uint64),
        ("value", ctypes.c_uint64),
        ("alias", ctypes.c_uint64),
        ("rest", ctypes.c_uint64),
    ]


assert ctypes.sizeof(Wait) == ctypes.sizeof(Reduction) == 48


def batch(driver: Driver, stream: int, *operations: Wait | Reduction, flags: int = 0) -> str:
    """cuStreamBatchMemOp with these operations."""
    packed = (ctypes.c_ubyte * (48 * max(len(operations), 1)))()
    for index, operation in enumerate(operations):
        ctypes.memmove(ctypes.addressof(packed) + 48 * index, ctypes.byref(operation), 48)
    return driver.code("cuStreamBatchMemOp_v2", stream, len(operations), packed, flags)


@question("memory_operation.batch", seconds=10)
def batches(driver: Driver, facts: Facts) -> None:
    stream, place = driver.stream(), driver.pinned(64)
    word(place).value = 0
    facts["empty"] = batch(driver, stream)
    facts["flags"] = batch(driver, stream, Wait(WRITE_32, place, 1), flags=1)
    facts["write_then_wait"] = batch(driver, stream, Wait(WRITE_32, place, 5), Wait(WAIT_32, place, 5, EQ))
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)
    facts["word"] = word(place).value
    facts["flush"] = batch(driver, stream, Wait(FLUSH_REMOTE_WRITES))
    facts["barrier"] = batch(driver, stream, Wait(BARRIER))
    facts["unknown"] = batch(driver, stream, Wait(77))
    facts["second_is_wrong"] = batch(driver, stream, Wait(WRITE_32, place, 6), Wait(WRITE_32, place + 1, 7))
    driver.code("cuStreamSynchronize", stream)
    facts["word_after_a_wrong_second"] = word(place).value
    facts["256_operations"] = batch(driver, stream, *(Wait(WRITE_32, place, number) for number in range(256)))
    facts["255_operations"] = batch(driver, stream, *(Wait(WRITE_32, place, number) for number in range(255)))
    facts["257_operations"] = batch(driver, stream, *(Wait(WRITE_32, place, number) for number in range(257)))
    facts["synchronize_at_the_end"] = driver.code("cuStreamSynchronize", stream)


OPERATIONS = {"add": 0, "min": 1, "and": 5, "or": 6, "xor": 7}
"""Numbers of CUatomicOperation. The manual of reductions has the first, the third and the fourth."""
TYPES = {"unsigned_32": 14, "unsigned_64": 22, "signed_32": 13}
"""Bits of CUatomicCapability. The manual of reductions has the first two."""


def reductions() -> Iterable[str]:
    return [f"{operation}.{kind}" for operation in OPERATIONS for kind in TYPES]


@series("memory_operation.atomic_reduction", reductions, seconds=8)
def reduction(driver: Driver, facts: Facts, step: str) -> None:
    """Atomic reductions (CUDA 13.0) of 12 and 10."""
    operation, kind = step.split(".")
    stream, place = driver.stream(), driver.allocate(64)
    driver.upload(place, (12).to_bytes(8, "little"))
    given = Reduction(ATOMIC_REDUCTION, 0, OPERATIONS[operation], TYPES[kind], place, 10)
    facts["code"] = batch(driver, stream, given)
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)
    facts["word"] = int.from_bytes(driver.download(place, 8), "little")


@question("memory_operation.captured")
def captured(driver: Driver, facts: Facts) -> None:
    """Waits and writes in a capture: their nodes, and what the graph does."""
    stream, place = driver.stream(), driver.pinned(64)
    word(place).value = 0
    driver.do("cuStreamBeginCapture_v2", stream, 2)
    facts["write"] = driver.code("cuStreamWriteValue32_v2", stream, place, 3, 0)
    facts["wait"] = driver.code("cuStreamWaitValue32_v2", stream, place, 3, EQ)
    facts["batch"] = batch(driver, stream, Wait(WRITE_32, place + 4, 4), Wait(WRITE_32, place + 8, 5))
    facts["end"], graph = end_capture(driver, stream)
    if graph:
        graph.describe(facts)
        driver.do("cuGraphLaunch", graph.instantiate(), stream)
        facts["synchronize"] = driver.code("cuStreamSynchronize", stream)
        facts["words"] = [word(place + 4 * index).value for index in range(3)]


class BatchNode(ctypes.Structure):
    """CUDA_BATCH_MEM_OP_NODE_PARAMS"""

    _fields_ = [
        ("context", ctypes.c_void_p),
        ("count", ctypes.c_uint),
        ("operations", ctypes.c_void_p),
        ("flags", ctypes.c_uint),
    ]


@question("memory_operation.node")
def node(driver: Driver, facts: Facts) -> None:
    graph, place = Graph(driver), driver.pinned(64)
    word(place).value = 0
    operations = (Wait * 2)(Wait(WRITE_32, place, 3), Wait(WRITE_32, place + 4, 4))
    given = BatchNode(graph.context(), 2, ctypes.addressof(operations), 0)
    facts["right"] = graph.adding("cuGraphAddBatchMemOpNode", ctypes.byref(given))
    given.count = 0
    facts["no_operations"] = graph.adding("cuGraphAddBatchMemOpNode", ctypes.byref(given))
    given.count, given.flags = 2, 1
    facts["flags"] = graph.adding("cuGraphAddBatchMemOpNode", ctypes.byref(given))
    given.flags = 0
    given.context = None
    facts["without_context"] = Graph(driver).adding("cuGraphAddBatchMemOpNode", ctypes.byref(given))
    given.context = graph.context()
    ready, first = graph.instantiate(), graph.nodes()[0]
    for name, change in (
        ("value", (WRITE_32, place, 9)),
        ("address", (WRITE_32, place + 8, 9)),
        ("kind", (WAIT_32, place, 0)),
    ):
        operations[0] = Wait(*change)
        facts[f"exec_set_{name}"] = driver.code("cuGraphExecBatchMemOpNodeSetParams", ready, first, ctypes.byref(given))
    operations[0] = Wait(WRITE_32, place, 9)
    driver.number("cuGraphExecBatchMemOpNodeSetParams", ready, first, ctypes.byref(given))
    given.count = 1
    facts["exec_set_count"] = driver.code("cuGraphExecBatchMemOpNodeSetParams", ready, first, ctypes.byref(given))
    driver.do("cuGraphLaunch", ready, 0)
    finish(driver)
    facts["word"] = word(place).value


@question("memory_operation.order_of_a_write")
def order_of_write(driver: Driver, facts: Facts) -> None:
    """A write in a stream follows the stream's earlier work."""
    stream, place = driver.stream(), driver.pinned(64)
    word(place).value = 0
    with held(driver, stream):
        driver.do("cuStreamWriteValue32_v2", stream, place, 1, 0)
        call = Call(driver, lambda: driver.code("cuStreamSynchronize", stream))
        facts["synchronization_returns_while_held"] = call.returned(SOON)
        facts["word_while_held"] = word(place).value
    finish(driver)
    facts["word_after"] = word(place).value
