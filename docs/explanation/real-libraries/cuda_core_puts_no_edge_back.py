"""cuda.core waits for the producer's stream, and nothing makes the producer's stream wait for cuda.core's."""

import numpy as np
from cuda.core import Buffer, Device
from cuda.core.utils import StridedMemoryView
from numba import cuda

device = Device()
device.set_current()
theirs, works = cuda.stream(), device.create_stream()
mine = device.allocate(8000, stream=works)
a = cuda.to_device(np.zeros(1000), stream=theirs)
view = StridedMemoryView.from_cuda_array_interface(a, stream_ptr=int(works.handle))  # `works` waits for `theirs`
Buffer.from_handle(view.ptr, 8000, owner=view).copy_to(mine, stream=works)
a.copy_to_device(np.ones(1000), stream=theirs)
