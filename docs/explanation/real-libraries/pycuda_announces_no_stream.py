"""PyCUDA exports no stream although its copy is pending in a stream, so numba-cuda does not wait."""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
from numba import cuda
from pycuda import driver, gpuarray

producer, consumer = driver.Stream(), cuda.stream()
host, copy = driver.pagelocked_zeros(1000, np.float64), cuda.pinned_array(1000)
a = gpuarray.empty(1000, np.float64)
a.set_async(host, stream=producer)  # pending, and a.__cuda_array_interface__["stream"] is None
b = cuda.as_cuda_array(a)
b.copy_to_host(copy, stream=consumer)
