"""mpi4py does not look at the stream of an array, and its manual says so: the user has to wait before sending."""

import numpy as np
from mpi4py import MPI
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset

works = cuda.stream()
a, received = cuda.mapped_array(1000, stream=works), np.empty(1000)
device_memset(a, 0, 8000, stream=works)  # pending, and a.__cuda_array_interface__["stream"] is `works`
MPI.COMM_SELF.Sendrecv(a, 0, recvbuf=received, source=0)
