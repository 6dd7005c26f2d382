"""A lock protects a sum, and the number of additions is stored after its release."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def add(lock, total, additions):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    total[0] += cuda.blockIdx.x
    before = additions[0]
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)
    additions[0] = before + 1


lock, total, additions = (cuda.to_device(np.zeros(1, np.int32)) for _ in range(3))
add[4, 1](lock, total, additions)
print(total.copy_to_host(), additions.copy_to_host())
