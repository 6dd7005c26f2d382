"""Warp, whose library is built here with the shared CUDA runtime."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from . import debian, steps

__all__ = ["install"]


def install() -> None:
    """Build Warp in a folder that PYTHONPATH names. Its wheel lacks two headers of NanoVDB; Debian's unstable release has the newest version."""
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        raise steps.Failure("Warp needs a C++ compiler (on Debian and Ubuntu: apt-get install build-essential)")
    headers = Path("build", "nanovdb")
    for package in debian.download(headers, "sid", "libnanovdb-dev"):
        debian.unpack(package, headers)
    steps.run(sys.executable, "tests/peers/build_warp.py", "build/warp", headers / "usr" / "include")
