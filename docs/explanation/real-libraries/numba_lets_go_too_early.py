"""numba-cuda drops the owner of an array that numba-cuda's stream still reads, and PyCUDA's pool reuses the memory."""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
from numba import cuda
from pycuda import driver, gpuarray, tools

pool, producer, consumer = tools.DeviceMemoryPool(), driver.Stream(), cuda.stream()
a = gpuarray.to_gpu(np.zeros(1000), allocator=pool.allocate)
b, host = cuda.as_cuda_array(a), cuda.pinned_array(1000)
b.copy_to_host(host, stream=consumer)  # pending
del a, b
ones = driver.pagelocked_zeros(1000, np.float64)
c = gpuarray.empty(1000, np.float64, allocator=pool.allocate)  # the same memory
c.set_async(ones, stream=producer)
del c, pool  # or PyCUDA aborts at exit
