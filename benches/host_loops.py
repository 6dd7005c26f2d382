"""Kernels of numba-cuda on the simulated driver, beside the same loops that numba compiles for the host.

Both run in one process, in turn, on all cores. The program checks that their results agree, and prints the least seconds of each as one
line of JSON. The least time is hardly affected by other programs on the machine."""

import json
import math
import sys
import time

import numpy as np
from numba_kernels import BODIES, SUMMED, TILE, cuda, float32, matrix_product, n_body, reduction

from numba import get_num_threads, int32, njit, prange  # isort: skip

_ROUNDS = 15
_THREADS = 256
_BINS = 256


@cuda.jit
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@njit(parallel=True)
def saxpy_host(a, x, y, out):
    for i in prange(out.size):
        out[i] = a * x[i] + y[i]


@cuda.jit
def elementwise(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        scaled = x[i] * float32(2) + math.sqrt(y[i])
        out[i] = abs(scaled - y[i]) / (x[i] * x[i] + float32(1))


@njit(parallel=True)
def elementwise_host(x, y, out):
    for i in prange(out.size):
        scaled = x[i] * float32(2) + math.sqrt(y[i])
        out[i] = abs(scaled - y[i]) / (x[i] * x[i] + float32(1))


@njit(parallel=True)
def n_body_host(bodies, forces):
    for i in prange(bodies.shape[0]):
        x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
        fx = fy = fz = float32(0)
        for j in range(bodies.shape[0]):
            dx, dy, dz = bodies[j, 0] - x, bodies[j, 1] - y, bodies[j, 2] - z
            square = dx * dx + dy * dy + dz * dz + float32(0.01)
            force = bodies[j, 3] / (square * math.sqrt(square))
            fx += force * dx
            fy += force * dy
            fz += force * dz
        forces[i, 0], forces[i, 1], forces[i, 2] = fx, fy, fz


@njit(parallel=True)
def matrix_product_host(a, b, product):
    # The inner loop runs along rows, so that the compiler vectorizes it.
    for row in prange(product.shape[0]):
        for column in range(product.shape[1]):
            product[row, column] = 0
        for k in range(a.shape[1]):
            for column in range(product.shape[1]):
                product[row, column] += a[row, k] * b[k, column]


@njit(parallel=True)
def reduction_host(values, sums):
    for block in prange(sums.size):
        total = float32(0)
        for i in range(block * SUMMED, (block + 1) * SUMMED):
            total += values[i]
        sums[block] = total


@cuda.jit
def histogram(values, counts):
    local = cuda.shared.array(_BINS, int32)
    thread = cuda.threadIdx.x
    local[thread] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(local, values[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, thread, local[thread])


@njit(parallel=True)
def histogram_host(values, counts):
    parts = get_num_threads()
    local = np.zeros((parts, _BINS), np.int32)
    for part in prange(parts):
        for i in range(part * values.size // parts, (part + 1) * values.size // parts):
            local[part, values[i]] += 1
    for part in range(parts):
        for bin in range(_BINS):
            counts[bin] += local[part, bin]


def cases():
    """Return by name: the kernel, its grid and block, the host's loop, and the arguments. The last argument is written."""
    numbers = np.random.default_rng(1)
    values = lambda *shape: numbers.random(shape, np.float32)  # noqa: E731
    zeros = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
    million = 1 << 20
    flat = (million // _THREADS, _THREADS)
    tiles = ((512 // TILE, 512 // TILE), (TILE, TILE))
    summed = (million // SUMMED, SUMMED)
    return {
        "saxpy, 1,048,576": (
            saxpy,
            flat,
            saxpy_host,
            [np.float32(3), values(million), values(million), zeros(million)],
        ),
        "elementwise chain, 1,048,576": (
            elementwise,
            flat,
            elementwise_host,
            [values(million), values(million), zeros(million)],
        ),
        "n-body, 2,048": (n_body, (2048 // BODIES, BODIES), n_body_host, [values(2048, 4), zeros(2048, 3)]),
        "tiled matrix product, 512 by 512": (
            matrix_product,
            tiles,
            matrix_product_host,
            [values(512, 512), values(512, 512), zeros(512, 512)],
        ),
        "reduction, 1,048,576": (reduction, summed, reduction_host, [values(million), zeros(million // SUMMED)]),
        "histogram, 1,048,576": (
            histogram,
            (256, _BINS),
            histogram_host,
            [numbers.integers(0, _BINS, million, np.uint8), np.zeros(_BINS, np.int32)],
        ),
    }


def _seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main():
    results = {}
    for name, (kernel, (grid, block), loop, arguments) in cases().items():
        print(f"host loops, {name} ...", file=sys.stderr, flush=True)
        on_device = [cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in arguments]

        def launch(kernel=kernel, grid=grid, block=block, on_device=on_device):
            kernel[grid, block](*on_device)
            cuda.synchronize()

        # The first calls compile.
        launch()
        loop(*arguments)
        if not np.allclose(on_device[-1].copy_to_host(), arguments[-1], rtol=1e-3):
            raise RuntimeError(f"{name}: the kernel and the host's loop do not agree")
        rounds = [(_seconds(launch), _seconds(lambda: loop(*arguments))) for _ in range(_ROUNDS)]  # noqa: B023
        results[name] = [min(column) for column in zip(*rounds, strict=True)]
    print(json.dumps(results))


if __name__ == "__main__":
    main()
