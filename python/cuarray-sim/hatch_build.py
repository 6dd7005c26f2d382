"""Builds the shared libraries and programs with cargo and packs them into the wheel.

``cuarray_sim/libcuda.so.1`` is the simulated driver. The other files are the stand-ins that ``cuarray_sim/stand_ins.py`` lists. The build
fails without cargo, on another system than Linux, and if cargo does not report a shared library. A wheel without a
library would install and then fail at its first use. The files are packed from cargo's target directory, so nothing is
written into the source tree.

The environment variable ``MANYLINUX_GLIBC``, for example ``2.17``, builds for that version of glibc with
``cargo zigbuild``, and so for older systems than this one. ``make release-check`` does so. ``CARGO_BUILD_TARGET``, for example
``aarch64-unknown-linux-gnu``, builds for another processor than this one, and ``WHEEL_PROFILE`` chooses another of cargo's profiles
than ``release``.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARIES = {
    "cuarray-sim": "cuarray_sim/libcuda.so.1",
    "cuarray-cudart-12": "cuarray_sim/runtime/libcudart.so.12",
    "cuarray-cudart-13": "cuarray_sim/runtime/libcudart.so.13",
    "cuarray-cudnn": "cuarray_sim/libraries/cudnn/libcudnn.so.9",
    "cuarray-cublas-12": "cuarray_sim/libraries/cublas/libcublas.so.12",
    "cuarray-cublas-13": "cuarray_sim/libraries/cublas/libcublas.so.13",
    "cuarray-cublaslt-12": "cuarray_sim/libraries/cublaslt/libcublasLt.so.12",
    "cuarray-cublaslt-13": "cuarray_sim/libraries/cublaslt/libcublasLt.so.13",
    "cuarray-cufft-11": "cuarray_sim/libraries/cufft/libcufft.so.11",
    "cuarray-cufft-12": "cuarray_sim/libraries/cufft/libcufft.so.12",
    "cuarray-curand": "cuarray_sim/libraries/curand/libcurand.so.10",
    "cuarray-cusolver-11": "cuarray_sim/libraries/cusolver/libcusolver.so.11",
    "cuarray-cusolver-12": "cuarray_sim/libraries/cusolver/libcusolver.so.12",
    "cuarray-cusparse": "cuarray_sim/libraries/cusparse/libcusparse.so.12",
    "cuarray-nccl": "cuarray_sim/libraries/nccl/libnccl.so.2",
    "cuarray-mpi": "cuarray_sim/libraries/mpi/libcuarray-mpi.so",
    "cuarray-nvml": "cuarray_sim/libraries/nvml/libnvidia-ml.so.1",
    "cuarray-nvjitlink-12": "cuarray_sim/toolchain/nvjitlink/libnvJitLink.so.12",
    "cuarray-nvjitlink-13": "cuarray_sim/toolchain/nvjitlink/libnvJitLink.so.13",
    "cuarray-nvrtc-12": "cuarray_sim/toolchain/nvrtc/libnvrtc.so.12",
    "cuarray-nvrtc-13": "cuarray_sim/toolchain/nvrtc/libnvrtc.so.13",
}
"""The crates of the shared libraries, with their places in the wheel."""

PROGRAMS = {"cuarray-toolchain": "cuarray_sim/toolchain/ptxas/bin/ptxas"}
"""The crates with a program, with its place in the wheel. The program has the name of its file."""

NOTICES = {
    "crates/cuarray-curand/src/sobol/LICENSE": "cuarray_sim/libraries/curand/LICENSE-Sobol",
    "crates/cuarray-curand/src/sequences/mtgp32/LICENSE": "cuarray_sim/libraries/curand/LICENSE-MTGP32",
}
"""Licences of data in the libraries, with their places in the wheel. Each must accompany a copy."""


class SimulatedDriver(BuildHookInterface):
    """The build hook of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the libraries, name them in the wheel, and tag the wheel for this platform."""
        if self.target_name != "wheel":
            raise RuntimeError(
                "cuarray-sim has no source distribution: its libraries are built from the whole repository"
            )
        if not sys.platform.startswith("linux"):
            raise RuntimeError(f"cuarray-sim has Linux shared libraries; it cannot be built on {sys.platform}")
        workspace = Path(self.root).resolve().parents[1]
        built = build_libraries(workspace)
        for place, file in built.items():
            build_data["force_include"][str(file)] = place
        for source, place in NOTICES.items():
            build_data["force_include"][str(workspace / source)] = place
        # Read at the start of each Python process of the environment; see cuarray_sim/stand_ins.py.
        build_data["force_include"]["cuarray_sim.pth"] = "cuarray_sim.pth"
        build_data["pure_python"] = False
        processor = target().partition("-")[0]
        build_data["tag"] = f"py3-none-{platform_tag(built.values(), f'linux-{processor}')}"


def build_libraries(workspace: Path) -> dict[str, Path]:
    """Run cargo in the workspace and return the files that it reports, by their places in the wheel."""
    glibc = os.environ.get("MANYLINUX_GLIBC")
    # Without a version of glibc, cargo reads its variable `CARGO_BUILD_TARGET` itself.
    build = ["zigbuild", "--target", f"{target()}.{glibc}"] if glibc else ["build"]
    build += ["--profile", os.environ.get("WHEEL_PROFILE", "release")]
    crates = [word for crate in [*LIBRARIES, *PROGRAMS] for word in ("-p", crate)]
    command = [find_cargo(), *build, *crates, "--message-format=json-render-diagnostics"]
    # cargo writes its report to stdout, and its progress and errors to stderr.
    done = subprocess.run(command, cwd=workspace, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` failed with exit status {done.returncode}; its messages are above")
    places = {("cdylib", f"lib{crate.replace('-', '_')}.so"): place for crate, place in LIBRARIES.items()}
    places |= {("bin", Path(place).name): place for place in PROGRAMS.values()}
    built = {}
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact":
            for name in message["filenames"]:
                for kind in message["target"]["kind"]:
                    if place := places.get((kind, Path(name).name)):
                        built[place] = Path(name)
    if missing := set(places.values()) - set(built):
        raise RuntimeError(f"cargo reported no file for {', '.join(sorted(missing))}")
    return built


def target() -> str:
    """The processor and system to build for: those of this machine, or another."""
    return os.environ.get("CARGO_BUILD_TARGET") or f"{platform.machine()}-unknown-linux-gnu"


def platform_tag(libraries: Iterable[Path], system: str) -> str:
    """The platform tag of the wheel: ``manylinux_2_34_x86_64`` if a library needs glibc 2.34.

    PyPI refuses ``linux_x86_64``, which does not name a glibc. Every manylinux system has the libraries that Rust links: libc, libm,
    libgcc_s and the loader. ``auditwheel show`` checks that.
    """
    # An ELF file names the versions that it needs as strings.
    versions = [int(minor) for library in libraries for minor in re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes())]
    if versions and system.startswith("linux-"):
        system = f"manylinux_2_{max(versions)}_{system.removeprefix('linux-')}"
    return system.replace("-", "_").replace(".", "_")


def find_cargo() -> str:
    """Find cargo: ``$CARGO``, the search path, or where rustup installs it."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for candidate in (os.environ.get("CARGO"), "cargo", str(home / "bin" / "cargo")):
        if candidate and (found := shutil.which(candidate)):
            return found
    raise RuntimeError("cargo was not found; building cuarray-sim needs Rust (https://rustup.rs)")
