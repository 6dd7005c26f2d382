"""mpi4py ignores the stream of an array, as its manual says: the user must synchronize before sending."""

import numpy as np
from mpi4py import MPI
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset

stream = cuda.stream()
a, received = cuda.mapped_array(1000, stream=stream), np.empty(1000)
device_memset(a, 0, 8000, stream=stream)  # pending, and a.__cuda_array_interface__["stream"] is `stream`
MPI.COMM_SELF.Sendrecv(a, 0, recvbuf=received, source=0)
