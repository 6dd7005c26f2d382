"""Run numba-cuda's own tests on the simulated driver and compare the outcomes with the expected ones."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from peer_suite.description import Suite

PACKAGES = ("nocuda", "core", "cudadrv", "nrt", "cudapy", "doc_examples")
"""Packages of ``numba.cuda.tests``, without the tests of numba's own simulator and the benchmarks."""

HEAD = """\
# numba-cuda's own tests on the simulated driver

`make numba-suite UPDATE=1` writes this page. `make numba-suite` runs every test module that the numba-cuda wheel ships for its GPU
target (`numba.cuda.tests`), unmodified, on two simulated devices. Each module runs in its own process. With the versions
below, the run fails if an outcome differs from this page. CI runs it. The run leaves out `cudasim`, the tests of numba's own simulator, and `benchmarks`.

Versions: {versions}. As `nvidia-nvjitlink` is installed, numba-cuda links
with it, and compiles LTO code. The [stand-in](../reference/toolchain.md#nvjitlink) for nvJitLink links the PTX.

**{passed} of the {run} tests that would pass on a machine with a GPU pass here: {percent:.1f} %.** Of the others, {skipped} would be skipped on a GPU as well, and {failed}
would fail there as well. These outcomes on a GPU were read from the tests; they were not run on one.
"""


def modules() -> list[str]:
    spec = importlib.util.find_spec("numba.cuda.tests")
    assert spec is not None
    assert spec.submodule_search_locations
    base = Path(spec.submodule_search_locations[0])
    return [
        ".".join(path.relative_to(base).with_suffix("").parts)
        for package in PACKAGES
        for path in sorted((base / package).rglob("test_*.py"))
    ]


SUITE = Suite(
    name="numba-suite",
    library="numba-cuda",
    folder=Path(__file__).parent,
    package="numba.cuda.tests.",
    head=HEAD,
    libraries=("numba-cuda", "numba", "cuda-core", "cuda-bindings", "nvidia-nvjitlink", "numpy"),
    needed=("numba_cuda", "filecheck", "cffi", "psutil"),
    installed_by="`make peers nvjitlink` installs requirements/peers.txt and requirements/nvjitlink.txt",
    modules=modules,
    forked_with=("pytest", "numba.cuda.testing", "numba.cuda.tests.support"),
    longest=(
        *(
            "cudapy.test_ufuncs",
            "cudapy.test_array_alignment",
            "cudapy.test_cache_hints",
            "cudapy.test_array_reductions",
        ),
        *("cudapy.test_intrinsics", "nrt.test_nrt", "cudapy.test_vector_type", "doc_examples.test_random"),
    ),
    options=("-c", os.devnull),
)
