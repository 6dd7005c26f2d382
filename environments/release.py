"""Check the wheels of a release: their platform, and a program that uses them in an empty environment.

`python -m environments.release manylinux_2_17` reads `dist/release`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from platform import machine
from zipfile import ZipFile

from . import aarch64
from .steps import VENV, Failure, pip, run


def problem(wheel: Path, audit: str, platform: str) -> str | None:
    """Return why a wheel is not one for this platform and the processor in its name, by what auditwheel shows of the libraries in it."""
    _, tagged, processor = wheel.stem.rpartition(f"{platform}_")
    if not tagged:
        return f"{wheel} is not tagged {platform}"
    if f'tag: "{platform}_{processor}"' in " ".join(audit.split()):
        return None
    return f"{wheel} does not run on {platform} with {processor}\n{audit}"


def differences(wheels: Iterable[Path]) -> str | None:
    """Return the files that a wheel has, and that for another processor lacks."""
    files: dict[str, dict[Path, set[str]]] = {}
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            files.setdefault(wheel.stem.rpartition("-")[0], {})[wheel] = set(archive.namelist())
    for found in files.values():
        for one, other in permutations(found, 2):
            if lacking := found[one] - found[other]:
                return f"{other} lacks files of {one}: {', '.join(sorted(lacking))}"
    return None


def for_processor(processor: str, wheels: list[Path]) -> list[Path]:
    """Return the wheels for a processor, without those of interpreters without a global lock, as cp314t: no environment here has such an interpreter."""
    return [
        wheel
        for wheel in wheels
        if wheel.stem.endswith(f"_{processor}") and not wheel.name.split("-")[-2].endswith("t")
    ]


def check(platform: str) -> None:
    """Check all wheels of the release, and run those for this processor and for aarch64."""
    wheels = sorted(Path("dist/release").glob("*.whl"))
    for wheel in wheels:
        audit = subprocess.run([VENV / "bin/auditwheel", "show", wheel], capture_output=True, text=True, check=False)
        if wrong := problem(wheel, audit.stdout, platform):
            raise Failure(wrong)
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB for {platform}")
    if lacking := differences(wheels):
        raise Failure(lacking)
    smoke = ("-I", "-m", "cuarray_sim", "../../tests/project/smoke.py")
    folder = Path("build/release")
    shutil.rmtree(folder / ".venv", ignore_errors=True)
    run(sys.executable, "-m", "venv", "--without-pip", folder / ".venv")
    pip("install", "--quiet", *for_processor(machine(), wheels), into=folder / ".venv")
    run("env", "-C", folder, ".venv/bin/python", *smoke)
    if machine() != "aarch64":
        aarch64.environment(folder / "aarch64")
        aarch64.pip(folder / "aarch64", *for_processor("aarch64", wheels))
        aarch64.run("env", "-C", folder, "aarch64/bin/python", *smoke)


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except Failure as failure:
        raise SystemExit(str(failure)) from None
