"""numba-cuda exports no stream although its copy is pending in a stream, so cuda.core does not wait."""

from cuda.core import Buffer, Device
from cuda.core.utils import StridedMemoryView
from numba import cuda

device = Device()
device.set_current()
producer, consumer = cuda.stream(), device.create_stream()
host, copy = cuda.pinned_array(1000), device.allocate(8000, stream=consumer)
host[:] = 1
a = cuda.device_array(1000)
a.copy_to_device(host, stream=producer)  # pending, and a.__cuda_array_interface__["stream"] is None
view = StridedMemoryView.from_cuda_array_interface(a, stream_ptr=int(consumer.handle))
Buffer.from_handle(view.ptr, 8000, owner=view).copy_to(copy, stream=consumer)
