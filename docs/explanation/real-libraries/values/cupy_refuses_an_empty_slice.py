"""CuPy asks for the device of the null pointer of an array without elements."""

import cupy
import numpy as np
from numba import cuda

a = cuda.to_device(np.zeros((4, 6)))[4:, ::2]
print(a.shape, a.__cuda_array_interface__["strides"], a.__cuda_array_interface__["data"][0])
try:
    cupy.asarray(a)
except RuntimeError as error:
    print(error)
