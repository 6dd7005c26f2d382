"""A block sets the flag before it stores the data that another block reads after the flag."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def hand_over(flag, message, received):
    if cuda.blockIdx.x == 0:
        cuda.atomic.exch(flag, 0, 1)
        message[0] = 7
        cuda.threadfence()
    else:
        while cuda.atomic.cas(flag, 0, 1, 1) != 1:
            pass
        cuda.threadfence()
        received[0] = message[0]


flag, message, received = (cuda.to_device(np.zeros(1, np.int32)) for _ in range(3))
hand_over[2, 1](flag, message, received)
print(received.copy_to_host())
