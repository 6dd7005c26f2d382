"""Pass one array through seven libraries. Each adds 1 to its elements with a kernel that it compiles.

    python -m cuarray_sim examples/all_of_them/pass_around.py

No step copies the array or waits on the host. JAX's arrays are immutable, so JAX's result is a new array.
"""

from __future__ import annotations

import numpy as np

import cuarray

SIZE = 1000
THREADS = 128
BLOCKS = (SIZE + THREADS - 1) // THREADS


def numba_cuda(_):
    """Upload 0, 1, 2, ..., and add 1 to each."""
    from numba import cuda

    @cuda.jit
    def add_one(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    array = cuda.to_device(np.arange(SIZE, dtype=np.float32))
    add_one[BLOCKS, THREADS](array)
    return array


def numba_cuda_mlir(array):
    """Add 1 with numba-cuda's successor."""
    from numba_cuda_mlir import cuda

    @cuda.jit
    def add_one(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    own = cuda.as_cuda_array(array)
    add_one[BLOCKS, THREADS](own)
    return own


def cuda_core(array):
    """Add 1 with CUDA C++, compiled to machine code as cuda.core does by default.

    numba's arrays name no stream: their work is in the legacy default stream, and this kernel is launched there too.
    """
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

    source = """
        extern "C" __global__ void add_one(float *x, int size) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < size) x[i] += 1;
        }"""
    device = Device()
    device.set_current()
    program = Program(source, "c++", ProgramOptions(arch=f"sm_{device.arch}"))
    kernel = program.compile("cubin").get_kernel("add_one")
    own = cuarray.as_cuda_array(array)
    launch(device.default_stream, LaunchConfig(grid=BLOCKS, block=THREADS), kernel, own.ptr, np.int32(SIZE))
    return own


def cupy(array):
    """Add 1 with CuPy's elementwise kernel, which CuPy compiles to machine code."""
    import cupy

    own = cupy.asarray(array)
    own += 1
    return own


def triton(array):
    """Add 1 with a Triton kernel on a PyTorch tensor."""
    import torch
    import triton
    import triton_kernel

    tensor = torch.as_tensor(array, device="cuda")
    triton_kernel.add_one[(triton.cdiv(SIZE, THREADS),)](tensor, SIZE, THREADS)
    return tensor


def torch_compile(tensor):
    """Add 1 with the kernel that torch.compile makes."""
    import torch

    @torch.compile
    def add_one(x):
        return x.add_(1)

    return add_one(tensor)


def jax(tensor):
    """Add 1 with XLA."""
    import jax

    return jax.jit(lambda x: x + 1)(jax.dlpack.from_dlpack(tensor))


def main():
    steps = (numba_cuda, numba_cuda_mlir, cuda_core, cupy, triton, torch_compile, jax)
    array = None
    for step in steps:
        array = step(array)
        print(f"{step.__name__:<16}{type(array).__module__}.{type(array).__name__}", flush=True)
    values = cuarray.from_dlpack(array).copy_to_host()
    np.testing.assert_array_equal(values, np.arange(SIZE, dtype=np.float32) + len(steps))
    print(f"{len(steps)} libraries added 1 to each of {SIZE} elements")


if __name__ == "__main__":
    main()
