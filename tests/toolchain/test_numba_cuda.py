"""numba-cuda with ``nvidia-nvjitlink`` installed: kernels, CUDA C++ functions and LTO run, without a warning about the linker."""

from __future__ import annotations

import warnings

import numpy
import pytest

cuda = pytest.importorskip("numba.cuda")
pytestmark = pytest.mark.usefixtures("nvjitlink")

TRIPLE = 'extern "C" __device__ int triple(int *result, int value) { *result = 3 * value; return 0; }'


@pytest.mark.parametrize("lto", [None, True, False])
def test_kernel_with_a_function_in_cuda_cpp(lto: bool | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        triple = cuda.declare_device("triple", "int32(int32)", link=cuda.CUSource(TRIPLE))

        @cuda.jit(**({} if lto is None else {"lto": lto}))
        def kernel(array):  # type: ignore[no-untyped-def]
            index = cuda.grid(1)
            if index < array.size:
                array[index] = triple(array[index])

        array = cuda.to_device(numpy.arange(64, dtype=numpy.int32))
        kernel[2, 32](array)
    assert (array.copy_to_host() == 3 * numpy.arange(64)).all()
