"""An event is recorded in front of the copy that it should announce, so the stream that waits for it starts too early."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def triple(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 3 * x[i]


loading, computing = cuda.stream(), cuda.stream()
host = cuda.pinned_array(4096, dtype=np.float32)
host[:] = 2
x, y = cuda.device_array(4096, np.float32), cuda.device_array(4096, np.float32)
loaded = cuda.event()
loaded.record(loading)
x.copy_to_device(host, stream=loading)
loaded.wait(computing)
triple[16, 256, computing](x, y)
computing.synchronize()
loading.synchronize()
