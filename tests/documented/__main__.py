"""Install each library as its page says into a separate environment, run its probes, and compare with docs/results/environments.md.

    python -m documented [--python PYTHON] [--wheels FOLDER] [LIBRARY ...]

The newest versions are installed, so the versions on the page are those of the last update, and only the results are compared. ``UPDATE=1``
writes the page, and keeps the rows of libraries that are not named. Each environment is deleted after its probes: some take 6 GB.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from generated import is_updating

from documented import page
from documented.page import Result, Step
from documented.probes import LIBRARIES, OLDER

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "documented"
SECONDS = 300


def main() -> int:
    parser = argparse.ArgumentParser(prog="documented", description="Probe libraries that are installed as documented.")
    parser.add_argument("libraries", nargs="*", help="libraries; without them all of the newest Python")
    parser.add_argument("--python", default=sys.executable, help="the interpreter (this one)")
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist", help="the folder with the wheels of this project")
    options = parser.parse_args()
    if unknown := set(options.libraries) - set(LIBRARIES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(LIBRARIES)}")
    wheels = sorted(options.wheels.glob("cuarray*.whl"))
    if len(wheels) != 2:
        parser.error(f"{options.wheels} has {len(wheels)} wheels of this project, and not two; run: make wheels")
    results = []
    for library in options.libraries or [each for each in LIBRARIES if each not in OLDER]:
        results.append(probe(library, options.python, wheels))
        for step in results[-1].steps:
            print(f"{library} {results[-1].version}, {step.name}: {step.line or 'works'}", flush=True)
    version = _output(options.python, "-c", "import platform; print(platform.python_version())")
    if is_updating():
        page.write(results, version)
        return 0
    differences = page.differences(results)
    print("\n".join(differences) or "as in docs/results/environments.md")
    return 1 if differences else 0


def probe(library: str, python: str, wheels: list[Path]) -> Result:
    """Install a library, run its probes, and delete the environment."""
    packages, probes = LIBRARIES[library]
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        subprocess.run([python, "-m", "venv", FOLDER], check=True)
        if line := _install(*packages.split()) or _install("numpy", *map(str, wheels)):
            return Result(library, packages, "", 0, [Step("the installation", line)])
        size = sum(file.lstat().st_size for file in FOLDER.rglob("*") if not file.is_symlink())
        name = packages.partition(" ")[0].partition("[")[0]
        asked = f"from importlib.metadata import version; print(version({name!r}))"
        version = _output(FOLDER / "bin" / "python", "-c", asked)
        steps = [Step(each, _run(library, each)) for each in probes]
        return Result(library, packages, version, size, steps)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


def _install(*packages: str) -> str:
    """Install packages without a cache; return the error in one line, or nothing."""
    pip = [
        FOLDER / "bin" / "python",
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-cache-dir",
    ]
    done = subprocess.run([*pip, "--only-binary=:all:", *packages], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else page.shortened(_last(done.stderr, "ERROR"))


def _run(library: str, probe: str) -> str:
    """Run a probe; return the line that says why it failed, or nothing."""
    command = [FOLDER / "bin" / "python", "-m", "cuarray_sim", Path(__file__).with_name("probes.py"), library, probe]
    # An MPI without CUDA reads device memory on the host.
    environment = {**os.environ, "CUARRAY_SIM_HOST_READABLE": "1", "HOME": str(FOLDER)}
    environment = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(
            command, env=environment, cwd=FOLDER, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    if done.returncode == 0:
        return ""
    ending = f"the process ended with signal {-done.returncode}" if done.returncode < 0 else ""
    said = next((line for line in done.stderr.splitlines() if page.is_refusal(line)), "")
    return page.shortened("; ".join(filter(None, [ending, said or _last(done.stderr, "")])))


def _last(text: str, start: str) -> str:
    """Return the last line of a text with this start that is no line of the simulator."""
    lines = [line.strip() for line in text.splitlines() if line.startswith(start) and line.strip()]
    lines = [line for line in lines if not line.startswith("cuarray-sim:")] or lines
    return lines[-1] if lines else "no message"


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
