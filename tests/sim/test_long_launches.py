"""A launch that runs for more than ten seconds prints a line, and goes on."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# The last of three blocks waits for the host.
PROGRAM = '''\
import ctypes, threading, time
import cuarray_sim
cuarray_sim.install()
cuda = ctypes.CDLL("libcuda.so.1")
PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.file 1 "waits.cu"
.visible .entry waits(.param .u64 flag)
{
    .reg .pred %p; .reg .b32 %v; .reg .b64 %f;
    ld.param.u64 %f, [flag];
    mov.u32 %v, %ctaid.x; setp.ne.u32 %p, %v, 2; @%p bra DONE;
    .loc 1 7 0
    POLL: ld.volatile.global.u32 %v, [%f]; setp.eq.u32 %p, %v, 0; @%p bra POLL;
    DONE: ret;
}
"""
context, module, function, flag = [ctypes.c_void_p() for _ in range(4)]
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemHostAlloc(ctypes.byref(flag), ctypes.c_size_t(4), 0) == 0
word = ctypes.c_uint.from_address(flag.value)
word.value = 0
assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"waits") == 0
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(flag))
assert cuda.cuLaunchKernel(function, 3, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0

def set():
    time.sleep(12)
    word.value = 1

threading.Thread(target=set).start()
print(cuda.cuCtxSynchronize())
'''


def test_launch_of_more_than_ten_seconds_prints_its_progress_unless_quiet(run: Run, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with ThreadPoolExecutor(2) as pool:
        done, quiet = pool.map(lambda value: run("program.py", CUARRAY_SIM_QUIET=value), "01")
    assert (done.stdout, done.returncode) == (quiet.stdout, quiet.returncode) == ("0\n", 0), done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "has run for" in line]
    assert re.fullmatch(
        r"cuarray-sim: kernel waits has run for \d+ s, now at \S*waits\.cu:7; 2 of 3 blocks are done; "
        r"the limit is 300 s \(CUARRAY_SIM_LAUNCH_SECONDS\)",
        line,
    )
    assert "has run for" not in quiet.stderr
