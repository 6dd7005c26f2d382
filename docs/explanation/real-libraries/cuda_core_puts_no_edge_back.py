"""cuda.core's stream waits for the producer's stream, but the producer's stream does not wait for cuda.core's."""

import numpy as np
from cuda.core import Buffer, Device
from cuda.core.utils import StridedMemoryView
from numba import cuda

device = Device()
device.set_current()
producer, consumer = cuda.stream(), device.create_stream()
copy = device.allocate(8000, stream=consumer)
a = cuda.to_device(np.zeros(1000), stream=producer)
view = StridedMemoryView.from_cuda_array_interface(a, stream_ptr=int(consumer.handle))  # orders `consumer`
Buffer.from_handle(view.ptr, 8000, owner=view).copy_to(copy, stream=consumer)
a.copy_to_device(np.ones(1000), stream=producer)
