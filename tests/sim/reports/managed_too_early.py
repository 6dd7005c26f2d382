"""The host overwrites managed memory, while a kernel may still write it."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def enumerate_(values):
    values[cuda.grid(1)] = cuda.grid(1)


values = cuda.managed_array(256, np.float64)
enumerate_[2, 128](values)
values[0] = 0
cuda.synchronize()
print(values[1])
