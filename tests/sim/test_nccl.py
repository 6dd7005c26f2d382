"""The stand-in for NCCL computes as the documented interface says, and the race detector sees the order that it makes."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import driver_probe
import numpy as np
import pytest

from cuarray_sim.stand_ins import STAND_INS

SUCCESS, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR = 0, 4, 5, 6
TYPES = ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16"]
SUM, PROD, MAX, MIN, AVG = range(5)


class UniqueId(ctypes.Structure):
    _fields_ = (("internal", ctypes.c_ubyte * 128),)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    (stand_in,) = (each for each in STAND_INS if each.name == "NCCL")
    path = stand_in.path / stand_in.files[0]
    if not path.is_file():
        pytest.skip("the package was built without NCCL")
    library = ctypes.CDLL(str(path))
    library.ncclGetErrorString.restype = ctypes.c_char_p
    library.ncclGetLastError.restype = ctypes.c_char_p
    library.ncclCommInitRank.argtypes = (ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int)
    return library


class Ranks:
    """Two ranks: their communicators, streams and memory."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.comms = (ctypes.c_void_p * 2)()
        assert library.ncclCommInitAll(self.comms, 2, None) == SUCCESS, self.error()
        self.streams = []
        self.buffers: list[tuple[int, int]] = []
        for rank in range(2):
            with driver_probe.primary_context(rank):
                stream = ctypes.c_void_p()
                driver_probe.call("cuStreamCreate", ctypes.byref(stream), 1)
                self.streams.append(stream)

    def error(self) -> str:
        return self.library.ncclGetLastError(None).decode()

    def put(self, rank: int, values: np.ndarray) -> int:
        """Return memory of a rank with these values."""
        address = ctypes.c_uint64()
        with driver_probe.primary_context(rank):
            driver_probe.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(values.nbytes))
            driver_probe.call(
                "cuMemcpyHtoD_v2", address, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes)
            )
            driver_probe.call("cuCtxSynchronize")
        self.buffers.append((rank, address.value))
        return address.value

    def get(self, rank: int, address: int, like: np.ndarray) -> np.ndarray:
        """Wait for a rank's stream, and return values of its memory."""
        values = np.empty_like(like)
        with driver_probe.primary_context(rank):
            driver_probe.call("cuStreamSynchronize", self.streams[rank])
            source, size = ctypes.c_uint64(address), ctypes.c_size_t(values.nbytes)
            driver_probe.call("cuMemcpyDtoH_v2", values.ctypes.data_as(ctypes.c_void_p), source, size)
        return values

    def call(self, rank: int, name: str, *arguments: object) -> int:
        """Call a function with a rank's communicator and stream at the end. Addresses and counts are Python integers, numbers of C `c_int`."""
        converted = [ctypes.c_uint64(each) if isinstance(each, int) else each for each in arguments]
        return getattr(self.library, name)(*converted, ctypes.c_void_p(self.comms[rank]), self.streams[rank])

    @contextmanager
    def group(self, expected: int = SUCCESS) -> Iterator[None]:
        assert self.library.ncclGroupStart() == SUCCESS
        yield
        assert self.library.ncclGroupEnd() == expected, self.error()

    def destroy(self) -> None:
        for comm in self.comms:
            if comm:
                assert self.library.ncclCommDestroy(ctypes.c_void_p(comm)) == SUCCESS, self.error()
        for rank, stream in enumerate(self.streams):
            with driver_probe.primary_context(rank):
                driver_probe.call("cuStreamSynchronize", stream)
                driver_probe.call("cuStreamDestroy_v2", stream)
        for rank, address in self.buffers:
            with driver_probe.primary_context(rank):
                driver_probe.call("cuMemFree_v2", ctypes.c_uint64(address))


@pytest.fixture
def ranks(simulator: str, library: ctypes.CDLL) -> Iterator[Ranks]:
    count = ctypes.c_int()
    driver_probe.call("cuInit", 0)
    driver_probe.call("cuDeviceGetCount", ctypes.byref(count))
    if count.value < 2:
        pytest.skip("there is one device only; CUARRAY_SIM_DEVICES=2 makes two")
    for device in range(2):
        with driver_probe.primary_context(device):
            pass
    made = Ranks(library)
    yield made
    made.destroy()


def c(number: int) -> ctypes.c_int:
    return ctypes.c_int(number)


def encoded(values: np.ndarray, dtype: str) -> np.ndarray:
    """Values as elements of a type; bfloat16 as the upper halves of float32."""
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(dtype)


def decoded(elements: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bfloat16":
        return (elements.astype(np.uint32) << 16).view(np.float32)
    return elements


@pytest.mark.parametrize("op", [SUM, PROD, MAX, MIN, AVG], ids=["sum", "prod", "max", "min", "avg"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_all_reduce_is_exact(ranks: Ranks, dtype: str, op: int, count: int) -> None:
    rng = np.random.default_rng(count)
    low = 0 if dtype.startswith("u") else -6
    values = rng.integers(low, 6, (2, count))
    if op == AVG:
        values *= 2
    expected = [values.sum(0), values.prod(0), values.max(0), values.min(0), values.sum(0) // 2][op]
    data = [encoded(each, dtype) for each in values]
    sends = [ranks.put(rank, data[rank]) for rank in range(2)]
    receives = [ranks.put(rank, np.zeros_like(data[rank])) for rank in range(2)]
    with ranks.group():
        for rank in range(2):
            arguments = (sends[rank], receives[rank], count, c(TYPES.index(dtype)), c(op))
            assert ranks.call(rank, "ncclAllReduce", *arguments) == SUCCESS
    for rank in range(2):
        result = decoded(ranks.get(rank, receives[rank], data[rank]), dtype)
        np.testing.assert_array_equal(result, decoded(encoded(expected, dtype), dtype))
        np.testing.assert_array_equal(ranks.get(rank, sends[rank], data[rank]), data[rank])


def test_integers_are_reduced_modulo_their_size(ranks: Ranks) -> None:
    data = np.array([100, -128, 127], np.int8)
    buffers = [ranks.put(rank, data) for rank in range(2)]
    with ranks.group():
        for rank in range(2):
            ranks.call(rank, "ncclAllReduce", buffers[rank], buffers[rank], 3, c(0), c(SUM))
    np.testing.assert_array_equal(ranks.get(1, buffers[1], data), data + data)


def test_bfloat16_is_rounded_to_nearest_even(ranks: Ranks) -> None:
    # 256 + 1 and 256 + 3 lie between two values of bfloat16; NaN stays NaN.
    pairs = np.array([[256, 256, np.inf], [1, 3, -np.inf]], np.float32)
    data = [encoded(each, "bfloat16") for each in pairs]
    buffers = [ranks.put(rank, data[rank]) for rank in range(2)]
    with ranks.group():
        for rank in range(2):
            ranks.call(rank, "ncclAllReduce", buffers[rank], buffers[rank], 3, c(9), c(SUM))
    result = decoded(ranks.get(0, buffers[0], data[0]), "bfloat16")
    np.testing.assert_array_equal(result, np.array([256, 260, np.nan], np.float32))


def moved(
    ranks: Ranks, name: str, sizes: tuple[int, int], *arguments: object
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Call a function of float32 values on both ranks, and return what they send and receive. The sizes are those of both buffers."""
    sent = [np.arange(sizes[0], dtype=np.float32) + 100 * rank for rank in range(2)]
    empty = np.full(sizes[1], -1, np.float32)
    sends = [ranks.put(rank, sent[rank]) for rank in range(2)]
    receives = [ranks.put(rank, empty) for rank in range(2)]
    with ranks.group():
        for rank in range(2):
            assert ranks.call(rank, name, sends[rank], receives[rank], *arguments) == SUCCESS, ranks.error()
    return sent, [ranks.get(rank, receives[rank], empty) for rank in range(2)]


def test_all_gather_concatenates_in_the_order_of_the_ranks(ranks: Ranks) -> None:
    sent, received = moved(ranks, "ncclAllGather", (3, 6), 3, c(7))
    for each in received:
        np.testing.assert_array_equal(each, np.concatenate(sent))


def test_reduce_scatter_gives_each_rank_its_block(ranks: Ranks) -> None:
    sent, received = moved(ranks, "ncclReduceScatter", (6, 3), 3, c(7), c(SUM))
    np.testing.assert_array_equal(np.concatenate(received), sent[0] + sent[1])


def test_reduce_writes_the_root_alone(ranks: Ranks) -> None:
    sent, received = moved(ranks, "ncclReduce", (3, 3), 3, c(7), c(MAX), c(1))
    np.testing.assert_array_equal(received[1], sent[1])
    np.testing.assert_array_equal(received[0], -1)


def test_broadcast_copies_from_the_root(ranks: Ranks) -> None:
    sent, received = moved(ranks, "ncclBroadcast", (3, 3), 3, c(7), c(1))
    np.testing.assert_array_equal(received, [sent[1], sent[1]])


def test_all_to_all_transposes_blocks(ranks: Ranks) -> None:
    sent, received = moved(ranks, "ncclAlltoAll", (4, 4), 2, c(7))
    np.testing.assert_array_equal(received[0], [*sent[0][:2], *sent[1][:2]])
    np.testing.assert_array_equal(received[1], [*sent[0][2:], *sent[1][2:]])


def test_gather_and_scatter_use_the_root_buffers(ranks: Ranks) -> None:
    sent, received = moved(ranks, "ncclGather", (2, 4), 2, c(7), c(0))
    np.testing.assert_array_equal(received[0], np.concatenate(sent))
    np.testing.assert_array_equal(received[1], -1)
    sent, received = moved(ranks, "ncclScatter", (4, 2), 2, c(7), c(1))
    np.testing.assert_array_equal(np.concatenate(received), sent[1])


def test_grouped_sends_and_receives_exchange_buffers(ranks: Ranks) -> None:
    data = [np.arange(5, dtype=np.float64) + 10 * rank for rank in range(2)]
    sends = [ranks.put(rank, data[rank]) for rank in range(2)]
    receives = [ranks.put(rank, data[rank]) for rank in range(2)]
    with ranks.group():
        for rank in range(2):
            ranks.call(rank, "ncclSend", sends[rank], 5, c(8), c(1 - rank))
            ranks.call(rank, "ncclRecv", receives[rank], 5, c(8), c(1 - rank))
    for rank in range(2):
        np.testing.assert_array_equal(ranks.get(rank, receives[rank], data[0]), data[1 - rank])


def test_thread_of_each_rank_needs_no_group(ranks: Ranks, library: ctypes.CDLL) -> None:
    identifier, results = UniqueId(), {}
    assert library.ncclGetUniqueId(ctypes.byref(identifier)) == SUCCESS
    data = np.arange(4, dtype=np.float32)
    buffers = [ranks.put(rank, data) for rank in range(2)]

    def run(rank: int) -> None:
        with driver_probe.primary_context(rank):
            comm, number = ctypes.c_void_p(), ctypes.c_int()
            made = library.ncclCommInitRank(ctypes.addressof(comm), 2, identifier, rank)
            library.ncclCommUserRank(comm, ctypes.byref(number))
            address, size = ctypes.c_uint64(buffers[rank]), ctypes.c_size_t(4)
            reduced = library.ncclAllReduce(address, address, size, 7, SUM, comm, ranks.streams[rank])
            # The other rank may still call: its call fails if this communicator is destroyed before.
            barrier.wait()
            results[rank] = (made, number.value, reduced, library.ncclCommDestroy(comm))

    barrier = threading.Barrier(2, timeout=60)
    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {rank: (SUCCESS, rank, SUCCESS, SUCCESS) for rank in range(2)}
    np.testing.assert_array_equal(ranks.get(1, buffers[1], data), 2 * data)


def test_split_makes_communicators_of_one_rank(ranks: Ranks, library: ctypes.CDLL) -> None:
    news = [ctypes.c_void_p() for _ in range(2)]
    with ranks.group():
        for rank in range(2):
            comm = ctypes.c_void_p(ranks.comms[rank])
            assert library.ncclCommSplit(comm, rank, 0, ctypes.byref(news[rank]), None) == SUCCESS
    for rank, comm in enumerate(news):
        count, device = ctypes.c_int(), ctypes.c_int()
        assert library.ncclCommCount(comm, ctypes.byref(count)) == SUCCESS
        assert library.ncclCommCuDevice(comm, ctypes.byref(device)) == SUCCESS
        assert (count.value, device.value) == (1, rank)
        assert library.ncclCommDestroy(comm) == SUCCESS


def test_ranks_that_disagree_are_refused(ranks: Ranks) -> None:
    data = np.zeros(4, np.float32)
    buffers = [ranks.put(rank, data) for rank in range(2)]
    with ranks.group(INVALID_USAGE):
        ranks.call(0, "ncclAllReduce", buffers[0], buffers[0], 4, c(7), c(SUM))
        ranks.call(1, "ncclAllReduce", buffers[1], buffers[1], 3, c(7), c(SUM))
    assert "the ranks disagree" in ranks.error()
    assert "of 3 Float32" in ranks.error()
    with ranks.group(INVALID_USAGE):
        ranks.call(0, "ncclSend", buffers[0], 4, c(7), c(1))
        ranks.call(1, "ncclRecv", buffers[1], 4, c(2), c(0))
    assert "receives 4 Int32" in ranks.error()


def test_invalid_arguments_are_refused(ranks: Ranks, library: ctypes.CDLL) -> None:
    buffer = ranks.put(0, np.zeros(4, np.float32))
    assert ranks.call(0, "ncclAllReduce", buffer, buffer, 4, c(12), c(SUM)) == INVALID_ARGUMENT
    assert ranks.call(0, "ncclAllReduce", buffer, buffer, 4, c(7), c(5)) == INVALID_ARGUMENT
    assert ranks.call(0, "ncclAllReduce", buffer, 0, 4, c(7), c(SUM)) == INVALID_ARGUMENT
    assert ranks.call(0, "ncclAllReduce", buffer, buffer, 4, c(10), c(SUM)) == INVALID_USAGE
    assert "Float8E4M3" in ranks.error()
    assert ranks.call(0, "ncclSend", buffer, 4, c(7), c(2)) == INVALID_ARGUMENT
    assert library.ncclCommDestroy(ctypes.c_void_p(42)) == INVALID_ARGUMENT
    assert library.ncclGroupEnd() == INVALID_USAGE
    assert library.ncclGetErrorString(INVALID_USAGE).startswith(b"invalid usage")


def test_unique_id_of_another_process_is_refused(simulator: str, library: ctypes.CDLL) -> None:
    identifier, comm = UniqueId(), ctypes.c_void_p()
    assert library.ncclGetUniqueId(ctypes.byref(identifier)) == SUCCESS
    identifier.internal[8] ^= 1
    assert library.ncclCommInitRank(ctypes.addressof(comm), 2, identifier, 0) == INVALID_USAGE
    assert b"ranks of one process only" in library.ncclGetLastError(None)


def test_two_ranks_on_one_device_are_refused(ranks: Ranks, library: ctypes.CDLL) -> None:
    comms, devices = (ctypes.c_void_p * 2)(), (ctypes.c_int * 2)(0, 0)
    assert library.ncclCommInitAll(comms, 2, devices) == INVALID_USAGE
    assert "two ranks use device 0" in ranks.error()


def test_call_after_another_rank_was_aborted_fails(ranks: Ranks, library: ctypes.CDLL) -> None:
    buffer = ranks.put(0, np.zeros(4, np.float32))
    assert library.ncclCommAbort(ctypes.c_void_p(ranks.comms[1])) == SUCCESS
    ranks.comms[1] = None
    assert ranks.call(0, "ncclAllReduce", buffer, buffer, 4, c(7), c(SUM)) == REMOTE_ERROR
    assert "rank 1 was aborted" in ranks.error()


def read_elsewhere(ranks: Ranks, *, waits: bool) -> None:
    """Read a receive buffer in a second stream, with or without a wait for the first."""
    data = np.arange(4, dtype=np.float32)
    sends = [ranks.put(rank, data) for rank in range(2)]
    receives = [ranks.put(rank, data) for rank in range(2)]
    target = ranks.put(0, data)
    with ranks.group():
        for rank in range(2):
            ranks.call(rank, "ncclAllReduce", sends[rank], receives[rank], 4, c(7), c(SUM))
    with driver_probe.primary_context(0):
        stream, event = ctypes.c_void_p(), ctypes.c_void_p()
        driver_probe.call("cuStreamCreate", ctypes.byref(stream), 1)
        driver_probe.call("cuEventCreate", ctypes.byref(event), 2)
        if waits:
            driver_probe.call("cuEventRecord", event, ranks.streams[0])
            driver_probe.call("cuStreamWaitEvent", stream, event, 0)
        source, size = ctypes.c_uint64(receives[0]), ctypes.c_size_t(data.nbytes)
        driver_probe.call("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(target), source, size, stream)
        for each in (stream, ranks.streams[0]):
            driver_probe.call("cuStreamSynchronize", each)
        driver_probe.call("cuEventDestroy_v2", event)
        driver_probe.call("cuStreamDestroy_v2", stream)


@pytest.mark.cuarray_sim(expect="data-race")
def test_read_of_a_receive_buffer_without_a_wait_is_a_race(ranks: Ranks) -> None:
    read_elsewhere(ranks, waits=False)


def test_read_of_a_receive_buffer_after_a_wait_has_no_findings(ranks: Ranks) -> None:
    read_elsewhere(ranks, waits=True)


@pytest.mark.cuarray_sim(expect="data-race")
def test_write_of_a_send_buffer_without_a_wait_is_a_race(ranks: Ranks) -> None:
    data = np.arange(4, dtype=np.float32)
    buffers = [ranks.put(rank, data) for rank in range(2)]
    with driver_probe.primary_context(1):
        stream = ctypes.c_void_p()
        driver_probe.call("cuStreamCreate", ctypes.byref(stream), 1)
        driver_probe.call(
            "cuMemsetD8Async", ctypes.c_uint64(buffers[1]), ctypes.c_ubyte(1), ctypes.c_size_t(16), stream
        )
    with ranks.group():
        for rank in range(2):
            ranks.call(rank, "ncclBroadcast", buffers[rank], buffers[rank], 4, c(7), c(1))
    with driver_probe.primary_context(1):
        driver_probe.call("cuStreamSynchronize", ranks.streams[1])
        driver_probe.call("cuStreamSynchronize", stream)
        driver_probe.call("cuStreamDestroy_v2", stream)
