"""All threads of a block add to one element of shared memory, without an atomic operation."""

import numpy as np
from numba import cuda, int64


@cuda.jit(lineinfo=True)
def add_up(prices, result):
    total = cuda.shared.array(1, int64)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    total[0] += prices[cuda.threadIdx.x]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        result[0] = total[0]


result = cuda.to_device(np.zeros(1, np.int64))
add_up[1, 64](cuda.to_device(np.arange(64)), result)
print(result.copy_to_host()[0], "of", 63 * 32)
