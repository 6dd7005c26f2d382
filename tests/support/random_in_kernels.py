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
from random_probe import LEGACY, MRG32K3A, MTGP32, PHILOX, SCRAMBLED32, SCRAMBLED64, SUCCESS, XORWOW, Random

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
PROGRAM = """
#include <curand_kernel.h>
#include <curand_mtgp32_host.h>
#include <curand_mtgp32dc_p_11213.h>
__global__ void draw_mtgp32(curandStateMtgp32_t *states, unsigned *out, int count) {
    for (int i = 0; i < count; i++)
        out[(i * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = curand(&states[blockIdx.x]);
}
__global__ void draw_sobol(curandDirectionVectors32_t *directions, unsigned *constants, curandDirectionVectors64_t *wide_directions,
    unsigned long long *wide_constants, unsigned *out, unsigned long long *wide, int count) {
    int t = threadIdx.x;
    curandStateScrambledSobol32_t s; curandStateScrambledSobol64_t w;
    curand_init(directions[t], constants[t], 5, &s); curand_init(wide_directions[t], wide_constants[t], 5, &w);
    for (int i = 0; i < count; i++) { out[t * count + i] = curand(&s); wide[t * count + i] = curand(&w); }
}
template <typename T> T *on_device(const T *values, size_t count) {
    T *copy;
    if (cudaMalloc(&copy, count * sizeof(T))) return nullptr;
    if (values) cudaMemcpy(copy, values, count * sizeof(T), cudaMemcpyHostToDevice);
    return copy;
}
extern "C" int mtgp32(unsigned long long seed, unsigned *out, int sequences, int count) {
    auto *parameters = on_device<mtgp32_kernel_params_t>(nullptr, 1);
    auto *states = on_device<curandStateMtgp32_t>(nullptr, sequences);
    size_t size = sizeof(unsigned) * sequences * 256 * count;
    auto *results = on_device<unsigned>(nullptr, size / sizeof(unsigned));
    if (curandMakeMTGP32Constants(mtgp32dc_params_fast_11213, parameters)) return 1;
    if (curandMakeMTGP32KernelState(states, mtgp32dc_params_fast_11213, parameters, sequences, seed)) return 2;
    draw_mtgp32<<<sequences, 256>>>(states, results, count);
    if (cudaMemcpy(out, results, size, cudaMemcpyDeviceToHost)) return 3;
    return cudaFree(parameters) || cudaFree(states) || cudaFree(results);
}
extern "C" int sobol(curandDirectionVectors32_t *directions, unsigned *constants, curandDirectionVectors64_t *wide_directions,
    unsigned long long *wide_constants, unsigned *out, unsigned long long *wide, int dimensions, int count) {
    auto *a = on_device(directions, dimensions); auto *b = on_device(constants, dimensions);
    auto *c = on_device(wide_directions, dimensions); auto *d = on_device(wide_constants, dimensions);
    size_t total = dimensions * count;
    auto *e = on_device<unsigned>(nullptr, total); auto *f = on_device<unsigned long long>(nullptr, total);
    draw_sobol<<<1, dimensions>>>(a, b, c, d, e, f, count);
    if (cudaMemcpy(out, e, total * sizeof(*e), cudaMemcpyDeviceToHost)) return 1;
    if (cudaMemcpy(wide, f, total * sizeof(*f), cudaMemcpyDeviceToHost)) return 2;
    return cudaFree(a) || cudaFree(b) || cudaFree(c) || cudaFree(d) || cudaFree(e) || cudaFree(f);
}
"""
"""A program of the runtime, as the states of MTGP32 are made by functions for the host in NVIDIA's header."""
SEQUENCES, TURNS, DIMENSIONS, POINTS = 64, 3, 32, 100
THREADS, SEED, MEAN = 256, 0x1234_5678_9ABC_DEF0, 3.5


def ptx(nvcc: str, include: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "draw.cu"
        source.write_text(SOURCE)
        subprocess.run(
            [nvcc, "-ptx", "-arch=compute_80", f"-I{include}", "-o", f"{folder}/draw.ptx", source], check=True
        )
        return (Path(folder) / "draw.ptx").read_bytes() + b"\0"


def program(nvcc: str, include: str) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "program.cu", Path(folder) / "program.so"
        source.write_text(PROGRAM)
        options = ["-shared", "-Xcompiler", "-fPIC", "-cudart", "shared", "-arch=compute_80", f"-I{include}"]
        subprocess.run([nvcc, *options, "-o", library, source], check=True)
        return ctypes.CDLL(str(library))


def compare_programs(random: Random, compiled: ctypes.CDLL) -> dict[str, bool]:
    """Compare generators whose states need data of the host."""
    found = np.zeros(SEQUENCES * 256 * TURNS, np.uint32)
    assert compiled.mtgp32(ctypes.c_uint64(SEED), found.ctypes.data_as(ctypes.c_void_p), SEQUENCES, TURNS) == 0
    expected = random.results(random.generator(MTGP32, seed=SEED, order=LEGACY), "", len(found))
    lists = [ctypes.c_void_p() for _ in range(4)]
    for name, choice, place in zip(
        ("DirectionVectors32", "ScrambleConstants32", "DirectionVectors64", "ScrambleConstants64"),
        ([102], [], [104], []),
        lists,
        strict=True,
    ):
        assert getattr(random.library, f"curandGet{name}")(ctypes.byref(place), *choice) == SUCCESS
    narrow, wide = np.zeros(DIMENSIONS * POINTS, np.uint32), np.zeros(DIMENSIONS * POINTS, np.uint64)
    results = [values.ctypes.data_as(ctypes.c_void_p) for values in (narrow, wide)]
    assert compiled.sobol(*lists, *results, DIMENSIONS, POINTS) == 0
    scrambled = [
        random.results(random.generator(kind, offset=5, dimensions=DIMENSIONS), name, DIMENSIONS * POINTS)
        for kind, name in ((SCRAMBLED32, ""), (SCRAMBLED64, "LongLong"))
    ]
    return {
        "MTGP32": np.array_equal(found, expected),
        "scrambled Sobol": np.array_equal(narrow, scrambled[0]),
        "scrambled Sobol with 64 bits": np.array_equal(wide, scrambled[1]),
    }


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
        compared = compare(random, ptx(nvcc, include)) | compare_programs(random, program(nvcc, include))
        random.close()
    for name, is_equal in compared.items():
        print(f"{name}: {'equal' if is_equal else 'different'}")
    return 0 if all(compared.values()) and not cuarray_sim.findings()["findings"] else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
