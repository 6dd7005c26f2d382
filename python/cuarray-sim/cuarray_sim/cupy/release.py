"""The released wheels of CuPy whose modules can be built, and the packages that the build needs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from .finder import MODULES

__all__ = [
    "BuildError",
    "check_python",
    "Installed",
    "Release",
    "chosen_modules",
    "compiler",
    "find_installed",
    "find_packages",
    "supported",
]


class BuildError(Exception):
    """A reason why the modules cannot be built."""


@dataclass(frozen=True)
class Release:
    """A released wheel of CuPy, and versions of packages with which its modules were built in tests."""

    source: str
    """The SHA-256 of CuPy's source distribution."""
    cuda: int
    """The version of CUDA that the wheel was built with, as its `cupy_backends.cuda.api.driver.get_build_version()` returns it."""
    runtime: str
    """The SONAME of the CUDA runtime."""
    headers: tuple[str, ...]
    """Packages with CUDA's headers and the runtime."""
    nvrtc: str
    """The SONAME of NVRTC, which the module `jitify` links."""
    jitify: tuple[str, ...]
    """Packages that only the module `jitify` needs."""
    device: tuple[str, ...]
    """Packages that only modules with device code need."""
    random: tuple[str, ...]
    """Packages that only the module `random` needs: cuRAND's headers."""


CYTHON = "cython==3.3.1"

RELEASES = {
    ("cupy-cuda13x", "14.2.0"): Release(
        source="cfed725e612178cfbdbf62f4a3a598b60edecbbca718c0d4580c21a16ae4a62c",
        cuda=13020,
        runtime="libcudart.so.13",
        headers=(
            "nvidia-cuda-runtime==13.5.37",
            "nvidia-cuda-crt==13.5.37",
            "nvidia-cuda-profiler-api==13.5.25",
        ),
        nvrtc="libnvrtc.so.13",
        jitify=("nvidia-cuda-nvrtc==13.5.37",),
        device=("nvidia-cuda-nvcc==13.5.37", "nvidia-nvvm==13.5.37", "nvidia-cuda-cccl==13.3.5.0.6"),
        random=("nvidia-curand==10.4.5.25",),
    ),
}
"""The supported wheels, by the names of the distribution and the version."""


@dataclass(frozen=True)
class Installed:
    """The CuPy of this environment."""

    distribution: str
    version: str
    packages: Path
    """The folder of packages that CuPy is in."""
    release: Release


def supported() -> str:
    """Return the names of the supported wheels, for a message."""
    return ", ".join(f"{name} {version}" for name, version in RELEASES)


def find_packages() -> Path:
    """Return the folder of packages of the CuPy that this Python imports, of any version.

    :raises BuildError: there is none.
    """
    spec = importlib.util.find_spec("cupy")
    if spec is None or spec.origin is None:
        raise BuildError(f"CuPy is not installed for {sys.executable}")
    return Path(spec.origin).absolute().parents[1]


def find_installed() -> Installed:
    """Return the CuPy that this Python imports.

    :raises BuildError: there is none, there are several, or it is not one of the supported wheels.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        raise BuildError(
            f"this system is {sys.platform} on {platform.machine()}; CuPy's modules are built on Linux on x86_64 only"
        )
    found = {
        each.metadata["Name"].lower().replace("_", "-"): each
        for each in importlib.metadata.distributions()
        if any(file.as_posix() == "cupy/_version.py" for file in each.files or ())
    }
    if not found:
        raise BuildError(f"CuPy is not installed for {sys.executable}; install one of: {supported()}")
    if len(found) > 1:
        raise BuildError(
            f"CuPy is installed {len(found)} times, as {', '.join(sorted(found))}, and only one can work; uninstall the others"
        )
    ((name, each),) = found.items()
    release = RELEASES.get((name, each.version))
    if release is None:
        raise BuildError(f"{name} {each.version} is installed, which is not supported; supported are: {supported()}")
    return Installed(name, each.version, find_packages(), release)


def chosen_modules(names: str) -> list[str]:
    """Return the names of modules in a list with commas. ``runtime`` is always one, as no other works without it.

    :raises BuildError: a name is unknown.
    """
    chosen = {name.strip() for name in names.split(",") if name.strip()}
    if unknown := sorted(chosen - {*MODULES}):
        raise BuildError(f"--modules has the unknown names {', '.join(unknown)}; the modules are: {', '.join(MODULES)}")
    return [name for name in MODULES if name in chosen or name == "runtime"]


def compiler() -> str:
    """Return the path of the C++ compiler.

    :raises BuildError: there is none.
    """
    name = os.environ.get("CXX") or "c++"
    if found := shutil.which(name):
        return found
    raise BuildError(
        f"the C++ compiler {name} is not found; install one (on Debian and Ubuntu: apt-get install g++), or set CXX to its path"
    )


def check_python() -> None:
    """Check that this Python has what the build takes from it.

    :raises BuildError: pip or the headers are missing.
    """
    if importlib.util.find_spec("pip") is None:
        raise BuildError(
            f"{sys.executable} has no pip, which downloads the sources; install it with: {sys.executable} -m ensurepip"
        )
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        raise BuildError(
            f"{header} is missing; install Python's headers (on Debian and Ubuntu: apt-get install python3-dev)"
        )
