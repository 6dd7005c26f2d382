"""Install RMM into a folder, and build its modules against the shared CUDA runtime: about half a minute, without a CUDA toolkit.

    python tests/peers/build_rmm.py build/rmm

RMM's wheels link the static runtime. Until version 25.4 the library was headers only, and the wheels have these and the Cython sources of the
modules. requirements/rmm.txt states the versions. The headers are of CUDA 12, and two functions of the runtime have other parameters since
CUDA 13: a header that is included first has the old ones as overloads. A C++ compiler is needed."""

import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nvidia_wheels import in_nvidias_wheels

import cuarray_sim

REQUIREMENT = Path(__file__).parents[2] / "requirements" / "rmm.txt"

# cudaMemAdvise and cudaMemPrefetchAsync took the number of a device; since CUDA 13 they take a location.
OVERLOADS = """
#pragma once
#include <cuda_runtime_api.h>

inline cudaMemLocation location_of(int device)
{
  return cudaMemLocation{device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
                         device == cudaCpuDeviceId ? 0 : device};
}
inline cudaError_t cudaMemAdvise(const void* pointer, size_t count, cudaMemoryAdvise advice, int device)
{
  return cudaMemAdvise(pointer, count, advice, location_of(device));
}
inline cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, int device, cudaStream_t stream = 0)
{
  return cudaMemPrefetchAsync(pointer, count, location_of(device), 0u, stream);
}
"""


def build(site: Path, source: Path) -> None:
    """Build one module beside its source."""
    name = source.relative_to(site).with_suffix("")
    code = source.with_suffix(".cpp")
    subprocess.run([sys.executable, "-m", "cython", "-3", "--cplus", source, "-o", code], cwd=site, check=True)
    headers = site / "librmm" / "include"
    # Not rapids/thrust: the folder above it has Thrust's own `thrust`.
    folders = [headers, headers / "rapids" / "libcudacxx", headers / "rapids", site / "rapids_logger" / "include"]
    folders += [site, in_nvidias_wheels("include/cuda_runtime_api.h").parent, Path(sysconfig.get_path("include"))]
    runtime = cuarray_sim.runtime_path() / "libcudart.so.13"
    logger = site / "rapids_logger" / "lib64"
    depth = "/".join([".."] * (len(name.parts) - 1))
    options = ["-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-include", str(site / "overloads.h")]
    options += ["-DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE"]
    linked = [str(runtime), f"-L{logger}", "-l:librapids_logger.so", f"-Wl,-rpath,$ORIGIN/{depth}/rapids_logger/lib64"]
    output = site / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    compiler = os.environ.get("CXX", "c++")
    subprocess.run(
        [compiler, *options, *(f"-I{folder}" for folder in folders), str(code), "-o", str(output), *linked], check=True
    )
    code.unlink()


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    site = folder / "site-packages"
    shutil.rmtree(folder, ignore_errors=True)
    install = ["install", "--quiet", "--no-deps", "--no-compile", "--target", site, "-r", REQUIREMENT]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *install], check=True)
    for module in site.glob("rmm/**/*.so"):
        module.unlink()
    (site / "overloads.h").write_text(OVERLOADS)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda source: build(site, source), sorted(site.glob("rmm/**/*.pyx"))))


if __name__ == "__main__":
    main()
