"""numba-cuda leaves out the strides of a broadcast array."""

import numpy as np
from numba import cuda

import cuarray

a = cuda.to_device(np.arange(3.0))
entries = dict(a.__cuda_array_interface__, strides=(0,))  # the first element, three times
b = cuda.from_cuda_array_interface(entries, owner=a)
print(b.strides, b.__cuda_array_interface__["strides"])
print(cuarray.as_cuda_array(b).copy_to_host())
