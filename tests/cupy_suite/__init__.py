"""Run CuPy's own tests on the simulated driver and compare the outcomes with the expected ones."""

from __future__ import annotations

from pathlib import Path

from peer_suite.description import Suite

SOURCE = Path(__file__).parents[2] / "build" / "cupy" / "suite"
"""CuPy's tests and its settings of pytest; ``make peers-cupy`` unpacks them from the source distribution."""

WHOLE = {
    "cupy_tests.cuda_tests": "compiler compiler_cache device driver graph memory memory_hook nvrtc pinned_memory runtime stream texture",
    "cupy_tests.core_tests": (
        "cub_reduction dlpack elementwise function ndarray_cuda_array_interface ndarray_get ndarray_owndata raw scan structured syncdetect "
        "userkernel"
    ),
    "cupy_tests.fft_tests": "fft",
    "cupy_tests.linalg_tests": "decomposition eigenvalue norms product solve",
    "cupy_tests.random_tests": "bit_generator generator_api init permutations random sample",
    "cupy_tests.sorting_tests": "count sort",
    "cupyx_tests.scipy_tests.sparse_tests": "base construct coo dia extract",
}
"""Modules that run all their tests, by their folders, without `test_`."""

PARTS = {
    "cupy_tests.core_tests": (
        "array_function bfloat16 carray core flags gufuncs include internal iter mdspan ndarray ndarray_adv_indexing "
        "ndarray_byteswap ndarray_complex_ops ndarray_contiguity ndarray_conversion ndarray_copy_and_view ndarray_elementwise_op "
        "ndarray_indexing ndarray_math ndarray_scatter ndarray_ufunc ndarray_unary_op nep50_examples reduction ufunc_methods"
    ),
    "cupy_tests.core_tests.fusion_tests": "indexing kernel_cache misc optimization reduction ufunc",
    "cupy_tests.creation_tests": "basic from_data matrix ranges",
    "cupy_tests.indexing_tests": "generate indexing insert iterate",
    "cupy_tests.fft_tests": "cache callback",
    "cupy_tests.math_tests": "arithmetic",
}
"""Further modules, which run a part of their tests."""

MOST = 20

HEAD = """\
# CuPy's own tests on the simulated driver

`make cupy-suite UPDATE=1` writes this page. `make cupy-suite` runs test modules of CuPy's source distribution, unmodified, on two simulated
devices of four multiprocessors. CuPy is the released wheel with four modules built ([CuPy without a GPU](../how-to/cupy.md)). Each module runs in its
own process, without the tests that CuPy marks as slow. With the versions below, the run fails if an outcome differs from this page.

The run has the modules for streams, memory, graphs, textures, compilation and kernels (`cuda_tests`). It has those of `core_tests` but for reductions
by CUB, and all of `creation_tests`, `indexing_tests` and `fft_tests`. The table below lists its modules for linear algebra, random numbers, sorts and sparse
matrices. All tests of these folders take hours. So of a module whose number of tests is in the column `of` below, every `n`-th test runs, where `n`
is the smallest odd number that leaves at most {most} tests. Of other modules, all tests run. The other folders take more time, and those for
cuTENSOR and NCCL need these libraries. An `nvcc` that compiles nothing takes the place of nvcc.

Versions: {versions}.

**{passed} of the {run} tests that would pass on a machine with a GPU pass here: {percent:.1f} %.** Of the others, {skipped} would be skipped on a GPU as well, and {failed}
would fail there as well. These outcomes on a GPU were read from the tests; they were not run on one.
"""


def named(modules: dict[str, str]) -> list[str]:
    return [f"{folder}.test_{name}" for folder, names in modules.items() for name in names.split()]


def modules() -> list[str]:
    return [*named(WHOLE), *named(PARTS)]


SUITE = Suite(
    name="cupy-suite",
    library="CuPy",
    folder=Path(__file__).parent,
    package="",
    head=HEAD.replace("{most}", str(MOST)),
    libraries=("cupy-cuda13x", "numpy", "nvidia-cuda-nvrtc"),
    needed=("cupy", "cupy_tests"),
    installed_by="`make peers-cupy` installs CuPy",
    modules=modules,
    forked_with=("pytest", "numpy.testing", "cupy", "cupy.testing"),
    longest=("cupy_tests.core_tests.test_raw",),
    whole=frozenset(named(WHOLE)),
    most=MOST,
    options=("-c", str(SOURCE / "pyproject.toml"), "-m", "not slow"),
)
