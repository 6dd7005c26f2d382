"""A waiting call ends within a second after a signal that the program handles: Ctrl-C, Jupyter's interrupt, a timer, SIGTERM.

A second of the process's own time counts, as the machine may be busy. Without a signal the kernel would run for five minutes.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# `wait` returns the result of a wait for a kernel that counts without an end. `send` sends a signal to this process later.
ENDLESS = '''\
import ctypes, os, signal, threading, time
# A job in the background begins with this signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
import cuarray_sim
cuarray_sim.install()
cuda = ctypes.CDLL("libcuda.so.1")
PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry count(.param .u64 numbers)
{
    .reg .pred %p; .reg .b32 %v; .reg .b64 %f;
    ld.param.u64 %f, [numbers];
    NEXT: red.global.add.u32 [%f], 1; ld.volatile.global.u32 %v, [%f+4]; setp.eq.u32 %p, %v, 0; @%p bra NEXT;
    ret;
}
"""
context, module, function, memory = [ctypes.c_void_p() for _ in range(4)]
sent = []

def wait():
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(8)) == 0
    assert cuda.cuMemsetD8_v2(memory, 0, ctypes.c_size_t(8)) == 0
    assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"count") == 0
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
    return cuda.cuCtxSynchronize()

def send(number):
    begin = time.process_time()
    def later():
        # By then the main thread is in the kernel: nothing else here takes a second.
        while time.process_time() < begin + 1:
            time.sleep(0.01)
        sent.append(time.process_time())
        os.kill(os.getpid(), number)
    threading.Thread(target=later, daemon=True).start()

def ended():
    took = time.process_time() - sent[0]
    assert took < 1, took
'''


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """The folder of the module `endless`."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    return tmp_path


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("start", [["-m", "cuarray_sim"], []], ids=["launcher", "install"])
def test_handled_signal_ends_the_wait_with_its_exception(
    run: Run, endless: Path, number: str, start: list[str]
) -> None:
    program = f"""\
import signal
from endless import ended, send, wait
signal.signal(signal.SIGTERM, signal.default_int_handler)
send(signal.{number})
try:
    wait()
except KeyboardInterrupt:
    ended()
    print("interrupted")
"""
    (endless / "program.py").write_text(program)
    done = run(*start, "program.py")
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


def test_wait_returns_the_code_of_a_watchdog(run: Run, endless: Path) -> None:
    """The handler raises no exception, so the program goes on."""
    program = """\
import signal
from endless import ended, send, wait
signal.signal(signal.SIGINT, lambda *_: print("handled"))
send(signal.SIGINT)
print(wait())
ended()
"""
    (endless / "program.py").write_text(program)
    done = run("program.py")
    assert (sorted(done.stdout.split()), done.returncode) == (["702", "handled"], 0), done.stderr


def test_signal_without_a_handler_ends_the_process(run: Run, endless: Path) -> None:
    done = run("-c", "import signal; from endless import send, wait; send(signal.SIGTERM); wait()")
    assert done.returncode == -signal.SIGTERM, done.stderr


RACE = """\
import ctypes, signal
from endless import cuda, send, wait
other, streams = ctypes.c_void_p(), [ctypes.c_void_p() for _ in range(2)]
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(other), 0) == cuda.cuCtxSetCurrent(other) == 0
shared = ctypes.c_void_p()
assert cuda.cuMemAlloc_v2(ctypes.byref(shared), ctypes.c_size_t(64)) == 0
for stream in streams:
    assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
    assert cuda.cuMemsetD8Async(shared, 1, ctypes.c_size_t(64), stream) == 0
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_findings_before_a_signal_without_a_handler_are_reported(run: Run, endless: Path, number: str) -> None:
    """As a program of machine code has it, or one of Python that SIGTERM ends."""
    (endless / "program.py").write_text(
        RACE + f"signal.signal(signal.{number}, signal.SIG_DFL)\nsend(signal.{number})\nwait()\nprint('went on')\n"
    )
    done = run("-m", "cuarray_sim", "program.py")
    assert (done.stdout, done.returncode) == ("", -getattr(signal, number)), done.stderr
    assert done.stderr.count("] data-race: ") == 1


def test_signal_ends_the_wait_for_a_word_of_memory(run: Run, endless: Path) -> None:
    program = """\
import ctypes, os, signal, threading
from endless import cuda
context, word = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(word), ctypes.c_size_t(4)) == 0
assert cuda.cuMemsetD8_v2(word, 0, ctypes.c_size_t(4)) == 0
assert cuda.cuStreamWaitValue32_v2(None, word, 1, 1) == 0
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    cuda.cuCtxSynchronize()
except KeyboardInterrupt:
    print("interrupted")
"""
    (endless / "program.py").write_text(program)
    # The wait would take longer than `run` allows.
    done = run("program.py", CUARRAY_SIM_MEMORY_WAIT="600")
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


def test_findings_before_the_interrupt_are_reported(run: Run, endless: Path) -> None:
    program = (
        RACE
        + """\
send(signal.SIGINT)
try:
    wait()
except KeyboardInterrupt:
    print("interrupted")
"""
    )
    (endless / "program.py").write_text(program)
    done = run("-m", "cuarray_sim", "program.py")
    assert (done.stdout, done.returncode) == ("interrupted\n", 66), done.stderr
    assert "] data-race: " in done.stderr
    (endless / "uncaught.py").write_text(
        program.replace("try:\n    wait()", "wait()\nif False:").partition("except")[0] + "    pass\n"
    )
    for start in (["-m", "cuarray_sim"], []):
        uncaught = run(*start, "uncaught.py", CUARRAY_SIM_REPORT=str(endless / "found.json"))
        # A shell shows this status as 130.
        assert uncaught.returncode == -signal.SIGINT
        assert "KeyboardInterrupt" in uncaught.stderr
        assert uncaught.stderr.count("] data-race: ") == 1
        assert [each["kind"] for each in json.loads((endless / "found.json").read_text())["findings"]] == ["data-race"]


def test_timer_of_a_test_fails_it_and_the_next_test_runs(run: Run, endless: Path) -> None:
    """The method `signal` of pytest-timeout sets such a timer, and its handler fails the test."""
    tests = """\
import pytest, signal
from endless import wait

@pytest.fixture
def limit():
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("Timeout (>2.0s) from pytest-timeout."))
    signal.setitimer(signal.ITIMER_REAL, 2)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)

def test_that_waits(limit):
    wait()

def test_that_comes_next():
    pass
"""
    (endless / "test_program.py").write_text(tests)
    done = run("-m", "pytest", "--cuarray-sim", "-p", "no:cacheprovider", "test_program.py")
    assert "Failed: Timeout" in done.stdout, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert done.returncode == 1


def test_interrupt_of_a_kernel_of_jupyter_ends_the_cell(run: Run, endless: Path) -> None:
    """ipykernel runs cells in an event loop of the main thread, with Python's own handler, and Jupyter sends SIGINT to the process."""
    program = """\
import asyncio, signal
from endless import ended, send, wait

async def cell(code):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return eval(code)
    except KeyboardInterrupt:
        ended()
        return "interrupted"
    finally:
        signal.signal(signal.SIGINT, before)

async def kernel():
    send(signal.SIGINT)
    return [await cell("wait()"), await cell("1 + 1")]

print(*asyncio.run(kernel()))
"""
    (endless / "program.py").write_text(program)
    done = run("program.py")
    assert (done.stdout, done.returncode) == ("interrupted 2\n", 0), done.stderr
