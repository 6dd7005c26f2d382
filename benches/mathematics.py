"""Products, transforms and convolutions of the stand-ins for cuBLAS, cuFFT and cuDNN, beside NumPy and SciPy in one process.

Both run in turn, on all cores. The program checks that their results agree, and prints the least seconds of each as one line of JSON. The
least time is hardly affected by other programs on the machine. A call is measured with the wait for its result, a small one without."""

import ctypes
import json
import sys
import time

import numpy as np
from simulated_driver import Driver

from cuarray_sim.stand_ins import STAND_INS

_ROUNDS = 15
_SMALL_CALLS = 200


def library(name, file):
    (stand_in,) = (each for each in STAND_INS if each.name == name)
    return ctypes.CDLL(str(stand_in.path / file))


class Stream(Driver):
    """The simulated driver with a stream."""

    def __init__(self):
        super().__init__()
        self.stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def put(self, array):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(array.nbytes))
        self.call("cuMemcpyHtoD_v2", address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return address

    def get(self, address, like):
        self.wait()
        array = np.empty_like(like)
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(array.nbytes))
        return array


def checked(status):
    if status:
        raise RuntimeError(f"a call of a library answers {status}")


def product(driver, order, dtype):
    """Return a product by cuBLAS, one by NumPy, and the result of the first."""
    blas, handle = library("cuBLAS", "libcublas.so.13"), ctypes.c_void_p()
    checked(blas.cublasCreate_v2(ctypes.byref(handle)))
    checked(blas.cublasSetStream_v2(handle, driver.stream))
    numbers = np.random.default_rng(1)
    a, b = (numbers.random((order, order)).astype(dtype) for _ in range(2))
    c = np.zeros_like(a)
    x, y, z = (driver.put(each) for each in (a, b, c))
    real = ctypes.c_float if dtype is np.float32 else ctypes.c_double
    one, zero = ctypes.byref(real(1)), ctypes.byref(real(0))
    call = blas.cublasSgemm_v2 if dtype is np.float32 else blas.cublasDgemm_v2
    # cuBLAS has columns, so the operands change places.
    arguments = (handle, 0, 0, order, order, order, one, y, order, x, order, zero, z, order)
    return lambda: checked(call(*arguments)), lambda: np.matmul(a, b, out=c), lambda: (driver.get(z, c), a @ b)


def transform(driver, size, dtype):
    """Return a transform by cuFFT, one by SciPy or NumPy, and both results."""
    try:
        from scipy.fft import fft
    except ImportError:
        from numpy.fft import fft
    cufft, plan = library("cuFFT", "libcufft.so.12"), ctypes.c_int()
    single = dtype is np.complex64
    checked(cufft.cufftPlan1d(ctypes.byref(plan), size, 0x29 if single else 0x69, 1))
    checked(cufft.cufftSetStream(plan, driver.stream))
    values = np.random.default_rng(2).random(size).astype(dtype)
    x, y = driver.put(values), driver.put(values)
    call = cufft.cufftExecC2C if single else cufft.cufftExecZ2Z
    return lambda: checked(call(plan, x, y, -1)), lambda: fft(values), lambda: (driver.get(y, values), fft(values))


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main():
    driver, results = Stream(), {}
    cases = {
        "product, 1024 by 1024, `float`": product(driver, 1024, np.float32),
        "product, 1024 by 1024, `double`": product(driver, 1024, np.float64),
        "transform, 1,048,576, `float`": transform(driver, 1 << 20, np.complex64),
        "transform, 1,048,576, `double`": transform(driver, 1 << 20, np.complex128),
    }
    for name, (ours, theirs, both) in cases.items():
        print(f"mathematics, {name} ...", file=sys.stderr, flush=True)

        def waited(ours=ours):
            ours()
            driver.wait()

        waited()
        found, expected = both()
        if not np.allclose(found, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max()):
            raise RuntimeError(f"{name}: the results do not agree")
        rounds = [(seconds(waited), seconds(theirs)) for _ in range(_ROUNDS)]
        results[name] = [min(column) for column in zip(*rounds, strict=True)]
    ours, theirs, _ = product(driver, 8, np.float32)

    def small(call):
        for _ in range(_SMALL_CALLS):
            call()
        driver.wait()

    small(ours)
    rounds = [(seconds(lambda: small(ours)), seconds(lambda: small(theirs))) for _ in range(_ROUNDS)]
    results["product, 8 by 8, `float`"] = [min(column) / _SMALL_CALLS for column in zip(*rounds, strict=True)]
    print(json.dumps(results))


if __name__ == "__main__":
    main()
