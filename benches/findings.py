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
    from host_loops import histogram, saxpy
    from numba_kernels import BODIES, SUMMED, TILE, cuda, float32, matrix_product, n_body, reduction, vector_add

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
    def stencil(a, b):
        x, y = cuda.grid(2)
        if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
            b[y, x] = (a[y, x] + a[y, x - 1] + a[y, x + 1] + a[y - 1, x] + a[y + 1, x]) * float32(0.2)

    @cuda.jit
    def column(points):
        i = cuda.grid(1)
        if i < points.shape[0]:
            points[i, 0] += points[i, 1]

    @cuda.jit
    def scatter(places, a, b):
        i = cuda.grid(1)
        if i < places.size:
            b[places[i]] = a[i]

    @cuda.jit
    def gather(places, a, b):
        i = cuda.grid(1)
        if i < places.size:
            b[i] = a[places[i]]

    @cuda.jit
    def red_black(a, color):
        x, y = cuda.grid(2)
        if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1 and (x + y) % 2 == color:
            a[y, x] = (a[y, x - 1] + a[y, x + 1] + a[y - 1, x] + a[y + 1, x]) * float32(0.25)

    @cuda.jit
    def plain_product(a, b, product):
        x, y = cuda.grid(2)
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[y, k] * b[k, x]
        product[y, x] = total

    width = TILE + 1

    @cuda.jit
    def padded_product(a, b, product):
        left = cuda.shared.array((TILE, width), float32)
        column, row = cuda.grid(2)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for step in range(a.shape[1] // TILE):
            left[y, x] = a[row, step * TILE + x]
            cuda.syncthreads()
            for k in range(TILE):
                total += left[y, k] * b[step * TILE + k, column]
            cuda.syncthreads()
        product[row, column] = total

    numbers = np.random.default_rng(1)
    values = lambda *shape: numbers.random(shape, np.float32)  # noqa: E731
    zeros = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
    square = lambda size: [values(size, size), values(size, size), zeros(size, size)]  # noqa: E731
    places = numbers.permutation(_COUNT)[: _COUNT // 8].astype(np.int32)
    bins = [numbers.integers(0, 256, _COUNT).astype(np.int32), np.zeros(256, np.int32)]
    blocks = _COUNT // 256
    return {
        "saxpy, 1,048,576": (saxpy, blocks, 256, [np.float32(2), values(_COUNT), values(_COUNT), zeros(_COUNT)]),
        "vector add, 1,048,576": (vector_add, blocks, 256, [values(_COUNT), values(_COUNT), zeros(_COUNT)]),
        "reduction, 1,048,576": (reduction, _COUNT // SUMMED, SUMMED, [values(_COUNT), zeros(_COUNT // SUMMED)]),
        "transposition, 1,024 by 1,024": (transpose, (32, 32), (32, 8), [values(1024, 1024), zeros(1024, 1024)]),
        "histogram, 1,048,576": (histogram, 64, 256, bins),
        "n-body, 2,048": (n_body, 2048 // BODIES, BODIES, [values(2048, 4), zeros(2048, 3)]),
        "tiled matrix product, 256 by 256": (matrix_product, (16, 16), (TILE, TILE), square(256)),
        "tiled matrix product, 512 by 512": (matrix_product, (32, 32), (TILE, TILE), square(512)),
        "stencil, 1,024 by 1,024": (stencil, (32, 128), (32, 8), [values(1024, 1024), zeros(1024, 1024)]),
        "stencil in two colors, 1,024 by 1,024": (red_black, (32, 128), (32, 8), [values(1024, 1024), 0]),
        "product without tiles, 256 by 256": (plain_product, (8, 32), (32, 8), square(256)),
        "product of a tile with a further column, 256 by 256": (padded_product, (16, 16), (TILE, TILE), square(256)),
        "a column of 262,144 structures": (column, 1024, 256, [values(_COUNT // 4, 4)]),
        "gather of 131,072": (gather, 512, 256, [places, values(_COUNT), zeros(_COUNT // 8)]),
        "scatter of 131,072": (scatter, 512, 256, [places, values(_COUNT // 8), zeros(_COUNT)]),
    }


def main():
    from numba_kernels import cuda

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
