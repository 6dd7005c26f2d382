"""Algorithms of CUB and Thrust, and kernels whose threads wait for each other, with the search for races and without.

`make nvcc` installs the compiler. Each setting runs in its own process."""

import os
import subprocess
import tempfile
from pathlib import Path

ELEMENTS = 1_000_000
OFF, ON, STRICT = "0", "1", "strict"
_ROOT = Path(__file__).parents[1]
_NVCC = _ROOT / "build/nvcc/nvidia/cu13/bin/nvcc"
_FLAGS = ("-std=c++17", "-cudart", "shared", "-arch=compute_90", "--extended-lambda", "-diag-suppress", "20012,177")


def measured():
    """Return the seconds by algorithm and setting of the search; `None` without nvcc."""
    if not _NVCC.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "algorithms"
        subprocess.run([_NVCC, *_FLAGS, "-o", program, Path(__file__).with_suffix(".cu")], check=True)
        settings = {setting: _seconds(program, Path(folder), setting) for setting in (OFF, ON, STRICT)}
    return {name: {setting: times[name] for setting, times in settings.items()} for name in settings[OFF]}


def _seconds(program, folder, setting):
    import cuarray_sim
    from cuarray_sim import cuda_runtime

    driver = folder / "libcuda.so.1"
    if not driver.exists():
        driver.symlink_to(cuarray_sim.library_path())
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CUARRAY_", "LD_PRELOAD"))}
    environment |= {
        "CUARRAY_SIM_KERNEL_RACES": setting,
        "CUARRAY_SIM_LEAKS": "0",
        "LD_LIBRARY_PATH": f"{folder}:{cuda_runtime.runtime_path()}",
    }
    done = subprocess.run([program, str(ELEMENTS)], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {name: float(seconds) for name, seconds in rows}
