"""Large programs on the simulated driver: many pending operations with findings on, and a module of many functions.

Each figure comes from its own process, because it includes the memory of the process."""

import ctypes
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

from simulated_driver import Driver

OPERATIONS = (1_000_000, 10_000_000)
PTX_BYTES = 20_000_000
_MODULE = Path(__file__).parents[1] / "crates/cuarray-ptx/src/tests/modules/nvrtc.ptx"


def measured():
    """Return the seconds and peak MB of each number of operations, and the seconds and kernels of the module."""
    operations = {count: _in_process(f"operations {count}") for count in OPERATIONS}
    return operations, _in_process("module")


def _in_process(work):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUARRAY_")}
    command = [sys.executable, __file__, *work.split()]
    done = subprocess.run(
        command, env={**environment, "CUARRAY_SIM_FINDINGS": "1"}, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def _operations(count):
    """Fill, record an event, wait for it in the next stream and copy there, in four streams, and synchronize once at the end."""
    driver = Driver()
    cuda, call = driver.library, driver.call
    streams, events = ([ctypes.c_void_p() for _ in range(4)] for _ in range(2))
    sources, targets = ([ctypes.c_uint64() for _ in range(4)] for _ in range(2))
    for stream, event in zip(streams, events, strict=True):
        call("cuStreamCreate", ctypes.byref(stream), 1)
        call("cuEventCreate", ctypes.byref(event), 2)
    for memory in (*sources, *targets):
        call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4096))
    size = ctypes.c_size_t(4096)
    start = time.perf_counter()
    for index in range(count // 4):
        own, following = index % 4, (index + 1) % 4
        cuda.cuMemsetD8Async(sources[own], 1, size, streams[own])
        cuda.cuEventRecord(events[own], streams[own])
        cuda.cuStreamWaitEvent(streams[following], events[own], 0)
        cuda.cuMemcpyDtoDAsync_v2(targets[own], sources[own], size, streams[following])
    call("cuCtxSynchronize")
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _module():
    """Load a module of many copies of code that NVRTC has compiled, each under its own names."""
    call = Driver().call
    text = re.sub(r"//.*", "", _MODULE.read_text())
    head, body = re.split(r"(?<=\.address_size 64)", text, maxsplit=1)
    functions = re.findall(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)", body)
    variables = re.findall(r"\.(?:global|const|shared)[^;{(=]*?\s([\w$]+)(?=\[|\s*=|;)", body)
    names = re.compile(rf"(?<![\w$%.])({'|'.join(map(re.escape, {*functions, *variables}))})(?=_param|(?![\w$]))")
    copies = range(-(-PTX_BYTES // len(body)))
    image = "".join([head, *(names.sub(rf"\1_{copy}", body) for copy in copies)]).encode()
    module = ctypes.c_void_p()
    start = time.perf_counter()
    call("cuModuleLoadData", ctypes.byref(module), image)
    return time.perf_counter() - start, len(copies) * len(set(functions))


if __name__ == "__main__":
    work, *arguments = sys.argv[1:]
    print(json.dumps(_operations(int(arguments[0])) if work == "operations" else _module()))
