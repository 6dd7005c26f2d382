"""The command ``python -m cuarray_sim.cupy``: build what CuPy needs on the simulated driver, or remove it again."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .build import DEVICE, build_modules, download
from .finder import FOLDER, MODULES
from .place import missing_modules, place, try_imports, undo
from .release import (
    BuildError,
    Installed,
    check_python,
    chosen_modules,
    compiler,
    find_installed,
    find_packages,
    supported,
)

PROGRAM = "python -m cuarray_sim.cupy"

# Measured with Python 3.11 on two cores.
SECONDS = {"runtime": 10, "jitify": 8, "random": 15, "cub": 180, "thrust": 160}
"""Processor time of the build of each module."""
# Of the packages for all modules, for those with device code, and for single modules.
DISK = {"all": 70, "device code": 330, "jitify": 130, "random": 110}
"""Megabytes on disk."""
DOWNLOADS = {"all": 11, "device code": 126, "jitify": 58, "random": 77}
"""Megabytes to download."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the modules, or undo that. An error ends the program with the status 2."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Build the modules of CuPy that have a static CUDA runtime against the shared one, for the simulated driver. "
        f"They get into the folder {FOLDER} beside CuPy; no file of CuPy changes. Supported: {supported()}.",
    )
    parser.add_argument(
        "--modules",
        default=",".join(MODULES),
        metavar="NAMES",
        help=f"build these only: {', '.join(MODULES)}, with commas (default: all)",
    )
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="builds at once (default: one for each CPU)")
    parser.add_argument("--undo", action="store_true", help="remove the built modules")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="download and build here, and keep the files")
    options = parser.parse_args(arguments)
    try:
        if options.undo:
            removed = undo(find_packages())
            print(
                f"{removed} is removed; CuPy is as it was released"
                if removed
                else "no modules were built; CuPy is as it was released"
            )
        else:
            build(chosen_modules(options.modules), options.jobs, options.work)
    except BuildError as error:
        parser.exit(2, f"{PROGRAM}: {error}\n")


def build(modules: list[str], jobs: int, work: Path | None) -> None:
    """Build modules that are not built yet, and put them beside CuPy.

    :raises BuildError: something is missing or fails; the environment is as it was before.
    """
    installed = find_installed()
    missing = missing_modules(installed, modules)
    if not missing:
        print(f"{', '.join(modules)} of {installed.distribution} {installed.version} are built already")
        return
    cxx = compiler()
    check_python()
    jobs = jobs if jobs > 0 else len(os.sched_getaffinity(0))
    if work is not None:
        try:
            work.mkdir(parents=True, exist_ok=True)
            used = sorted(path.name for path in work.iterdir())
        except OSError as error:
            raise BuildError(f"--work {work} cannot be used: {error.strerror}") from None
        if used:
            raise BuildError(f"--work {work} is not empty: it has {used[0]}; name an empty or a new folder")
        _build_in(work.absolute(), installed, missing, cxx, jobs)
        return
    with tempfile.TemporaryDirectory(prefix="cuarray-sim-cupy-") as temporary:
        _build_in(Path(temporary), installed, missing, cxx, jobs)


def _build_in(work: Path, installed: Installed, modules: list[str], cxx: str, jobs: int) -> None:
    """State the plan, download and build in a folder, and put the result beside CuPy."""
    parts = {"all", *modules, *(["device code"] if {*modules} & {*DEVICE} else [])} & {*DISK}
    disk, downloads = sum(DISK[part] for part in parts), sum(DOWNLOADS[part] for part in parts)
    if (free := shutil.disk_usage(work).free >> 20) < disk:
        raise BuildError(
            f"{work} has {free} MB of free disk, and the build needs {disk} MB; set TMPDIR to another folder, or use --work"
        )
    minutes = max(1, round((sum(SECONDS[name] for name in modules) / jobs + 30) / 60))
    print(
        f"building {', '.join(modules)} of {installed.distribution} {installed.version} against the shared CUDA runtime\n"
        f"  into {installed.packages / FOLDER}; no file of CuPy changes, and --undo removes the folder\n"
        f"  downloads {downloads} MB into {work}: CuPy's source, Cython, NVIDIA's headers"
        f"{' and nvcc' if 'device code' in parts else ''}; {disk} MB of disk\n"
        f"  about {minutes} min with {jobs} builds at once"
        f"{', which need 4 GB of memory each' if {*modules} & {'cub', 'thrust'} else ''}",
        flush=True,
    )
    started = time.monotonic()
    workspace = download(installed, modules, work)
    downloaded = time.monotonic()
    build_modules(installed, modules, workspace, cxx, jobs)
    place(installed, workspace.built, lambda: try_imports(modules))
    built = time.monotonic()
    print(
        f"built; downloads took {downloaded - started:.0f} s, the build {built - downloaded:.0f} s. Start programs with: python -m cuarray_sim"
    )


if __name__ == "__main__":
    main()
