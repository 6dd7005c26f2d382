"""A block passes a barrier, but no thread waits for the asynchronous copies to shared memory."""

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
from cuda.pathfinder import find_nvidia_header_directory

import cuarray

SOURCE = """
#include <cuda_pipeline.h>
extern "C" __global__ void reverse(const float *in, float *out) {
    __shared__ float tile[64];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(arch=f"sm_{device.arch}", lineinfo=True, include_path=find_nvidia_header_directory("cudart"))
kernel = Program(SOURCE, "c++", options).compile("ptx").get_kernel("reverse")
given, reversed_ = (cuarray.to_device(np.ones(64, np.float32)) for _ in range(2))
launch(stream, LaunchConfig(grid=1, block=64), kernel, given.ptr, reversed_.ptr)
stream.sync()
