"""Compares the stand-in for cuRAND with a kernel over NVIDIA's header, by hand: ``python random_in_kernels.py NVCC INCLUDE``.

``NVCC`` is the compiler and ``INCLUDE`` the folder of ``curand_kernel.h``. The kernel runs on the simulated driver. The script prints each
comparison, and fails if one differs.
"""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import driver_probe
import numpy as np
from random_probe import MRG32K3A, PHILOX, SUCCESS, XORWOW, Random

import cuarray_sim
from cuarray_sim.stand_ins import loaded

SOURCE = """
#include <curand_kernel.h>
extern "C" __global__ void draw(unsigned long long seed, curandDiscreteDistribution_t distribution, unsigned *xorwow,
    unsigned *mrg, unsigned *philox, double *uniform, float *normal, unsigned *poisson) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    curandStateXORWOW_t x; curandStateMRG32k3a_t m; curandStatePhilox4_32_10_t p;
    curand_init(seed, t, 3, &x); curand_init(seed, t, 3, &m); curand_init(seed, t, 0, &p);
    for (int i = 0; i < 2; i++) { xorwow[2 * t + i] = curand(&x); mrg[2 * t + i] = curand(&m); }
    uniform[t] = curand_uniform_double(&x);
    normal[t] = curand_normal(&x);
    for (int i = 0; i < 4; i++) philox[4 * t + i] = curand(&p);
    for (int i = 0; i < 64; i++) poisson[64 * t + i] = curand_discrete(&x, distribution);
}
"""
THREADS, SEED, MEAN = 256, 0x1234_5678_9ABC_DEF0, 3.5


def ptx(nvcc: str, include: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "draw.cu"
        source.write_text(SOURCE)
        subprocess.run(
            [nvcc, "-ptx", "-arch=compute_80", f"-I{include}", "-o", f"{folder}/draw.ptx", source], check=True
        )
        return (Path(folder) / "draw.ptx").read_bytes() + b"\0"


def compare(random: Random, code: bytes) -> dict[str, bool]:
    module, function, distribution = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    driver_probe.call("cuModuleLoadData", ctypes.byref(module), code)
    driver_probe.call("cuModuleGetFunction", ctypes.byref(function), module, b"draw")
    mean = ctypes.c_double(MEAN)
    assert random.library.curandCreatePoissonDistribution(mean, ctypes.byref(distribution)) == SUCCESS
    lengths = [(2, np.uint32), (2, np.uint32), (4, np.uint32), (1, np.float64), (1, np.float32), (64, np.uint32)]
    addresses = [random.memory(THREADS * count * np.dtype(dtype).itemsize) for count, dtype in lengths]
    values = [ctypes.c_uint64(SEED), distribution, *(ctypes.c_uint64(each) for each in addresses)]
    pointers = [ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in values]
    parameters = (ctypes.c_void_p * len(values))(*pointers)
    driver_probe.call("cuLaunchKernel", function, THREADS // 64, 1, 1, 64, 1, 1, 0, random.stream, parameters, None)
    xorwow, mrg, philox, uniform, normal, poisson = (
        random.values(address, THREADS * count, dtype)
        for address, (count, dtype) in zip(addresses, lengths, strict=True)
    )
    assert random.library.curandDestroyDistribution(distribution) == SUCCESS
    driver_probe.call("cuModuleUnload", module)

    def steps(kind: int, sequences: int) -> np.ndarray:
        """The results 3 and 4 of each thread's sequence."""
        rows = random.results(random.generator(kind, seed=SEED, offset=3 * sequences), "", 2 * sequences)
        return rows.reshape(2, sequences)[:, :THREADS].T.ravel()

    def later(offset: int, name: str, count: int, *arguments: float) -> np.ndarray:
        return random.results(random.generator(XORWOW, seed=SEED, offset=4096 * offset), name, count, *arguments)

    pairs = later(7, "Normal", 2 * THREADS, 0.0, 1.0)
    spread = 5 * math.sqrt(MEAN / len(poisson))
    return {
        "XORWOW": np.array_equal(xorwow, steps(XORWOW, 4096)),
        "MRG32k3a": np.array_equal(mrg, steps(MRG32K3A, 81920)),
        "Philox": np.array_equal(philox, random.results(random.generator(PHILOX, seed=SEED), "", 4 * THREADS)),
        "uniform doubles": np.array_equal(uniform, later(5, "UniformDouble", THREADS)),
        "normal": bool(np.abs(normal - pairs[::2]).max() < 5e-7),
        "the mean of the Poisson distribution": abs(poisson.mean() - MEAN) < spread,
    }


def main(nvcc: str, include: str) -> int:
    cuarray_sim.install()
    library = loaded("libcurand.so.10")
    assert library is not None
    driver_probe.call("cuInit", 0)
    with driver_probe.primary_context(0):
        random = Random(library)
        compared = compare(random, ptx(nvcc, include))
        random.close()
    for name, is_equal in compared.items():
        print(f"{name}: {'equal' if is_equal else 'different'}")
    return 0 if all(compared.values()) and not cuarray_sim.findings()["findings"] else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
