"""Install Warp into a folder, and build its library with the shared CUDA runtime: five minutes on two cores, by the nvcc of `make nvcc`.

    python tests/peers/build_warp.py build/warp

The library in Warp's wheel has the static runtime. The wheel has the sources of the library, apart from headers of NanoVDB and of cuBQL. So this
build refuses volumes, and trees of the kind "cubql". requirements/warp.txt states the version. A C++ compiler is needed."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nvidia_wheels import in_nvidias_wheels

import cuarray_sim

ROOT = Path(__file__).parents[2]
REQUIREMENT = ROOT / "requirements" / "warp.txt"
NVCC = ROOT / "build" / "nvcc" / "nvidia" / "cu13"

# These need headers of NanoVDB. `apic.cu` is included by `warp.cu`.
LEFT_OUT = ("volume.cpp", "volume.cu", "volume_builder.cpp", "volume_builder.cu", "apic.cu")

OPTIONS = ["-std=c++17", "-DNDEBUG", "-DWP_BUILD_DLL", "-DWP_DISABLE_CUBQL"]
OPTIONS += ["-DWP_ENABLE_CUDA=1", "-DWP_ENABLE_MATHDX=0", "-DWP_ENABLE_CUDA_COMPATIBILITY=0", "-DWP_ENABLE_DEBUG=0"]
HOST_OPTIONS = ["-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-O1"]
# PTX for the simulated driver, and no machine code.
DEVICE_OPTIONS = ["-O3", "-gencode=arch=compute_80,code=compute_80", "--extended-lambda", "-cudart=shared"]
DEVICE_OPTIONS += ["-diag-suppress=221", f"--compiler-options={','.join(HOST_OPTIONS)}"]

# Warp asks for each function at its start.
REFUSALS = """
#include "error.h"

namespace {
unsigned long long refuse()
{
  wp::set_error_string("volumes are not in this build of Warp, because its wheel lacks headers of NanoVDB");
  return 0;
}
}  // namespace

#define REFUSED(name) \\
  extern "C" __attribute__((visibility("default"))) unsigned long long name() { return refuse(); }

extern "C" __attribute__((visibility("default"))) const char* wp_nanovdb_version() { return nullptr; }
"""


def refusals(native: Path) -> Path:
    """Write the functions of volumes, which refuse."""
    header = (native / "warp.h").read_text(encoding="utf-8")
    names = sorted(set(re.findall(r"\b(wp_volume_\w+)\(", header)))
    source = native / "refused_volumes.cpp"
    source.write_text(REFUSALS + "".join(f"REFUSED({name})\n" for name in names), encoding="utf-8")
    return source


def compile_one(source: Path, folders: list[Path], objects: Path) -> Path:
    """Compile one source."""
    output = objects / f"{source.name}.o"
    if source.suffix == ".cu":
        compiler = [str(NVCC / "bin" / "nvcc"), *DEVICE_OPTIONS]
    else:
        compiler = [os.environ.get("CXX", "c++"), *HOST_OPTIONS, "-fno-rtti"]
    includes = [f"-I{folder}" for folder in folders]
    subprocess.run([*compiler, *OPTIONS, *includes, "-c", source, "-o", output], check=True)
    return output


def link(objects: list[Path], compiler_of_ptx: Path, output: Path) -> None:
    """Link the library in place of the wheel's."""
    runtime = cuarray_sim.runtime_path() / "libcudart.so.13"
    libraries = [runtime, in_nvidias_wheels("lib/libnvrtc.so.13"), compiler_of_ptx, "-lpthread", "-ldl", "-lrt"]
    # Only then are the functions of the static library no exports, as in Warp's own build.
    options = ["-shared", "-Wl,--exclude-libs,ALL", "-Wl,-z,lazy", "-s"]
    subprocess.run([os.environ.get("CXX", "c++"), *options, "-o", output, *objects, *libraries], check=True)


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    site, objects = folder / "site-packages", folder / "objects"
    shutil.rmtree(folder, ignore_errors=True)
    objects.mkdir(parents=True)
    install = ["install", "--quiet", "--no-deps", "--no-compile", "--target", site, "-r", REQUIREMENT]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *install], check=True)
    native, compiler_of_ptx = site / "warp" / "native", site / "nvidia" / "cu13"
    folders = [native, NVCC / "include", in_nvidias_wheels("include/nvrtc.h").parent, compiler_of_ptx / "include"]
    sources = [each for each in sorted(native.glob("*.c*")) if each.suffix in (".cpp", ".cu")]
    sources = [refusals(native), *(each for each in sources if each.name not in LEFT_OUT)]
    # The largest sources are those for the device, so they come first.
    sources.sort(key=lambda source: (source.suffix != ".cu", -source.stat().st_size))
    with ThreadPoolExecutor(2) as pool:
        built = list(pool.map(lambda source: compile_one(source, folders, objects), sources))
    link(built, compiler_of_ptx / "lib" / "libnvptxcompiler_static.a", site / "warp" / "bin" / "warp.so")
    shutil.rmtree(objects)
    # Only the build needs it. A folder `nvidia` here would hide that of NVIDIA's other wheels from some libraries.
    shutil.rmtree(site / "nvidia")


if __name__ == "__main__":
    main()
