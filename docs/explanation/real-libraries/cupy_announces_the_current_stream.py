"""CuPy exports the stream that is current at the export, not the one in which the array's work is pending."""

import cupy
from numba import cuda

producer, consumer = cupy.cuda.Stream(non_blocking=True), cuda.stream()
x, copy = cupy.zeros(1000), cuda.pinned_array(1000)
cupy.cuda.Device().synchronize()
with producer:
    x += 1  # pending in `producer`
b = cuda.as_cuda_array(x)  # x.__cuda_array_interface__["stream"] is 1: no other stream is current here
b.copy_to_host(copy, stream=consumer)
