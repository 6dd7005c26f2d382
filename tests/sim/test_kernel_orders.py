"""`CUARRAY_SIM_KERNEL_ORDER=all` reports the findings of several orders together, and keeps the results of the order of numbers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

# Block 0 writes `x`, and block 1 does so if it sees that block 0 was there. Blocks 1 and 0 do the same with `y`. No fence orders the two
# writes, so each is a race between two other instructions, which only one order of the blocks shows. Each block adds its number plus one to `seen` where it was the second.
PROGRAM = '''
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry both(.param .u64 memory)
{
    .reg .pred %p, %q; .reg .b32 %b, %v, %n; .reg .b64 %m, %own, %other;
    ld.param.u64 %m, [memory]; mov.u32 %b, %ctaid.x;
    mul.wide.u32 %own, %b, 8; add.s64 %own, %m, %own;
    xor.b32 %v, %b, 1; mul.wide.u32 %other, %v, 8; add.s64 %other, %m, %other;
    setp.eq.u32 %q, %b, 0;
    @%q st.global.u32 [%m], 7;
    @!%q st.global.u32 [%m+8], 7;
    atom.global.exch.b32 %v, [%own+4], 1;
    atom.global.add.u32 %v, [%other+4], 0;
    setp.eq.u32 %p, %v, 0; @%p bra DONE;
    @%q st.global.u32 [%m+8], 9;
    @!%q st.global.u32 [%m], 9;
    add.u32 %n, %b, 1; red.global.add.u32 [%m+16], %n;
    DONE: ret;
}
"""
context, module, function, memory = [ctypes.c_void_p() for _ in range(4)]
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(20)) == 0
assert cuda.cuMemsetD8_v2(memory, 0, ctypes.c_size_t(20)) == 0
assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"both") == 0
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
assert cuda.cuLaunchKernel(function, 2, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
seen = (ctypes.c_uint * 5)()
assert cuda.cuMemcpyDtoH_v2(seen, memory, ctypes.c_size_t(20)) == 0
print(*seen)
'''
# The offsets of the words with a race, and the memory at the end.
ORDERS = {"forward": ({0}, "9 1 7 1 2"), "reverse": ({8}, "7 1 9 1 1"), "all": ({0, 8}, "9 1 7 1 2")}


@pytest.mark.parametrize("order", ORDERS)
def test_findings_of_all_orders_are_in_one_report(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, order: str
) -> None:
    offsets, memory = ORDERS[order]
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("-m", "cuarray_sim", "--report", "report.json", "program.py", CUARRAY_SIM_KERNEL_ORDER=order)
    assert done.stdout.strip() == memory, done.stderr
    found = json.loads((tmp_path / "report.json").read_text())["findings"]
    # Races of one launch without line information are one finding, which counts them.
    ((kind, count, offset),) = [(finding["kind"], finding["count"], finding["offset"]) for finding in found]
    assert (kind, count) == ("kernel-race", len(offsets))
    assert offset in offsets
    assert done.returncode == 66
