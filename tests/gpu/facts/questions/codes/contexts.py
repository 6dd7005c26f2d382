"""The codes of calls after the end of a context or of the driver, and in a process that was forked."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ...driver import CUDA_SUCCESS, MISSING, Driver
from ...entry_points import called, words
from ...question import Facts, question, series
from .stage import Stage, retire

AFTER = words(
    "cuCtxGetDevice cuCtxGetFlags cuCtxSynchronize cuCtxGetLimit cuMemAlloc_v2 cuMemFree_v2 cuMemHostAlloc cuMemFreeHost "
    "cuMemcpyHtoD_v2 cuMemcpyDtoHAsync_v2 cuMemsetD8_v2 cuMemGetInfo_v2 cuMemGetAddressRange_v2 cuPointerGetAttribute "
    "cuMemAllocAsync cuMemAddressReserve cuStreamCreate cuStreamQuery cuStreamSynchronize cuStreamGetCtx cuStreamGetFlags "
    "cuStreamWaitEvent cuStreamDestroy_v2 cuEventCreate cuEventRecord cuEventQuery cuEventSynchronize cuEventElapsedTime "
    "cuEventDestroy_v2 cuModuleLoadData cuModuleGetFunction cuModuleUnload cuFuncGetAttribute cuLaunchKernel cuLaunchHostFunc "
    "cuGraphLaunch cuGraphInstantiateWithFlags cuLibraryGetModule cuKernelGetFunction cuArrayDestroy cuTexObjectDestroy "
    "cuDevicePrimaryCtxRetain cuCtxCreate_v2 cuCtxGetCurrent"
)
"""The functions that are called after the end of a context, with objects of that context."""


def released(driver: Driver, call: Callable[[Callable[[], None]], str]) -> str:
    """The last release of the primary context ends it; it stays current in the thread."""
    return call(lambda: driver.do("cuDevicePrimaryCtxRelease_v2", 0))


def reset(driver: Driver, call: Callable[[Callable[[], None]], str]) -> str:
    return call(lambda: driver.do("cuDevicePrimaryCtxReset_v2", 0))


def destroyed(driver: Driver, call: Callable[[Callable[[], None]], str]) -> str:
    """The destroyed context was current, so the primary context is current afterwards."""
    context = driver.made("cuCtxCreate_v2", 0, 0)
    return call(lambda: driver.do("cuCtxDestroy_v2", context))


def destroyed_by_another_thread(driver: Driver, call: Callable[[Callable[[], None]], str]) -> str:
    """The destroyed context stays current in this thread, so that CUDA_ERROR_CONTEXT_IS_DESTROYED is documented."""
    context = driver.made("cuCtxCreate_v2", 0, 0)
    with ThreadPoolExecutor(1) as other:
        return call(lambda: other.submit(driver.do, "cuCtxDestroy_v2", context).result())


SITUATIONS = {
    "primary_context_released": released,
    "primary_context_reset": reset,
    "context_destroyed": destroyed,
    "context_destroyed_by_another_thread": destroyed_by_another_thread,
}


def ends() -> list[str]:
    """The release needs a process for each call, and has the effect of the reset, so it has fewer calls."""
    return [
        f"{situation}.{symbol}"
        for situation in SITUATIONS
        for symbol in (AFTER[:12] if situation == "primary_context_released" else AFTER)
    ]


@series("codes.after_end_of_context", ends, seconds=10)
def after_end_of_context(driver: Driver, facts: Facts, step: str) -> None:
    situation, symbol = step.split(".")
    primary = driver.made("cuCtxGetCurrent")

    def call(end: Callable[[], None]) -> str:
        here = Stage(driver)
        arguments = here.arguments(called()[symbol], {})
        end()
        return here.call(symbol, arguments)

    facts[""] = SITUATIONS[situation](driver, call)
    if situation.startswith("primary") or facts[""] == CUDA_SUCCESS:
        retire(driver)
    else:
        driver.number("cuCtxSetCurrent", primary)


def current_steps() -> list[str]:
    return list(SITUATIONS)


@series("codes.current_context_after_end", current_steps)
def current_context_after_end(driver: Driver, facts: Facts, step: str) -> None:
    primary = driver.made("cuCtxGetCurrent")

    def call(end: Callable[[], None]) -> str:
        before = driver.made("cuCtxGetCurrent")
        end()
        now = driver.made("cuCtxGetCurrent")
        facts["is_null"], facts["is_the_ended_one"], facts["is_the_primary_one"] = (
            now == 0,
            now == before,
            now == primary,
        )
        return ""

    SITUATIONS[step](driver, call)
    retire(driver)


FORKED = words(
    "cuInit cuDriverGetVersion cuGetErrorName cuGetProcAddress_v2 cuDeviceGet cuDeviceGetCount cuDeviceGetAttribute "
    "cuCtxGetCurrent cuCtxGetDevice cuCtxSynchronize cuCtxSetCurrent cuCtxCreate_v2 cuDevicePrimaryCtxRetain cuMemAlloc_v2 cuMemFree_v2 "
    "cuMemcpyHtoD_v2 cuMemGetInfo_v2 cuPointerGetAttribute cuStreamCreate cuStreamQuery cuStreamSynchronize cuEventQuery "
    "cuEventDestroy_v2 cuLaunchKernel cuModuleLoadData"
)

PATIENCE_OF_PARENT = 5.0


def in_child(driver: Driver, call: Callable[[], int | None]) -> str:
    """The result of a call in a forked child, or how the child ended."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        number = call()
        os.write(sending, str(number).encode())
        os._exit(0)
    os.close(sending)
    ready = select.select([receiving], [], [], PATIENCE_OF_PARENT)[0]
    answer = os.read(receiving, 64) if ready else b""
    os.close(receiving)
    if not ready:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if answer:
        return MISSING if answer == b"None" else driver.name(int(answer))
    return "took too long" if not ready else f"ended by {signal.Signals(-status).name}" if status < 0 else "ended"


@series("codes.in_forked_child", lambda: FORKED)
def in_forked_child(driver: Driver, facts: Facts, step: str) -> None:
    """The parent has a context, whose driver a forked child cannot use."""
    arguments = Stage(driver).arguments(called()[step], {"flags": 0} if step == "cuInit" else {})
    facts["result"] = in_child(driver, lambda: driver.number(step, *arguments))
    facts["parent_afterwards"] = driver.code("cuCtxSynchronize")


@question("codes.forked_before_init", needs_context=False)
def forked_before_init(driver: Driver, facts: Facts) -> None:
    """A driver that was loaded and not initialized works in a forked child."""

    def start() -> int:
        child = Driver(driver.path)
        child.start()
        return child.number("cuCtxSynchronize") or 0

    facts["child"] = in_child(driver, start)
    facts["parent"] = driver.code("cuInit", 0)


def groups() -> list[str]:
    return list(dict.fromkeys(entry.group for entry in called().values()))


RESTARTS = 8
"""How often the calls of a group go on behind one that crashed."""


@series("codes.after_end_of_driver", groups, needs_context=False, seconds=60)
def after_end_of_driver(driver: Driver, facts: Facts, step: str) -> None:
    """Each process calls the functions of a group, until one of them crashes."""
    left = [symbol for symbol, entry in called().items() if entry.group == step]
    end = time.monotonic() + 50
    for _ in range(RESTARTS):
        if not left or time.monotonic() > end:
            return
        command = [sys.executable, "-m", "gpu.facts.questions.codes.after_end", driver.path, *left]
        try:
            run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=15)
            output, how = run.stdout, f"ended with status {run.returncode}"
        except subprocess.TimeoutExpired as error:
            output, how = error.stdout or b"", "took too long"
        answers = [line.split() for line in output.decode().splitlines()]
        for symbol, number in answers:
            facts[symbol] = MISSING if number == "None" else driver.name(int(number))
        left = left[len(answers) :]
        if left:
            facts[left.pop(0)] = how
