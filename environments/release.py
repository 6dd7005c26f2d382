"""Check the wheels of a release: their platform, and a program that uses them in an empty environment.

`python -m environments.release manylinux_2_17` reads `dist/release`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from .steps import VENV, Failure, pip, run


def problem(wheel: Path, audit: str, platform: str) -> str | None:
    """Return why a wheel is not one for this platform, by its name and what auditwheel shows."""
    if f'tag: "{platform}_' not in " ".join(audit.split()):
        return f"{wheel} does not run on {platform}\n{audit}"
    return None if f"{platform}_" in wheel.name else f"{wheel} is not tagged {platform}"


def for_interpreters_with_a_global_lock(wheels: list[Path]) -> list[Path]:
    """Leave out the wheels of interpreters without a global lock, as cp314t: the interpreter of `.venv` cannot install them."""
    return [wheel for wheel in wheels if not wheel.name.split("-")[-2].endswith("t")]


def check(platform: str) -> None:
    """Check all wheels of the release."""
    wheels = sorted(Path("dist/release").glob("*.whl"))
    for wheel in wheels:
        audit = subprocess.run([VENV / "bin/auditwheel", "show", wheel], capture_output=True, text=True, check=False)
        if wrong := problem(wheel, audit.stdout, platform):
            raise Failure(wrong)
        print(f"{wheel}: {platform}")
    folder = Path("build/release")
    shutil.rmtree(folder / ".venv", ignore_errors=True)
    run(sys.executable, "-m", "venv", "--without-pip", folder / ".venv")
    pip("install", "--quiet", *for_interpreters_with_a_global_lock(wheels), into=folder / ".venv")
    run("env", "-C", folder, ".venv/bin/python", "-I", "-m", "cuarray_sim", "../../tests/project/smoke.py")


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except Failure as failure:
        raise SystemExit(str(failure)) from None
