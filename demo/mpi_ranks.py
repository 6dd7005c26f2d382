"""The program of the MPI processes: rank 0 exchanges arrays with rank 1 and checks; rank 1 follows rank 0.

    mpiexec -n 2 python mpi_ranks.py FINDINGS

mpi4py imports arrays through `__cuda_array_interface__` and exports none: it sends from their memory and receives into it. So one
direction is a `Send` of an array, and the other a `Recv` into one. Rank 0 makes its request before it informs rank 1, so that
rank 1 does not wait for a request that mpi4py refuses."""

import ctypes
import gc
import statistics
import sys
import time
import weakref

import driver
import numpy as np
import peers
from cases import SMALL, Case, cases
from facts import nothing_is_found, race_is_found
from mpi4py import MPI
from outcome import Outcome
from route import Array, Library, own

import cuarray
from cuarray.check import NotClaimed, handle_of, parts

COMM = MPI.COMM_WORLD
CONTROL = COMM.Dup()  # control messages between the ranks
PARTNER = 1
LARGE = Case("float32", (1 << 20,), "C")
"""More bytes than MPI sends before the receiver has posted its receive."""
ROUND_TRIPS = 300


def mpi_supports_cuda():
    """Return whether this MPI supports device memory."""
    query = getattr(ctypes.CDLL(MPI.__file__), "MPIX_Query_cuda_support", None)
    return bool(query is not None and query())


class Managed(Library):
    """A library with its arrays in managed memory, for an MPI that reads memory on the host."""

    def __init__(self, adapter):
        super().__init__(adapter)
        self.name = f"{self.name} (managed)"

    def make(self, case, stream=None):
        first, end = parts.extent(case.shape, case.strides, case.numpy_type.itemsize)
        memory = self.call("make_in", "managed", (end - first,), "|u1")
        entries = {"shape": case.shape, "typestr": case.numpy_type.str, "strides": case.strides, "version": 3}
        entries |= {"data": (self.call("pointer", memory) - first, False), "stream": stream and handle_of(stream)}
        made = Array(self, self.call("import_", parts.Foreign(entries, memory)), case)
        made.write(case.values())
        return made


class Way:
    """Sends and receives arrays of `producer` by mpi4py. cuarray first imports the arrays of other libraries."""

    def __init__(self, producer):
        self.producer = producer
        self.through_cuarray = producer.name != "cuarray"
        names = [producer.name, *(["cuarray"] if self.through_cuarray else [])]
        self.sending = " → ".join([*names, "mpi4py"])
        self.receiving = " → ".join(["mpi4py", *reversed(names)])

    def enter(self, made, ordered=True):
        """Return the array that mpi4py uses."""
        return cuarray.as_cuda_array(made.offer(), sync=ordered) if self.through_cuarray else made.held

    def arrives_in_place(self, case):
        made = self.producer.make(case)
        seen = _request(MPI.buffer, self.enter(made), case).address
        assert seen == made.address, f"mpi4py sees the address {seen:#x}; {made.address:#x} is expected"

    def is_sent(self, case):
        array = self.enter(self.producer.make(case))
        _compare("rank 1 received", _send(array, case), case.values())

    def is_received(self, case):
        made = self.producer.make(case)
        request = _request(COMM.Irecv, self.enter(made), case, PARTNER)
        CONTROL.send(("send", case), PARTNER)
        request.Wait()
        _compare(f"{self.producer.name} reads, after rank 1 has sent,", made.read(), case.values(1))

    def owner_is_kept(self, receives):
        """The pending request alone keeps the array alive."""
        made = self.producer.make(LARGE)
        watch = weakref.ref(made.held)
        request = (COMM.Irecv if receives else COMM.Isend)(self.enter(made), PARTNER)
        others = []
        try:
            del made
            gc.collect()
            was_kept = watch() is not None
            # If its memory were free, these arrays would get it.
            others += [self.producer.make(LARGE) for _ in range(3)]
            for other in others:
                other.write(LARGE.values(2))
        finally:
            # Even after an error, rank 1 must do its half of the exchange before the next control message.
            CONTROL.send(("send" if receives else "receive", LARGE), PARTNER)
            request.Wait()
            received = None if receives else CONTROL.recv(source=PARTNER)
        del request
        gc.collect()
        assert was_kept, "the array was released while a request was pending on it"
        for other in others:
            _compare("an array that received no message holds", other.read(), LARGE.values(2))
        if not receives:
            _compare("rank 1 received", received, LARGE.values())
        assert watch() is None, "the array is still held by another object after the request is done"

    def stream_is_honoured(self, ordered=True):
        """The message has the values that the producer's stream had not written yet: cuarray waits at import."""
        stream = self.producer.stream()
        made = self.producer.make(LARGE, stream)
        parts.hold(stream)
        data = made.write_later(LARGE.values(1), stream)
        received = _send(self.enter(made, ordered), LARGE)
        # This read waits for the write, which uses memory that is freed next.
        made.read(stream)
        del data
        if ordered:
            _compare("rank 1 received", received, LARGE.values(1))
        else:
            assert np.array_equal(received, LARGE.values()), "no call waited, but the latest values were sent"

    def round_trip(self):
        """Return the median time of a small array in one direction, in nanoseconds."""
        array = self.enter(self.producer.make(SMALL))
        CONTROL.send(("echo", SMALL), PARTNER)
        times = []
        for _ in range(ROUND_TRIPS):
            start = time.perf_counter_ns()
            COMM.Send(array, PARTNER)
            COMM.Recv(array, PARTNER)
            times.append((time.perf_counter_ns() - start) / 2)
        return statistics.median(times)


def survey(way, driver):
    """Return the outcomes of sending and receiving."""
    sending, receiving = Outcome(way.sending), Outcome(way.receiving)
    for case in cases():
        found = [
            sending.check("pointer", case, way.arrives_in_place, case),
            sending.check("values", case, way.is_sent, case),
        ]
        sending.count_array(case.layout, found)
        receiving.count_array(case.layout, [receiving.check("writes", case, way.is_received, case)])
    sending.check("owner", "a pending Isend", way.owner_is_kept, False)
    receiving.check("owner", "a pending Irecv", way.owner_is_kept, True)
    if not way.through_cuarray:
        sending.leave("stream", "mpi4py leaves streams to its user: synchronize an array's stream before the call")
    else:
        sending.check("stream", "pending work", way.stream_is_honoured)
        if driver.is_simulated:
            if (found := driver.findings()) is not None:
                sending.check("stream", "findings", nothing_is_found, found)
            sending.check("stream", "without the wait", way.stream_is_honoured, False)
            if (found := driver.findings()) is not None:
                sending.check("stream", "the race without the wait", race_is_found, found)
    sending.nanoseconds = receiving.nanoseconds = way.round_trip()
    return [sending, receiving]


def follow(host_reads_device_memory):
    """Rank 1: receive, send and echo as rank 0 requests, in its own arrays."""
    while True:
        task, case = CONTROL.recv(source=0)
        if task == "end":
            return
        # Before the receive, the array holds values that are never sent.
        array = _in_memory_order(case, turn=3)
        array = cuarray.to_device(array) if host_reads_device_memory else array
        host = array.copy_to_host if host_reads_device_memory else array.copy
        if task == "receive":
            COMM.Recv(array, 0)
            CONTROL.send(host(), 0)
        elif task == "send":
            values = _in_memory_order(case, turn=1)
            array = cuarray.to_device(values) if host_reads_device_memory else values
            COMM.Send(array, 0)
        else:
            for _ in range(ROUND_TRIPS):
                COMM.Recv(array, 0)
                COMM.Send(array, 0)


def _in_memory_order(case, turn):
    """Return the values in the order of the array's memory, as a message is a sequence of bytes."""
    return np.array(case.values(turn), order="F" if case.layout == "F" else "C")


def _send(array, case):
    """Send an array and return the values that rank 1 received."""
    request = _request(COMM.Isend, array, case, PARTNER)
    CONTROL.send(("receive", case), PARTNER)
    request.Wait()
    return CONTROL.recv(source=PARTNER)


def _request(make, array, case, *arguments):
    if case.is_contiguous:
        return make(array, *arguments)
    try:
        request = make(array, *arguments)
    except BufferError as error:
        raise NotClaimed(
            f"mpi4py takes contiguous arrays only (BufferError, {str(error).split('(')[0].strip()})"
        ) from error
    raise AssertionError(f"mpi4py took an array that is not contiguous, and returned {request}")


def _compare(what, seen, expected):
    assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype), (
        f"{what} {seen.shape} of {seen.dtype}; {expected.shape} of {expected.dtype} is expected"
    )
    wrong = int(np.sum(seen != expected))
    assert wrong == 0, f"{what} other values: {wrong} of {expected.size} differ"


def main(findings):
    if COMM.size != 2:
        sys.exit(f"{COMM.size} processes; this program needs 2")
    current = driver.current()
    readable = current.host_reads_device_memory or mpi_supports_cuda()
    if COMM.rank != 0:
        follow(readable)
        return
    try:
        producers = [peers.load("numba-cuda") if readable else Managed(peers.load("numba-cuda").adapter)]
    except Exception:
        # The report of the demo says why.
        producers = []
    if readable:
        producers.insert(0, own())
    outcomes = [outcome for library in producers for outcome in survey(Way(library), current)]
    CONTROL.send(("end", None), PARTNER)
    if not readable:
        note = (
            "this MPI does not move device memory, so the arrays are in managed memory, which the host reads in place"
        )
        if not producers:
            outcomes.append(Outcome("mpi4py, 2 ranks"))
            note = "mpi4py: this MPI does not move device memory, and there is no numba-cuda to allocate managed memory"
        outcomes[0].note(note)
    with open(findings, "w") as file:
        file.writelines(outcome.to_json() + "\n" for outcome in outcomes)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except BaseException:
        # After an error in one rank, the other must not wait forever.
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        COMM.Abort(1)
