"""A buffer of a shared pool of cuda.core, which a child process fills."""

import ctypes
import multiprocessing
from typing import Any

from cuda.bindings import driver
from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions


def child(buffers: Any) -> None:
    device = Device(0)
    device.set_current()
    buffer = buffers.get()
    stream = device.create_stream()
    buffer.fill(9, stream=stream)
    stream.sync()
    buffer.close()


if __name__ == "__main__":
    device = Device(0)
    device.set_current()
    pool = DeviceMemoryResource(device, options=DeviceMemoryResourceOptions(max_size=1 << 21, ipc_enabled=True))
    stream = device.create_stream()
    buffer = pool.allocate(4096, stream=stream)
    buffer.fill(1, stream=stream)
    stream.sync()
    context = multiprocessing.get_context("spawn")
    buffers = context.Queue()
    process = context.Process(target=child, args=(buffers,))
    process.start()
    buffers.put(buffer)
    process.join()
    host = (ctypes.c_ubyte * 4096)()
    (status,) = driver.cuMemcpyDtoH(ctypes.addressof(host), buffer.handle, 4096)
    print("child:", process.exitcode, "copy:", int(status), "bytes:", set(host))
    buffer.close()
    pool.close()
