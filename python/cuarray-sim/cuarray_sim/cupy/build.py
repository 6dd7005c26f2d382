"""The build of CuPy's modules against the shared CUDA runtime: downloads, Cython, the C++ compiler and nvcc.

Device code becomes PTX, which the simulated driver executes; a GPU of the capability :data:`ARCHITECTURE` or newer can run it too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .finder import MODULES, file_name
from .release import CYTHON, BuildError, Installed, Release

__all__ = ["build_modules", "download", "packages_for"]

ARCHITECTURE = "compute_90"

DIRECTIVES = "embedsignature=True,c_api_binop_methods=True,binding=False,freethreading_compatible=True"
"""Cython's directives in the released build (`install/cupy_builder/_command.py` in CuPy's source)."""

MACROS = ("-D_FORCE_INLINES=1", '-DCYTHON_EXTERN_C=extern "C"', "-DNPY_TARGET_VERSION=NPY_2_0_API_VERSION")
"""Macros of the released build (`install/cupy_builder/cupy_setup_build.py`)."""

DEVICE_OPTIONS = ("-O2", "--expt-relaxed-constexpr", "--std=c++17", "-Xcompiler", "-fPIC")
"""nvcc's options of the released build (`install/cupy_builder/_compiler.py`), apart from the architectures."""

DEVICE = {
    "random": "cupy/random/cupy_distributions.cu",
    "cub": "cupy/cuda/cupy_cub.cu",
    "thrust": "cupy/cuda/cupy_thrust.cu",
}
"""The device code of modules."""

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")

LAST_LINES = 15
"""The lines of a failed command's output that its error shows."""


def run(purpose: str, *command: str | Path, folder: Path, **environment: str) -> None:
    """Run a command in a folder.

    :raises BuildError: it fails; the error has the last lines of its output.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{purpose} failed: {words[0]} cannot be started: {error.strerror}") from None
    if done.returncode != 0:
        lines = "\n".join(done.stdout.splitlines()[-LAST_LINES:])
        raise BuildError(f"{purpose} failed: {words[0]} ended with exit status {done.returncode}:\n{lines}")


def packages_for(release: Release, modules: Iterable[str]) -> list[str]:
    """Return the packages that the build of some modules needs, with their versions."""
    chosen = set(modules)
    packages = [CYTHON, *release.headers]
    if chosen & {*DEVICE}:
        packages += release.device
    if "jitify" in chosen:
        packages += release.jitify
    if "random" in chosen:
        packages += release.random
    return packages


@dataclass(frozen=True)
class Workspace:
    """The folder of a build: CuPy's source, the tools and the results."""

    folder: Path

    @property
    def source(self) -> Path:
        """CuPy's source distribution, unpacked."""
        return self.folder / "source"

    @property
    def tools(self) -> Path:
        """The installed packages."""
        return self.folder / "tools"

    @property
    def built(self) -> Path:
        """The built modules."""
        return self.folder / "built"

    def headers(self) -> list[str]:
        """Return the compiler's options that name the folders of headers."""
        cuda = sorted(self.tools.glob("nvidia/*/include"))
        with_cccl = [path / "cccl" for path in cuda if (path / "cccl").is_dir()]
        python = Path(sysconfig.get_path("include"))
        return [f"-I{path}" for path in (self.source / "cupy/_core/include", *cuda, *with_cccl, python)]

    def library(self, name: str) -> Path:
        """Return a library of the packages."""
        for found in self.tools.glob(f"nvidia/*/lib/{name}"):
            return found
        raise BuildError(f"{name} is missing in the packages of NVIDIA, which are not those that this build expects")


def download(installed: Installed, modules: Iterable[str], folder: Path) -> Workspace:
    """Download CuPy's source and the packages that the build needs into a folder.

    :raises BuildError: pip fails.
    """
    workspace = Workspace(folder)
    requirement = folder / "source.txt"
    requirement.write_text(f"cupy=={installed.version} --hash=sha256:{installed.release.source}\n", encoding="utf-8")
    run(
        f"the download of CuPy's source {installed.version}",
        *(*PIP, "download", "--quiet", "--no-deps", "--no-binary", "cupy", "--dest", folder, "-r", requirement),
        folder=folder,
        # pip asks the source for its metadata. Without this, that is a build of many minutes.
        CUPY_INSTALL_USE_STUB="1",
    )
    archive = folder / f"cupy-{installed.version}.tar.gz"
    try:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        (folder / f"cupy-{installed.version}").rename(workspace.source)
    except (OSError, tarfile.TarError) as error:
        raise BuildError(f"{archive.name} cannot be unpacked: {error}") from None
    archive.unlink()
    run(
        "the download of Cython and NVIDIA's compiler and headers",
        *(
            *PIP,
            "install",
            "--quiet",
            "--no-deps",
            "--no-compile",
            "--only-binary",
            ":all:",
            "--target",
            workspace.tools,
        ),
        *packages_for(installed.release, modules),
        folder=folder,
    )
    return workspace


def build_modules(installed: Installed, modules: Iterable[str], workspace: Workspace, cxx: str, jobs: int) -> None:
    """Build modules from the downloaded source, several at once.

    :raises BuildError: a tool fails; the other builds have ended then.
    """
    workspace.built.mkdir()
    # The longest builds start first.
    ordered = sorted(modules, key=[*MODULES].index, reverse=True)
    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(_build, installed.release, name, workspace, cxx) for name in ordered]:
            done.result()


def _build(release: Release, name: str, workspace: Workspace, cxx: str) -> None:
    """Build one module: Cython translates it to C++, and nvcc compiles its device code."""
    module = MODULES[name]
    source = Path(*module.split("."))
    translated = workspace.source / source.with_suffix(".cpp")
    constants = (
        f"CUPY_CUDA_VERSION={release.cuda},CUPY_HIP_VERSION=0,CUPY_USE_CUDA_PYTHON=False,CUPY_CUFFT_STATIC=False"
    )
    run(
        f"the translation of {module} by Cython",
        *(sys.executable, "-m", "cython", "-3", "--cplus", "-X", DIRECTIVES, "-E", constants),
        *("-o", translated, source.with_suffix(".pyx")),
        folder=workspace.source,
        PYTHONPATH=str(workspace.tools),
    )
    options = [
        *MACROS,
        f"-DCUPY_CACHE_KEY={release.source[:16]}",
        "-DCUPY_JITIFY_VERSION_CODE=-1",
        *workspace.headers(),
    ]
    inputs = [translated]
    if name in DEVICE:
        inputs.append(_compile_device_code(name, workspace, cxx, options))
    # After the objects: linkers that drop unneeded libraries look at those before a library only.
    inputs.append(workspace.library(release.runtime))
    if name == "jitify":
        inputs.append(workspace.library(release.nvrtc))
    command = [cxx, "-shared", "-fPIC", "-O1", "-w", *options]
    run(
        f"the compilation of {module}",
        *command,
        "-o",
        workspace.built / file_name(module),
        *inputs,
        folder=workspace.source,
    )


def _compile_device_code(name: str, workspace: Workspace, cxx: str, options: list[str]) -> Path:
    """Compile the device code of a module with nvcc, and return the object file."""
    nvcc = next(workspace.tools.glob("nvidia/*/bin/nvcc"), None)
    if nvcc is None:
        raise BuildError("nvcc is missing in the packages of NVIDIA, which are not those that this build expects")
    target = workspace.folder / f"{name}.o"
    command = ["-c", "-w", "-cudart", "shared", f"-arch={ARCHITECTURE}", "-ccbin", cxx, *DEVICE_OPTIONS, *options]
    run(
        f"the compilation of {DEVICE[name]} by nvcc",
        *(nvcc, "-o", target, DEVICE[name]),
        *command,
        folder=workspace.source,
    )
    return target
