"""numba-cuda reports an illegal shape by an internal error of the interpreter."""

import numpy as np
from numba import cuda

entries = dict(cuda.to_device(np.zeros(4)).__cuda_array_interface__, shape=(2.0,))
try:
    cuda.from_cuda_array_interface(entries)
except SystemError as error:
    print(error)
