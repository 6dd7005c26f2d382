"""The host clears the first byte of a pinned buffer, from which a copy is pending."""

import ctypes

import numpy as np
from numba import cuda


def clear(buffer):
    ctypes.memset(buffer.ctypes.data, 0, 1)


stream = cuda.stream()
source = cuda.pinned_array(1024, np.uint8)
source[:] = 1
target = cuda.device_array(1024, np.uint8, stream=stream)
target.copy_to_device(source, stream=stream)
clear(source)
print(target.copy_to_host(stream=stream)[0])
