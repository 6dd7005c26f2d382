"""The cost of findings and of the search for races between threads, for kernels of numba-cuda on the simulated driver.

As a program, the module runs the kernels with the settings of the environment, and prints the seconds of each as one line of JSON."""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

_MODES = {
    "off": {"CUARRAY_SIM_FINDINGS": "0"},
    "without races": {"CUARRAY_SIM_FINDINGS": "1", "CUARRAY_SIM_KERNEL_RACES": "0"},
    "on": {"CUARRAY_SIM_FINDINGS": "1", "CUARRAY_SIM_KERNEL_RACES": "1"},
}
_ROUNDS = 7
_TURNS = 2
_TILE = 16
_COUNT = 1 << 20


def measured(cores):
    """Return the least seconds by kernel and mode. The modes take turns. One core is measured in processor time."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CUARRAY_", "LD_PRELOAD"))}
    least = {}
    for _ in range(_TURNS):
        for mode, variables in _MODES.items():
            print(f"findings, {mode}, cores: {cores or 'all'} ...", file=sys.stderr, flush=True)
            done = subprocess.run(
                [sys.executable, "-W", "ignore", Path(__file__).name],
                env={**environment, **variables, "CUARRAY_SIM_CORES": str(cores)},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
                cwd=Path(__file__).parent,
            )
            for kernel, seconds in json.loads(done.stdout.splitlines()[-1]).items():
                known = least.setdefault(kernel, {})
                known[mode] = min(seconds, known.get(mode, math.inf))
    return least


def _launches():
    """Return the kernels by name, each with its grid, block and arguments."""
    from numba import cuda, float32, int32

    @cuda.jit
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = a * x[i] + y[i]

    @cuda.jit
    def vector_add(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    @cuda.jit
    def reduction(values, sums):
        s = cuda.shared.array(256, float32)
        t = cuda.threadIdx.x
        s[t] = values[cuda.grid(1)]
        cuda.syncthreads()
        h = 128
        while h > 0:
            if t < h:
                s[t] += s[t + h]
            cuda.syncthreads()
            h //= 2
        if t == 0:
            sums[cuda.blockIdx.x] = s[0]

    @cuda.jit
    def transpose(a, b):
        tile = cuda.shared.array((32, 33), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x = cuda.blockIdx.x * 32 + tx
        y = cuda.blockIdx.y * 32 + ty
        for j in range(0, 32, 8):
            tile[ty + j, tx] = a[y + j, x]
        cuda.syncthreads()
        x = cuda.blockIdx.y * 32 + tx
        y = cuda.blockIdx.x * 32 + ty
        for j in range(0, 32, 8):
            b[y + j, x] = tile[tx, ty + j]

    @cuda.jit
    def histogram(values, bins):
        s = cuda.shared.array(256, int32)
        t = cuda.threadIdx.x
        s[t] = 0
        cuda.syncthreads()
        i = cuda.grid(1)
        while i < values.size:
            cuda.atomic.add(s, values[i], 1)
            i += cuda.gridsize(1)
        cuda.syncthreads()
        cuda.atomic.add(bins, t, s[t])

    @cuda.jit
    def matrix_product(a, b, c):
        left = cuda.shared.array((_TILE, _TILE), float32)
        right = cuda.shared.array((_TILE, _TILE), float32)
        column, row = cuda.grid(2)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for step in range(a.shape[1] // _TILE):
            left[y, x] = a[row, step * _TILE + x]
            right[y, x] = b[step * _TILE + y, column]
            cuda.syncthreads()
            for k in range(_TILE):
                total += left[y, k] * right[k, x]
            cuda.syncthreads()
        c[row, column] = total

    @cuda.jit
    def n_body(bodies, forces):
        near = cuda.shared.array((128, 4), float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
        fx = fy = fz = float32(0)
        for tile in range(cuda.gridDim.x):
            for k in range(4):
                near[t, k] = bodies[tile * 128 + t, k]
            cuda.syncthreads()
            for j in range(128):
                dx, dy, dz = near[j, 0] - x, near[j, 1] - y, near[j, 2] - z
                square = dx * dx + dy * dy + dz * dz + float32(0.01)
                force = near[j, 3] / (square * math.sqrt(square))
                fx += force * dx
                fy += force * dy
                fz += force * dz
            cuda.syncthreads()
        forces[i, 0], forces[i, 1], forces[i, 2] = fx, fy, fz

    @cuda.jit
    def stencil(a, b):
        x, y = cuda.grid(2)
        if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
            b[y, x] = (a[y, x] + a[y, x - 1] + a[y, x + 1] + a[y - 1, x] + a[y + 1, x]) * float32(0.2)

    numbers = np.random.default_rng(1)
    values = lambda *shape: numbers.random(shape, np.float32)  # noqa: E731
    zeros = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
    square = lambda size: [values(size, size), values(size, size), zeros(size, size)]  # noqa: E731
    bins = [numbers.integers(0, 256, _COUNT).astype(np.int32), np.zeros(256, np.int32)]
    blocks = _COUNT // 256
    return {
        "saxpy, 1,048,576": (saxpy, blocks, 256, [np.float32(2), values(_COUNT), values(_COUNT)]),
        "vector add, 1,048,576": (vector_add, blocks, 256, [values(_COUNT), values(_COUNT), zeros(_COUNT)]),
        "reduction, 1,048,576": (reduction, blocks, 256, [values(_COUNT), zeros(blocks)]),
        "transposition, 1,024 by 1,024": (transpose, (32, 32), (32, 8), [values(1024, 1024), zeros(1024, 1024)]),
        "histogram, 1,048,576": (histogram, 64, 256, bins),
        "n-body, 2,048": (n_body, 16, 128, [values(2048, 4), zeros(2048, 3)]),
        "tiled matrix product, 256 by 256": (matrix_product, (16, 16), (_TILE, _TILE), square(256)),
        "tiled matrix product, 512 by 512": (matrix_product, (32, 32), (_TILE, _TILE), square(512)),
        "stencil, 1,024 by 1,024": (stencil, (32, 128), (32, 8), [values(1024, 1024), zeros(1024, 1024)]),
    }


def main():
    import cuarray_sim

    cuarray_sim.install()
    from numba import cuda

    clock = time.process_time if os.environ.get("CUARRAY_SIM_CORES") == "1" else time.perf_counter
    results = {}
    for name, (kernel, grid, block, arguments) in _launches().items():
        arguments = [cuda.to_device(value) if isinstance(value, np.ndarray) else value for value in arguments]
        kernel[grid, block](*arguments)
        cuda.synchronize()
        seconds = []
        for _ in range(_ROUNDS):
            start = clock()
            kernel[grid, block](*arguments)
            cuda.synchronize()
            seconds.append(clock() - start)
        results[name] = min(seconds)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
