"""What the MPI processes do: rank 0 exchanges arrays with rank 1 and checks; rank 1 does as it is told.

    mpiexec -n 2 python mpi_ranks.py FINDINGS

mpi4py takes arrays through `__cuda_array_interface__` and gives none: it sends from their memory and receives into it. So
one direction is a `Send` of an array, the other a `Recv` into one. A request is made before rank 1 is told of it: what
mpi4py refuses then leaves nobody waiting.
"""

import ctypes
import gc
import statistics
import sys
import time
import weakref

import driver
import numpy as np
import peers
from cases import Case, cases
from facts import Refused
from library_cuarray import Cuarray
from mpi4py import MPI
from outcome import Outcome

import cuarray

COMM = MPI.COMM_WORLD
WORDS = COMM.Dup()  # what the ranks tell each other, apart from the arrays
PARTNER = 1
LARGE = Case("float32", (1 << 20,), "C")
"""More than MPI sends before the other side asks for it."""
SMALL = Case("float32", (3, 4), "C")
ROUND_TRIPS = 300


def mpi_knows_cuda():
    """Whether this MPI says that it moves device memory itself."""
    query = getattr(ctypes.CDLL(MPI.__file__), "MPIX_Query_cuda_support", None)
    return bool(query is not None and query())


class Way:
    """An array of `producer`, through cuarray if it is not cuarray's own, to and from mpi4py."""

    def __init__(self, producer, driver):
        self.producer = producer
        self.through = None if isinstance(producer, Cuarray) else Cuarray()
        self.occupy = driver.occupy
        names = [producer.name, *([self.through.name] if self.through else [])]
        self.sending = " → ".join([*names, "mpi4py"])
        self.receiving = " → ".join(["mpi4py", *reversed(names)])

    def enter(self, made, ordered=True):
        """cuarray's array of what was made: the one that mpi4py is given."""
        return (self.through.take(made.offer(), ordered=ordered) if self.through else made).held

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
        WORDS.send(("send", case), PARTNER)
        request.Wait()
        _compare(f"{self.producer.name} reads, after rank 1 has sent,", made.read(), case.values(1))

    def owner_is_kept(self, receives):
        """While a request is pending it holds the array, alone."""
        made = self.producer.make(LARGE)
        watch = weakref.ref(made.held)
        request = (COMM.Irecv if receives else COMM.Isend)(self.enter(made), PARTNER)
        others = []
        try:
            del made
            gc.collect()
            was_kept = watch() is not None
            # Were its memory free after all, these would be given it.
            others += [self.producer.make(LARGE) for _ in range(3)]
            for other in others:
                other.write(LARGE.values(2))
        finally:
            # Whatever has happened: rank 1 must find its half of the request before the next word.
            WORDS.send(("send" if receives else "receive", LARGE), PARTNER)
            request.Wait()
            received = None if receives else WORDS.recv(source=PARTNER)
        del request
        gc.collect()
        assert was_kept, "the array was released while a request was pending on it"
        for other in others:
            _compare("an array that nothing was received into holds", other.read(), LARGE.values(2))
        if not receives:
            _compare("rank 1 received", received, LARGE.values())
        assert watch() is None, "the array is still held by somebody after the request is done"

    def stream_is_honoured(self, ordered=True):
        """What the producer's stream had still to write is sent: the wait is cuarray's, on import."""
        stream = self.producer.stream()
        made = self.producer.make(LARGE, stream)
        staged = made.stage(LARGE.values(1))
        kept = self.occupy(self.producer, stream) if self.occupy is not None else None
        made.write_later(staged, stream)
        received = _send(self.enter(made, ordered), LARGE)
        stream.synchronize()
        del kept, staged
        if ordered:
            _compare("rank 1 received", received, LARGE.values(1))
        else:
            assert np.array_equal(received, LARGE.values()), "nobody waited, and still the latest values were sent"

    def round_trip(self):
        """The median time in nanoseconds of one way of a small array, there and back being two."""
        array = self.enter(self.producer.make(SMALL))
        WORDS.send(("echo", SMALL), PARTNER)
        times = []
        for _ in range(ROUND_TRIPS):
            start = time.perf_counter_ns()
            COMM.Send(array, PARTNER)
            COMM.Recv(array, PARTNER)
            times.append((time.perf_counter_ns() - start) / 2)
        return statistics.median(times)


def survey(way, driver):
    """The outcomes of sending and of receiving."""
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
    if way.through is None:
        sending.leave("stream", "mpi4py leaves streams to its user: synchronize an array's stream before the call")
    else:
        sending.check("stream", "pending work", way.stream_is_honoured)
        if driver.defers_all_work:
            sending.check("stream", "without the wait", way.stream_is_honoured, False)
    sending.nanoseconds = receiving.nanoseconds = way.round_trip()
    return [sending, receiving]


def obey(host_reads_device_memory):
    """Rank 1: receives, sends and echoes as rank 0 says, in arrays of its own."""
    while True:
        task, case = WORDS.recv(source=0)
        if task == "end":
            return
        # Before it receives, the array holds what nobody sends.
        array = _in_memory_order(case, turn=3)
        array = cuarray.to_device(array) if host_reads_device_memory else array
        host = array.copy_to_host if host_reads_device_memory else array.copy
        if task == "receive":
            COMM.Recv(array, 0)
            WORDS.send(host(), 0)
        elif task == "send":
            values = _in_memory_order(case, turn=1)
            array = cuarray.to_device(values) if host_reads_device_memory else values
            COMM.Send(array, 0)
        else:
            for _ in range(ROUND_TRIPS):
                COMM.Recv(array, 0)
                COMM.Send(array, 0)


def _in_memory_order(case, turn):
    """The values as they lie in the memory of the case's arrays, for a message is bytes in a row."""
    return np.array(case.values(turn), order="F" if case.layout == "F" else "C")


def _send(array, case):
    """Sends an array and returns what rank 1 received."""
    request = _request(COMM.Isend, array, case, PARTNER)
    WORDS.send(("receive", case), PARTNER)
    request.Wait()
    return WORDS.recv(source=PARTNER)


def _request(make, array, case, *arguments):
    if case.is_contiguous:
        return make(array, *arguments)
    try:
        request = make(array, *arguments)
    except BufferError as error:
        raise Refused(
            f"mpi4py takes contiguous arrays only (BufferError, {str(error).split('(')[0].strip()})"
        ) from error
    raise AssertionError(f"mpi4py took an array that is not contiguous, and answered {request}")


def _compare(what, seen, expected):
    assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype), f"{what} {seen.shape} of {seen.dtype}"
    wrong = int(np.sum(seen != expected))
    assert wrong == 0, f"{what} other values: {wrong} of {expected.size} differ"


def main(findings):
    if COMM.size != 2:
        sys.exit(f"{COMM.size} processes; this program is for 2")
    current = driver.current()
    readable = current.host_reads_device_memory or mpi_knows_cuda()
    if COMM.rank != 0:
        obey(readable)
        return
    present, _ = peers.load()
    producers = [library for library in present if library.name == "numba-cuda"]
    if readable:
        producers.insert(0, Cuarray())
    elif producers:
        from library_numba import ManagedNumba

        producers = [ManagedNumba()]
    outcomes = [outcome for library in producers for outcome in survey(Way(library, current), current)]
    WORDS.send(("end", None), PARTNER)
    if not readable:
        note = "this MPI does not move device memory: it was given managed memory, which the host reads in place"
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
        # One rank that ends with an error must not leave the other one waiting for ever.
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        COMM.Abort(1)
