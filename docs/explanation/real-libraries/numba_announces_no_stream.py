"""numba-cuda exports no stream while its copy is pending in one: cuda.core has nothing to wait for."""

from cuda.core import Buffer, Device
from cuda.core.utils import StridedMemoryView
from numba import cuda

device = Device()
device.set_current()
works, ours = cuda.stream(), device.create_stream()
host, mine = cuda.pinned_array(1000), device.allocate(8000, stream=ours)
host[:] = 1
a = cuda.device_array(1000)
a.copy_to_device(host, stream=works)  # pending, and a.__cuda_array_interface__["stream"] is None
view = StridedMemoryView.from_cuda_array_interface(a, stream_ptr=int(ours.handle))
Buffer.from_handle(view.ptr, 8000, owner=view).copy_to(mine, stream=ours)
