"""Threads beyond the data return before they are counted, and the first thread waits for the count of all."""

import contextlib

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError


@cuda.jit(lineinfo=True)
def gather(values, count, total):
    i = cuda.grid(1)
    if i >= values.size:
        return
    cuda.atomic.add(total, 0, values[i])
    cuda.threadfence()
    cuda.atomic.add(count, 0, 1)
    if i == 0:
        while cuda.atomic.add(count, 0, 0) < cuda.gridsize(1):
            pass
        total[1] = total[0]


values = cuda.to_device(np.ones(100, np.int32))
count, total = cuda.to_device(np.zeros(1, np.int32)), cuda.to_device(np.zeros(2, np.int32))
gather[4, 32](values, count, total)
with contextlib.suppress(CudaAPIError):
    cuda.synchronize()
