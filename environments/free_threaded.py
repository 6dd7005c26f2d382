"""Python without a global lock, which Debian has in no package: built from the source of Python in Debian's stable release.

The release has version 3.13. PyO3 supports this variant since 3.14 only, so the tests show what works.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import debian, steps

__all__ = ["install"]

FOLDER = Path("build", "free-threaded")
# Modules that the tests and pip need, and the packages of their headers.
MODULES = {"_ctypes": "libffi-dev", "_ssl": "libssl-dev", "zlib": "zlib1g-dev"}


def install() -> None:
    """Build the interpreter without optimizations of its own, which take most of the time."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    archive = debian.source(FOLDER / "apt", "trixie", "python3.13")
    source = FOLDER / "source"
    source.mkdir()
    steps.run("tar", "-xf", archive, "-C", source, "--strip-components=1")
    prefix = FOLDER.absolute()
    # Python's own makefile needs the built-in rules, which that of this project turns off.
    there = ("env", "--unset=MAKEFLAGS", "-C", source)
    steps.run(*there, "./configure", "--quiet", "--disable-gil", "--disable-test-modules", f"--prefix={prefix}")
    steps.run(*there, "make", "--silent", f"--jobs={os.cpu_count()}")
    steps.run(*there, "make", "--silent", "altinstall", "ENSUREPIP=no")
    shutil.rmtree(source)
    shutil.rmtree(FOLDER / "apt")
    (python,) = (FOLDER / "bin").glob("python3.*t")
    for module, package in MODULES.items():
        try:
            steps.run(python, "-c", f"import {module}")
        except steps.Failure as failure:
            raise steps.Failure(f"{failure}\nPython was built without {module}: apt-get install {package}") from None
