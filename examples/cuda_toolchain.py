"""Paths of nvcc and CMake (`make nvcc`), and of the folder in which a program's loader finds the simulated driver.

`python cuda_toolchain.py nvcc` prints the path of nvcc; `cmake`, `toolkit` and `libraries` are the other names.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTALLED = ROOT / "build" / "nvcc"


def toolkit() -> Path | None:
    """Return the folder of the CUDA toolkit: that of `make nvcc`, or that of an nvcc in the search path."""
    installed = INSTALLED / "nvidia" / "cu13"
    if (installed / "bin" / "nvcc").exists():
        return installed
    found = shutil.which("nvcc")
    return Path(found).resolve().parents[1] if found else None


def nvcc() -> Path | None:
    """Return the path of nvcc, if it is installed."""
    folder = toolkit()
    return folder / "bin" / "nvcc" if folder else None


def cmake() -> Path | None:
    """Return the path of CMake, if it is installed."""
    installed = INSTALLED / "cmake" / "data" / "bin" / "cmake"
    found = installed if installed.exists() else shutil.which("cmake")
    return Path(found) if found else None


def ninja() -> Path | None:
    """Return the path of Ninja, if it is installed."""
    installed = INSTALLED / "bin" / "ninja"
    found = installed if installed.exists() else shutil.which("ninja")
    return Path(found) if found else None


def libraries(folder: Path) -> Path:
    """Link the simulated driver and the CUDA runtime of cuarray-sim into a folder, for `LD_LIBRARY_PATH`."""
    import cuarray_sim

    folder.mkdir(parents=True, exist_ok=True)
    driver, runtimes = Path(cuarray_sim.library_path()), Path(cuarray_sim.runtime_path())
    for library in [driver, *runtimes.glob("libcudart.so.*")]:
        link = folder / library.name
        link.unlink(missing_ok=True)
        link.symlink_to(library)
    return folder


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """Return the environment of a program that finds its libraries in `folder`; a finding gives the exit status 66."""
    paths = [str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(paths), "CUARRAY_SIM_EXIT_STATUS": "66", **settings}


if __name__ == "__main__":
    names = {"nvcc": nvcc, "cmake": cmake, "toolkit": toolkit}
    for name in sys.argv[1:]:
        path = libraries(ROOT / "build" / "cuda" / "libraries") if name == "libraries" else names[name]()
        if path is None:
            sys.exit(f"{name} is not installed; `make nvcc` installs it")
        print(path)
