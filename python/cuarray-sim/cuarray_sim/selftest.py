"""The command ``python -m cuarray_sim --selftest``: plant one bug of each kind, and check that each is found.

A run without findings shows that a program is correct only if the simulator, with the settings of this run, finds bugs at all.
Each case is a small program over the driver API that has one bug unless its flag ``right`` is set. The wrong program must have a
finding of its kind and no other. The right one must have none.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint, c_uint8, c_uint32, c_uint64, c_void_p
from typing import NamedTuple

from .findings_report import KINDS, Finding, clear_findings, findings
from .library import library_path

__all__ = ["CASES", "Case", "run_selftest"]

_SIZE = 4096

_PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 memory, .param .u32 count)
{
    .reg .pred %out;
    .reg .b32 %thread, %count;
    .reg .b64 %base, %at;
    ld.param.u64 %base, [memory];
    ld.param.u32 %count, [count];
    mov.u32 %thread, %tid.x;
    setp.ge.u32 %out, %thread, %count;
    @%out bra done;
    mad.wide.u32 %at, %thread, 4, %base;
    st.global.u32 [%at], %thread;
done:
    ret;
}
.visible .entry meet(.param .u64 memory, .param .u32 members)
{
    .reg .b32 %members;
    ld.param.u32 %members, [members];
    bar.warp.sync %members;
    ret;
}
.visible .entry reverse(.param .u64 memory, .param .u32 right)
{
    .reg .pred %wrong;
    .reg .b32 %thread, %place, %value, %right;
    .reg .b64 %base, %at;
    .shared .align 4 .b32 row[64];
    ld.param.u64 %base, [memory];
    ld.param.u32 %right, [right];
    mov.u32 %thread, %tid.x;
    mov.u32 %place, row;
    mad.lo.u32 %place, %thread, 4, %place;
    st.shared.u32 [%place], %thread;
    setp.eq.u32 %wrong, %right, 0;
    @%wrong bra read;
    bar.sync 0;
read:
    mov.u32 %place, row;
    mad.lo.u32 %place, %thread, -4, %place;
    ld.shared.u32 %value, [%place+252];
    mad.wide.u32 %at, %thread, 4, %base;
    st.global.u32 [%at], %value;
    ret;
}
.visible .entry wait(.param .u64 memory, .param .u32 wanted)
{
    .reg .pred %again;
    .reg .b32 %value, %wanted;
    .reg .b64 %base;
    ld.param.u64 %base, [memory];
    ld.param.u32 %wanted, [wanted];
poll:
    ld.volatile.global.u32 %value, [%base];
    setp.ne.u32 %again, %value, %wanted;
    @%again bra poll;
    ret;
}
.visible .entry stop(.param .u64 memory, .param .u32 right)
{
    .reg .pred %wrong;
    .reg .b32 %right;
    ld.param.u32 %right, [right];
    setp.eq.u32 %wrong, %right, 0;
    @%wrong trap;
    ret;
}
.visible .entry count(.param .u64 memory, .param .u32 right)
{
    .reg .pred %wrong;
    .reg .b32 %value, %right;
    .reg .b64 %base;
    ld.param.u64 %base, [memory];
    ld.param.u32 %right, [right];
    setp.eq.u32 %wrong, %right, 0;
    @%wrong bra plain;
    red.global.add.u32 [%base], 1;
    ret;
plain:
    ld.global.u32 %value, [%base];
    add.u32 %value, %value, 1;
    st.global.u32 [%base], %value;
    ret;
}
"""


class _Driver:
    """The calls that the cases make. A call whose result matters raises an error if it fails."""

    def __init__(self) -> None:
        self.api = ctypes.CDLL(str(library_path()))
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: object) -> None:
        if result := self.try_call(name, *arguments):
            raise RuntimeError(f"{name} failed: CUresult {result}")

    def try_call(self, name: str, *arguments: object) -> int:
        result: int = getattr(self.api, name)(*arguments)
        return result

    def begin(self) -> None:
        context, module = c_void_p(), c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", byref(module), _PTX)
        self.module = module
        clear_findings()

    def end(self) -> None:
        self.try_call("cuModuleUnload", self.module)
        self.try_call("cuCtxSetCurrent", None)
        self.call("cuDevicePrimaryCtxReset_v2", 0)
        self.call("cuDevicePrimaryCtxRelease_v2", 0)
        clear_findings()

    def memory(self, size: int = _SIZE) -> c_uint64:
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), c_size_t(size))
        return address

    def pinned(self) -> c_void_p:
        address = c_void_p()
        self.call("cuMemHostAlloc", byref(address), c_size_t(_SIZE), c_uint(0))
        return address

    def stream(self) -> c_void_p:
        stream = c_void_p()
        self.call("cuStreamCreate", byref(stream), c_uint(1))  # CU_STREAM_NON_BLOCKING
        return stream

    def fill(self, address: c_uint64, stream: c_void_p) -> None:
        self.call("cuMemsetD8Async", address, c_uint8(1), c_size_t(_SIZE), stream)

    def order(self, first: c_void_p, then: c_void_p) -> None:
        event = c_void_p()
        self.call("cuEventCreate", byref(event), c_uint(2))
        self.call("cuEventRecord", event, first)
        self.call("cuStreamWaitEvent", then, event, c_uint(0))
        self.call("cuEventDestroy_v2", event)

    def launch(self, name: bytes, blocks: int, stream: c_void_p | None, address: c_uint64, number: int) -> None:
        if result := self.try_launch(name, blocks, stream, address, number):
            raise RuntimeError(f"cuLaunchKernel failed: CUresult {result}")

    def try_launch(self, name: bytes, blocks: int, stream: c_void_p | None, address: c_uint64, number: int) -> int:
        """Launch a kernel that may fail, at once in the eager schedule."""
        function, value = c_void_p(), c_uint32(number)
        self.call("cuModuleGetFunction", byref(function), self.module, name)
        arguments = (c_void_p * 2)(ctypes.addressof(address), ctypes.addressof(value))
        return self.try_call("cuLaunchKernel", function, blocks, 1, 1, 64, 1, 1, 0, stream, arguments, None)


class Case(NamedTuple):
    """A planted bug."""

    kind: str
    bug: str
    """The bug, in a few words."""
    run: Callable[[_Driver, bool], None]
    off: tuple[str, str] | None
    """The setting with which this bug is not searched for."""


CASES: list[Case] = []
"""All planted bugs: at least one of each kind of finding."""


def _case(
    kind: str, bug: str, off: tuple[str, str] | None = None
) -> Callable[[Callable[[_Driver, bool], None]], Callable[[_Driver, bool], None]]:
    def add(run: Callable[[_Driver, bool], None]) -> Callable[[_Driver, bool], None]:
        CASES.append(Case(kind, bug, run, off))
        return run

    return add


@_case("data-race", "two streams write the same memory")
def _streams(driver: _Driver, right: bool) -> None:
    memory, one, other = driver.memory(), driver.stream(), driver.stream()
    driver.fill(memory, one)
    if right:
        driver.order(one, other)
    driver.fill(memory, other)
    driver.call("cuCtxSynchronize")


@_case("data-race", "a copy reads the memory that a kernel writes")
def _kernel_and_copy(driver: _Driver, right: bool) -> None:
    memory, target, one, other = driver.memory(), driver.memory(), driver.stream(), driver.stream()
    driver.launch(b"fill", 1, one, memory, 64)
    if right:
        driver.order(one, other)
    driver.call("cuMemcpyDtoDAsync_v2", target, memory, c_size_t(256), other)
    driver.call("cuCtxSynchronize")


@_case("data-race", "the host writes pinned memory that a copy reads", ("CUARRAY_SIM_HOST_ACCESSES", "0"))
def _host(driver: _Driver, right: bool) -> None:
    memory, host, stream = driver.memory(), driver.pinned(), driver.stream()
    driver.call("cuMemcpyHtoDAsync_v2", memory, host, c_size_t(_SIZE), stream)
    if right:
        driver.call("cuStreamSynchronize", stream)
    ctypes.memset(host, 7, _SIZE)
    driver.call("cuCtxSynchronize")


@_case("kernel-race", "threads of a block without a barrier", ("CUARRAY_SIM_KERNEL_RACES", "0"))
def _barrier(driver: _Driver, right: bool) -> None:
    driver.launch(b"reverse", 1, None, driver.memory(), int(right))
    driver.call("cuCtxSynchronize")


@_case("kernel-race", "blocks that update the same word", ("CUARRAY_SIM_KERNEL_RACES", "0"))
def _blocks(driver: _Driver, right: bool) -> None:
    memory = driver.memory()
    driver.call("cuMemsetD8_v2", memory, c_uint8(0), c_size_t(_SIZE))
    driver.launch(b"count", 4, None, memory, int(right))
    driver.call("cuCtxSynchronize")


@_case("use-after-free", "a fill of released memory")
def _after_free(driver: _Driver, right: bool) -> None:
    memory = driver.memory()
    if not right:
        driver.call("cuMemFree_v2", memory)
    driver.try_call("cuMemsetD8_v2", memory, c_uint8(0), c_size_t(_SIZE))
    if right:
        driver.call("cuMemFree_v2", memory)


@_case("use-before-allocation", "stream-ordered memory in an unordered stream")
def _before_allocation(driver: _Driver, right: bool) -> None:
    memory, one, other = c_uint64(), driver.stream(), driver.stream()
    driver.call("cuMemAllocAsync", byref(memory), c_size_t(_SIZE), one)
    if right:
        driver.order(one, other)
    driver.fill(memory, other)
    driver.call("cuCtxSynchronize")
    driver.call("cuMemFreeAsync", memory, other)


@_case("free-before-pending-work", "stream-ordered release without an edge")
def _early_free(driver: _Driver, right: bool) -> None:
    memory, one, other = c_uint64(), driver.stream(), driver.stream()
    driver.call("cuMemAllocAsync", byref(memory), c_size_t(_SIZE), one)
    driver.order(one, other)
    driver.fill(memory, other)
    if right:
        driver.order(other, one)
    driver.call("cuMemFreeAsync", memory, one)
    driver.call("cuCtxSynchronize")


@_case("uninitialized-read", "a copy of unwritten memory to the host", ("CUARRAY_SIM_HOST_READABLE", "1"))
def _unwritten(driver: _Driver, right: bool) -> None:
    memory, host = driver.memory(), (c_uint8 * _SIZE)()
    if right:
        driver.call("cuMemsetD8_v2", memory, c_uint8(0), c_size_t(_SIZE))
    driver.call("cuMemcpyDtoH_v2", host, memory, c_size_t(_SIZE))


@_case("synchronization-error", "lanes outside of the member mask")
def _mask(driver: _Driver, right: bool) -> None:
    driver.launch(b"meet", 1, None, driver.memory(), 0xFFFFFFFF if right else 0x1F)
    driver.call("cuCtxSynchronize")


@_case("out-of-bounds", "a fill that is one byte too long")
def _beyond(driver: _Driver, right: bool) -> None:
    driver.try_call("cuMemsetD8_v2", driver.memory(), c_uint8(0), c_size_t(_SIZE if right else _SIZE + 1))


@_case("out-of-bounds", "a kernel that writes one element too many")
def _beyond_in_kernel(driver: _Driver, right: bool) -> None:
    driver.launch(b"fill", 1, None, driver.memory(100), 25 if right else 26)
    driver.call("cuCtxSynchronize")


@_case("kernel-failure", "a kernel that traps")
def _trap(driver: _Driver, right: bool) -> None:
    driver.try_launch(b"stop", 1, None, driver.memory(), int(right))
    driver.try_call("cuCtxSynchronize")


@_case("refused-module", "a module that reads a performance counter", ("CUARRAY_SIM_REFUSALS", "0"))
def _refused(driver: _Driver, right: bool) -> None:
    register = b"%clock" if right else b"%pm0"
    text = _PTX.replace(b"mov.u32 %thread, %tid.x;", b"mov.u32 %thread, " + register + b";", 1)
    module = c_void_p()
    if not driver.try_call("cuModuleLoadData", byref(module), text):
        driver.call("cuModuleUnload", module)


@_case("misaligned-access", "a fill of words at an odd address")
def _misaligned(driver: _Driver, right: bool) -> None:
    address = c_uint64(driver.memory().value + (0 if right else 1))
    driver.try_call("cuMemsetD32_v2", address, c_uint(0), c_size_t(8))


@_case("destroyed-handle", "a wait for a destroyed stream")
def _destroyed(driver: _Driver, right: bool) -> None:
    stream = driver.stream()
    if not right:
        driver.call("cuStreamDestroy_v2", stream)
    driver.try_call("cuStreamSynchronize", stream)


@_case("captured-stream-synchronized", "a wait for a stream that captures")
def _captured(driver: _Driver, right: bool) -> None:
    stream, graph = driver.stream(), c_void_p()
    driver.call("cuStreamBeginCapture_v2", stream, 2)  # CU_STREAM_CAPTURE_MODE_RELAXED
    if not right:
        driver.try_call("cuStreamSynchronize", stream)
    driver.try_call("cuStreamEndCapture", stream, byref(graph))
    if graph:
        driver.call("cuGraphDestroy", graph)


@_case("deadlock", "a kernel that waits for a flag that no thread sets")
def _flag(driver: _Driver, right: bool) -> None:
    memory = driver.memory()
    driver.call("cuMemsetD32_v2", memory, c_uint(1), c_size_t(1))
    driver.try_launch(b"wait", 1, None, memory, 1 if right else 2)
    driver.try_call("cuCtxSynchronize")


@_case("leak", "memory that is never released", ("CUARRAY_SIM_LEAKS", "0"))
def _leak(driver: _Driver, right: bool) -> None:
    memory = driver.memory()
    if right:
        driver.call("cuMemFree_v2", memory)


def run_selftest() -> int:
    """Run all cases with the settings of the environment, and print a table; return the exit status, 0 or 1.

    The simulated driver is installed in this process.
    """
    driver = _Driver()
    rows = [(case.kind, case.bug, _outcome(driver, case)) for case in CASES]
    for kind in sorted(set(KINDS) - {case.kind for case in CASES}):
        rows.append((kind, "", "no case"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for kind, bug, outcome in rows:
        print(f"{kind:{widths[0]}}  {bug:{widths[1]}}  {outcome}")
    found = sum(outcome == "found" for _, _, outcome in rows)
    print(f"cuarray-sim: {found} of {len(rows)} planted bugs were found")
    return int(found < len(rows))


def _outcome(driver: _Driver, case: Case) -> str:
    if os.environ.get("CUARRAY_SIM_FINDINGS") == "0":
        return "not searched: CUARRAY_SIM_FINDINGS=0"
    if case.off is not None and os.environ.get(case.off[0]) == case.off[1]:
        return "not searched: " + "=".join(case.off)
    try:
        wrong, right = (_findings(driver, case, right) for right in (False, True))
    except RuntimeError as error:
        return f"failed: {error}"
    kinds, others = ({finding["kind"] for finding in each} for each in (wrong, right))
    if case.kind not in kinds:
        return "NOT FOUND"
    if also := kinds - {case.kind}:
        return f"found, and also {', '.join(sorted(also))}"
    if others:
        return f"found, but the correct program has {', '.join(sorted(others))}"
    frames = [side["site"]["innermost"] for finding in wrong for side in finding["sides"]]
    here = all(frame is not None and frame["file"] == __file__ and frame["line"] > 0 for frame in frames)
    return "found" if here else "found, without its line of Python"


def _findings(driver: _Driver, case: Case, right: bool) -> list[Finding]:
    """Return the findings of one case."""
    driver.begin()
    try:
        case.run(driver, right)
        # Other cases leave their objects to the reset of the context.
        return findings(leaks=case.kind == "leak")["findings"]
    finally:
        driver.end()
