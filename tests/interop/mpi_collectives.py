"""Check collective operations of two MPI processes on arrays of cuarray. Run by test_mpi4py.py."""

import numpy as np
from mpi4py import MPI

import cuarray

comm = MPI.COMM_WORLD
assert comm.size == 2, comm.size
sent = np.arange(6, dtype="float64") + 10 * comm.rank
sum_of_both = 2 * np.arange(6, dtype="float64") + 10


def check(operation, array, expected):
    seen = array.copy_to_host()
    assert np.array_equal(seen, expected), f"rank {comm.rank}, {operation}: {seen} instead of {expected}"


result = cuarray.to_device(np.full(6, -1.0))
comm.Allreduce(cuarray.to_device(sent), result)
check("Allreduce", result, sum_of_both)

result = cuarray.to_device(sent)
comm.Allreduce(MPI.IN_PLACE, result)
check("Allreduce in place", result, sum_of_both)

result = cuarray.to_device(sent)
comm.Bcast(result, root=1)
check("Bcast", result, np.arange(6.0) + 10)

result = cuarray.to_device(np.full((2, 6), -1.0))
comm.Allgather(cuarray.to_device(sent), result)
check("Allgather", result, [np.arange(6.0), np.arange(6.0) + 10])

result = cuarray.to_device(np.full(6, -1.0))
comm.Sendrecv(cuarray.to_device(sent), 1 - comm.rank, recvbuf=result, source=1 - comm.rank)
check("Sendrecv", result, np.arange(6.0) + 10 * (1 - comm.rank))

# mpi4py's long form of a buffer, with count and type.
result = cuarray.to_device(np.full(6, -1.0))
comm.Allreduce([cuarray.to_device(sent), 3, MPI.DOUBLE], [result, 3, MPI.DOUBLE], op=MPI.MAX)
check("Allreduce of three", result, [10, 11, 12, -1, -1, -1])

print("collectives passed", flush=True)
