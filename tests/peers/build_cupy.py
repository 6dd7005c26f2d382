"""Install CuPy's released wheel into a folder, and build two of its modules by `python -m cuarray_sim.cupy`.

    python tests/peers/build_cupy.py build/cupy

`FOLDER/site-packages` receives CuPy, for `PYTHONPATH`; `FOLDER/suite` receives CuPy's own tests, which the wheel lacks. The other
modules take minutes: `make test-cupy` and `make cupy-suite` build them. requirements/cupy.txt states the version."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENT = Path(__file__).parents[2] / "requirements" / "cupy.txt"
MODULES = "runtime,random"


def main():
    folder = Path(sys.argv[1]).absolute()
    site, suite, work = folder / "site-packages", folder / "suite", folder / "work"
    shutil.rmtree(folder, ignore_errors=True)
    install = ["install", "--quiet", "--no-deps", "--no-compile", "--target", site, "-r", REQUIREMENT]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *install], check=True)
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    build = [sys.executable, "-m", "cuarray_sim.cupy", "--modules", MODULES, "--work", work]
    done = subprocess.run(build, env={**os.environ, "PYTHONPATH": path}, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    suite.mkdir()
    for part in ("tests", "pyproject.toml", "LICENSE"):
        (work / "source" / part).rename(suite / part)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
