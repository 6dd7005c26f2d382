"""Run CuPy's own tests on the simulated driver and compare the outcomes with the expected ones."""

from __future__ import annotations

from pathlib import Path

from peer_suite.description import Suite

SOURCE = Path(__file__).parents[2] / "build" / "cupy" / "suite"
"""CuPy's tests and its settings of pytest; ``make peers-cupy`` unpacks them from the source distribution."""

CUDA = "compiler compiler_cache device driver graph memory memory_hook nvrtc pinned_memory runtime stream texture"
CORE = (
    "cub_reduction dlpack elementwise function ndarray_cuda_array_interface ndarray_get ndarray_owndata raw scan structured syncdetect "
    "userkernel"
)
LINALG = "decomposition eigenvalue norms product solve"
RANDOM = "bit_generator generator_api init permutations random sample"
SPARSE = "base construct coo dia extract"

MODULES = {
    "cupy_tests.cuda_tests": CUDA,
    "cupy_tests.core_tests": CORE,
    "cupy_tests.fft_tests": "fft",
    "cupy_tests.linalg_tests": LINALG,
    "cupy_tests.random_tests": RANDOM,
    "cupy_tests.sorting_tests": "count sort",
    "cupyx_tests.scipy_tests.sparse_tests": SPARSE,
}
"""Modules of tests by their folders, without `test_`."""

HEAD = """\
# CuPy's own tests on the simulated driver

`make cupy-suite UPDATE=1` writes this page. `make cupy-suite` runs test modules of CuPy's source distribution, unmodified, on two simulated
devices of four multiprocessors. CuPy is the released wheel with four modules built ([CuPy without a GPU](../how-to/cupy.md)). Each module runs in its
own process, without the tests that CuPy marks as slow. With the versions below, the run fails if an outcome differs from this page.

The run has the modules for streams, memory, graphs, textures, compilation and kernels (`cuda_tests`), for exchanges and kernels of arrays
(`core_tests`), and for linear algebra, transforms, random numbers, sorts and sparse matrices. The other modules take more time, and those for
cuTENSOR and NCCL need these libraries. An `nvcc` that compiles nothing takes the place of nvcc.

Versions: {versions}.

**{passed} of the {run} tests that would pass on a machine with a GPU pass here: {percent:.1f} %.** Of the others, {skipped} would be skipped on a GPU as well, and {failed}
would fail there as well. These outcomes on a GPU were read from the tests; they were not run on one.
"""


def modules() -> list[str]:
    return [f"{folder}.test_{name}" for folder, names in MODULES.items() for name in names.split()]


SUITE = Suite(
    name="cupy-suite",
    library="CuPy",
    folder=Path(__file__).parent,
    package="",
    head=HEAD,
    libraries=("cupy-cuda13x", "numpy", "nvidia-cuda-nvrtc"),
    needed=("cupy", "cupy_tests"),
    installed_by="`make peers-cupy` installs CuPy",
    modules=modules,
    forked_with=("pytest", "numpy.testing", "cupy", "cupy.testing"),
    longest=("cupy_tests.core_tests.test_raw",),
    options=("-c", str(SOURCE / "pyproject.toml"), "-m", "not slow"),
)
