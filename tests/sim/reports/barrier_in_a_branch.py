"""The two halves of a warp wait at different barriers."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def halves(values):
    lane = cuda.threadIdx.x
    if lane < 16:
        cuda.syncthreads()
        values[lane] = 1
    else:
        values[lane] = 2
        cuda.syncthreads()


values = cuda.to_device(np.zeros(32, np.int64))
halves[1, 32](values)
print(values.copy_to_host()[::16])
