"""A buffer of a shared pool of cuda.core, which a child process fills after an event of its parent."""

import ctypes
import multiprocessing
from typing import Any

from cuda.bindings import driver
from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions, Event, EventOptions


def child(shared: Any) -> None:
    device = Device(0)
    device.set_current()
    buffer, descriptor = shared.get()
    stream = device.create_stream()
    filled = Event.from_ipc_descriptor(descriptor)
    stream.wait(filled)
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
    event = stream.record(options=EventOptions(ipc_enabled=True))
    context = multiprocessing.get_context("spawn")
    shared = context.Queue()
    process = context.Process(target=child, args=(shared,))
    process.start()
    shared.put((buffer, event.ipc_descriptor))
    process.join()
    event.sync()
    host = (ctypes.c_ubyte * 4096)()
    (status,) = driver.cuMemcpyDtoH(ctypes.addressof(host), buffer.handle, 4096)
    print("child:", process.exitcode, "copy:", int(status), "bytes:", set(host))
    buffer.close()
    pool.close()
