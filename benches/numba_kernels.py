"""Runs the kernels for :mod:`kernels` on the simulator that the environment chooses, and prints the times as one line of JSON.

The module imports ``cuda`` and ``float32`` into its globals, because numba's simulator replaces these names while a kernel runs."""

import json
import math
import os
import statistics
import sys
import time

import numpy as np

NUMBA_SIMULATOR = "NUMBA_ENABLE_CUDASIM" in os.environ
if not NUMBA_SIMULATOR:
    import cuarray_sim

    cuarray_sim.install()

from numba import cuda, float32  # noqa: E402

_ROUNDS = 1 if NUMBA_SIMULATOR else 7
# The threads of a block.
TILE, BODIES, SUMMED = 16, 128, 128


@cuda.jit
def vector_add(a, b, total):
    i = cuda.grid(1)
    if i < total.size:
        total[i] = a[i] + b[i]


@cuda.jit
def matrix_product(a, b, product):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range(a.shape[1] // TILE):
        left[y, x] = a[row, step * TILE + x]
        right[y, x] = b[step * TILE + y, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    product[row, column] = total


@cuda.jit
def reduction(values, sums):
    shared = cuda.shared.array(SUMMED, float32)
    thread = cuda.threadIdx.x
    shared[thread] = values[cuda.grid(1)]
    cuda.syncthreads()
    half = SUMMED // 2
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        sums[cuda.blockIdx.x] = shared[0]


@cuda.jit
def n_body(bodies, forces):
    near = cuda.shared.array((BODIES, 4), float32)
    i, thread = cuda.grid(1), cuda.threadIdx.x
    x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
    fx = fy = fz = float32(0)
    for tile in range(cuda.gridDim.x):
        for k in range(4):
            near[thread, k] = bodies[tile * BODIES + thread, k]
        cuda.syncthreads()
        for j in range(BODIES):
            dx, dy, dz = near[j, 0] - x, near[j, 1] - y, near[j, 2] - z
            square = dx * dx + dy * dy + dz * dz + float32(0.01)
            force = near[j, 3] / (square * math.sqrt(square))
            fx += force * dx
            fy += force * dy
            fz += force * dz
        cuda.syncthreads()
    forces[i, 0], forces[i, 1], forces[i, 2] = fx, fy, fz


def launches():
    """Return the kernels by name, each with its grid, block and arrays. A kernel writes its last array."""
    numbers = np.random.default_rng(1)
    values = lambda *shape: numbers.random(shape, np.float32)  # noqa: E731
    zeros = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
    return {
        "vector add, 65,536": (vector_add, 512, 128, [values(65536), values(65536), zeros(65536)]),
        "matrix product, 96 by 96": (
            matrix_product,
            (6, 6),
            (TILE, TILE),
            [values(96, 96), values(96, 96), zeros(96, 96)],
        ),
        "reduction, 16,384": (reduction, 128, SUMMED, [values(16384), zeros(128)]),
        "n-body, 512": (n_body, 4, BODIES, [values(512, 4), zeros(512, 3)]),
    }


def main():
    results = {}
    for name, (kernel, grid, block, arrays) in launches().items():
        print(f"kernels, {name} ...", file=sys.stderr, flush=True)
        arrays = [cuda.to_device(array) for array in arrays]
        if not NUMBA_SIMULATOR:
            kernel[grid, block](*arrays)
            cuda.synchronize()
        seconds = []
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            kernel[grid, block](*arrays)
            cuda.synchronize()
            seconds.append(time.perf_counter() - start)
        results[name] = statistics.median(seconds), float(np.abs(arrays[-1].copy_to_host()).sum(dtype=np.float64))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
