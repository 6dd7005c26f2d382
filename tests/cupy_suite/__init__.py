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
    "cupy_tests.cuda_tests": "cusparse",
    "cupy_tests.linalg_tests": "einsum",
    "cupy_tests.math_tests": "arithmetic explog floating hyperbolic",
    "cupyx_tests.scipy_tests.ndimage_tests": "distance_transform filters fourier measurements morphology",
    "cupyx_tests.scipy_tests.signal_tests": (
        "bsplines cont2discrete czt dltisys filter_design fir_filter_design iir_filter_conversion iir_filter_design "
        "iir_utils ltisys max_len_seq peak_finding polyutils resample"
    ),
}
"""Further modules, which run up to :data:`MOST` of their tests."""

MOST = 20

FEWER_PARTS = {
    "cupy_tests.binary_tests": "elementwise packing",
    "cupy_tests.core_tests.fusion_tests": "array routines",
    "cupy_tests.core_tests": "ndarray_reduction",
    "cupy_tests.cuda_tests.memory_hooks_tests": "debug_print line_profile",
    "cupy_tests.cuda_tests": "cublas cufft curand cusolver nvtx profile",
    "cupy_tests.functional_tests": "piecewise vectorize",
    "cupy_tests.io_tests": "base_n formatting npz text",
    "cupy_tests.lib_tests": "polynomial shape_base strided_tricks",
    "cupy_tests.logic_tests": "comparison content ops truth type_test",
    "cupy_tests.manipulation_tests": "add_remove basic dims join kind rearrange shape split tiling transpose",
    "cupy_tests.math_tests": "matmul misc rational rounding special sumprod trigonometric window",
    "cupy_tests.misc_tests": "byte_bounds memory_ranges who",
    "cupy_tests.padding_tests": "pad",
    "cupy_tests.polynomial_tests": "polynomial polyutils",
    "cupy_tests.random_tests": "distributions generator",
    "cupy_tests.sorting_tests": "search",
    "cupy_tests.statistics_tests": "correlation histogram meanvar order",
    "cupy_tests": "cublas init ndim numpy_interop type_routines typing",
    "cupy_tests.testing_tests": "array condition helper loops parameterized",
    "cupyx_tests.jit_tests": "cooperative_groups cub device_function raw thrust",
    "cupyx_tests.linalg_tests.sparse_tests": "solve",
    "cupyx_tests.linalg_tests": "solve",
    "cupyx_tests.profiler_tests": "benchmark profile time_range timeit_magic",
    "cupyx_tests.scipy_tests.fft_tests": "fft fftlog helper realtransforms",
    "cupyx_tests.scipy_tests.fftpack_tests": "fftpack",
    "cupyx_tests.scipy_tests.interpolate_tests": (
        "bspline bspline2 fitpack2 interpnd ndbspline ndgriddata polyint ppoly rbfinterp rgi"
    ),
    "cupyx_tests.scipy_tests.linalg_tests": ("array_utils decomp_lu matfuncs solve_triangular special_matrices uarray"),
    "cupyx_tests.scipy_tests.ndimage_tests": "interpolation",
    "cupyx_tests.scipy_tests.signal_tests": (
        "savitzky_golay signaltools spectral splines upfirdn waveforms wavelets windows"
    ),
    "cupyx_tests.scipy_tests.sparse_tests.csgraph_tests": "traversal",
    "cupyx_tests.scipy_tests.sparse_tests": "csc csr index linalg sparray sparse_int64_indices",
    "cupyx_tests.scipy_tests.spatial_tests": "delaunay distance kdtree",
    "cupyx_tests.scipy_tests.special_tests": (
        "basic bessel beta binom convex_analysis digamma ellipk erf exp1 expi expn exprel gamma gammainc gammaln "
        "lambertw log_softmax logsumexp polygamma sici softmax sph_harm spherical_bessel statistics ufunc_dispatch "
        "wright_bessel zeta zetac"
    ),
    "cupyx_tests.scipy_tests.stats_tests": "distributions morestats stats",
    "cupyx_tests.scipy_tests": "get_array_module",
    "cupyx_tests.signal_tests.acoustics_tests": "cepstrum",
    "cupyx_tests.signal_tests.convolution_tests": "convolve",
    "cupyx_tests.signal_tests.filtering_tests": "filtering",
    "cupyx_tests.signal_tests.radartools_tests": "radartools",
    "cupyx_tests": "cupyx cusolver cusparse lapack optimize pinned_array rsqrt runtime time",
}
"""Further modules, which run up to :data:`FEWER` of their tests, to save time: each test compiles several kernels."""

FEWER = 8

LEFT_OUT = (
    "test_affine_transform_texture_memory",
    "test_cg_sync",
    "test_argpartition_multi_dim_kernel",
    "(test_partition_multi_dim and 20000)",
)
"""Tests whose kernels end the context of the tests that follow, and those whose kernels have a race that decides their outcome."""

HEAD = """\
# CuPy's own tests on the simulated driver

`make cupy-suite UPDATE=1` writes this page. `make cupy-suite` runs test modules of CuPy's source distribution, unmodified, on two simulated
devices of four multiprocessors. CuPy is the released wheel with four modules built ([CuPy without a GPU](../how-to/cupy.md)). Each module runs in its
own process, without the tests that CuPy marks as slow. With the versions below, the run fails if an outcome differs from this page.

The run has the modules of all folders of `cupy_tests` and `cupyx_tests`, but those for cuTENSOR, cuVS, NCCL, distributed arrays and downloads.
All tests take hours. So of a module whose number of tests is in the column `of` below, every `n`-th test runs. `n` is the smallest odd number that
leaves at most {most} tests, or {fewer} in part of the modules. Of other modules, all tests run. An `nvcc` that compiles nothing takes the place of nvcc.

Two tests with their parameters are left out, as their kernels fail after them and end the context of the tests that follow. `affine_transform` with
`texture_memory=True` destroys the texture before its kernel has run, which is a [finding](../reference/findings.md). `test_cg_sync` waits for all
blocks in a kernel without a cooperative launch. `test_argpartition_multi_dim_kernel`, and `test_partition_multi_dim` with 20,000
elements, are left out too: their kernels sort within a warp without `__syncwarp`, which is a [finding](../reference/findings.md), and the order of the threads decides
their outcome.

Versions: {versions}.

**{passed} of the {run} tests that would pass on a machine with a GPU pass here: {percent:.1f} %.** Of the others, {skipped} would be skipped on a GPU as well, and {failed}
would fail there as well. These outcomes on a GPU were read from the tests; they were not run on one.
"""


def named(modules: dict[str, str]) -> list[str]:
    return [f"{folder}.test_{name}" for folder, names in modules.items() for name in names.split()]


def modules() -> list[str]:
    return [*named(WHOLE), *named(PARTS), *named(FEWER_PARTS)]


SUITE = Suite(
    name="cupy-suite",
    library="CuPy",
    folder=Path(__file__).parent,
    package="",
    head=HEAD.replace("{most}", str(MOST)).replace("{fewer}", str(FEWER)),
    libraries=("cupy-cuda13x", "numpy", "nvidia-cuda-nvrtc"),
    needed=("cupy", "cupy_tests"),
    installed_by="`make peers-cupy` installs CuPy",
    modules=modules,
    forked_with=("pytest", "numpy.testing", "cupy", "cupy.testing"),
    longest=("cupy_tests.core_tests.test_raw",),
    parts=dict.fromkeys(named(PARTS), MOST) | dict.fromkeys(named(FEWER_PARTS), FEWER),
    options=("-c", str(SOURCE / "pyproject.toml"), "-m", "not slow", "-k", f"not {' and not '.join(LEFT_OUT)}"),
)
