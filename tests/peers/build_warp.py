"""Install Warp into a folder, and build its library with the shared CUDA runtime: five minutes on two cores, by the nvcc of `make nvcc`.

    python tests/peers/build_warp.py build/warp HEADERS

The library in Warp's wheel has the static runtime. The wheel has the sources of the library, apart from two headers of NanoVDB and those of cuBQL.
HEADERS is a folder with those of NanoVDB 32.8 or later; those in Warp's wheel are taken first. The build refuses
trees of the kind "cubql". requirements/warp.txt states the version. A C++ compiler is needed."""

import os
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

OPTIONS = ["-std=c++17", "-DNDEBUG", "-DWP_BUILD_DLL", "-DWP_DISABLE_CUBQL"]
OPTIONS += ["-DWP_ENABLE_CUDA=1", "-DWP_ENABLE_MATHDX=0", "-DWP_ENABLE_CUDA_COMPATIBILITY=0", "-DWP_ENABLE_DEBUG=0"]
HOST_OPTIONS = ["-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-O1"]
# PTX for the simulated driver, and no machine code.
DEVICE_OPTIONS = ["-O3", "-gencode=arch=compute_80,code=compute_80", "--extended-lambda", "-cudart=shared"]
DEVICE_OPTIONS += ["-diag-suppress=221", f"--compiler-options={','.join(HOST_OPTIONS)}"]


def compile_one(source: Path, folders: list[Path], objects: Path) -> Path:
    """Compile one source."""
    output = objects / f"{source.name}.o"
    if source.suffix == ".cu":
        compiler = [str(NVCC / "bin" / "nvcc"), *DEVICE_OPTIONS]
    else:
        compiler = [os.environ.get("CXX", "c++"), *HOST_OPTIONS, "-fno-rtti"]
    # Warp's own headers of NanoVDB are the first, and those of its package fill the gaps.
    own, *others = folders
    includes = [f"-I{own}", *(word for folder in others for word in ("-isystem", folder))]
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
    folder, nanovdb = (Path(argument).absolute() for argument in sys.argv[1:])
    site, objects = folder / "site-packages", folder / "objects"
    shutil.rmtree(folder, ignore_errors=True)
    objects.mkdir(parents=True)
    install = ["install", "--quiet", "--no-deps", "--no-compile", "--target", site, "-r", REQUIREMENT]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *install], check=True)
    native, compiler_of_ptx = site / "warp" / "native", site / "nvidia" / "cu13"
    folders = [
        native,
        nanovdb,
        NVCC / "include",
        in_nvidias_wheels("include/nvrtc.h").parent,
        compiler_of_ptx / "include",
    ]
    sources = [each for each in sorted(native.glob("*.c*")) if each.suffix in (".cpp", ".cu")]
    # `apic.cu` is included by `warp.cu`.
    sources = [each for each in sources if each.name != "apic.cu"]
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
