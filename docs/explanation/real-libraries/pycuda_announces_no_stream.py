"""PyCUDA exports no stream while its copy is pending in one: numba-cuda has nothing to wait for."""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
from numba import cuda
from pycuda import driver, gpuarray

works, ours = driver.Stream(), cuda.stream()
host, mine = driver.pagelocked_zeros(1000, np.float64), cuda.pinned_array(1000)
a = gpuarray.empty(1000, np.float64)
a.set_async(host, stream=works)  # pending, and a.__cuda_array_interface__["stream"] is None
b = cuda.as_cuda_array(a)
b.copy_to_host(mine, stream=ours)
