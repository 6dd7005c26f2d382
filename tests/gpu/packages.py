"""The packages that the run needs: the wheels of ``dist/``, and of ``dist/gpu`` what the interpreter lacks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from .slices import ROOT

DIST = ROOT / "dist"
CARRIED = DIST / "gpu"
"""Wheels for a machine without a network, and the folder ``extensions`` of built extension modules. `make gpu-wheels` fills it."""

LEAST = {"pytest": (8, 4), "hypothesis": (6, 100)}
"""Versions that the tests need. Any version of another package is enough."""

TIMED = (
    "numba-cuda",
    "cuda-core",
    "cupy-cuda13x",
    "torch",
    "jax",
    "mpi4py",
    "numpy",
    "pytest",
    "hypothesis",
    "triton",
    "warp-lang",
)


def install(target: Path) -> list[str]:
    """Install the wheels into a folder; return the names of those from ``dist/gpu``."""
    own = sorted(DIST.glob("cuarray-*.whl")) + sorted(DIST.glob("cuarray_sim-*.whl"))
    if len(own) < 2:
        raise SystemExit("dist/ has no wheels: run `make gpu-wheels` on a machine with cargo, and copy dist/ here")
    wanted = [wheel for wheel in sorted(CARRIED.glob("*.whl")) if is_wanted(wheel)]
    shutil.rmtree(target, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-compile", "--target", str(target), *map(str, own + wanted)], check=True, timeout=120)
    return [wheel.name for wheel in wanted]


def is_wanted(wheel: Path) -> bool:
    """Whether the interpreter lacks the package of a wheel, or has a version that is too old."""
    name = wheel.name.split("-")[0]
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return True
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:2])
    return numbers < LEAST.get(name, (0,))


def environment(target: Path) -> dict[str, str]:
    """The environment of the tests."""
    paths = [str(target), str(CARRIED / "extensions"), str(ROOT / "tests"), str(ROOT / "tests" / "support")]
    before = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths + ([before] if before else [])),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def versions() -> dict[str, str]:
    """The versions of the libraries that take part."""
    found = {}
    for name in TIMED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
