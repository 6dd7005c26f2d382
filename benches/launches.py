"""Empty launches on the simulated driver: the first one of a process, and many from C. Each setting runs in its own process."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from simulated_driver import Driver

LAUNCHES, RUNS = 5_000, 15
OFF, ON = "0", "1"
_PTX = b".version 8.0 .target sm_90 .address_size 64 .visible .entry empty() { ret; }"


def measured():
    """Return the seconds of a launch, one of many and the first one, by the setting of findings; `None` without a compiler."""
    if shutil.which("cc") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        loop = Path(folder) / "launches.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", Path(__file__).with_suffix(".c"), "-o", loop], check=True)
        settings = (OFF, ON)
        first = {findings: min(_in_process("first", findings) for _ in range(RUNS)) for findings in settings}
        return {findings: (_in_process(loop, findings), first[findings]) for findings in settings}


def _in_process(loop, findings):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUARRAY_")}
    environment["CUARRAY_SIM_FINDINGS"] = findings
    command = [sys.executable, __file__, loop]
    return float(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _kernel(driver):
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuModuleLoadData", ctypes.byref(module), _PTX)
    driver.call("cuModuleGetFunction", ctypes.byref(kernel), module, b"empty")
    return kernel


def _first():
    """Return the seconds of the first launch and a wait, with all that precedes them: the load of the driver, and its first calls."""
    start = time.perf_counter()
    driver = Driver()
    driver.call("cuLaunchKernel", _kernel(driver), 1, 1, 1, 1, 1, 1, 0, None, None, None)
    driver.call("cuCtxSynchronize")
    return time.perf_counter() - start


def _least(path):
    """Return the least seconds of a launch in a row of launches and a wait."""
    driver, loop = Driver(), ctypes.CDLL(path)
    cuda, kernel = driver.library, _kernel(driver)
    loop.seconds.restype = ctypes.c_double
    times = [loop.seconds(cuda.cuLaunchKernel, cuda.cuCtxSynchronize, kernel, LAUNCHES) for _ in range(RUNS)]
    if min(times) < 0:
        raise RuntimeError("a launch has failed")
    return min(times) / LAUNCHES


if __name__ == "__main__":
    print(_first() if sys.argv[1] == "first" else _least(sys.argv[1]))
