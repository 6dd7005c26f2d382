"""Two arrays share dynamic shared memory, and the second one begins too early for blocks of more than 16 threads."""

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

import cuarray

SOURCE = """
extern "C" __global__ void smallest(const double *costs, int *best) {
    extern __shared__ double memory[];
    int *order = (int *)memory;
    double *cost = (double *)(order + 16);
    int me = threadIdx.x;
    cost[me] = costs[me];
    order[me] = me;
    __syncthreads();
    if (me == 0) {
        int least = 0;
        for (int each = 1; each < blockDim.x; each++)
            if (cost[order[each]] < cost[least]) least = order[each];
        *best = least;
    }
}
"""
device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(arch=f"sm_{device.arch}", lineinfo=True)
kernel = Program(SOURCE, "c++", options).compile("ptx").get_kernel("smallest")
costs, best = cuarray.to_device(np.ones(64)), cuarray.to_device(np.zeros(1, np.int32))
launch(stream, LaunchConfig(grid=1, block=64, shmem_size=64 * 12), kernel, costs.ptr, best.ptr)
stream.sync()
