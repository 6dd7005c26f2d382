"""numba-cuda exports the stream that an array was made on, and not the stream whose work is pending."""

from numba import cuda

import cuarray

made, producer, consumer = cuda.stream(), cuda.stream(), cuarray.stream()
host = cuda.pinned_array(1000)
host[:] = 1
a = cuda.device_array(1000, stream=made)
a.copy_to_device(host, stream=producer)  # pending, and a.__cuda_array_interface__["stream"] is `made`
b = cuarray.as_cuda_array(a)  # waits for `made`
b.copy_to_host(stream=consumer)
