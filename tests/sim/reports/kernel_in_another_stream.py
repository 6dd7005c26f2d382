"""A kernel on the default stream changes an array that a non-blocking stream still fills."""

from cuda.core import Device
from numba import cuda

import cuarray


@cuda.jit(lineinfo=True)
def increment(values):
    values[cuda.grid(1)] += 1


device = Device()
device.set_current()
stream = device.create_stream()
values = cuarray.device_array(256, "u1", stream=stream)
values[...] = 6
increment[2, 128](cuda.as_cuda_array(values, sync=False))
cuda.synchronize()
print(values.copy_to_host()[0])
