"""numba-cuda reads in its own stream, and nothing keeps the producer's stream from writing meanwhile."""

import numpy as np
from numba import cuda

import cuarray

producer, consumer = cuarray.stream(), cuda.stream()
a = cuarray.to_device(np.zeros(1000), stream=producer)
b, host = cuda.as_cuda_array(a), cuda.pinned_array(1000)  # waits for `producer`
b.copy_to_host(host, stream=consumer)
a.copy_to_device(np.ones(1000), stream=producer)
