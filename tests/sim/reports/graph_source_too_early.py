"""The host fills the source of a graph again, while a launch of the graph is pending."""

import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

import cuarray

SOURCE = """
extern "C" __global__ void add(const float *source, float *sums) {
    sums[threadIdx.x] += source[threadIdx.x];
}
"""
device = Device()
device.set_current()
stream = device.create_stream()
kernel = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}")).compile("ptx").get_kernel("add")
sums = cuarray.to_device(np.zeros(32, np.float32))
memory = LegacyPinnedMemoryResource().allocate(128)
source = np.from_dlpack(memory).view(np.float32)
builder = device.create_graph_builder().begin_building()
launch(builder, LaunchConfig(grid=1, block=32), kernel, memory, sums.ptr)
graph = builder.end_building().complete()
for step in range(2):
    source[0] = step
    graph.launch(stream)
stream.sync()
