"""Buffers of a shared pool of pinned memory of cuda.core, which a child process reads and writes on the host and by copies."""

import multiprocessing
from typing import Any

import numpy as np
from cuda.core import Buffer, Device, PinnedMemoryResource, PinnedMemoryResourceOptions

SIZE = 4096


def child(shared: Any) -> None:
    device = Device(0)
    device.set_current()
    handle, descriptor, sent = shared.get()
    pool = PinnedMemoryResource.from_allocation_handle(handle)
    assert pool.is_mapped
    assert pool.register(handle.uuid) is pool
    assert PinnedMemoryResource.from_registry(handle.uuid) is pool
    stream = device.create_stream()
    buffer = Buffer.from_ipc_descriptor(pool, descriptor, stream=stream)
    assert buffer.is_host_accessible
    assert (np.from_dlpack(buffer).view("uint8") == 5).all()
    # The copy passes through the device's memory.
    staged = device.memory_resource.allocate(SIZE, stream=stream)
    staged.fill(7, stream=stream)
    buffer.copy_from(staged, stream=stream)
    stream.sync()
    other = shared.get()
    np.from_dlpack(other).view("uint8")[:] = 9
    print("sent:", sent, flush=True)
    for one in (staged, buffer, other):
        one.close(stream)
    stream.sync()


if __name__ == "__main__":
    device = Device(0)
    device.set_current()
    pool = PinnedMemoryResource(PinnedMemoryResourceOptions(max_size=1 << 21, ipc_enabled=True))
    stream = device.create_stream()
    buffers = [pool.allocate(SIZE, stream=stream) for _ in range(2)]
    stream.sync()
    views = [np.from_dlpack(buffer).view("uint8") for buffer in buffers]
    for view in views:
        view[:] = 5
    multiprocessing.set_start_method("spawn")
    shared: Any = multiprocessing.Queue()
    process = multiprocessing.Process(target=child, args=(shared,))
    process.start()
    shared.put((pool.allocation_handle, buffers[0].ipc_descriptor, pool.is_ipc_enabled))
    shared.put(buffers[1])
    process.join()
    print("child:", process.exitcode, "bytes:", [set(view.tolist()) for view in views])
    del view, views
    for buffer in buffers:
        buffer.close()
    stream.sync()
    pool.close()
