"""Compiler commands of the C examples: every warning is an error, and the address sanitizer is optional."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import cuarray_sim

INCLUDE = Path(__file__).parents[1] / "include"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-g", f"-I{INCLUDE}")
SANITIZE = ("-fsanitize=address", "-fno-omit-frame-pointer")


def built(command: Sequence[str | Path]) -> None:
    """Run a compiler, and require success without any output."""
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def extension(source: Path, into: Path, *options: str) -> Path:
    """Build an extension module from one C or C++ source in the folder `into`."""
    module = into / (source.stem + sysconfig.get_config_var("EXT_SUFFIX"))
    compiler = "c++" if "c++" in options else "cc"
    python, driver = sysconfig.get_paths()["include"], Path(cuarray_sim.library_path())
    built(
        [
            compiler,
            "-shared",
            "-fPIC",
            *WARNINGS,
            f"-isystem{python}",
            *options,
            source,
            "-x",
            "none",
            driver,
            "-o",
            module,
        ]
    )
    return module


def run(program: Path, modules: Path, *, sanitized: bool) -> str:
    """Return the output of a Python program on the simulated driver, and require no finding.

    The program imports extension modules from the folder `modules`.
    """
    environment = {**os.environ, "CUARRAY_SIM_EXIT_STATUS": "66"}
    environment["PYTHONPATH"] = os.pathsep.join([str(modules), *(path for path in sys.path if path)])
    if sanitized:
        library = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
        # Python keeps allocations until the process ends, so leak detection would report them.
        environment |= {
            "LD_PRELOAD": library.stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0",
            "PYTHONMALLOC": "malloc",
        }
    command = [sys.executable, "-m", "cuarray_sim", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
